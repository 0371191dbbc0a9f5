"""The two kinds of memory in the research code: terminal states by rank, whole trajectories by priority."""

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class TerminalStates:
    """Points and their log densities as tensors that grow, the oldest dropped beyond the capacity.

    Each insertion copies the tensors, sorts all of them twice for the ranks, and makes a new weighted sampler
    and a loader. A draw is the next batch of the loader at hand, whose items are fetched and stacked one by
    one. A loader that has run out is followed by the latest, which draws as many indices as there are points.
    """

    RANK_OFFSET = 0.01

    def __init__(self, capacity, batch, points, log_density):
        self.capacity, self.batch = capacity, batch
        self.points, self.log_density = points[:0], log_density[:0]
        self.batches = iter(())
        self.insert(points, log_density)

    def insert(self, points, log_density):
        self.points = torch.cat([self.points, points])[-self.capacity :]
        self.log_density = torch.cat([self.log_density, log_density])[-self.capacity :]
        ranks = np.argsort(np.argsort(-self.log_density.numpy()))
        weights = 1 / (self.RANK_OFFSET * len(ranks) + ranks)
        self.loader = DataLoader(
            TensorDataset(self.points, self.log_density),
            batch_size=self.batch,
            sampler=WeightedRandomSampler(weights, len(ranks), replacement=True),
            drop_last=True,
        )

    def draw(self):
        try:
            return next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            return next(self.batches)


class Replay:
    """A ring of trajectories, drawn in proportion to their loss, with importance weights.

    The paper takes this part from torchrl. Here it is a few calls of PyTorch over 5000 priorities: no slower.
    """

    FLOOR, CORRECTION = 1e-8, 0.1

    def __init__(self, capacity, steps, d):
        self.capacity, self.next, self.length, self.largest = capacity, 0, 0, 1.0
        self.states, self.log_density = torch.zeros(capacity, steps + 1, d), torch.zeros(capacity)
        self.priorities = torch.zeros(capacity)

    def insert(self, states, log_density):
        places = (self.next + torch.arange(len(states))) % self.capacity
        self.states[places], self.log_density[places] = states, log_density
        self.priorities[places] = self.largest
        self.next = (self.next + len(states)) % self.capacity
        self.length = min(self.capacity, self.length + len(states))

    def draw(self, count):
        priorities = self.priorities[: self.length] + self.FLOOR
        places = torch.multinomial(priorities, count, replacement=True)
        importance = (priorities[places] / priorities.min()) ** -self.CORRECTION
        return places, self.states[places], self.log_density[places], importance

    def refresh(self, places, losses):
        self.priorities[places] = losses
        self.largest = max(self.largest, losses.max().item())
