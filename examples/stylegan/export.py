"""A generator, the reward of a prompt and an embedding as ONNX files, for batches of any size.

    python export.py generator --repository stylegan3 --weights stylegan3-r-ffhqu-256x256.pkl
    python export.py reward --prompt "A person with medium length hair"
    python export.py clip-reward --prompt "A person with medium length hair"
    python export.py embedding

Each writes one file into models/ and compares it with PyTorch by onnxruntime.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

import load
from networks import ClipReward, Decoder, ImageEmbedding, PromptReward

# The oldest that PyTorch's exporter writes without converting; LayerNormalization, of which transformers are full,
# is one operator since 17, and nothing here needs more.
OPSET = 18
TOLERANCE = 1e-4


def save(network: nn.Module, path: Path, example: Tensor, names: tuple[str, str]) -> None:
    """Writes a network of one input and one output, both with the batch as their first axis."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            network.eval(),
            (example,),
            input_names=[names[0]],
            dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=1 << 20)},),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    made = program.model_proto
    rename(made.graph, made.graph.output[0].name, names[1])
    # Where in PyTorch each operator came from, and shapes between them that an engine finds out for itself.
    made.graph.ClearField("value_info")
    for part in (made, made.graph, *made.graph.node, *made.graph.input, *made.graph.output, *made.graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    onnx.save(made, path)
    onnx.checker.check_model(path)


def rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Gives a value another name; what had that name before gets a longer one."""
    names = {old: new, new: f"{new}_within"}
    for node in graph.node:
        for part in (node.input, node.output):
            part[:] = [names.get(name, name) for name in part]
    for value in (*graph.output, *graph.initializer):
        value.name = names.get(value.name, value.name)


@torch.no_grad()
def difference(network: nn.Module, path: Path, example: Tensor) -> float:
    """How far onnxruntime is from PyTorch, relative to the largest output, for the example's batch and for one row."""
    opened = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (given,) = opened.get_inputs()
    largest = 0.0
    for rows in (len(example), 1):
        (found,) = opened.run(None, {given.name: example[:rows].numpy()})
        wanted = network(example[:rows]).numpy()
        assert found.shape == wanted.shape, f"{path.name} gives {found.shape}, PyTorch {wanted.shape}"
        largest = max(largest, float(np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())))
    return largest


def write(network: nn.Module, path: Path, example: Tensor, names: tuple[str, str]) -> None:
    """Saves a network and says how well the file agrees."""
    path.parent.mkdir(parents=True, exist_ok=True)
    save(network, path, example, names)
    found = difference(network, path, example)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {found:.1e} from PyTorch")
    if found > TOLERANCE:
        raise SystemExit(f"{path.name} does not compute what PyTorch does")


def settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["generator", "reward", "clip-reward", "embedding"])
    parser.add_argument("--repository", type=Path, default=Path("stylegan3"), help="a checkout of NVlabs/stylegan3")
    parser.add_argument("--weights", type=Path, help="of the generator, a pickle")
    parser.add_argument("--psi", type=float, default=1.0, help="of truncation; 1 is none")
    parser.add_argument("--prompt", help="what the images should show")
    parser.add_argument("--side", type=int, default=256, help="of the generator's images, in pixels")
    parser.add_argument("--image-reward", default="ImageReward-v1.0", help="its name, or a file")
    parser.add_argument("--clip", default="openai/clip-vit-base-patch32", help="its name, or a folder")
    parser.add_argument("--scale", type=float, default=1.0, help="of the cosine in a reward by CLIP")
    parser.add_argument("--output", type=Path, help="the file to write, models/<what>.onnx unless said")
    asked = parser.parse_args()
    if asked.what == "generator" and asked.weights is None:
        parser.error("a generator needs --weights")
    if asked.what.endswith("reward") and asked.prompt is None:
        parser.error("a reward needs --prompt")
    return asked


def main() -> None:
    asked = settings()
    path = asked.output or Path(__file__).parent / "models" / f"{asked.what}.onnx"
    torch.manual_seed(0)
    image = torch.rand(2, 3, asked.side, asked.side)
    if asked.what == "generator":
        generator = load.stylegan3(asked.repository, asked.weights)
        write(Decoder(generator, asked.psi), path, torch.randn(2, generator.z_dim), ("z", "image"))
    elif asked.what == "reward":
        model = load.image_reward(asked.image_reward)
        write(PromptReward(model, asked.prompt, asked.side), path, image, ("image", "log_reward"))
    elif asked.what == "clip-reward":
        model, tokenizer = load.clip(asked.clip)
        reward = ClipReward(model, tokenizer, asked.prompt, asked.side, asked.scale)
        write(reward, path, image, ("image", "log_reward"))
    else:
        model, _ = load.clip(asked.clip)
        write(ImageEmbedding(model, asked.side), path, image, ("image", "embedding"))


if __name__ == "__main__":
    main()
