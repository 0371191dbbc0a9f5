"""Densities that fail at any moment: the cause comes back, nothing that was saved is lost, and what goes on ends as if nothing had been."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import bowl, bowl_gradient

import ebbtide as et

FAULTS: dict[str, Callable[[np.ndarray], object]] = {
    "raises": lambda x: 1 / 0,
    "NaN": lambda x: np.full(len(x), np.nan),
    "+∞": lambda x: np.full(len(x), np.inf),
    "too short": lambda x: bowl(x)[1:],
    "a matrix": lambda x: np.zeros((len(x), 2)),
    "words": lambda x: ["high"] * len(x),
    "nothing": lambda x: None,
}
SETTINGS = {"checkpoint.seconds": 0, "evaluation.samples": 32, "evaluation.every": 10, "metrics.every": 5, "network.width": 8}
RUN = {"dim": 2, "grad": bowl_gradient, "iterations": 40, "batch": 8, "steps": 3, "threads": 1, "location": [0, 0], "scale": [1, 1]}

DRAWING = 3
"""Questions after the training, for the pictures of its page."""


class Failing:
    """The bowl, but for one call."""

    def __init__(self, fault: Callable[[np.ndarray], object], at: int) -> None:
        self.fault, self.at, self.calls = fault, at, 0

    def __call__(self, x: np.ndarray) -> object:
        self.calls += 1
        return self.fault(x) if self.calls == self.at else bowl(x)


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").glob("0*.safetensors"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, int]:
    counting = Failing(lambda x: None, at=0)
    sampler = et.fit(counting, folder=tmp_path_factory.mktemp("whole") / "run", settings=SETTINGS, **RUN)
    return sampler.sample(64, seed=3), counting.calls


@pytest.mark.filterwarnings("ignore:the training is done, but its page could not be written")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_density_that_fails_once_costs_nothing_that_was_saved(kind: str, tmp_path: Path, whole: tuple[np.ndarray, int]) -> None:
    samples, calls = whole
    moments = random.Random(kind)
    for turn in range(12):
        folder = tmp_path / str(turn)
        failing = Failing(FAULTS[kind], at=moments.randint(2, calls))
        try:
            sampler = et.fit(failing, folder=folder, settings=SETTINGS, **RUN)
        except Exception as error:
            assert isinstance(error, ZeroDivisionError if kind == "raises" else et.DensityError), error
            assert hasattr(error, "iteration")
            if not folder.exists():  # nothing had begun yet
                continue
            before = kept(folder)
            # With the density in order it goes on, and ends as it would have.
            sampler = et.resume(folder, bowl, grad=bowl_gradient, threads=1)
            assert not before or kept(folder)[-1] >= before[-1]
        else:
            assert failing.at > calls - DRAWING, "only a picture may be lost without a word"
        assert sampler.iterations == 40 and np.array_equal(sampler.sample(64, seed=3), samples)


def test_a_density_that_takes_forever_can_be_left(tmp_path: Path) -> None:
    samples = et.fit(bowl, folder=tmp_path / "whole", settings=SETTINGS, **RUN).sample(64, seed=3)

    def forever(x: np.ndarray) -> object:
        while True:
            time.sleep(0.01)

    timers = [threading.Timer(delay, signal.raise_signal, [signal.SIGINT]) for delay in (0.5, 1.0)]
    for timer in timers:
        timer.start()
    with pytest.raises(KeyboardInterrupt):
        et.fit(Failing(forever, at=60), folder=tmp_path / "run", settings=SETTINGS, **RUN)
    for timer in timers:
        timer.join()
    sampler = et.resume(tmp_path / "run", bowl, grad=bowl_gradient, threads=1)
    assert np.array_equal(sampler.sample(64, seed=3), samples)
