"""Whether the peers compute what Ebbtide computes: same weights, same trajectories, same log-probabilities.

    .venv/bin/python -m unittest test_agreement

The yardstick is a trace of `crates/ebbtide/tests/fixtures/torch`, which Ebbtide's own tests are held against.
"""

import json
import unittest
from pathlib import Path
from unittest.mock import patch

import jax.numpy as jnp
import numpy as np
import torch

import jax_network
import jax_peer
import jax_plain
import points
import research_search
import research_training
import torch_network
import torch_peer
import torch_plain

TRACE = Path(__file__).parents[2] / "crates/ebbtide/tests/fixtures/torch/tb-tb.safetensors"
TYPES = {"F32": np.float32, "F64": np.float64}


def read_trace():
    """Tensors and settings of the trace: a length, a JSON header, and the numbers."""
    content = TRACE.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    metadata = header.pop("__metadata__")
    tensors = {
        name: np.frombuffer(body[slice(*e["data_offsets"])], TYPES[e["dtype"]]).reshape(e["shape"])
        for name, e in header.items()
    }
    return tensors, metadata


def initial(tensors, name):
    return tensors[f"initial/{name}"]


def first_layer(tensors):
    """Both halves of the first backbone layer, [state and time features][width]."""
    halves = (f"shared.backbone.0.{half}.weight" for half in ("state", "time"))
    return np.concatenate([initial(tensors, half) for half in halves])


def dense_names(depth):
    """The trace's name of each linear layer but the first of the backbone, and PyTorch's."""
    yield from {"time.0": "time.0", "time.1": "time.2", "state": "state.0"}.items()
    yield from ((f"backbone.{layer}", f"backbone.{2 * layer}") for layer in range(1, depth))


def in_torch(tensors, dim, width, depth):
    state = {"phase": initial(tensors, "shared.time.phase")}
    state |= {"backbone.0.weight": first_layer(tensors).T}
    state |= {"backbone.0.bias": initial(tensors, "shared.backbone.0.bias")}
    for ours, theirs in dense_names(depth):
        state[f"{theirs}.weight"] = initial(tensors, f"shared.{ours}.weight").T
        state[f"{theirs}.bias"] = initial(tensors, f"shared.{ours}.bias")
    for process in ("generation", "destruction"):
        state[f"{process}.weight"] = initial(tensors, f"{process}.head.weight").T
        state[f"{process}.bias"] = initial(tensors, f"{process}.head.bias")
    network = torch_network.Network(dim, width, depth)
    network.load_state_dict({name: torch.as_tensor(np.array(value)) for name, value in state.items()})
    return network


def in_jax(tensors, depth):
    def dense(name):
        return {part: jnp.asarray(initial(tensors, f"{name}.{part}")) for part in ("weight", "bias")}

    bias = initial(tensors, "shared.backbone.0.bias")
    first = {"weight": jnp.asarray(first_layer(tensors)), "bias": jnp.asarray(bias)}
    trunk = {
        "phase": jnp.asarray(initial(tensors, "shared.time.phase")),
        "time": [dense("shared.time.0"), dense("shared.time.1")],
        "state": dense("shared.state"),
        "backbone": [first] + [dense(f"shared.backbone.{layer}") for layer in range(1, depth)],
    }
    return {"trunk": trunk, "generation": dense("generation.head"), "destruction": dense("destruction.head")}


class Agreement(unittest.TestCase):
    def setUp(self):
        self.tensors, metadata = read_trace()
        self.sizes = [int(metadata[name]) for name in ("dim", "width", "depth")]
        constants = {name: float(metadata[name.lower()]) for name in ("SIGMA_SQUARED", "C1", "C2")}
        for module in (torch_network, jax_network):
            for name, value in constants.items():
                self.enterContext(patch.object(module, name, value))
        paths = self.tensors["states"][0].transpose(1, 0, 2)
        self.states = np.concatenate([np.zeros_like(paths[:1]), paths])
        self.expected = [self.tensors[name] for name in ("log_generation", "log_destruction")]

    def test_log_probabilities_in_torch(self):
        network = in_torch(self.tensors, *self.sizes)
        x, t = torch.from_numpy(self.states), torch.tensor(self.tensors["times"])
        generation, destruction = network(x, t)
        forward = torch_network.log_generation(x, generation, t)
        backward = torch_network.log_destruction(x, destruction, t)
        for found, expected in zip((forward, backward), self.expected):
            np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-4, atol=1e-4)

    def test_log_probabilities_in_jax(self):
        parameters = in_jax(self.tensors, self.sizes[2])
        for peer in (jax_peer, jax_plain):
            found = peer.log_probs(parameters, jnp.asarray(self.states), jnp.asarray(self.tensors["times"]))
            for found, expected in zip(found, self.expected):
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-4)


class Gradients(unittest.TestCase):
    SMALL = {"d": 2, "width": 8, "depth": 2, "steps": 3, "batch": 16}

    def assert_same(self, training):
        """Autograd and the function that is compiled must give the same gradients."""
        networks = training.learner.live, training.learner.lagging
        weights = [{name: value.detach() for name, value in net.named_parameters()} for net in networks]
        inputs = training.inputs()
        found = [gradients(*weights, *inputs) for gradients in (training.by_autograd, training.functional)]
        one, other = ([*generation, *destruction, *log_z] for generation, destruction, *log_z in found)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)

    def test_of_trajectory_balance(self):
        self.assert_same(torch_peer.Balance(self.SMALL, compiled=False))

    def test_of_plain_trajectory_balance(self):
        plain, tuned = (peer.Balance(self.SMALL, compiled=False) for peer in (torch_plain, torch_peer))
        found = plain.gradients(), tuned.by_autograd(None, None, *tuned.inputs())
        one, other = ([*generation, *destruction, log_z] for generation, destruction, log_z in found)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)

    def test_of_reverse_kl(self):
        self.assert_same(torch_peer.ReverseKl(self.SMALL, compiled=False))


class Research(unittest.TestCase):
    """The research code asks step by step; what it finds must be what one pass over all states finds."""

    def setUp(self):
        with patch.dict(research_training.FILLS, tiny=(1000, 1000)):
            self.training = research_training.Training("tiny", torch_network.log_25gmm)

    def assert_log_probs(self, states, forward, backward):
        x, t = states.transpose(0, 1), self.training.times[0]
        generation, destruction = self.training.learner.live(x, t)
        expected = torch_network.log_generation(x, generation, t)
        torch.testing.assert_close(forward, expected, rtol=1e-4, atol=1e-3)
        expected = torch_network.log_destruction(x, destruction, t)
        torch.testing.assert_close(backward, expected, rtol=1e-4, atol=1e-3)

    def test_simulation(self):
        self.assert_log_probs(*self.training.simulate())

    def test_destruction(self):
        ends, _ = self.training.found.draw()
        self.assert_log_probs(*self.training.destroy(ends))

    def test_given_trajectories(self):
        states, *_ = self.training.simulate()
        self.assert_log_probs(states, *self.training.live.log_probs(states, self.training.times))

    def test_densities(self):
        x = 5 * torch.randn(32, 2)
        densities = research_search.listed_density(), research_search.batched_density()
        torch.testing.assert_close(*(density(x) for density in densities), rtol=1e-4, atol=1e-3)

    def test_iteration(self):
        before = self.training.learner.log_z.item()
        self.training.iterate()
        self.training.search()
        self.assertNotEqual(self.training.learner.log_z.item(), before)
        self.assertEqual(set(self.training.seconds), {"updates", "buffers", "search"})


class Points(unittest.TestCase):
    def test_generator(self):
        first = points.mix(np.arange(2, dtype=np.uint64))
        self.assertEqual([hex(value) for value in first], ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"])

    def test_sets_differ(self):
        self.assertFalse(np.array_equal(points.points(0, 8, 3), points.points(1, 8, 3)))


if __name__ == "__main__":
    unittest.main()
