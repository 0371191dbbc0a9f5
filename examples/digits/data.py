"""Handwritten digits of 8 × 8 pixels, and small changes that keep them the same digit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor

SIDE = 8
CLASSES = 10


@dataclass(frozen=True)
class Images:
    """Images [count, 1, 8, 8] with ink from 0 to 1, and the digits they show."""

    pixels: Tensor
    labels: Tensor


def digits(seed: int) -> tuple[Images, Images]:
    """Four fifths of the images to learn from and one fifth held out, each digit in proportion."""
    table = load_digits()
    pixels = torch.tensor(table.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(table.target)
    learn, held = train_test_split(range(len(labels)), test_size=0.2, random_state=seed, stratify=table.target)
    return Images(pixels[learn], labels[learn]), Images(pixels[held], labels[held])


def shifted(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Every image moved by its own −1, 0 or 1 pixels; what comes in from outside is blank."""
    padded = torch.nn.functional.pad(pixels, (1, 1, 1, 1)).squeeze(1)
    line = torch.arange(1, SIDE + 1)
    which = torch.arange(len(pixels))[:, None, None]
    return padded[which, (rows[:, None] + line)[:, :, None], (columns[:, None] + line)[:, None, :]].unsqueeze(1)


def varied(pixels: Tensor, share: float = 1.0) -> Tensor:
    """A `share` of the images moved by at most a pixel and written with a tenth more or less ink."""
    count = len(pixels)
    chosen = (torch.rand(count) < share).long()
    rows, columns = torch.randint(-1, 2, (2, count)) * chosen
    ink = 1 + 0.1 * (2 * torch.rand(count, 1, 1, 1) - 1) * chosen[:, None, None, None]
    return shifted(pixels, rows, columns) * ink
