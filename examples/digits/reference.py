"""What is known of every prompt by importance sampling from the prior: prompts/reference.json.

    python reference.py     (reads prompts/*.toml and the models they name)

With z_k ~ N(0, I) and weights w_k = r(g(z_k))^β: Z is their mean, an expectation under the posterior a weighted
mean. Diversity is the mean cosine distance between embeddings of two independent draws, 1 − |mean of unit
embeddings|². Errors are standard errors, to first order in the number of draws.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "prompts"
BATCH = 512


def opened(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@dataclass
class Prompt:
    """A file of settings, its reward ready to be asked."""

    name: str
    beta: float
    condition: np.ndarray
    reward: onnxruntime.InferenceSession
    generator: Path
    embedding: Path

    @classmethod
    def read(cls, path: Path, threads: int) -> Prompt:
        latent = tomllib.loads(path.read_text())["latent"]
        return cls(
            path.stem,
            latent["beta"],
            np.array([latent["condition"]], dtype=np.float32),
            opened(path.parent / latent["reward"], threads),
            (path.parent / latent["generator"]).resolve(),
            (path.parent / latent["embedding"]).resolve(),
        )

    def log_reward(self, image: np.ndarray) -> np.ndarray:
        condition = np.repeat(self.condition, len(image), axis=0)
        return self.reward.run(None, {"image": image, "condition": condition})[0]


def only(paths: set[Path]) -> Path:
    (path,) = paths
    return path


def drawn(prompts: list[Prompt], count: int, seed: int, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images of the prior in 256 shades, their unit embeddings, and their log rewards by every prompt."""
    generator = opened(only({prompt.generator for prompt in prompts}), threads)
    embedding = opened(only({prompt.embedding for prompt in prompts}), threads)
    latent = generator.get_inputs()[0].shape[1]
    rng = np.random.default_rng(seed)
    images, units, rewards = [], [], []
    for start in range(0, count, BATCH):
        z = rng.standard_normal((min(BATCH, count - start), latent)).astype(np.float32)
        (image,) = generator.run(None, {"z": z})
        (embedded,) = embedding.run(None, {"image": image})
        images.append((255 * image[:, 0]).round().astype(np.uint8))
        units.append(embedded / np.linalg.norm(embedded, axis=1, keepdims=True))
        rewards.append([prompt.log_reward(image) for prompt in prompts])
    return np.concatenate(images), np.concatenate(units), np.concatenate(rewards, axis=1).astype(np.float64)


def weights(prompt: Prompt, log_reward: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights that sum to one, and log Z."""
    scaled = prompt.beta * log_reward
    weight = np.exp(scaled - scaled.max())
    return weight / weight.sum(), float(scaled.max() + np.log(weight.mean()))


def mean(weight: np.ndarray, value: np.ndarray) -> tuple[float, float]:
    """A weighted mean and its standard error."""
    centre = weight @ value
    return float(centre), float(np.sqrt(weight**2 @ (value - centre) ** 2))


def diversity(weight: np.ndarray, unit: np.ndarray) -> float:
    """The mean distance of two draws that are not the same one."""
    centre, same = weight @ unit, weight @ weight
    return float(1 - (centre @ centre - same) / (1 - same))


def known(prompt: Prompt, log_reward: np.ndarray, unit: np.ndarray) -> dict:
    weight, log_z = weights(prompt, log_reward)
    count = len(weight)
    even = np.full(count, 1 / count)
    posterior, prior = mean(weight, log_reward), mean(even, log_reward)
    return {
        "beta": prompt.beta,
        "log_z": log_z,
        "log_z_error": float(np.sqrt(weight @ weight - 1 / count)),
        "mean_log_reward": posterior[0],
        "mean_log_reward_error": posterior[1],
        "diversity": diversity(weight, unit),
        "effective_sample_size": float(1 / (weight @ weight)),
        "prior": {
            "elbo": prompt.beta * prior[0],
            "elbo_error": prompt.beta * prior[1],
            "mean_log_reward": prior[0],
            "mean_log_reward_error": prior[1],
            "diversity": diversity(even, unit),
        },
    }


def sheet(rows: list[np.ndarray], path: Path, scale: int = 4) -> None:
    """One row of images for each prompt, dark ink on white."""
    padded = [np.pad(255 - row, ((0, 0), (0, 2), (0, 1)), constant_values=204) for row in rows]
    image = Image.fromarray(np.concatenate([np.concatenate(list(row), axis=1) for row in padded]))
    image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1 << 19)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    prompts = [Prompt.read(path, asked.threads) for path in sorted(FOLDER.glob("*.toml"))]
    images, unit, rewards = drawn(prompts, asked.draws, asked.seed, asked.threads)
    report = {"draws": asked.draws, "seed": asked.seed, "prompts": {}}
    rng, rows = np.random.default_rng(asked.seed), [images[:24]]
    for prompt, log_reward in zip(prompts, rewards):
        report["prompts"][prompt.name] = known(prompt, log_reward, unit)
        rows.append(images[rng.choice(len(images), size=24, p=weights(prompt, log_reward)[0])])
        print(prompt.name, report["prompts"][prompt.name], flush=True)
    (FOLDER / "reference.json").write_text(json.dumps(report, indent=1) + "\n")
    sheet(rows, FOLDER / "reference.png")


if __name__ == "__main__":
    main()
