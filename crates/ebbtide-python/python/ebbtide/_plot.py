"""Samplers in pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ebbtide._sampler import Sampler

MOST = 4
"""Coordinates that are shown unless others are asked for."""


def plot(sampler: Sampler, n: int, coordinates: Sequence[int] | None, seed: int) -> Figure:
    """A triangle of pairs: marginals on its diagonal, samples below."""
    from matplotlib.figure import Figure

    chosen = list(range(min(sampler.dim, MOST))) if coordinates is None else list(coordinates)
    for coordinate in chosen:
        if not 0 <= coordinate < sampler.dim:
            raise ValueError(f"there is no coordinate {coordinate}: they are 0 to {sampler.dim - 1}")
    points = sampler.sample(n, seed=seed)
    weights = _weights(sampler, n, seed)
    count = len(chosen)
    figure = Figure(figsize=(2.4 * count + 0.8, 2.4 * count + 0.8), layout="constrained")
    grid = figure.subplots(count, count, squeeze=False)
    for row, below in enumerate(chosen):
        for column, beside in enumerate(chosen):
            axes = grid[row, column]
            if column > row:
                axes.set_visible(False)
                continue
            if column == row:
                edges = _edges(points[:, beside])
                axes.hist(points[:, beside], bins=edges, density=True, color="#0a6ebd", alpha=0.35, label="samples")
                if weights is not None:
                    axes.hist(
                        points[:, beside], bins=edges, weights=weights, density=True, histtype="step", color="#b3261e", label="weighted"
                    )
                axes.set_yticks([])
            else:
                axes.scatter(points[:, beside], points[:, below], s=3, alpha=0.4, linewidths=0, color="#0a6ebd")
            if row == count - 1:
                axes.set_xlabel(f"x{beside}")
            if column == 0 and row > 0:
                axes.set_ylabel(f"x{below}")
    if weights is not None:
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper right")
    return figure


def _edges(column: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    low, high = np.quantile(column, [0.001, 0.999])
    return np.linspace(low, high, 60)


def _weights(sampler: Sampler, n: int, seed: int) -> npt.NDArray[np.float64] | None:
    """What the same samples weigh, if the density is there to tell."""
    if sampler._density is None and sampler.settings.get("target") == "given":
        return None
    _, log_weights = sampler.sample(n, weights=True, seed=seed)
    weights: npt.NDArray[np.float64] = np.exp(log_weights - log_weights.max())
    return weights
