"""Ebbtide's network and kernels in PyTorch: what the PyTorch peers have in common."""

import math

import torch
from torch import nn

from settings import C1, C2, DRIFT_BOUND, SIGMA_SQUARED, TARGET_VARIANCE, means_of_25gmm

LOG_TAU = math.log(2 * math.pi)


class Network(nn.Module):
    """Encoders of time and state, a GELU backbone, and a linear head for each process."""

    def __init__(self, d, width, depth):
        super().__init__()
        self.register_buffer("frequency", torch.linspace(0.1, 100, width), persistent=False)
        self.phase = nn.Parameter(torch.randn(width))
        self.time = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.state = nn.Sequential(nn.Linear(d, width), nn.GELU())
        layers = [nn.Linear(2 * width, width), nn.GELU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.GELU()]
        self.backbone = nn.Sequential(*layers)
        self.generation, self.destruction = nn.Linear(width, 2 * d), nn.Linear(width, 2 * d)
        for head in (self.generation, self.destruction):
            nn.init.normal_(head.weight, std=0.01)
            nn.init.zeros_(head.bias)

    def trunk(self, x, t):
        """What both heads read at states x [times][B][d], whose times t [times] are encoded once each."""
        angle = t[:, None] * self.frequency + self.phase
        time = self.time(torch.cat([angle.sin(), angle.cos()], -1))
        state = self.state(x)
        return self.backbone(torch.cat([state, time[:, None].expand_as(state)], -1))

    def forward(self, x, t, generation=slice(0, -1), destruction=slice(2, None)):
        """Raw outputs of both heads, each at its own range of times; `None` leaves a head out."""
        hidden = self.trunk(x, t)
        heads = (self.generation, generation), (self.destruction, destruction)
        return [None if times is None else head(hidden[times]) for head, times in heads]


def drift_and_variance(raw, dt):
    """Of the generation step, from what its head says."""
    f, v = raw.chunk(2, -1)
    return f.clamp(-DRIFT_BOUND, DRIFT_BOUND), torch.exp(C1 * torch.tanh(v)) * SIGMA_SQUARED * dt


def log_normal(error, variance):
    """log N(error; 0, variance), summed over coordinates and steps: [steps][B][d] → [B]."""
    return -0.5 * (error**2 / variance + variance.log() + LOG_TAU).sum((0, -1))


def log_generation(x, raw, t):
    """log p→ of each trajectory, raw outputs at 0 … T−1."""
    dt = (t[1:] - t[:-1])[:, None, None]
    drift, variance = drift_and_variance(raw, dt)
    return log_normal(x[1:] - x[:-1] - drift * dt, variance)


def log_destruction(x, raw, t):
    """log p← of each trajectory, raw outputs at 2 … T; the step to the origin is certain."""
    dt, ratio = (t[2:] - t[1:-1])[:, None, None], (t[1:-1] / t[2:])[:, None, None]
    a, b = raw.tanh().chunk(2, -1)
    return log_normal(x[1:-1] - (1 + C2 * a) * ratio * x[2:], (1 + C2 * b) * ratio * SIGMA_SQUARED * dt)


def log_25gmm(x):
    """log density of 25GMM at points [n][2]."""
    square = ((x[:, None] - torch.from_numpy(means_of_25gmm()).to(x)) ** 2).sum(-1)
    constant = math.log(25 * 2 * math.pi * TARGET_VARIANCE)
    return torch.logsumexp(-0.5 / TARGET_VARIANCE * square, -1) - constant


def simulate(network, noise, t):
    """Trajectories [T+1][B][d] of the generation process, and what its head said at each step."""
    states, raws = [torch.zeros_like(noise[0])], []
    for i, noise in enumerate(noise):
        x, dt = states[-1], t[i + 1] - t[i]
        raw, _ = network(x[None], t[i : i + 1], generation=slice(None), destruction=None)
        drift, variance = drift_and_variance(raw[0], dt)
        raws.append(raw[0])
        states.append(x + drift * dt + variance.sqrt() * noise)
    return torch.stack(states), torch.stack(raws)
