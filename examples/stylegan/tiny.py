"""The small random networks as files in tiny/, with what onnxruntime makes of them, for tests without PyTorch.

    python tiny.py          (writes tiny/*.onnx and tiny/expected.json)
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

import small
from export import write
from networks import ClipReward, Decoder, ImageEmbedding, PromptReward
from synthesis import Restated

FOLDER = Path(__file__).parent / "tiny"
BETA = 100.0
PSI = 0.9


def files(seed: int = 0) -> dict[str, tuple[nn.Module, Tensor, tuple[str, str]]]:
    """Every network with inputs to try it with and the names of what goes in and out."""
    torch.manual_seed(seed)
    reward_model, clip = small.image_reward(), small.clip()
    z, image = torch.randn(5, small.LATENT), torch.rand(5, 3, small.SIDE, small.SIDE)
    reward = PromptReward(reward_model, small.PROMPT, small.SIDE, to_side=12)
    by_clip = ClipReward(clip, small.tokenizer, small.PROMPT, small.SIDE)
    made = {
        "generator": (Decoder(Restated(small.Generator()), PSI), z, ("z", "image")),
        "reward": (reward, image, ("image", "log_reward")),
        "clip-reward": (by_clip, image, ("image", "log_reward")),
        "embedding": (ImageEmbedding(clip, small.SIDE), image, ("image", "embedding")),
    }
    return {name: (network.eval(), example, names) for name, (network, example, names) in made.items()}


def run(folder: Path, name: str, value: np.ndarray) -> np.ndarray:
    opened = onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=["CPUExecutionProvider"])
    return opened.run(None, {opened.get_inputs()[0].name: value})[0]


def expected(folder: Path, z: np.ndarray) -> dict[str, list]:
    """Rewards, embeddings and E(z) = −log N(z; 0, I) − β log r, and the mean of every decoded image."""
    image = run(folder, "generator", z)
    prior = 0.5 * (z.astype(np.float64) ** 2).sum(1) + 0.5 * z.shape[1] * math.log(2 * math.pi)
    reward, by_clip = run(folder, "reward", image), run(folder, "clip-reward", image)
    return {
        "image_mean": image.astype(np.float64).mean((1, 2, 3)).tolist(),
        "log_reward": reward.tolist(),
        "energy": (prior - BETA * reward).tolist(),
        "clip_log_reward": by_clip.tolist(),
        "clip_energy": (prior - BETA * by_clip).tolist(),
        "embedding": run(folder, "embedding", image).tolist(),
    }


def main() -> None:
    for name, (network, example, names) in files().items():
        write(network, FOLDER / f"{name}.onnx", example, names)
    z = np.random.default_rng(0).standard_normal((12, small.LATENT)).astype(np.float32)
    report = {"beta": BETA, "prompt": small.PROMPT, "z": z.tolist(), **expected(FOLDER, z)}
    (FOLDER / "expected.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
