"""Draws that are exact as there are many of them, and calibration as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL, bowl, bowl_gradient
from scipy import stats

import ebbtide as et


def two_humps(x: np.ndarray) -> np.ndarray:
    """Two Gaussians, 3 : 1, at ±2, both of width 0.7."""
    left, right = (-0.5 * ((x + 2) / 0.7) ** 2, -0.5 * ((x - 2) / 0.7) ** 2)
    return np.logaddexp(np.log(3) + left, right).sum(axis=1)


def two_humps_gradient(x: np.ndarray) -> np.ndarray:
    left, right = (-0.5 * ((x + 2) / 0.7) ** 2, -0.5 * ((x - 2) / 0.7) ** 2)
    share = 1 / (1 + np.exp(right - left) / 3)
    return -(share * (x + 2) + (1 - share) * (x - 2)) / 0.7**2


MEAN, VARIANCE = -1.0, 0.7**2 + 3.0
"""Of either coordinate: 0.75 · −2 + 0.25 · 2, and 0.49 + 4 − 1."""


@pytest.fixture(scope="module")
def poor() -> et.Sampler:
    """A sampler that has hardly learned anything: one broad hump where there should be two."""
    return et.fit(two_humps, dim=2, grad=two_humps_gradient, location=0.0, scale=2.5, **{**SMALL, "iterations": 5})


def test_a_poor_sampler_is_poor(poor: et.Sampler) -> None:
    x = poor.sample(100_000, seed=0)
    assert np.abs(x.mean(axis=0) - MEAN).max() > 0.5


def test_chains_from_a_poor_sampler_have_the_right_moments(poor: et.Sampler) -> None:
    x = poor.chain(400_000, seed=0).astype(np.float64)
    assert np.abs(x.mean(axis=0) - MEAN).max() < 0.04
    assert np.abs(x.var(axis=0) - VARIANCE).max() < 0.08
    # 9 : 3 : 3 : 1
    left = x < 0
    corners = [np.mean((left[:, 0] == a) & (left[:, 1] == b)) for a in (True, False) for b in (True, False)]
    assert np.abs(np.array(corners) - np.array([9, 3, 3, 1]) / 16).max() < 0.015


def test_resampled_draws_from_a_poor_sampler_have_the_right_moments(poor: et.Sampler) -> None:
    x = poor.resample(200_000, seed=0).astype(np.float64)
    assert np.abs(x.mean(axis=0) - MEAN).max() < 0.04
    assert np.abs(x.var(axis=0) - VARIANCE).max() < 0.08


def test_weights_are_log_density_and_both_processes(poor: et.Sampler) -> None:
    x, log_w = poor.sample(200_000, weights=True, seed=3)
    w = np.exp(log_w - log_w.max())
    assert abs(np.log(w.mean()) + log_w.max() - 2 * np.log(4 * 0.7 * np.sqrt(2 * np.pi))) < 0.02
    assert np.abs((w[:, None] * x).sum(axis=0) / w.sum() - MEAN).max() < 0.04


def test_simulated_posteriors_rank_their_parameters_evenly() -> None:
    """Simulation-based calibration (Talts et al., 2018): y ~ N(θ, 0.6²), four times, with θ ~ N(0, 1) in two dimensions."""
    rng = np.random.default_rng(1)
    ranks = []
    for trial in range(48):
        theta = rng.normal(size=2)
        y = theta + 0.6 * rng.normal(size=(4, 2))

        def log_density(x: np.ndarray, y: np.ndarray = y) -> np.ndarray:
            return bowl(x) - 0.5 * (((y[:, None] - x) / 0.6) ** 2).sum(axis=(0, 2))

        def gradient(x: np.ndarray, y: np.ndarray = y) -> np.ndarray:
            return bowl_gradient(x) + (y[:, None] - x).sum(axis=0) / 0.36

        sampler = et.fit(log_density, dim=2, grad=gradient, seed=trial, **{**SMALL, "iterations": 150, "batch": 64})
        x = sampler.resample(1550, seed=trial)[::50]
        ranks.extend((x < theta).sum(axis=0))
    counts = np.bincount(np.array(ranks) // 4, minlength=8)
    assert counts.sum() == 96 and len(counts) == 8
    assert stats.chisquare(counts).pvalue > 0.01, counts
