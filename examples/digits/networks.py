"""A generator of digits, its critic, and a classifier: small convolutional networks at 8 × 8 pixels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from data import CLASSES, SIDE

LATENT = 32


def convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)


class Generator(nn.Module):
    """z [batch, 32] → image [batch, 1, 8, 8] in (0, 1)."""

    def __init__(self, seeds: int = 16) -> None:
        super().__init__()
        self.seeds = seeds
        self.place = nn.Sequential(
            nn.Linear(LATENT, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, seeds * SIDE * SIDE),
            nn.BatchNorm1d(seeds * SIDE * SIDE),
            nn.ReLU(),
        )
        self.draw = nn.Sequential(
            convolution(seeds, 64),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            convolution(64, 48),
            nn.BatchNorm2d(48),
            nn.ReLU(),
            convolution(48, 1),
            nn.Sigmoid(),
        )

    def forward(self, z: Tensor) -> Tensor:
        return self.draw(self.place(z).reshape(-1, self.seeds, SIDE, SIDE))


class Critic(nn.Module):
    """How real an image looks beside the others of its batch; one number, larger for more."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(
            convolution(1, 32),
            nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, kernel_size=4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(64, 128, kernel_size=4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
        )
        self.judge = nn.Sequential(nn.Linear(128 * 4 + 1, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))

    def forward(self, image: Tensor) -> Tensor:
        seen = self.look(2 * image - 1)
        # A batch that is all alike shows in how little its images differ.
        spread = (seen.var(0, unbiased=False) + 1e-8).sqrt().mean()
        return self.judge(torch.cat([seen, spread.expand(len(seen), 1)], dim=1)).squeeze(1)


class Classifier(nn.Module):
    """image → ten logits, by way of an embedding."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding_width = 2 * width
        self.embed = nn.Sequential(
            convolution(1, width),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            convolution(width, width),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            convolution(width, 2 * width),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(2 * width, 2 * width, kernel_size=4, groups=2 * width),
            nn.Flatten(),
        )
        self.read = nn.Linear(2 * width, CLASSES)

    def forward(self, image: Tensor) -> Tensor:
        return self.read(self.embed(image))
