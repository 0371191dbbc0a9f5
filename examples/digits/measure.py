"""How good generated digits are: shares of classes, confidence, distances to real ones, and a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scipy.linalg import sqrtm
from torch import Tensor

from data import CLASSES, Images
from networks import Classifier


def frechet(left: np.ndarray, right: np.ndarray) -> float:
    """The Fréchet distance between Gaussians with the moments of two sets of embeddings."""
    covariances = np.cov(left, rowvar=False), np.cov(right, rowvar=False)
    between = np.real(sqrtm(covariances[0] @ covariances[1]))
    offset = left.mean(0) - right.mean(0)
    return float(offset @ offset + np.trace(covariances[0] + covariances[1] - 2 * between))


def covered(points: Tensor, by: Tensor, neighbours: int = 3) -> float:
    """The share of `points` nearer to some point of `by` than that one's third neighbour among its own."""
    reach = torch.cdist(by, by).kthvalue(neighbours + 1, dim=1).values
    return (torch.cdist(points, by) <= reach).any(1).float().mean().item()


def nearest(points: Tensor, to: Tensor) -> float:
    """The median distance to the nearest of `to`, in pixels of full ink."""
    return torch.cdist(points.flatten(1), to.flatten(1)).min(1).values.median().item()


@torch.no_grad()
def embedded(judge: Classifier, pixels: Tensor) -> Tensor:
    return torch.cat([judge.embed(part) for part in pixels.split(512)])


@torch.no_grad()
def against(judge: Classifier, pixels: Tensor, learn: Images, held: Images) -> dict:
    """What a judge that nothing was trained against says of images, beside real ones."""
    embeddings = embedded(judge, pixels)
    probabilities = judge.read(embeddings).softmax(1)
    most = probabilities.max(1)
    real = {"learned from": embedded(judge, learn.pixels), "held out": embedded(judge, held.pixels)}
    # As many at a time as there are held out: the distance of Gaussians depends on how many are compared.
    few = embeddings[: len(held.labels)]
    return {
        "images": len(pixels),
        "share_of_each_digit": (torch.bincount(most.indices, minlength=CLASSES) / len(pixels)).tolist(),
        "mean_confidence": most.values.mean().item(),
        "share_confident_above_0.9": (most.values > 0.9).float().mean().item(),
        "frechet_to_learned_from": frechet(few.numpy(), real["learned from"].numpy()),
        "precision": covered(few, real["learned from"]),
        "recall_of_held_out": covered(real["held out"], embeddings[: len(learn.labels)]),
        "distance_to_nearest_learned_from": nearest(pixels[: len(held.labels)], learn.pixels),
    }


@torch.no_grad()
def accuracy(network: Classifier, held: Images) -> dict:
    log_probability = network(held.pixels).log_softmax(1)
    right = log_probability.argmax(1) == held.labels
    wrong = log_probability.scatter(1, held.labels[:, None], 0.0)
    return {
        "accuracy_held_out": right.float().mean().item(),
        "mean_log_probability_of_label": log_probability.gather(1, held.labels[:, None]).mean().item(),
        "mean_log_probability_of_other_digits": wrong.sum(1).div(CLASSES - 1).mean().item(),
    }


def picture(pixels: Tensor, columns: int, path: Path, scale: int = 4) -> None:
    """A sheet of images, dark ink on white, a pixel of space between them."""
    padded = torch.nn.functional.pad(1 - pixels.squeeze(1), (0, 1, 0, 1), value=0.8)
    rows = len(padded) // columns
    side = padded.shape[1]
    sheet = padded[: rows * columns].reshape(rows, columns, side, side).transpose(1, 2).reshape(rows * side, -1)
    image = Image.fromarray((sheet.clamp(0, 1) * 255).round().byte().numpy())
    image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST).save(path, optimize=True)
