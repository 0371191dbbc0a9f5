"""Densities that fail at any moment: the cause comes back, nothing that was saved is lost, and what goes on ends as if nothing had been."""

from __future__ import annotations

import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import bowl, bowl_gradient

import ebbtide as et

Answer = Callable[[np.ndarray], object]

FAULTS: dict[str, tuple[Answer, type[Exception], str]] = {
    "raises": (lambda x: 1 / 0, ZeroDivisionError, "division by zero"),
    "NaN": (lambda x: np.full(len(x), np.nan), et.DensityError, "the log density is NaN at x = ["),
    "+∞": (lambda x: np.full(len(x), np.inf), et.DensityError, "the log density is inf at x = ["),
    "too short": (lambda x: bowl(x)[1:], et.DensityError, "one number for each row"),
    "a matrix": (lambda x: np.zeros((len(x), 2)), et.DensityError, "one number for each row"),
    "words": (lambda x: ["high"] * len(x), et.DensityError, "which is no array of numbers"),
    "nothing": (lambda x: None, et.DensityError, "is there a `return`?"),
}
"""What a density does once, and what comes of it."""

SLOPES: dict[str, tuple[Answer, type[Exception], str]] = {
    "raises": (lambda x: 1 / 0, ZeroDivisionError, "division by zero"),
    "NaN": (lambda x: np.full(x.shape, np.nan), et.DensityError, "the gradient of the log density has NaN in coordinate 0 at x = ["),
    "too short": (lambda x: bowl_gradient(x)[1:], et.DensityError, "a gradient for each row"),
    "one number for each": (lambda x: np.zeros(len(x)), et.DensityError, "a gradient for each row"),
    "nothing": (lambda x: None, et.DensityError, "is there a `return`?"),
}
"""The same for its gradient."""

SETTINGS = {
    "checkpoint.seconds": 0,
    "evaluation.samples": 32,
    "evaluation.every": 10,
    "metrics.every": 5,
    "network.width": 8,
    "local-search.every": 4,
    "local-search.steps": 6,
    "local-search.burn-in": 2,
}
RUN = {"dim": 2, "batch": 8, "steps": 3, "threads": 1, "location": [0, 0], "scale": [1, 1]}
HALF, LENGTH = 20, 40

DRAWING = 3
"""Questions after the training, for the pictures of its page."""


class Failing:
    """A function that is right, but for one call."""

    def __init__(self, right: Answer, fault: Answer, at: int) -> None:
        self.right, self.fault, self.at, self.calls = right, fault, at, 0

    def __call__(self, x: np.ndarray) -> object:
        self.calls += 1
        return self.fault(x) if self.calls == self.at else self.right(x)


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "checkpoints").glob("0*.safetensors"))}


@dataclass
class Whole:
    """A run to which nothing happened: what it draws, and how often it asked, in its first half and in its second."""

    samples: np.ndarray
    half: Path
    densities: tuple[int, int]
    gradients: tuple[int, int]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    never: Answer = lambda x: None  # noqa: E731
    calls = []
    density, gradient = Failing(bowl, never, at=0), Failing(bowl_gradient, never, at=0)
    et.fit(density, grad=gradient, folder=place / "half", settings=SETTINGS, iterations=HALF, **RUN)
    calls.append((density.calls, gradient.calls))
    shutil.copytree(place / "half", place / "run")
    density, gradient = Failing(bowl, never, at=0), Failing(bowl_gradient, never, at=0)
    sampler = et.resume(place / "run", density, grad=gradient, iterations=LENGTH, threads=1)
    calls.append((density.calls, gradient.calls))
    densities, gradients = zip(*calls, strict=True)
    return Whole(sampler.sample(64, seed=3), place / "half", densities, gradients)


def mended(folder: Path, whole: Whole) -> None:
    """With a density in order a run goes on, and ends as it would have."""
    sampler = et.resume(folder, bowl, grad=bowl_gradient, iterations=LENGTH, threads=1)
    assert sampler.iterations == LENGTH and np.array_equal(sampler.sample(64, seed=3), whole.samples)


@pytest.mark.filterwarnings("ignore:the training is done, but its page could not be written")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_density_that_fails_once_costs_nothing_that_was_saved(kind: str, tmp_path: Path, whole: Whole) -> None:
    fault, expected, words = FAULTS[kind]
    moments = random.Random(kind)
    failed = 0
    for turn in range(4):
        first, second = tmp_path / f"{turn}-first", tmp_path / f"{turn}-second"
        # In the first half, where nothing may have been saved yet.
        failing = Failing(bowl, fault, at=moments.randint(2, whole.densities[0] - DRAWING))
        with pytest.raises(expected, match=re.escape(words)) as raised:
            et.fit(failing, grad=bowl_gradient, folder=first, settings=SETTINGS, iterations=HALF, **RUN)
        assert 0 <= raised.value.iteration <= HALF
        mended(first, whole)
        # In the second, with a checkpoint to lose.
        shutil.copytree(whole.half, second)
        before = kept(second)
        failing = Failing(bowl, fault, at=moments.randint(2, whole.densities[1]))
        try:
            et.resume(second, failing, grad=bowl_gradient, iterations=LENGTH, threads=1)
        except expected as error:
            failed += 1
            assert words in str(error) and HALF <= error.iteration <= LENGTH
            after = kept(second)
            assert f"{HALF:09}.safetensors" in before and max(after) >= max(before)
            assert all(after[name] == before[name] for name in after if name in before)
            mended(second, whole)
        else:
            assert failing.at > whole.densities[1] - DRAWING, "only a picture may be lost without a word"
    assert failed >= 2, "hardly any fault was met: they prove nothing"


@pytest.mark.parametrize("kind", SLOPES)
def test_a_gradient_that_fails_once_costs_nothing_either(kind: str, tmp_path: Path, whole: Whole) -> None:
    fault, expected, words = SLOPES[kind]
    moments = random.Random(kind)
    for turn in range(3):
        folder = tmp_path / str(turn)
        shutil.copytree(whole.half, folder)
        before = kept(folder)
        failing = Failing(bowl_gradient, fault, at=moments.randint(1, whole.gradients[1]))
        with pytest.raises(expected, match=re.escape(words)) as raised:
            et.resume(folder, bowl, grad=failing, iterations=LENGTH, threads=1)
        assert HALF <= raised.value.iteration <= LENGTH
        assert max(kept(folder)) >= max(before)
        mended(folder, whole)


def test_a_density_of_nothing_at_all_is_no_error(tmp_path: Path, whole: Whole) -> None:
    moments = random.Random("−∞")
    for turn in range(4):
        failing = Failing(bowl, lambda x: np.full(len(x), -np.inf), at=moments.randint(2, sum(whole.densities)))
        sampler = et.fit(failing, grad=bowl_gradient, folder=tmp_path / str(turn), settings=SETTINGS, iterations=LENGTH, **RUN)
        assert sampler.iterations == LENGTH and np.isfinite(sampler.sample(64, seed=3)).all()


def test_a_density_that_takes_forever_can_be_left(tmp_path: Path, whole: Whole) -> None:
    timers = [threading.Timer(delay, signal.raise_signal, [signal.SIGINT]) for delay in (0.3, 0.8)]

    def forever(x: np.ndarray) -> object:
        for timer in timers:
            timer.start()
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        et.fit(Failing(bowl, forever, at=40), grad=bowl_gradient, folder=tmp_path / "run", settings=SETTINGS, iterations=HALF, **RUN)
    for timer in timers:
        timer.join()
    mended(tmp_path / "run", whole)
