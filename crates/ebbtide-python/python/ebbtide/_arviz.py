"""Samplers for ArviZ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ebbtide._sampler import Sampler


def to_arviz(sampler: Sampler, draws: int, chains: int, names: Sequence[str] | None, seed: int) -> Any:
    """Chains, their weights, and the sampler's figures."""
    arviz, is_tree = _arviz()
    runs = [sampler._trained.chain(draws, seed + chain) for chain in range(chains)]
    states = np.stack([points for points, _, _ in runs])
    if names is not None and len(names) != sampler.dim:
        raise ValueError(f"there are {sampler.dim} coordinates and {len(names)} names")
    columns = {name: states[:, :, place] for place, name in enumerate(names or ())}
    posterior = columns or {"x": states}
    statistics = {"log_weight": np.stack([weights for _, weights, _ in runs])}
    evaluation = sampler.evaluate()
    figures = {
        "inference_library": "ebbtide",
        "elbo": evaluation.elbo,
        "log_z": evaluation.log_z,
        "log_z_error": evaluation.log_z_error,
        "effective_share": evaluation.ess,
        "pareto_k": float("nan") if evaluation.pareto_k is None else evaluation.pareto_k,
        "acceptance": float(np.mean([acceptance for _, _, acceptance in runs])),
        "verdict": evaluation.verdict,
    }
    if is_tree:
        tree = arviz.from_dict({"posterior": posterior, "sample_stats": statistics})
        tree.attrs.update(figures)
        return tree
    return arviz.from_dict(posterior=posterior, sample_stats=statistics, attrs=figures)


def _arviz() -> tuple[Any, bool]:
    """The module that makes ArviZ's data, and whether those are trees, as they are from ArviZ 1 on."""
    try:
        import arviz
    except ModuleNotFoundError:
        # The part of ArviZ 1 that makes its data is a package of its own.
        import arviz_base

        return arviz_base, True
    return arviz, int(arviz.__version__.split(".")[0]) >= 1
