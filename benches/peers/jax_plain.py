"""An update and draws in JAX, written as a user would write them first, each one jitted function.

All states go through both heads, and draws through a scan over steps all at once. `jax_peer` has what is faster than that.
"""

import functools

import jax
import jax.numpy as jnp

from jax_network import apply, drift_and_variance, initialise, log_destruction, log_generation, trunk
from settings import uniform_times


def network(parameters, x, t):
    """Raw outputs of both heads at all states."""
    hidden = trunk(parameters, x, t)
    return apply(parameters["generation"], hidden), apply(parameters["destruction"], hidden)


def log_probs(parameters, x, t):
    generation, destruction = network(parameters, x, t)
    return log_generation(x, generation[:-1], t), log_destruction(x, destruction[2:], t)


def drawing(case):
    """What draws so many samples by a key."""
    t, parameters = jnp.asarray(uniform_times(case.steps)), initialise(jax.random.key(0), case)

    @jax.jit
    def draw(parameters, key):
        def step(x, given):
            i, key = given
            dt = t[i + 1] - t[i]
            generation, _ = network(parameters, x[None], t[i][None])
            drift, variance = drift_and_variance(generation[0], dt)
            return x + drift * dt + jnp.sqrt(variance) * jax.random.normal(key, x.shape), None

        steps = jnp.arange(case.steps), jax.random.split(key, case.steps)
        return jax.lax.scan(step, jnp.zeros((case.batch, case.d)), steps)[0]

    return functools.partial(draw, parameters)
