"""What is asked of a training: Python's values as the settings that the engine reads."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ebbtide._density import Density
from ebbtide._errors import SettingsError

Entries = list[tuple[str, str]]

#: What names of targets are made of.
NAME = re.compile(r"[\w-]+")


@dataclasses.dataclass(frozen=True)
class Formula:
    """A log density in words: ``Formula("-(x0^2 - 4)^2 - 0.5*k*(x1 - x0)^2", dim=2, parameters={"k": 3.0})``.

    Coordinates are ``x0``, ``x1``, …; ``sum(x^2)`` is over all of them. The gradient is derived from the formula.
    """

    text: str
    dim: int
    parameters: Mapping[str, float] = dataclasses.field(default_factory=dict)


def of_target(target: str | Formula | Density, dim: int | None) -> Entries:
    """The settings that say what is sampled."""
    if isinstance(target, str):
        if dim is not None:
            if not NAME.fullmatch(target):
                raise TypeError(f"a formula is written Formula({target!r}, dim={dim!r}); a string alone names a target")
            raise TypeError(f"{target} comes with its dimension; dim is for a density of your own")
        return [("target", target)]
    if isinstance(target, Formula):
        if dim is not None and dim != target.dim:
            raise TypeError(f"the formula has {target.dim} coordinates, and dim says {dim}")
        parameters = [(f"formula.parameters.{name}", value(given)) for name, given in target.parameters.items()]
        return [("target", "formula"), ("formula.log-density", target.text), ("formula.dim", value(target.dim)), *parameters]
    if dim is None:
        raise TypeError("a density of your own needs dim, the number of its coordinates")
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        raise TypeError(f"dim is {dim!r}, but must be a whole number of at least 1")
    answer = "yes" if target.has_gradient else "no"
    return [("target", "given"), ("given.name", target.name), ("given.dim", str(dim)), ("given.gradient", answer)]


def of_place(
    dim: int,
    location: npt.ArrayLike | None,
    scale: npt.ArrayLike | None,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
) -> Entries:
    """The settings that say where a density is and how wide, if anybody does."""
    if location is None and scale is None and bounds is None:
        return []
    if bounds is not None:
        if location is not None or scale is not None:
            raise TypeError("bounds say where a density is and how wide: leave out location and scale")
        low, high = (_coordinates("bounds", bound, dim) for bound in bounds)
        if not (low < high).all():
            raise ValueError(f"bounds are a low and a high end for each coordinate, not {low.tolist()} and {high.tolist()}")
        # As wide as if it filled them evenly, or nearly so.
        location, scale = (low + high) / 2, (high - low) / 4
    if scale is None:
        raise TypeError("location needs scale, which says how wide the density is there")
    where = _coordinates("location", 0.0 if location is None else location, dim)
    wide = _coordinates("scale", scale, dim)
    return [("placement.by", "hand"), ("placement.location", value(where)), ("placement.scale", value(wide))]


def _coordinates(name: str, given: npt.ArrayLike, dim: int) -> npt.NDArray[np.float64]:
    numbers = np.asarray(given, dtype=np.float64)
    if numbers.shape not in ((), (dim,)):
        raise ValueError(f"{name} is a number, or {dim} of them, not an array of shape {numbers.shape}")
    return np.broadcast_to(numbers, (dim,))


def flat(settings: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, str]]:
    """Settings by their full names: ``{"replay": {"ratio": 4}}`` is ``{"replay.ratio": 4}``."""
    for name, given in settings.items():
        key = f"{outer}{name}"
        if isinstance(given, Mapping):
            yield from flat(given, f"{key}.")
        else:
            yield key, value(given)


def value(given: Any) -> str:
    """A value as the engine reads it."""
    if isinstance(given, str):
        return given
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, (list, tuple)):
        return f"[{', '.join(value(each) for each in given)}]"
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return repr(given)
    raise SettingsError(f"a setting is a number, a word or a list of them, not {given!r}")
