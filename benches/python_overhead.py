"""What it costs that a density is in Python: trainings of 25 Gaussians, with the engine's own density and with one in NumPy.

    pip install . && python benches/python_overhead.py [ROUNDS]

Both train alike; the share of time spent in NumPy itself is told apart from what the way there and back costs. Runs of both kinds alternate, and
the ratio is of medians.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

import ebbtide as et

ITERATIONS = 1500
MEANS = np.array([(a, b) for a in (-10, -5, 0, 5, 10) for b in (-10, -5, 0, 5, 10)], dtype=np.float32)
VARIANCE = np.float32(0.3)


class Timed:
    """25 Gaussians in NumPy, with the time that is spent in here."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._points = self._shares = None

    def _exponents(self, x: np.ndarray) -> np.ndarray:
        inner = x @ MEANS.T
        inner *= 2
        inner -= (MEANS**2).sum(axis=1)
        inner -= (x**2).sum(axis=1, keepdims=True)
        inner /= 2 * VARIANCE
        return inner

    def log_density(self, x: np.ndarray) -> np.ndarray:
        begun = time.perf_counter()
        exponents = self._exponents(x)
        top = exponents.max(axis=1, keepdims=True)
        exponents -= top
        shares = np.exp(exponents, out=exponents)
        sums = shares.sum(axis=1)
        # The gradient is asked for at the same points.
        self._points, self._shares = x, (shares, sums)
        values = np.log(sums) + top[:, 0] - np.float32(np.log(25 * 2 * np.pi * 0.3))
        self.seconds += time.perf_counter() - begun
        return values

    def gradient(self, x: np.ndarray) -> np.ndarray:
        begun = time.perf_counter()
        if self._points is not x:
            self.log_density(x)
        shares, sums = self._shares
        slopes = shares @ MEANS
        slopes /= sums[:, None]
        slopes -= x
        slopes /= VARIANCE
        self.seconds += time.perf_counter() - begun
        return slopes


def settings() -> dict[str, object]:
    """As the target has them by name."""
    text = et.configuration("25gmm", iterations=ITERATIONS)
    heads = ("preset", "method", "steps", "target")
    table, read = "", {}
    for line in text.splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition(" = ")
            if key not in heads:
                read[table + key] = value.strip('"')
    return {**read, "placement.by": "none"}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    own, brought, inside = [], [], []
    truth = et.target("25gmm")
    x = truth.sample(100).astype(np.float32) + np.float32(0.3)
    assert np.abs(Timed().log_density(x) - truth.log_density(x)).max() < 1e-3
    assert np.abs(Timed().gradient(x) - truth.gradient(x)).max() < 1e-2
    alike = settings()
    for _ in range(rounds):
        own.append(et.fit("25gmm", iterations=ITERATIONS, progress=False).outcome["seconds"])
        timed = Timed()
        sampler = et.fit(timed.log_density, dim=2, grad=timed.gradient, dtype=np.float32, settings=alike, progress=False)
        brought.append(sampler.outcome["seconds"])
        inside.append(timed.seconds)
    engine, python, numpy = (statistics.median(each) for each in (own, brought, inside))
    per = 1e3 / ITERATIONS
    print(f"engine's own density   {engine * per:7.3f} ms an iteration ({rounds} runs of {ITERATIONS})")
    print(f"density in NumPy       {python * per:7.3f} ms, of which in NumPy {numpy * per:.3f} ms")
    print(f"overhead               {100 * (python / engine - 1):+.1f} % with NumPy's own time, {100 * ((python - numpy) / engine - 1):+.1f} % without")


if __name__ == "__main__":
    main()
