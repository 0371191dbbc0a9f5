"""Rewards as networks: log r of an image, alone or with a condition, in operators that any engine has."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from data import CLASSES, SIDE
from networks import Classifier

# What r keeps of the impossible, so that no logarithm is of zero.
FLOOR = 1e-6


class ClassReward(nn.Module):
    """log r = log Σ_c (condition_c + floor) p(c | image), the condition ten weights from 0 to 1.

    The probabilities sum to one, so the floor is added once, after the sum, where it keeps the logarithm finite.
    """

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, image: Tensor, condition: Tensor) -> Tensor:
        probability = self.classifier(image).softmax(1)
        return ((probability * condition).sum(1) + FLOOR).log()


class InkReward(nn.Module):
    """log r = −(ink − wanted)² / (2 spread²); ink is the mean of all pixels, the condition (wanted, spread)."""

    def forward(self, image: Tensor, condition: Tensor) -> Tensor:
        ink = image.mean((1, 2, 3))
        return -0.5 * ((ink - condition[:, 0]) / condition[:, 1]).square()


class SymmetryReward(nn.Module):
    """log r = −m / (2 spread²), m the mean square difference from the image upside down; the condition (spread)."""

    upside_down: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("upside_down", torch.arange(SIDE - 1, -1, -1))

    def forward(self, image: Tensor, condition: Tensor) -> Tensor:
        difference = image - image.index_select(2, self.upside_down)
        return -0.5 * difference.square().mean((1, 2, 3)) / condition[:, 0].square()


class Lean(nn.Module):
    """Pixels to the right for each pixel upwards, along the line through an image's ink."""

    moments: Tensor

    def __init__(self) -> None:
        super().__init__()
        line = torch.arange(SIDE) - (SIDE - 1) / 2
        up, right = torch.meshgrid(-line, line, indexing="ij")
        moments = torch.stack([torch.ones_like(up), up, right, up * up, up * right], dim=-1)
        self.register_buffer("moments", moments.reshape(SIDE * SIDE, 5))

    def forward(self, image: Tensor) -> Tensor:
        sums = image.reshape(-1, SIDE * SIDE) @ self.moments
        ink = sums[:, 0] + 1e-3
        up, right = sums[:, 1] / ink, sums[:, 2] / ink
        return (sums[:, 4] / ink - up * right) / (sums[:, 3] / ink - up * up + 1e-3)


class LeaningClassReward(nn.Module):
    """The sum of a class reward and −(lean − wanted)² / (2 spread²); the condition (ten weights, wanted, spread)."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.digit, self.lean = ClassReward(classifier), Lean()

    def forward(self, image: Tensor, condition: Tensor) -> Tensor:
        offset = (self.lean(image) - condition[:, CLASSES]) / condition[:, CLASSES + 1]
        return self.digit(image, condition[:, :CLASSES]) - 0.5 * offset.square()
