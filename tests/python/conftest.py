"""What the tests of the package share: densities whose truth is known, and trainings that take a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ebbtide as et

SMALL: dict[str, Any] = {
    "steps": 3,
    "iterations": 60,
    "batch": 32,
    "threads": 1,
    "settings": {"network.width": 16, "evaluation.samples": 128},
}
"""A training that takes a moment, and learns next to nothing."""


def bowl(x: np.ndarray) -> np.ndarray:
    """A standard Gaussian but for its constant."""
    return -0.5 * (x**2).sum(axis=1)


def bowl_gradient(x: np.ndarray) -> np.ndarray:
    return -x


@pytest.fixture(scope="session")
def gaussian() -> et.Sampler:
    """A sampler of a Gaussian that is far away and of uneven width, by a density in NumPy."""
    return et.fit(far, dim=2, grad=far_gradient, steps=4, iterations=800, batch=128, settings={"network.width": 32}, seed=3)


FAR = np.array([300.0, -5.0])
WIDE = np.array([0.01, 50.0])


def far(x: np.ndarray) -> np.ndarray:
    return -0.5 * (((x - FAR) / WIDE) ** 2).sum(axis=1)


def far_gradient(x: np.ndarray) -> np.ndarray:
    return -(x - FAR) / WIDE**2
