"""Diffusion samplers: learn to draw independent samples from a density known up to a constant.

>>> import ebbtide as et
>>> sampler = et.fit(lambda x: -0.5 * (x**2).sum(axis=1), dim=2)  # doctest: +SKIP
>>> sampler.sample(1000).shape  # doctest: +SKIP
(1000, 2)
"""

from ebbtide._arguments import Formula
from ebbtide._density import DensityError
from ebbtide._ebbtide import __version__, methods, targets
from ebbtide._errors import RunError, SettingsError
from ebbtide._evaluation import Evaluation
from ebbtide._fit import configuration, fit, load, resume
from ebbtide._sampler import Sampler
from ebbtide._targets import Target, target

__all__ = [
    "DensityError",
    "Evaluation",
    "Formula",
    "RunError",
    "Sampler",
    "SettingsError",
    "Target",
    "__version__",
    "configuration",
    "fit",
    "load",
    "methods",
    "resume",
    "target",
    "targets",
]
