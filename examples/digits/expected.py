"""Writes energies of all prompts by onnxruntime, which the tests hold the engines against: models/expected.json."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent
ROWS = 24


def answer(file: Path, *inputs: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    named = {port.name: value for port, value in zip(session.get_inputs(), inputs, strict=True)}
    return session.run(None, named)[0]


def main() -> None:
    latents = np.random.default_rng(0).standard_normal((ROWS, 32)).astype(np.float32)
    images = answer(HERE / "models" / "generator.onnx", latents)
    prior = -0.5 * np.square(latents.astype(np.float64)).sum(axis=1) - 16 * np.log(2 * np.pi)
    energies = {}
    for file in sorted((HERE / "prompts").glob("*.toml")):
        latent = tomllib.loads(file.read_text())["latent"]
        inputs = [images]
        if "condition" in latent:
            inputs.append(np.tile(np.array(latent["condition"], dtype=np.float32), (ROWS, 1)))
        rewards = answer(file.parent / latent["reward"], *inputs).reshape(ROWS)
        energies[file.stem] = (-prior - latent["beta"] * rewards.astype(np.float64)).tolist()
    written = {"onnxruntime": onnxruntime.__version__, "z": latents.tolist(), "energy": energies}
    (HERE / "models" / "expected.json").write_text(json.dumps(written) + "\n")


if __name__ == "__main__":
    main()
