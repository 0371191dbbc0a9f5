"""Networks as ONNX files for batches of any size, compared with PyTorch."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

# New enough for every operator used here, old enough for engines that lag behind.
OPSET = 17
FUSED = {
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn_eval,
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn_eval,
}


def folded(network: nn.Module) -> nn.Module:
    """A copy in which every batch norm is part of the layer before it."""
    network = copy.deepcopy(network).eval()
    for part in network.modules():
        if not isinstance(part, nn.Sequential):
            continue
        for before, after in zip(range(len(part)), range(1, len(part))):
            fuse = FUSED.get((type(part[before]), type(part[after])))
            if fuse:
                part[before], part[after] = fuse(part[before], part[after]), nn.Identity()
    return network


def save(network: nn.Module, path: Path, inputs: dict[str, Tensor], output: str) -> None:
    """Writes a network whose inputs and output all have the batch as their first axis."""
    names = [*inputs, output]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            folded(network),
            tuple(inputs.values()),
            path,
            input_names=list(inputs),
            output_names=[output],
            dynamic_axes={name: {0: "batch"} for name in names},
            opset_version=OPSET,
            dynamo=False,
        )
    with torch.no_grad():
        width = network(*inputs.values()).shape[1:]
    made = onnx.load(path)
    # The exporter forgets the sizes behind a reshape.
    for axis, size in enumerate(width, start=1):
        made.graph.output[0].type.tensor_type.shape.dim[axis].dim_value = size
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, path)


def session(path: Path, threads: int = 1) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@torch.no_grad()
def difference(network: nn.Module, path: Path, inputs: dict[str, Tensor]) -> float:
    """The largest difference between a file's output and PyTorch's, for all rows and for the first alone."""
    opened = session(path)
    largest = 0.0
    for rows in (len(next(iter(inputs.values()))), 1):
        part = {name: value[:rows] for name, value in inputs.items()}
        (found,) = opened.run(None, {name: value.numpy() for name, value in part.items()})
        wanted = network(*part.values()).numpy()
        assert found.shape == wanted.shape and found.dtype == np.float32
        largest = max(largest, float(np.abs(found - wanted).max()))
    return largest
