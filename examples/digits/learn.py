"""Training: of a classifier by its labels, and of a generator against its critic."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from data import Images, varied
from networks import LATENT, Classifier, Critic, Generator


def batches(count: int, size: int) -> Iterator[Tensor]:
    """Indices of batches without end, every image once before any comes again."""
    while True:
        yield from torch.randperm(count)[: count // size * size].split(size)


def classifier(learn: Images, width: int, epochs: int) -> Classifier:
    """A classifier whose doubt is kept alive by smoothed labels, so that its logarithms stay moderate."""
    network = Classifier(width)
    optimiser = torch.optim.AdamW(network.parameters(), lr=4e-3, weight_decay=0.02)
    steps = epochs * (len(learn.labels) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps)
    for _, chosen in zip(range(steps), batches(len(learn.labels), 64)):
        logits = network(varied(learn.pixels[chosen]))
        loss = functional.cross_entropy(logits, learn.labels[chosen], label_smoothing=0.02)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return network.eval()


class Average:
    """The generator whose weights are the running mean of those in training."""

    def __init__(self, of: nn.Module, decay: float) -> None:
        self.network, self.decay = copy.deepcopy(of), decay

    @torch.no_grad()
    def follow(self, network: nn.Module) -> None:
        for mean, value in zip(self.network.parameters(), network.parameters()):
            mean.lerp_(value, 1 - self.decay)

    @torch.no_grad()
    def settle(self, rounds: int = 40) -> nn.Module:
        """With statistics of its batch norms that belong to its own weights."""
        for layer in self.network.modules():
            if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                layer.reset_running_stats()
                layer.momentum = None
        self.network.train()
        for _ in range(rounds):
            self.network(torch.randn(256, LATENT))
        return self.network.eval()


def steepness(critic: Critic, real: Tensor) -> Tensor:
    """The mean squared gradient of the critic at real images, R1."""
    real = real.detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(real).sum(), real, create_graph=True)
    return slope.square().sum((1, 2, 3)).mean()


def generator(learn: Images, steps: int, batch: int = 64, penalty: float = 0.02, every: int = 4) -> Generator:
    """Non-saturating loss, R1 every few steps, and all images varied before the critic sees them."""
    network, critic = Generator(), Critic()
    average = Average(network, 0.998)
    draw = torch.optim.Adam(network.parameters(), lr=1e-3, betas=(0.0, 0.99))
    judge = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.99))
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(each, steps, eta_min=1e-4) for each in (draw, judge)]
    for step, chosen in zip(range(steps), batches(len(learn.labels), batch)):
        real = varied(learn.pixels[chosen], share=0.7)
        fake = varied(network(torch.randn(batch, LATENT)), share=0.7)
        loss = functional.softplus(-critic(real)).mean() + functional.softplus(critic(fake.detach())).mean()
        if step % every == 0:
            loss = loss + 0.5 * penalty * every * steepness(critic, real)
        judge.zero_grad()
        loss.backward()
        judge.step()

        deceit = functional.softplus(-critic(fake)).mean()
        draw.zero_grad()
        deceit.backward()
        draw.step()
        average.follow(network)
        for schedule in schedules:
            schedule.step()
        if (step + 1) % 500 == 0:
            print(f"step {step + 1} of {steps}: critic {loss.item():.3f}, generator {deceit.item():.3f}", flush=True)
    return average.settle()
