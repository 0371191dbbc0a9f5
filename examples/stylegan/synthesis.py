"""StyleGAN3's generator said again in operators that take batches of any size.

The official network convolves a batch as one image with a group of channels for each row, so an exported graph
holds for one batch size alone. Here the styles scale what goes into a convolution and what comes out of it, which
is the same; filters are separable convolutions, and every gain is folded into the weights it belongs to.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def linear(part: nn.Module, gain: float = 1.0) -> nn.Linear:
    """A fully connected layer with the gains that the official one applies at every call."""
    outputs, inputs = part.weight.shape
    made = nn.Linear(inputs, outputs)
    with torch.no_grad():
        made.weight.copy_(part.weight * part.weight_gain * gain)
        made.bias.copy_(part.bias * part.bias_gain * gain)
    return made


class Mapping(nn.Module):
    """z → w, drawn towards the mean w by 1 − psi."""

    mean: Tensor

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(linear(getattr(part, f"fc{k}")) for k in range(part.num_layers))
        self.register_buffer("mean", part.w_avg.clone())

    def forward(self, z: Tensor, psi: float) -> Tensor:
        w = z * (z.square().mean(1, keepdim=True) + 1e-8).rsqrt()
        for layer in self.layers:
            w = functional.leaky_relu(layer(w), 0.2) * math.sqrt(2)
        return self.mean + psi * (w - self.mean)


class Waves(nn.Module):
    """The first image: plane waves, turned and moved as w says, mixed by a matrix."""

    across: Tensor
    down: Tensor
    frequencies: Tensor
    phases: Tensor
    transform: Tensor

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.channels = part.channels
        self.width, self.height = (int(size) for size in part.size)
        self.bandwidth, self.rate = float(part.bandwidth), float(part.sampling_rate)
        self.affine = linear(part.affine)
        self.mix = nn.Parameter(part.weight.detach() / math.sqrt(part.channels))
        self.register_buffer("frequencies", part.freqs.clone())
        self.register_buffer("phases", part.phases.clone())
        self.register_buffer("transform", part.transform.clone())
        across = (torch.arange(self.width) + 0.5 - self.width / 2) / self.rate
        down = (torch.arange(self.height) + 0.5 - self.height / 2) / self.rate
        self.register_buffer("across", across.repeat(self.height))
        self.register_buffer("down", down.repeat_interleave(self.width))

    def forward(self, w: Tensor) -> Tensor:
        said = self.affine(w)
        said = said / (said[:, :2].square().sum(1, keepdim=True)).sqrt()
        cosine, sine, right, below = (said[:, k : k + 1] for k in range(4))
        first, second = self.frequencies[:, 0], self.frequencies[:, 1]
        turned = first * cosine + second * sine, second * cosine - first * sine
        phases = self.phases + turned[0] * (self.transform[0, 2] - right) + turned[1] * (self.transform[1, 2] - below)
        columns = [turned[0] * self.transform[0, k] + turned[1] * self.transform[1, k] for k in range(2)]
        length = (columns[0].square() + columns[1].square()).sqrt()
        loudness = (1 - (length - self.bandwidth) / (self.rate / 2 - self.bandwidth)).clamp(0, 1)
        angle = columns[0].unsqueeze(2) * self.across + columns[1].unsqueeze(2) * self.down + phases.unsqueeze(2)
        waves = (2 * math.pi * angle).sin() * loudness.unsqueeze(2)
        return (self.mix @ waves).reshape(-1, self.channels, self.height, self.width)


class Filter(nn.Module):
    """A low-pass filter on every channel: one along rows and one along columns, or one square where it is round."""

    def __init__(self, taps: Tensor, channels: int, gain: float, stride: int) -> None:
        super().__init__()
        self.channels, self.stride = channels, stride
        flipped = (taps * gain ** (taps.ndim / 2)).flip(list(range(taps.ndim)))
        shapes = [(1, -1), (-1, 1)] if taps.ndim == 1 else [tuple(taps.shape)]
        self.kernels = nn.ParameterList(
            flipped.reshape(1, 1, *shape).repeat(channels, 1, 1, 1) for shape in shapes
        )

    def forward(self, x: Tensor) -> Tensor:
        for kernel in self.kernels:
            stride = tuple(self.stride if len(self.kernels) == 1 or size > 1 else 1 for size in kernel.shape[2:])
            x = functional.conv2d(x, kernel, stride=stride, groups=self.channels)
        return x


class Layer(nn.Module):
    """A convolution scaled by its style, then a leaky ReLU at a higher resolution, filtered before and after."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.demodulate, self.kernel = not part.is_torgb, part.conv_kernel
        self.affine = linear(part.affine, 1.0 if self.demodulate else 1 / math.sqrt(part.in_channels * self.kernel**2))
        weight = part.weight.detach()
        if self.demodulate:
            weight = weight * weight.square().mean((1, 2, 3), keepdim=True).rsqrt()
        self.input_gain = float(part.magnitude_ema.rsqrt())
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(part.bias.detach()[:, None, None])
        self.power = nn.Parameter(weight.square().sum((2, 3)).T.contiguous())
        self.channels, self.size = part.out_channels, [int(size) + self.kernel - 1 for size in reversed(part.in_size)]
        self.up, self.padding, self.clamp = part.up_factor, list(part.padding), float(part.conv_clamp)
        self.gain, self.slope = (math.sqrt(2), 0.2) if self.demodulate else (1.0, 1.0)
        self.rise = Filter(part.up_filter, self.channels, self.up**2, 1) if part.up_filter is not None else None
        self.fall = None
        if part.down_filter is not None:
            self.fall = Filter(part.down_filter, self.channels, 1.0, part.down_factor)

    def spread(self, x: Tensor) -> Tensor:
        """Zeros between pixels, and around them; negative padding takes away."""
        height, width = self.size
        if self.up > 1:
            x = x.reshape(-1, self.channels, height, 1, width, 1)
            x = functional.pad(x, [0, self.up - 1, 0, 0, 0, self.up - 1])
            height, width = height * self.up, width * self.up
            x = x.reshape(-1, self.channels, height, width)
        left, right, top, bottom = self.padding
        x = x[:, :, max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)]
        return functional.pad(x, [max(side, 0) for side in self.padding])

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        style = self.affine(w)
        if self.demodulate:
            # The official network takes the mean over the batch as well; it cancels in what follows.
            style = style * style.square().mean(1, keepdim=True).rsqrt()
        scale = (style * self.input_gain).unsqueeze(2).unsqueeze(3)
        x = functional.conv2d(x * scale, self.weight, padding=self.kernel - 1)
        if self.demodulate:
            x = x * (style.square() @ self.power + 1e-8).rsqrt().unsqueeze(2).unsqueeze(3)
        x = self.spread(x + self.bias)
        x = self.rise(x) if self.rise else x
        x = (functional.leaky_relu(x, self.slope) * self.gain).clamp(-self.clamp, self.clamp)
        return self.fall(x) if self.fall else x


class Restated(nn.Module):
    """The whole generator, called as the official one is: z, labels (of which there are none), and psi."""

    def __init__(self, official: nn.Module) -> None:
        super().__init__()
        if official.c_dim:
            raise ValueError("a generator with class labels is not supported, only one of a single kind of image")
        self.z_dim, self.c_dim, self.img_resolution = official.z_dim, official.c_dim, official.img_resolution
        self.mapping = Mapping(official.mapping)
        self.waves = Waves(official.synthesis.input)
        names = official.synthesis.layer_names
        self.layers = nn.ModuleList(Layer(getattr(official.synthesis, name)) for name in names)
        self.scale = float(official.synthesis.output_scale)

    def forward(self, z: Tensor, c: Tensor, truncation_psi: float = 1.0, noise_mode: str = "const") -> Tensor:
        w = self.mapping(z, truncation_psi)
        x = self.waves(w)
        for layer in self.layers:
            x = layer(x, w)
        return x * self.scale
