"""Densities made of ONNX networks, by both engines, beside onnxruntime itself."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ebbtide as et

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "crates" / "ebbtide-onnx" / "tests" / "fixtures"
SMALL = {"network.width": 16, "network.depth": 1, "evaluation.samples": 256}

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(params=["tract", "ort"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("EBBTIDE_PYTHON", sys.executable)
    return str(request.param)


def test_a_network_is_a_density(engine: str) -> None:
    settings = {"onnx.file": str(FIXTURES / "energy.onnx"), "onnx.engine": engine, **SMALL}
    sampler = et.fit("onnx", settings=settings, iterations=60, batch=64, threads=1, progress=False)
    x, log_w = sampler.sample(500, weights=True)
    assert x.shape == (500, 2)
    assert np.isfinite(log_w).all()
    assert sampler.evaluate().rewards is None


def test_latents_are_worth_what_onnxruntime_says(engine: str) -> None:
    files = {name: str(FIXTURES / f"{file}.onnx") for name, file in [("generator", "plane"), ("reward", "reward")]}
    settings = {f"latent.{name}": file for name, file in files.items()} | {"latent.beta": 3.0, "latent.engine": engine, **SMALL}
    sampler = et.fit("latent", settings=settings, iterations=150, batch=64, threads=1, progress=False)
    rewards = sampler.evaluate(samples=2048).rewards
    assert rewards is not None

    def answer(file: str, values: np.ndarray) -> np.ndarray:
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, {session.get_inputs()[0].name: values})[0])

    prior = np.random.default_rng(0).standard_normal((20_000, 2)).astype(np.float32)
    for points, name in [(sampler.sample(20_000), "log_reward"), (prior, "prior_log_reward")]:
        values = answer(files["reward"], answer(files["generator"], points)).reshape(-1)
        error = values.std() / np.sqrt(2048)
        assert abs(values.mean() - rewards[name]) < 5 * error, name
    assert rewards["log_reward"] > rewards["prior_log_reward"] + 1
