"""Trainings: begun, gone on with, and opened again."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ebbtide import _ebbtide
from ebbtide._arguments import Entries, Formula, flat, of_place, of_target, value
from ebbtide._density import Density, Gradient, Precision
from ebbtide._errors import RunError
from ebbtide._interrupt import listening
from ebbtide._progress import Display, Silent, display
from ebbtide._sampler import Sampler

LogDensity = Callable[[Any], Any]

NO_GRADIENT = (
    "the density comes without its gradient, so there is no local search, and reverse KL (pis-…) is out of the question: modes far "
    'from where samples begin to go may never be found. grad="torch" or grad="jax" differentiates for you; a function of your own '
    "will do as well"
)


def fit(
    target: str | Formula | LogDensity,
    dim: int | None = None,
    *,
    steps: int | None = None,
    method: str | None = None,
    grad: Gradient = None,
    dtype: Precision = None,
    location: npt.ArrayLike | None = None,
    scale: npt.ArrayLike | None = None,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    iterations: int | None = None,
    batch: int | None = None,
    seed: int | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: bool | None = None,
) -> Sampler:
    """Trains a sampler of a density known up to a constant.

    ``target`` is a function from an (n, dim) array of points to n log densities; or a name (``targets()`` lists them); or a
    ``Formula``. The same seed gives the same bits on any number of threads.

    - ``grad``: a function from points to (n, dim) gradients, or ``"torch"`` or ``"jax"``, which differentiate ``target`` (it then gets
      tensors or JAX arrays). Without one there is no local search, and modes are more easily missed.
    - ``dtype``: the precision of points, if not double (PyTorch and JAX get their own default).
    - ``location``, ``scale`` or ``bounds``: where the density is and how wide, by a number or one for each coordinate. By
      default a short pilot finds out. Nothing is cut off at bounds.
    - ``steps``: from the origin to a sample (5); ``method``: how the two processes learn (``methods()``; ``"tb-tb"``);
      ``iterations`` (25,000) of ``batch`` (512) trajectories; ``preset``: ``"recommended"`` or ``"paper"``; ``settings``: any other
      (``configuration()`` prints them all), as in ``{"replay.ratio": 4}``.
    - ``folder``: where to keep the run, to be loaded or resumed; by default it is kept as long as the sampler is.
    - ``threads``: 0 takes all cores. ``progress``: whether to show it; by default where somebody looks.

    Ctrl-C stops after the iteration and gives back what was learned. What the function raises comes back as itself, with the iteration as
    its attribute.
    """
    asked = target if isinstance(target, (str, Formula)) else Density(target, grad, dtype)
    density = asked if isinstance(asked, Density) else None
    if density is None and (grad is not None or dtype is not None):
        raise TypeError("grad and dtype are for a density of your own; this one comes with its gradient")
    entries = _entries(asked, dim, location, scale, bounds)
    heads = {"steps": steps, "method": method, "iterations": iterations, "batch": batch, "seed": seed, "preset": preset}
    entries += [(key, value(given)) for key, given in heads.items() if given is not None]
    entries += flat(settings or {})
    shown = display(progress)
    if density is not None and not density.has_gradient and isinstance(shown, Silent):
        warnings.warn(NO_GRADIENT, stacklevel=2)
    place = _Place(folder)
    try:
        outcome = _train(entries, density, place, threads, shown)
    except BaseException:
        place.leave()
        raise
    return _trained(outcome, place, density, threads)


def resume(
    folder: str | os.PathLike[str],
    log_density: LogDensity | None = None,
    *,
    grad: Gradient = None,
    dtype: Precision = None,
    iterations: int | None = None,
    threads: int = 0,
    progress: bool | None = None,
) -> Sampler:
    """Goes on with a run that was stopped, or makes one longer, to the bits of a run that was never stopped.

    A density of your own is not in the folder and has to be brought again, as it was.
    """
    density = None if log_density is None else Density(log_density, grad, dtype)
    place = _Place(folder)
    with listening() as stop:
        told = _ebbtide.resume(place.path, density, iterations, threads, stop, display(progress))
    return _trained(json.loads(told), place, density, threads)


def load(
    folder: str | os.PathLike[str],
    log_density: LogDensity | None = None,
    *,
    grad: Gradient = None,
    dtype: Precision = None,
    checkpoint: str = "last",
    threads: int = 0,
) -> Sampler:
    """Opens the sampler of a run, whoever trained it: this package or the ``ebbtide`` command.

    Samples need nothing else. Weights need the density, and one of your own is not in the folder: bring it, with ``grad`` if it was
    trained with one. ``checkpoint`` is ``"last"`` or ``"best"``.
    """
    density = None if log_density is None else Density(log_density, grad, dtype)
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"there is no folder {path}")
    return Sampler(_ebbtide.Trained(path, checkpoint, density, threads), path, density, threads)


def configuration(target: str | Formula, **settings: Any) -> str:
    """All settings of a training in TOML, with comments: ``print(configuration("25gmm", method="tb-tlm"))``."""
    return _ebbtide.configuration([*of_target(target, None), *flat(settings)])


def _entries(
    target: str | Formula | Density,
    dim: int | None,
    location: npt.ArrayLike | None,
    scale: npt.ArrayLike | None,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
) -> Entries:
    coordinates = _ebbtide.NamedDensity(target).dim if isinstance(target, str) and target in _ebbtide.targets() else None
    if isinstance(target, Formula):
        coordinates = target.dim
    return [*of_target(target, dim), *of_place(coordinates or dim or 1, location, scale, bounds)]


def _train(entries: Entries, density: Density | None, place: _Place, threads: int, shown: Display) -> dict[str, Any]:
    with listening() as stop:
        outcome: dict[str, Any] = json.loads(_ebbtide.train(entries, density, place.path, threads, stop, shown))
    return outcome


def _trained(outcome: dict[str, Any], place: _Place, density: Density | None, threads: int) -> Sampler:
    """The sampler that a training left, and a word where it did not end well."""
    which = "last"
    if outcome["status"] == "diverged":
        warnings.warn(
            f"training diverged at iteration {outcome['at']}: {outcome['reason']}. The sampler has the best weights before; a smaller learning "
            "rate (optimisation.generation-rate), less exploration or another seed may help",
            stacklevel=3,
        )
        which = "best"
    try:
        sampler = Sampler(_ebbtide.Trained(place.path, which, density, threads), place.path, density, threads)
    except RunError as error:
        if outcome["status"] != "diverged":
            raise
        raise RunError(f"training diverged at iteration {outcome['at']}, before anything was learned: {outcome['reason']}") from error
    if place.holder is None:
        try:
            sampler.report(place.path / "report.html")
        except Exception as error:  # a page is not worth a training
            warnings.warn(f"the training is done, but its page could not be written: {error}", stacklevel=3)
    else:
        sampler._hold(place.holder)
    return sampler


class _Place:
    """The folder of a run: somebody's, or one that goes with the sampler."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.holder = tempfile.TemporaryDirectory(prefix="ebbtide-") if folder is None else None
        self.path = Path(self.holder.name, "run") if self.holder else Path(os.fspath(folder or ""))
        self.is_new = not self.path.exists()

    def leave(self) -> None:
        """Takes away what a training left that never began."""
        if self.is_new and not (self.path / "config.toml").exists():
            shutil.rmtree(self.path, ignore_errors=True)
