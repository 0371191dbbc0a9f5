"""An update and draws in PyTorch, written as a user would write them first.

All states go through both heads, the losses are differentiated by autograd, and only they are compiled; Adam is PyTorch's
own choice of implementation; draws go through the network all at once. `torch_peer` has what is faster than that.
"""

import torch
import torch._functorch.config

from settings import Case, uniform_times, walks
from torch_learner import Learner
from torch_network import Network, drift_and_variance, log_destruction, log_generation

# Two gradients go through what one compiled pass has left behind.
torch._functorch.config.donated_buffer = False

EVERYWHERE = {"generation": slice(None), "destruction": slice(None)}


class Balance:
    """One trajectory-balance update of both processes from given trajectories."""

    def __init__(self, request, compiled):
        case = Case.of(request)
        self.learner = Learner(case)
        self.t = torch.from_numpy(uniform_times(case.steps))
        self.x, self.log_density = map(torch.from_numpy, walks(case))
        self.both_losses = torch.compile(self.losses) if compiled else self.losses

    def log_probs(self, network):
        generation, destruction = network(self.x, self.t, **EVERYWHERE)
        return log_generation(self.x, generation[:-1], self.t), log_destruction(self.x, destruction[2:], self.t)

    def losses(self):
        learner = self.learner
        with torch.no_grad():
            lagging_forward, lagging_backward = self.log_probs(learner.lagging)
        forward, backward = self.log_probs(learner.live)
        generation = learner.log_z + forward - lagging_backward - self.log_density
        destruction = learner.log_z.detach() + lagging_forward - backward - self.log_density
        return 0.5 * (generation**2).mean(), 0.5 * (destruction**2).mean()

    def gradients(self):
        """Of the generation's parameters, of the destruction's, and of log Z."""
        learner = self.learner
        generation, destruction = self.both_losses()
        inputs = [*learner.generation.values(), learner.log_z]
        *of_generation, of_log_z = torch.autograd.grad(generation, inputs, retain_graph=True)
        return of_generation, torch.autograd.grad(destruction, list(learner.destruction.values())), of_log_z

    def __call__(self):
        self.learner.step(*self.gradients())
        self.learner.follow()


class Sample:
    """Draws from a sampler with fresh noise in each call."""

    def __init__(self, request, compiled):
        self.case = Case.of(request)
        self.t = torch.from_numpy(uniform_times(self.case.steps))
        self.network = Network(self.case.d, self.case.width, self.case.depth)
        self.ask = torch.compile(self.network) if compiled else self.network

    @torch.no_grad()
    def __call__(self):
        x = torch.zeros(self.case.batch, self.case.d)
        for i in range(self.case.steps):
            dt = self.t[i + 1] - self.t[i]
            generation, _ = self.ask(x[None], self.t[i : i + 1], **EVERYWHERE)
            drift, variance = drift_and_variance(generation[0], dt)
            x = x + drift * dt + variance.sqrt() * torch.randn_like(x)
        return x
