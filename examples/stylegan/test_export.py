"""The export tried with small random networks: every file against PyTorch, every preparation against its original."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from PIL import Image

import small
from export import TOLERANCE, difference, save
from networks import MEAN, Prepare, resampling
from synthesis import Restated

pytest.importorskip("transformers")

import tiny


@pytest.fixture(scope="module")
def files():
    return tiny.files(seed=1)


@pytest.fixture(scope="module", params=["generator", "reward", "clip-reward", "embedding"])
def exported(request, files, tmp_path_factory):
    """A network, inputs to try it with, the names of what goes in and out, and the file written of it."""
    network, example, names = files[request.param]
    path = tmp_path_factory.mktemp("exported") / f"{request.param}.onnx"
    save(network, path, example, names)
    return network, example, names, path


def test_a_file_computes_what_pytorch_does_for_any_batch(exported) -> None:
    network, example, _, path = exported
    assert difference(network, path, example) < TOLERANCE
    assert difference(network, path, torch.cat([example, example.flip(0) * 0.5])) < TOLERANCE


def test_a_file_has_the_names_and_shapes_that_are_promised(exported) -> None:
    network, example, names, path = exported
    graph = onnx.load(path).graph
    shapes = [
        [side.dim_param or side.dim_value for side in part.type.tensor_type.shape.dim]
        for part in (*graph.input, *graph.output)
    ]
    assert [part.name for part in (*graph.input, *graph.output)] == list(names)
    assert shapes == [["batch", *example.shape[1:]], ["batch", *network(example).shape[1:]]]
    assert not any(node.domain for node in graph.node)


@pytest.mark.parametrize("psi", [1.0, 0.6])
def test_the_generator_said_again_is_the_same(psi: float) -> None:
    torch.manual_seed(2)
    official = small.Generator().eval()
    z = torch.randn(4, small.LATENT)
    with torch.no_grad():
        wanted = official(z, z[:, :0], truncation_psi=psi, noise_mode="const")
        found = Restated(official)(z, z[:, :0], truncation_psi=psi)
    assert wanted.std() > 0.1
    assert torch.allclose(found, wanted, atol=1e-5)


def test_a_generator_with_labels_is_refused() -> None:
    official = small.Generator()
    official.c_dim = 10
    with pytest.raises(ValueError, match="class labels"):
        Restated(official)


@pytest.mark.parametrize("sides", [(256, 224), (64, 96), (32, 32)])
def test_resampling_is_pillows(sides: tuple[int, int]) -> None:
    shades = np.random.default_rng(0).random((sides[0], sides[0]), dtype=np.float32)
    wanted = np.asarray(Image.fromarray(shades).resize((sides[1], sides[1]), Image.Resampling.BICUBIC))
    rows = resampling(*sides)
    assert np.allclose((rows @ torch.tensor(shades) @ rows.T).numpy(), wanted, atol=1e-4)


def test_an_image_is_prepared_as_pillow_would_but_for_rounding() -> None:
    shades = np.random.default_rng(1).integers(0, 256, (48, 48, 3), dtype=np.uint8)
    wanted = np.asarray(Image.fromarray(shades).resize((32, 32), Image.Resampling.BICUBIC), dtype=np.float32)
    prepare = Prepare(48, 32)
    found = prepare(torch.tensor(shades).permute(2, 0, 1)[None] / 255) * prepare.deviation + prepare.mean
    assert np.abs(found[0].permute(1, 2, 0).numpy() * 255 - wanted).max() < 1.5


def test_colours_are_normalised() -> None:
    grey = torch.tensor(MEAN)[None, :, None, None].expand(1, 3, 20, 20)
    assert torch.allclose(Prepare(20, 8)(grey), torch.zeros(1, 3, 8, 8), atol=1e-5)


def test_a_reward_depends_on_its_image_and_on_its_prompt() -> None:
    torch.manual_seed(3)
    model = small.image_reward()
    image = torch.rand(4, 3, small.SIDE, small.SIDE)
    with torch.no_grad():
        scores = [tiny.PromptReward(model, prompt, small.SIDE, to_side=12)(image) for prompt in ("old", "young")]
    assert scores[0].std() > 1e-2
    assert (scores[0] - scores[1]).abs().min() > 1e-3


def test_what_is_expected_of_the_committed_files_is_what_they_give() -> None:
    report = json.loads((tiny.FOLDER / "expected.json").read_text())
    found = tiny.expected(tiny.FOLDER, np.array(report["z"], dtype=np.float32))
    for name, values in found.items():
        assert np.allclose(values, report[name], rtol=1e-4, atol=1e-3), name
