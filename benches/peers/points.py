"""Points for optimal transport, the same number for number as `crates/ebbtide-bench/src/points.rs` draws.

The first two coordinates are 25GMM, all others standard normal. Randomness is SplitMix64 (Steele, Lea and
Flood, 2014) of a counter, with Box and Muller's transform.
"""

import numpy as np

from settings import TARGET_VARIANCE, means_of_25gmm


def points(of, count, d):
    """`count` points of dimension `d` ≥ 2, [count][d]; every set `of` is independent of the others."""
    places = (of * count + np.arange(count, dtype=np.uint64)[:, None]) * np.uint64(d + 1)
    places = places + np.arange(d + 1, dtype=np.uint64)
    values = normal(places[:, :d])
    component = (25 * uniform(2 * places[:, d])).astype(int)
    values[:, :2] = means_of_25gmm()[component] + np.sqrt(TARGET_VARIANCE) * values[:, :2]
    return values.astype(np.float32)


def normal(place):
    """N(0, 1)"""
    return np.sqrt(-2 * np.log(uniform(2 * place))) * np.cos(2 * np.pi * uniform(2 * place + np.uint64(1)))


def uniform(place):
    """Uniform between 0 and 1, neither included."""
    return ((mix(place) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def mix(place):
    """Output number `place` of SplitMix64 with seed 0, counted from 0."""
    with np.errstate(over="ignore"):
        z = (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
