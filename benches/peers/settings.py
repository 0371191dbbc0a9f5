"""What all programs agree upon: constants of the processes and of the optimisers, time grids, the target.

The same numbers as Ebbtide's own (`crates/ebbtide-bench/src/case.rs` and the preset of 25GMM).
"""

from dataclasses import dataclass

import numpy as np

SIGMA_SQUARED = 5.0
C1 = 4.0  # bound of the learned log-variance of the generation process
C2 = 0.9  # bound of the learned corrections of the destruction process
DRIFT_BOUND = 1e4

RATE = 1e-3
LOG_Z_RATE = 0.1
WEIGHT_DECAY = 1e-7
CLIP = 200.0
TAU = 0.05  # how fast the lagging network follows

GRID_OF_MEANS = [-10.0, -5.0, 0.0, 5.0, 10.0]
TARGET_VARIANCE = 0.3


@dataclass(frozen=True)
class Case:
    """One size of problem; `batch` is the number of draws where samples are drawn."""

    d: int
    width: int
    depth: int
    steps: int
    batch: int

    @classmethod
    def of(cls, request):
        d, width, depth, steps = (request[name] for name in ("d", "width", "depth", "steps"))
        return cls(d, width, depth, steps, request["count"] if "count" in request else request["batch"])


def is_plain(request):
    """Whether a work is wanted as a user would write it first, instead of as fast as we found."""
    return request.get("form") == "plain"


def uniform_times(steps):
    """t_0 … t_T with steps of equal length."""
    return np.linspace(0, 1, steps + 1, dtype=np.float32)


def harmonic_times(steps):
    """t_0 … t_T with lengths in the ratio 1 : 1/2 : 1/3 : …, as for the paper's mixtures."""
    lengths = 1 / np.arange(1, steps + 1)
    times = np.concatenate([[0], np.cumsum(lengths) / lengths.sum()])
    times[-1] = 1
    return times.astype(np.float32)


def means_of_25gmm():
    """The 25 means, first coordinate slowest."""
    return np.array([(a, b) for a in GRID_OF_MEANS for b in GRID_OF_MEANS], dtype=np.float32)


def walks(case):
    """Random walks to learn from, [T+1][B][d], and a log density of their ends."""
    draws = np.random.default_rng(0).standard_normal((case.steps, case.batch, case.d), dtype=np.float32)
    states = np.concatenate([np.zeros_like(draws[:1]), draws.cumsum(0)])
    return states, -(states[-1] ** 2).sum(-1)
