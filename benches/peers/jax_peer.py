"""The JAX peer: every work one jitted function, its state donated.

usage: jax_peer.py [--threads N]

XLA takes all cores that its process may use, so the number of threads is set from outside. A request whose `form` is
`plain` is about what `jax_plain` has.
"""

import argparse
import functools

import jax
import jax.numpy as jnp
import optax

import jax_plain
from jax_network import apply, drift_and_variance, initialise, log_25gmm
from jax_network import log_destruction, log_generation, network, trunk
from settings import CLIP, LOG_Z_RATE, RATE, TAU, WEIGHT_DECAY, Case, harmonic_times, is_plain, uniform_times, walks
from worker import Work, serve

# Samples are drawn in blocks whose activations stay in the cache, which is faster than all at once.
BLOCK = 4000

process_optimiser = optax.chain(
    optax.clip_by_global_norm(CLIP), optax.add_decayed_weights(WEIGHT_DECAY), optax.adam(RATE)
)
log_z_optimiser = optax.adam(LOG_Z_RATE)


def owned(parameters, process):
    """The parameters of one process: the trunk's and its own head's."""
    return {"trunk": parameters["trunk"], process: parameters[process]}


def fresh_state(case):
    live = initialise(jax.random.key(0), case)
    log_z = jnp.zeros(())
    return {
        "live": live,
        "lagging": jax.tree.map(jnp.copy, live),
        "log_z": log_z,
        "generation": process_optimiser.init(owned(live, "generation")),
        "destruction": process_optimiser.init(owned(live, "destruction")),
        "log_z_moments": log_z_optimiser.init(log_z),
    }


def stepped(state, gradients, log_z_gradient=None):
    """One step of each optimiser, and the lagging network after them."""
    state = dict(state)
    for process in ("generation", "destruction"):
        mine = owned(state["live"], process)
        gradient = owned(gradients[process], process)
        change, state[process] = process_optimiser.update(gradient, state[process], mine)
        state["live"] = state["live"] | optax.apply_updates(mine, change)
    if log_z_gradient is not None:
        change, state["log_z_moments"] = log_z_optimiser.update(log_z_gradient, state["log_z_moments"])
        state["log_z"] = optax.apply_updates(state["log_z"], change)
    state["lagging"] = optax.incremental_update(state["live"], state["lagging"], TAU)
    return state


def log_probs(parameters, x, t):
    generation, destruction = network(parameters, x, t)
    return log_generation(x, generation, t), log_destruction(x, destruction, t)


def repeated(update, state):
    """An update as a work: the state of one call is the next one's."""
    update, held = jax.jit(update, donate_argnums=0), {"state": state}

    def call():
        held["state"] = update(held["state"])

    return Work(call, finish=lambda: jax.block_until_ready(held["state"]))


def balance(request):
    """One trajectory-balance update of both processes from given trajectories."""
    case, ask = Case.of(request), jax_plain.log_probs if is_plain(request) else log_probs
    t = jnp.asarray(uniform_times(case.steps))
    x, log_density = map(jnp.asarray, walks(case))

    def update(state):
        lagging_forward, lagging_backward = ask(state["lagging"], x, t)
        (forward, backward), pull = jax.vjp(lambda live: ask(live, x, t), state["live"])
        generation = (state["log_z"] + forward - lagging_backward - log_density) / case.batch
        destruction = -(state["log_z"] + lagging_forward - backward - log_density) / case.batch
        nothing = jnp.zeros_like(forward)
        (of_generation,), (of_destruction,) = pull((generation, nothing)), pull((nothing, destruction))
        gradients = {"generation": of_generation, "destruction": of_destruction}
        return stepped(state, gradients, generation.sum())

    return repeated(update, fresh_state(case))


def simulate(parameters, key, count, d, t):
    """Trajectories [T+1][count][d] of the generation process, and what its head said at each step.

    Written out step by step: XLA makes faster code of that than of a scan.
    """
    states, raws = [jnp.zeros((count, d))], []
    for i, key in enumerate(jax.random.split(key, len(t) - 1)):
        x, dt = states[-1], t[i + 1] - t[i]
        raws.append(apply(parameters["generation"], trunk(parameters, x[None], t[i : i + 1])[0]))
        drift, variance = drift_and_variance(raws[-1], dt)
        states.append(x + drift * dt + jnp.sqrt(variance) * jax.random.normal(key, x.shape))
    return jnp.stack(states), jnp.stack(raws)


def reverse_kl(request):
    """One iteration by reverse KL on 25GMM, the destruction process learning by VarGrad."""
    case = Case.of(request)
    if case.d != 2:
        raise ValueError("reverse-kl is measured on 25GMM, where d is 2")
    t = jnp.asarray(harmonic_times(case.steps))

    def generation_loss(live, lagging, key):
        x, raw = simulate(live, key, case.batch, case.d, t)
        forward = log_generation(x, raw, t)
        lagging_generation, lagging_destruction = network(lagging, x, t)
        log_density = log_25gmm(x[-1])
        loss = (forward - log_destruction(x, lagging_destruction, t) - log_density).mean() / case.d
        return loss, jax.lax.stop_gradient((x, log_density, log_generation(x, lagging_generation, t)))

    def destruction_loss(live, x, log_density, lagging_forward):
        raw = apply(live["destruction"], trunk(live, x[2:], t[2:]))
        ratio = lagging_forward - log_destruction(x, raw, t) - log_density
        return 0.5 * ((ratio - ratio.mean()) ** 2).mean()

    def update(state):
        key, use = jax.random.split(state["key"])
        generation, seen = jax.grad(generation_loss, has_aux=True)(state["live"], state["lagging"], use)
        destruction = jax.grad(destruction_loss)(state["live"], *seen)
        return stepped(state, {"generation": generation, "destruction": destruction}) | {"key": key}

    return repeated(update, fresh_state(case) | {"key": jax.random.key(1)})


def drawing(case):
    """What draws so many samples by a key."""
    t, parameters = jnp.asarray(uniform_times(case.steps)), initialise(jax.random.key(0), case)
    blocks, rest = divmod(case.batch, BLOCK)

    def ends(parameters, key, count):
        return simulate(parameters, key, count, case.d, t)[0][-1]

    @jax.jit
    def draw(parameters, key):
        key, last = jax.random.split(key)
        parts = jax.lax.map(lambda key: ends(parameters, key, BLOCK), jax.random.split(key, blocks))
        return jnp.concatenate([parts.reshape(-1, case.d), ends(parameters, last, rest)])

    return functools.partial(draw, parameters)


def sample(request):
    """Draws from a sampler with fresh noise in each call."""
    case = Case.of(request)
    draw = (jax_plain.drawing if is_plain(request) else drawing)(case)
    held = {"key": jax.random.key(1), "draws": None}

    def call():
        held["key"], use = jax.random.split(held["key"])
        held["draws"] = draw(use)

    return Work(call, finish=lambda: held["draws"].block_until_ready())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.parse_args()
    serve({"update": balance, "reverse-kl": reverse_kl, "sample": sample})
