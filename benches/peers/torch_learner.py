"""Weights in PyTorch, their lagging copy, and an optimiser for each process."""

import copy

import torch
from torch import nn

from settings import CLIP, LOG_Z_RATE, RATE, TAU, WEIGHT_DECAY
from torch_network import Network


class Learner:
    """What an update changes. `adam` goes to the optimisers: which implementation they are to use."""

    def __init__(self, case, **adam):
        torch.manual_seed(0)
        self.live = Network(case.d, case.width, case.depth)
        self.lagging = copy.deepcopy(self.live).requires_grad_(False)
        self.log_z = nn.Parameter(torch.zeros(()))
        self.generation = self.owned("destruction")
        self.destruction = self.owned("generation")
        self.optimisers = [
            torch.optim.Adam(owned.values(), lr=RATE, weight_decay=WEIGHT_DECAY, **adam)
            for owned in (self.generation, self.destruction)
        ]
        self.log_z_optimiser = torch.optim.Adam([self.log_z], lr=LOG_Z_RATE, **adam)

    def owned(self, other):
        """The parameters of one process by name: all but the head of the other."""
        named = self.live.named_parameters()
        return {name: parameter for name, parameter in named if not name.startswith(other)}

    def step(self, generation_gradient, destruction_gradient, log_z_gradient=None):
        """Clips and takes a step with each gradient, given in the order of the parameters."""
        gradients = generation_gradient, destruction_gradient
        for owned, gradient, adam in zip((self.generation, self.destruction), gradients, self.optimisers):
            for parameter, value in zip(owned.values(), gradient):
                parameter.grad = value
            nn.utils.clip_grad_norm_(owned.values(), CLIP, foreach=True)
            adam.step()
        if log_z_gradient is not None:
            self.log_z.grad = log_z_gradient
            self.log_z_optimiser.step()

    @torch.no_grad()
    def follow(self):
        """Lets the lagging weights follow."""
        torch._foreach_lerp_(list(self.lagging.parameters()), list(self.live.parameters()), TAU)
