"""The local search of the research code, and the two ways to write its density."""

import math

import torch
from torch.distributions import MultivariateNormal

from settings import TARGET_VARIANCE, means_of_25gmm
from torch_network import log_25gmm

STEPS, BURN_IN = 200, 100
STEP_SIZE, ACCEPTANCE, ADJUSTMENT, LOOK_EVERY = 0.1, 0.574, 0.01, 5


def listed_density():
    """log density of 25GMM as the research code has it: a list of 25 distributions, asked one by one."""
    covariance = TARGET_VARIANCE * torch.eye(2)
    components = [MultivariateNormal(mean, covariance) for mean in torch.from_numpy(means_of_25gmm())]

    def log_density(x):
        logs = torch.stack([component.log_prob(x) for component in components])
        return torch.logsumexp(logs, 0) - math.log(len(components))

    return log_density


def batched_density():
    """The same in a handful of calls for all components together, as a careful user might write it."""
    return log_25gmm


def local_search(x, log_density):
    """Adjusted Langevin chains from x [n][2]: accepted proposals after the burn-in, with their values.

    As in the research code, a step evaluates the density three times and differentiates it twice.
    """
    size, accepted, proposed, rate = STEP_SIZE, 0, 0, 0.0
    points, values, value = [], [], log_density(x)
    for step in range(STEPS):
        x = x.detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(log_density(x).sum(), x)
        if step > 0:
            size *= 1 + ADJUSTMENT if rate > ACCEPTANCE else 1 - ADJUSTMENT
        proposal = x + size * slope + math.sqrt(2 * size) * torch.randn_like(x)
        proposed_value = log_density(proposal)
        (proposed_slope,) = torch.autograd.grad(log_density(proposal).sum(), proposal)
        forth = ((proposal - x - size * slope) ** 2).sum(1)
        back = ((x - proposal - size * proposed_slope) ** 2).sum(1)
        ratio = proposed_value - value + (forth - back) / (4 * size)
        taken = torch.rand(len(x)) < ratio.clamp(max=0).exp()
        accepted, proposed = accepted + taken.sum().item(), proposed + len(x)
        x, proposal, proposed_value = x.detach(), proposal.detach(), proposed_value.detach()
        if step >= BURN_IN:
            points.append(proposal[taken])
            values.append(proposed_value[taken])
        x[taken], value[taken] = proposal[taken], proposed_value[taken]
        if step % LOOK_EVERY == 0:
            rate, accepted, proposed = accepted / proposed, 0, 0
    return torch.cat(points), torch.cat(values)
