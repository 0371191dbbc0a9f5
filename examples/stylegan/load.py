"""Networks as their authors publish them, each package asked for only when it is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

from synthesis import Restated


def stylegan3(repository: Path, weights: Path) -> nn.Module:
    """The averaged generator of a pickle, read by the modules of NVIDIA's repository, said again for export.

    A pickle runs code as it is read: take it from NVIDIA.
    """
    sys.path.insert(0, str(repository))
    import legacy

    with weights.open("rb") as file:
        official = legacy.load_network_pkl(file)["G_ema"].eval().float()
    restated = Restated(official).eval()
    z = torch.randn(2, official.z_dim)
    labels = torch.zeros(2, 0)
    with torch.no_grad():
        found = restated(z, labels)
        wanted = official(z, labels, noise_mode="const", force_fp32=True)
    assert torch.allclose(found, wanted, atol=1e-3), "the generator said again is not the one that was read"
    return restated


def image_reward(name: str) -> Any:
    """ImageReward, by its name or from a file."""
    import ImageReward

    return ImageReward.load(name, device="cpu").eval()


def clip(name: str) -> tuple[Any, Any]:
    """CLIP and its tokenizer, by the name or the folder that transformers knows them by."""
    from transformers import AutoTokenizer, CLIPModel

    model = CLIPModel.from_pretrained(name, attn_implementation="eager").eval().float()
    return model, AutoTokenizer.from_pretrained(name)
