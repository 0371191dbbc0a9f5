"""A log density as the engine asks for it: whole batches of NumPy arrays, checked."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, Union

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Any NumPy array."""

Precision = Union[npt.DTypeLike, None]
"""The precision of points, or whatever is usual."""

Gradient = Union[Callable[[Any], Any], Literal["torch", "jax"], None]
"""How the gradient of a log density is had: a function of points, a library that differentiates, or not at all."""


class DensityError(ValueError):
    """A log density answered with something that no density can have.

    Attributes: ``row`` of the batch and ``point`` there, where it is about one point, else ``None``; ``iteration`` of the
    training, ``None`` outside of one.
    """

    row: int | None = None
    point: Array | None = None
    iteration: int | None = None


class Density:
    """A batched callable, and how its gradient is had.

    Points are a C-contiguous (n, dim) array: float64, or what PyTorch or JAX use by default where these differentiate;
    ``dtype`` asks for another precision.
    """

    def __init__(self, function: Callable[[Any], Any], grad: Gradient = None, dtype: Precision = None) -> None:
        if not callable(function):
            raise TypeError(f"a log density is a function of points, not {function!r}")
        self.name: str = getattr(function, "__name__", type(function).__name__)
        self.has_gradient = grad is not None
        self._dtype = np.dtype(np.float64 if dtype is None else dtype)
        if isinstance(grad, str):
            if grad not in _LIBRARIES:
                raise ValueError(f'grad is "torch", "jax", a function, or None, not {grad!r}')
            self._value, self._both = _LIBRARIES[grad](function, dtype)
        elif grad is None or callable(grad):
            self._value, self._both = function, _together(function, grad)
        else:
            raise TypeError(f'grad is "torch", "jax", a function, or None, not {grad!r}')

    def value(self, points: Array) -> Array:
        """Log densities of (n, dim) points: n numbers in double precision."""
        return _values(self._value(points.astype(self._dtype, copy=False)), len(points))

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """The same, with the (n, dim) gradients."""
        values, slopes = self._both(points.astype(self._dtype, copy=False))
        return _values(values, len(points)), _slopes(slopes, points.shape)


def _values(answer: Any, count: int) -> Array:
    values = _numbers(answer, "log_density")
    if values.shape != (count,):
        raise DensityError(
            f"log_density was given {count} points, and answered with an array of shape {values.shape}; it must be ({count},): "
            "one number for each row"
        )
    return values


def _slopes(answer: Any, shape: tuple[int, ...]) -> Array:
    slopes = _numbers(answer, "grad")
    if slopes.shape != shape:
        raise DensityError(
            f"grad was given points of shape {shape}, and answered with an array of shape {slopes.shape}; it must be the same: a "
            "gradient for each row"
        )
    return slopes


def _numbers(answer: Any, what: str) -> Array:
    """Whatever a function answers as contiguous double-precision numbers."""
    if hasattr(answer, "detach"):  # PyTorch
        answer = answer.detach().cpu().numpy()
    if answer is None:
        raise DensityError(f"{what} answered with None: is there a `return`?")
    try:
        numbers: Array = np.ascontiguousarray(answer, dtype=np.float64).reshape(np.shape(answer))
    except (TypeError, ValueError) as error:
        raise DensityError(f"{what} answered with {type(answer).__name__}, which is no array of numbers: {error}") from error
    return numbers


def _together(function: Callable[[Any], Any], grad: Callable[[Any], Any] | None) -> Callable[[Array], tuple[Any, Any]]:
    def both(points: Array) -> tuple[Any, Any]:
        if grad is None:
            raise TypeError("this log density has no gradient")
        return function(points), grad(points)

    return both


def _torch(function: Callable[[Any], Any], dtype: Precision) -> tuple[Callable[..., Any], Callable[..., Any]]:
    torch: Any = import_module("torch")

    def tensor(points: Array) -> Any:
        # Shares memory with the array unless the precision changes.
        kind = torch.get_default_dtype() if dtype is None else None
        return torch.from_numpy(points).to(dtype=kind)

    def value(points: Array) -> Any:
        with torch.no_grad():
            return function(tensor(points))

    def both(points: Array) -> tuple[Any, Any]:
        with torch.enable_grad():
            x = tensor(points).detach().requires_grad_()
            values = function(x)
            if not (isinstance(values, torch.Tensor) and values.requires_grad):
                raise DensityError(
                    "grad is \"torch\", but what log_density answers does not depend on its points as far as PyTorch can tell; "
                    "compute it with torch operations, without .detach(), .numpy() or torch.no_grad()"
                )
            (slopes,) = torch.autograd.grad(values.sum(), x)
        return values, slopes

    return value, both


def _jax(function: Callable[[Any], Any], dtype: Precision) -> tuple[Callable[..., Any], Callable[..., Any]]:
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")

    def pull(points: Any) -> tuple[Any, Any]:
        values, back = jax.vjp(function, points)
        return values, back(jnp.ones_like(values))[0]

    value, both = jax.jit(function), jax.jit(pull)
    return lambda points: value(jnp.asarray(points)), lambda points: both(jnp.asarray(points))


_LIBRARIES = {"torch": _torch, "jax": _jax}
