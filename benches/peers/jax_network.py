"""Ebbtide's network and kernels in JAX."""

import functools
import math

import jax
import jax.numpy as jnp

from settings import C1, C2, DRIFT_BOUND, SIGMA_SQUARED, TARGET_VARIANCE, means_of_25gmm

LOG_TAU = math.log(2 * math.pi)
gelu = functools.partial(jax.nn.gelu, approximate=False)


def initialise(key, case):
    """Fresh weights: uniform in ±1/√inputs, phases standard normal, heads small."""
    keys = iter(jax.random.split(key, 16 + 2 * case.depth))

    def linear(inputs, outputs):
        bound = 1 / math.sqrt(inputs)
        weight = jax.random.uniform(next(keys), (inputs, outputs), minval=-bound, maxval=bound)
        bias = jax.random.uniform(next(keys), (outputs,), minval=-bound, maxval=bound)
        return {"weight": weight, "bias": bias}

    def head():
        weight = 0.01 * jax.random.normal(next(keys), (case.width, 2 * case.d))
        return {"weight": weight, "bias": jnp.zeros(2 * case.d)}

    h = case.width
    trunk = {
        "phase": jax.random.normal(next(keys), (h,)),
        "time": [linear(2 * h, h), linear(h, h)],
        "state": linear(case.d, h),
        "backbone": [linear(2 * h, h)] + [linear(h, h) for _ in range(case.depth - 1)],
    }
    return {"trunk": trunk, "generation": head(), "destruction": head()}


def apply(layer, x):
    return x @ layer["weight"] + layer["bias"]


def trunk(parameters, x, t):
    """What both heads read at states x [times][B][d], whose times t [times] are encoded once each."""
    parts = parameters["trunk"]
    angle = t[:, None] * jnp.linspace(0.1, 100, parts["phase"].size) + parts["phase"]
    time = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1)
    for layer in parts["time"]:
        time = gelu(apply(layer, time))
    hidden = gelu(apply(parts["state"], x))
    hidden = jnp.concatenate([hidden, jnp.broadcast_to(time[:, None], hidden.shape)], -1)
    for layer in parts["backbone"]:
        hidden = gelu(apply(layer, hidden))
    return hidden


def network(parameters, x, t):
    """Raw outputs of the generation head at steps 0 … T−1 and of the destruction head at 2 … T."""
    hidden = trunk(parameters, x, t)
    return apply(parameters["generation"], hidden[:-1]), apply(parameters["destruction"], hidden[2:])


def drift_and_variance(raw, dt):
    """Of the generation step, from what its head says."""
    f, v = jnp.split(raw, 2, -1)
    return jnp.clip(f, -DRIFT_BOUND, DRIFT_BOUND), jnp.exp(C1 * jnp.tanh(v)) * SIGMA_SQUARED * dt


def log_normal(error, variance):
    """log N(error; 0, variance), summed over coordinates and steps: [steps][B][d] → [B]."""
    return -0.5 * (error**2 / variance + jnp.log(variance) + LOG_TAU).sum((0, -1))


def log_generation(x, raw, t):
    """log p→ of each trajectory, raw outputs at 0 … T−1."""
    dt = (t[1:] - t[:-1])[:, None, None]
    drift, variance = drift_and_variance(raw, dt)
    return log_normal(x[1:] - x[:-1] - drift * dt, variance)


def log_destruction(x, raw, t):
    """log p← of each trajectory, raw outputs at 2 … T; the step to the origin is certain."""
    dt, ratio = (t[2:] - t[1:-1])[:, None, None], (t[1:-1] / t[2:])[:, None, None]
    a, b = jnp.split(jnp.tanh(raw), 2, -1)
    return log_normal(x[1:-1] - (1 + C2 * a) * ratio * x[2:], (1 + C2 * b) * ratio * SIGMA_SQUARED * dt)


def log_25gmm(x):
    """log density of 25GMM at points [n][2]."""
    square = ((x[:, None] - means_of_25gmm()) ** 2).sum(-1)
    constant = math.log(25 * 2 * math.pi * TARGET_VARIANCE)
    return jax.nn.logsumexp(-0.5 / TARGET_VARIANCE * square, -1) - constant
