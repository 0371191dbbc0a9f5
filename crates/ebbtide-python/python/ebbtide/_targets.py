"""The targets that come along."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ebbtide._ebbtide import NamedDensity


class Target:
    """A density that comes along, as an object to evaluate and to compare with."""

    def __init__(self, name: str) -> None:
        self._density = NamedDensity(name)

    @property
    def name(self) -> str:
        """What it is called."""
        return self._density.name

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._density.dim

    @property
    def log_z(self) -> tuple[float, float, str] | None:
        """log Z, its standard error, and where they come from, if anybody knows."""
        return self._density.log_z

    def log_density(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Log densities, up to a constant, of (n, dim) points."""
        return self._density.log_density(self._points(x))

    def gradient(self, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Gradients of the log density at (n, dim) points."""
        return self._density.gradient(self._points(x))

    def sample(self, n: int, *, seed: int = 0) -> npt.NDArray[np.float32]:
        """Exact, independent draws, where they can be made."""
        return self._density.sample(n, seed)

    def _points(self, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
        points = np.ascontiguousarray(x, dtype=np.float32)
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise ValueError(f"points of {self.name} are an array of shape (n, {self.dim}), not {points.shape}")
        return points

    def __repr__(self) -> str:
        return f"Target({self.name!r}, dim={self.dim})"


def target(name: str) -> Target:
    """A target by name; ``targets()`` lists them."""
    return Target(name)
