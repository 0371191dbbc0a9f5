"""Trains a generator of handwritten digits and a classifier, and writes them to models/ as ONNX files.

    python train.py         (some minutes; see README.md)
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

import learn
import measure
from data import CLASSES, SIDE, Images, digits
from export import difference, save
from networks import LATENT, Classifier, Generator
from rewards import ClassReward, InkReward, LeaningClassReward, SymmetryReward

FOLDER = Path(__file__).parent / "models"
PACKAGES = ("torch", "scikit-learn", "onnx", "onnxruntime", "numpy")
TOLERANCE = 1e-4
Learned = TypeVar("Learned")


def settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4000, help="of the generator and its critic")
    parser.add_argument("--epochs", type=int, default=30, help="of the classifier")
    parser.add_argument("--threads", type=int, default=1, help="more are slower where others work too")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    return parser.parse_args()


def files(generator: Generator, classifier: Classifier) -> dict[str, tuple[nn.Module, dict[str, Tensor], str]]:
    """What is written: the network, inputs to try it with, and the name of its output."""
    rows = 64
    z = torch.randn(rows, LATENT)
    with torch.no_grad():
        image = torch.cat([generator(z[: rows // 2]), torch.rand(rows // 2, 1, SIDE, SIDE)])
    weights, pair = torch.rand(rows, CLASSES), torch.rand(rows, 2) + 0.2

    def with_condition(condition: Tensor) -> dict[str, Tensor]:
        return {"image": image, "condition": condition}

    leaning = with_condition(torch.cat([weights, pair], dim=1))
    return {
        "generator": (generator, {"z": z}, "image"),
        "embedding": (classifier.embed, {"image": image}, "embedding"),
        "reward": (ClassReward(classifier), with_condition(weights), "log_reward"),
        "leaning": (LeaningClassReward(classifier), leaning, "log_reward"),
        "ink": (InkReward(), with_condition(pair), "log_reward"),
        "symmetry": (SymmetryReward(), with_condition(pair[:, :1]), "log_reward"),
    }


def written(folder: Path, generator: Generator, classifier: Classifier) -> dict:
    """Writes every file; its bytes, and how far onnxruntime is from PyTorch."""
    folder.mkdir(exist_ok=True)
    report = {}
    for name, (network, inputs, output) in files(generator, classifier).items():
        path = folder / f"{name}.onnx"
        save(network.eval(), path, inputs, output)
        found = difference(network, path, inputs)
        assert found < TOLERANCE, f"{path.name} is {found} from PyTorch"
        report[path.name] = {"bytes": path.stat().st_size, "largest_difference_from_torch": found}
    return report


def scores(generator: Generator, classifier: Classifier, judge: Classifier, known: Images, held: Images) -> dict:
    with torch.no_grad():
        images = torch.cat([generator(torch.randn(500, LATENT)) for _ in range(20)])
    return {
        "classifier": measure.accuracy(classifier, held),
        "judge": measure.accuracy(judge, held),
        "generated": measure.against(judge, images, known, held),
        "held_out": measure.against(judge, held.pixels, known, held),
    }


def main() -> None:
    asked = settings()
    torch.manual_seed(asked.seed)
    torch.set_num_threads(asked.threads)
    known, held = digits(asked.seed)
    seconds = {}

    def timed(name: str, work: Callable[[], Learned]) -> Learned:
        start = time.perf_counter(), time.process_time()
        result = work()
        seconds[name] = {
            "elapsed": round(time.perf_counter() - start[0], 1),
            "of_processor": round(time.process_time() - start[1], 1),
        }
        print(name, seconds[name], flush=True)
        return result

    classifier = timed("classifier", lambda: learn.classifier(known, width=32, epochs=asked.epochs))
    judge = timed("judge", lambda: learn.classifier(known, width=32, epochs=asked.epochs))
    generator = timed("generator", lambda: learn.generator(known, asked.steps))
    report = {
        "seed": asked.seed,
        "steps": asked.steps,
        "epochs": asked.epochs,
        "seconds": seconds,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "files": written(asked.folder, generator, classifier),
        **scores(generator, classifier, judge, known, held),
    }
    (asked.folder / "scores.json").write_text(json.dumps(report, indent=1) + "\n")
    with torch.no_grad():
        measure.picture(generator(torch.randn(200, LATENT)), 20, asked.folder / "prior.png")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
