"""A trained sampler."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from ebbtide import _ebbtide
from ebbtide._density import Density
from ebbtide._evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = npt.NDArray[np.float32]


class Sampler:
    """A sampler that a training left: ``fit`` trains one, ``load`` opens one.

    Calls that draw take a ``seed``. Without one, each call continues where the one before ended: other samples each time, and the same
    ones in each process.
    """

    def __init__(self, trained: _ebbtide.Trained, folder: Path, density: Density | None, threads: int) -> None:
        self._trained, self._folder, self._density, self._threads = trained, folder, density, threads
        self._name, self._method, self._steps, self._seed, self._iterations = trained.about()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._calls = 0

    def _hold(self, temporary: tempfile.TemporaryDirectory[str]) -> None:
        """Keeps a folder for as long as the sampler is there."""
        self._temporary = temporary

    @property
    def folder(self) -> Path | None:
        """Where the run is kept, if anywhere but with this sampler."""
        return None if self._temporary is not None else self._folder

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._trained.dim

    @property
    def steps(self) -> int:
        """Steps from the origin to a sample."""
        return self._steps

    @property
    def iterations(self) -> int:
        """Iterations that made it."""
        return self._iterations

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by name."""
        return {key: _plain(text) for key, text in self._trained.settings()}

    @property
    def placement(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
        """Location and scale of the coordinates that it learned in, if they are not the density's own."""
        found = self._trained.placement()
        return None if found is None else (np.array(found[0]), np.array(found[1]))

    @property
    def history(self) -> list[dict[str, Any]]:
        """The training's curves: a record for each line of its metrics."""
        with open(self._folder / "metrics.jsonl", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    @property
    def outcome(self) -> dict[str, Any] | None:
        """What the training came to, if it ended: its status, figures, and how long it took."""
        try:
            read: dict[str, Any] = json.loads((self._folder / "result.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return read

    @overload
    def sample(self, n: int = ..., *, weights: Literal[False] = ..., seed: int | None = ...) -> Points: ...
    @overload
    def sample(
        self, n: int = ..., *, weights: Literal[True], seed: int | None = ...
    ) -> tuple[Points, npt.NDArray[np.float64]]: ...
    def sample(
        self, n: int = 1000, *, weights: bool = False, seed: int | None = None
    ) -> Points | tuple[Points, npt.NDArray[np.float64]]:
        """Independent samples, (n, dim); with the logarithms of their importance weights, if asked for.

        Normalised, the weights make expectations under the density consistent, and their mean is an estimate of Z.
        """
        if weights:
            return self._trained.weighted(_count(n), self._next(seed))
        return self._trained.sample(_count(n), self._next(seed))

    def resample(self, n: int = 1000, *, seed: int | None = None) -> Points:
        """Samples chosen by importance weight among four times as many: exact as n grows. Samples of large weight are repeated."""
        return self._trained.resample(_count(n), self._next(seed))

    def chain(self, n: int = 1000, *, seed: int | None = None) -> Points:
        """A Markov chain that goes along with each sample or stays (independence Metropolis): exact as n grows."""
        return self._trained.chain(_count(n), self._next(seed))[0]

    def trajectories(self, n: int = 1000, *, seed: int | None = None) -> tuple[Points, npt.NDArray[np.float64]]:
        """Whole paths from the origin to samples, (n, steps + 1, dim), and the times of their states."""
        paths, times = self._trained.trajectories(_count(n), self._next(seed))
        return paths, np.array(times)

    def evaluate(
        self, samples: int = 4096, *, true_samples: npt.ArrayLike | None = None, seed: int = 0
    ) -> Evaluation:
        """What the sampler is worth: bounds on log Z, effective samples, Pareto k̂, and what they mean.

        ``true_samples``, (n, dim), say what upper bounds need to know: without them, or a target that can be drawn from, modes that were
        never visited do not show.
        """
        truth = None if true_samples is None else np.ascontiguousarray(true_samples, dtype=np.float64)
        if truth is not None and (truth.ndim != 2 or truth.shape[1] != self.dim or len(truth) < 2):
            raise ValueError(f"true samples are an array of shape (n, {self.dim}), not {truth.shape}")
        if truth is not None and not np.isfinite(truth).all():
            raise ValueError(f"row {int(np.argmin(np.isfinite(truth).all(axis=1)))} of the true samples is not finite")
        return Evaluation._of(self._trained.evaluate(max(2, _count(samples)), seed, truth))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Keeps the whole run in a new folder, for ``load``, ``resume`` and the ``ebbtide`` command."""
        path = Path(folder)
        if path.exists():
            raise FileExistsError(f"{path} exists already; a run is saved in a new folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as beside:
            copy = shutil.copytree(self._folder, Path(beside, "run"), ignore=shutil.ignore_patterns("lock"))
            os.rename(copy, path)
        return path

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes a page to look at: curves, samples, both processes, weights. One file that loads nothing."""
        _ebbtide.write_report(self._folder, Path(path), self._density, self._threads)
        return Path(path)

    def to_arviz(self, *, draws: int = 1000, chains: int = 4, names: Sequence[str] | None = None, seed: int = 0) -> Any:
        """Independence-Metropolis chains and their weights for ArviZ: InferenceData, or a DataTree from ArviZ 1 on.

        ``az.summary`` and ``az.plot_pair`` work on it. ``names`` makes a variable of each coordinate. ``attrs`` has the figures.
        """
        from ebbtide._arviz import to_arviz

        return to_arviz(self, draws, chains, names, seed)

    def plot(self, n: int = 2000, *, coordinates: Sequence[int] | None = None, seed: int = 0) -> Figure:
        """Samples by pairs of coordinates, and each coordinate by itself, beside what weights make of it."""
        from ebbtide._plot import plot

        return plot(self, n, coordinates, seed)

    def _next(self, seed: int | None) -> int:
        if seed is not None:
            return seed
        self._calls += 1
        return self._calls - 1

    def __repr__(self) -> str:
        return f"Sampler({self._name}, {self._method}, dim={self.dim}, steps={self.steps}, {self._iterations} iterations)"


def _count(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"the number of samples is {n!r}, but must be a whole number of at least 1")
    return int(n)


def _plain(text: str) -> Any:
    """A value of TOML's, which is one of JSON's but for numbers like 1e-3 or inf."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        try:
            return float(text)
        except ValueError:
            return text
