"""What a sampler is worth."""

from __future__ import annotations

import dataclasses
import html
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Bounds on log Z, what weights say, and what it all means. What cannot be known is ``None``."""

    elbo: float
    """Lower bound on log Z."""
    elbo_error: float
    log_z: float
    """Importance-weighted estimate of log Z."""
    log_z_error: float
    eubo: float | None
    """Upper bound on log Z, from exact draws or true samples."""
    eubo_error: float | None
    log_z_true: float | None
    ess: float
    """Effective sample size, as a share of the samples."""
    pareto_k: float | None
    """Tail of the weights: estimates settle where it is below 0.7."""
    w2: float | None
    """2-Wasserstein distance to exact draws."""
    w2_floor: float | None
    """The same between two sets of exact draws."""
    modes: tuple[int, int] | None
    """Modes reached, and modes there are."""
    rewards: dict[str, float | None] | None
    """Of latents: ``log_reward`` and ``diversity`` of what samples are decoded into, and the same of the prior."""
    samples: int
    """How many samples this rests on."""
    verdict: str
    """"good", "usable with weights" or "not to be trusted"; the first two end in "where samples go" if nothing else is known."""
    words: tuple[str, ...]
    """What each figure says, and what to try."""

    @classmethod
    def _of(cls, text: str) -> Evaluation:
        read: dict[str, Any] = json.loads(text)
        outcome = read["outcome"]
        figures = {field.name: outcome.get(field.name) for field in dataclasses.fields(cls)}
        modes = tuple(outcome["modes"]) if outcome.get("modes") else None
        # JSON has no NaN: what is no number there is null.
        for name in ("elbo", "elbo_error", "log_z", "log_z_error", "ess"):
            figures[name] = float("nan") if figures[name] is None else figures[name]
        verdict = read["verdict"] or "not to be trusted"
        return cls(**{**figures, "modes": modes, "verdict": verdict, "words": tuple(read["words"])})

    def _rows(self) -> list[tuple[str, str, str]]:
        def estimate(number: float, error: float | None) -> str:
            return f"{number:.4f} ± {error:.4f}" if error is not None else f"{number:.4f}"

        truth = "" if self.log_z_true is None else f"; the truth is {self.log_z_true:.4f}"
        rows = [
            ("ELBO", estimate(self.elbo, self.elbo_error), "lower bound on log Z"),
            ("log Z", estimate(self.log_z, self.log_z_error), f"importance-weighted{truth}"),
        ]
        if self.eubo is not None:
            rows.append(("EUBO", estimate(self.eubo, self.eubo_error), "upper bound on log Z"))
        rows.append(("ESS", f"{100 * self.ess:.1f} %", f"effective share of the {self.samples} samples"))
        if self.pareto_k is not None:
            rows.append(("k̂", f"{self.pareto_k:.2f}", "tail of the weights; estimates settle where it is below 0.7"))
        if self.w2 is not None and self.w2_floor is not None:
            rows.append(("W2", f"{self.w2:.4f}", f"2-Wasserstein distance; exact samples get {self.w2_floor:.4f}"))
        if self.modes is not None:
            rows.append(("modes", f"{self.modes[0]} of {self.modes[1]}", "reached"))
        if self.rewards is not None:
            own, prior = self.rewards["log_reward"], self.rewards["prior_log_reward"]
            rows.append(("log r", f"{own:.4f}", f"mean log reward; the prior's is {prior:.4f}"))
        return rows

    def __str__(self) -> str:
        # k̂ is two characters that take the room of one.
        lines = [f"  {name:<{8 + name.count(chr(0x302))}}{number:<20}{about}" for name, number, about in self._rows()]
        return "\n".join([f"{self.verdict}", *lines, *(f"  {sentence}" for sentence in self.words)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = "".join(
            "<tr>" + "".join(f'<td style="text-align: left">{html.escape(cell)}</td>' for cell in row) + "</tr>"
            for row in self._rows()
        )
        words = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.words)
        return f"<p><b>{html.escape(self.verdict)}</b></p><table>{cells}</table><ul>{words}</ul>"
