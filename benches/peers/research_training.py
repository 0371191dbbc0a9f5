"""The research code's training loop: kernels asked step by step, and what an iteration consists of."""

import time
from collections import defaultdict
from contextlib import contextmanager

import torch

from research_buffers import Replay, TerminalStates
from research_search import batched_density, local_search
from settings import C2, SIGMA_SQUARED, TARGET_VARIANCE, Case, harmonic_times, means_of_25gmm
from torch_learner import Learner
from torch_network import LOG_TAU, drift_and_variance

CASE = Case(d=2, width=64, depth=2, steps=5, batch=512)
CAPACITY, REPLAY_CAPACITY, REPLAY_RATIO = 600_000, 5000, 2
# Points in the buffer of visited states, and among the finds of local search.
FILLS = {"young": (200 * CASE.batch, 58_000), "full": (CAPACITY, CAPACITY)}
EXPLORATION_RATE = 100 * 0.3**2  # variance added over the whole time, at the beginning of a training


def log_normal(error, variance):
    """log N(error; 0, variance), summed over coordinates."""
    return -0.5 * (error**2 / variance + variance.log() + LOG_TAU).sum(-1)


class Kernels:
    """Both kernels of a network, one step at a time, each trajectory with its own times."""

    def __init__(self, network):
        self.network = network

    def hidden(self, x, t):
        return self.network.trunk(x[:, None], t)[:, 0]

    def generation(self, x, t, dt):
        """Mean and variance of x_i → x_{i+1}."""
        drift, variance = drift_and_variance(self.network.generation(self.hidden(x, t)), dt[:, None])
        return x + drift * dt[:, None], variance

    def destruction(self, x, t, before):
        """Mean and variance of x_{i+1} → x_i, from time t to the time before."""
        a, b = self.network.destruction(self.hidden(x, t)).tanh().chunk(2, -1)
        ratio, dt = (before / t)[:, None], (t - before)[:, None]
        return (1 + C2 * a) * ratio * x, (1 + C2 * b) * ratio * SIGMA_SQUARED * dt

    def log_probs(self, states, times):
        """log p→ and log p← of trajectories [B][T+1][d]."""
        steps = states.shape[1] - 1
        forward, backward = (torch.zeros(len(states), steps) for _ in range(2))
        for i in range(steps):
            mean, variance = self.generation(states[:, i], times[:, i], times[:, i + 1] - times[:, i])
            forward[:, i] = log_normal(states[:, i + 1] - mean, variance)
            if i > 0:
                mean, variance = self.destruction(states[:, i + 1], times[:, i + 1], times[:, i])
                backward[:, i] = log_normal(states[:, i] - mean, variance)
        return forward.sum(-1), backward.sum(-1)


class Training:
    """A training under way, its buffers filled."""

    def __init__(self, fill, log_density):
        self.learner, self.log_density = Learner(CASE), log_density
        self.live, self.lagging = Kernels(self.learner.live), Kernels(self.learner.lagging)
        self.times = torch.from_numpy(harmonic_times(CASE.steps)).expand(CASE.batch, -1)
        self.replay = Replay(REPLAY_CAPACITY, CASE.steps, CASE.d)
        self.visited, self.found = (self.filled(count) for count in FILLS[fill])
        self.seconds = defaultdict(float)

    def filled(self, count):
        """A buffer of so many points, drawn from the target."""
        means = torch.from_numpy(means_of_25gmm())[torch.randint(25, (count,))]
        points = means + TARGET_VARIANCE**0.5 * torch.randn(count, CASE.d)
        log_density = torch.cat([batched_density()(part) for part in points.split(10_000)])
        return TerminalStates(CAPACITY, CASE.batch, points, log_density)

    @contextmanager
    def clock(self, part):
        begun = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - begun

    def simulate(self):
        """Trajectories of the live generation process with exploration noise, and their log-probabilities."""
        states = torch.zeros(CASE.batch, CASE.steps + 1, CASE.d)
        forward, backward = (torch.zeros(CASE.batch, CASE.steps) for _ in range(2))
        for i in range(CASE.steps):
            x, t, after = states[:, i].clone(), self.times[:, i], self.times[:, i + 1]
            mean, variance = self.live.generation(x, t, after - t)
            deviation = (variance + EXPLORATION_RATE * (after - t)[:, None]).sqrt()
            y = (mean + deviation * torch.randn_like(x)).detach()
            forward[:, i] = log_normal(y - mean, variance)
            if i > 0:
                mean, variance = self.live.destruction(y, after, t)
                backward[:, i] = log_normal(x - mean, variance)
            states[:, i + 1] = y
        return states, forward.sum(-1), backward.sum(-1)

    def destroy(self, ends):
        """Trajectories of the live destruction process from these ends, and their log-probabilities."""
        states = torch.zeros(CASE.batch, CASE.steps + 1, CASE.d)
        states[:, -1] = ends
        forward, backward = (torch.zeros(CASE.batch, CASE.steps) for _ in range(2))
        for i in reversed(range(CASE.steps)):
            y, t, after = states[:, i + 1].clone(), self.times[:, i], self.times[:, i + 1]
            if i > 0:
                mean, variance = self.live.destruction(y, after, t)
                x = (mean + variance.sqrt() * torch.randn_like(y)).detach()
                backward[:, i] = log_normal(x - mean, variance)
                states[:, i] = x
            mean, variance = self.live.generation(states[:, i].clone(), t, after - t)
            forward[:, i] = log_normal(y - mean, variance)
        return states, forward.sum(-1), backward.sum(-1)

    def learn(self, states, forward, backward, log_density, importance=1.0):
        """Both losses against the lagging networks, and a step of both optimisers. Each trajectory's loss."""
        learner = self.learner
        with torch.no_grad():
            lagging_forward, lagging_backward = self.lagging.log_probs(states, self.times)
        residual = learner.log_z + forward - lagging_backward - log_density
        other = learner.log_z.detach() + lagging_forward - backward - log_density
        losses = 0.5 * residual**2
        inputs = [*learner.generation.values(), learner.log_z]
        *generation, log_z = torch.autograd.grad((importance * losses).mean(), inputs)
        destruction = torch.autograd.grad(
            0.5 * (importance * other**2).mean(), list(learner.destruction.values())
        )
        learner.step(generation, destruction, log_z)
        return losses.detach()

    def iterate(self):
        """One iteration without search."""
        with self.clock("updates"):
            states, forward, backward = self.simulate()
            with torch.no_grad():
                log_density = self.log_density(states[:, -1])
            self.learn(states, forward, backward, log_density)
        with self.clock("buffers"):
            self.replay.insert(states, log_density)
            self.visited.insert(states[:, -1], log_density)
        for _ in range(REPLAY_RATIO):
            with self.clock("buffers"):
                places, states, log_density, importance = self.replay.draw(CASE.batch)
            with self.clock("updates"):
                forward, backward = self.live.log_probs(states, self.times)
                losses = self.learn(states, forward, backward, log_density, importance)
            with self.clock("buffers"):
                self.replay.refresh(places, losses)
        with self.clock("buffers"):
            ends, _ = self.found.draw()
        with self.clock("updates"):
            states, forward, backward = self.destroy(ends)
            with torch.no_grad():
                log_density = self.log_density(states[:, -1])
            self.learn(states, forward, backward, log_density)
            self.learner.follow()

    def search(self):
        """What one iteration in a hundred does besides."""
        with self.clock("search"):
            starts, _ = self.visited.draw()
            self.found.insert(*local_search(starts, self.log_density))
