"""Small networks with random weights and the interfaces of the published ones, to try the export with."""

from __future__ import annotations

import math
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional

LATENT, STYLE, SIDE = 8, 12, 16
PROMPT = "A person with medium length hair"


class Dense(nn.Module):
    """A fully connected layer that scales its weights at every call."""

    def __init__(self, inputs: int, outputs: int, rate: float = 1.0, bias: float = 0.0) -> None:
        super().__init__()
        self.weight_gain, self.bias_gain = rate / math.sqrt(inputs), rate
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / rate)
        self.bias = nn.Parameter((bias + 0.1 * torch.randn(outputs)) / rate)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight * self.weight_gain, self.bias * self.bias_gain)


class Mapping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.num_layers = 2
        self.fc0, self.fc1 = Dense(LATENT, STYLE, rate=0.01), Dense(STYLE, STYLE, rate=0.01)
        self.register_buffer("w_avg", 0.3 * torch.randn(STYLE))

    def forward(self, z: Tensor, truncation_psi: float) -> Tensor:
        w = functional.normalize(z, dim=1) * math.sqrt(LATENT)
        for layer in (self.fc0, self.fc1):
            w = functional.leaky_relu(layer(w), 0.2) * math.sqrt(2)
        return torch.lerp(self.w_avg, w, truncation_psi)


class Input(nn.Module):
    """Waves by matrices: a rotation and a shift of every row, in homogeneous coordinates."""

    def __init__(self, channels: int, size: int, rate: float, bandwidth: float) -> None:
        super().__init__()
        self.channels, self.size, self.sampling_rate, self.bandwidth = channels, (size, size), rate, bandwidth
        self.affine, self.weight = Dense(STYLE, 4, bias=1.0), nn.Parameter(torch.randn(channels, channels))
        self.register_buffer("freqs", 0.6 * bandwidth * torch.randn(channels, 2))
        self.register_buffer("phases", torch.rand(channels) - 0.5)
        self.register_buffer("transform", torch.tensor([[0.9, 0.1, 0.05], [-0.1, 1.1, -0.03], [0.0, 0.0, 1.0]]))

    def forward(self, w: Tensor) -> Tensor:
        return torch.stack([self.one(row) for row in self.affine(w)])

    def one(self, said: Tensor) -> Tensor:
        cosine, sine, right, below = said / said[:2].norm()
        turn, move = torch.eye(3), torch.eye(3)
        turn[:2, :2] = torch.stack([torch.stack([cosine, -sine]), torch.stack([sine, cosine])])
        move[:2, 2] = -torch.stack([right, below])
        matrix = turn @ move @ self.transform
        frequencies, phases = self.freqs @ matrix[:2, :2], self.phases + self.freqs @ matrix[:2, 2]
        excess = (frequencies.norm(dim=1) - self.bandwidth) / (self.sampling_rate / 2 - self.bandwidth)
        line = (torch.arange(self.size[0]) + 0.5 - self.size[0] / 2) / self.sampling_rate
        down, across = torch.meshgrid(line, line, indexing="ij")
        angle = torch.stack([across, down], dim=-1) @ frequencies.T + phases
        waves = torch.sin(2 * math.pi * angle) * (1 - excess).clamp(0, 1)
        return (waves @ self.weight.T / math.sqrt(self.channels)).permute(2, 0, 1)


class Layer(nn.Module):
    """A row at a time: its own convolution, its own filters."""

    def __init__(self, sizes: tuple[int, int], channels: tuple[int, int], up: int, down: int, last: bool) -> None:
        super().__init__()
        self.is_torgb, self.conv_kernel, self.conv_clamp = last, 1 if last else 3, 256
        self.in_channels, self.out_channels = channels
        self.in_size, self.out_size = (sizes[0], sizes[0]), (sizes[1], sizes[1])
        self.affine = Dense(STYLE, channels[0], bias=1.0)
        self.weight = nn.Parameter(torch.randn(channels[1], channels[0], self.conv_kernel, self.conv_kernel))
        self.bias = nn.Parameter(0.1 * torch.randn(channels[1]))
        self.register_buffer("magnitude_ema", torch.tensor(0.8))
        self.up_factor, self.down_factor = up, down
        self.register_buffer("up_filter", None if last else functional.normalize(torch.rand(6 * up), p=1, dim=0))
        self.register_buffer("down_filter", None if last else functional.normalize(torch.rand(6 * down), p=1, dim=0))
        taps = 2 if last else 6 * up + 6 * down
        total = (sizes[1] - 1) * down + 1 - (sizes[0] + self.conv_kernel - 1) * up + taps - 2
        first = (total + up) // 2
        self.padding = [first, total - first, first, total - first]

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        styles = self.affine(w)
        if self.is_torgb:
            styles = styles / math.sqrt(self.in_channels)
        return torch.cat([self.one(image[None], style) for image, style in zip(x, styles)])

    def one(self, x: Tensor, style: Tensor) -> Tensor:
        weight = self.weight * style[:, None, None]
        if not self.is_torgb:
            weight = weight / weight.square().sum((1, 2, 3), keepdim=True).sqrt()
        x = functional.conv2d(x, weight * self.magnitude_ema.rsqrt(), self.bias * 0, padding=self.conv_kernel - 1)
        x = x + self.bias[:, None, None]
        wide = torch.zeros(*x.shape[:2], *(self.up_factor * size for size in x.shape[2:]))
        wide[:, :, :: self.up_factor, :: self.up_factor] = x
        wide = self.filtered(functional.pad(wide, self.padding), self.up_filter, self.up_factor)
        if not self.is_torgb:
            wide = functional.leaky_relu(wide, 0.2) * math.sqrt(2)
        low = self.filtered(wide.clamp(-self.conv_clamp, self.conv_clamp), self.down_filter, 1)
        return low[:, :, :: self.down_factor, :: self.down_factor]

    def filtered(self, x: Tensor, taps: Tensor | None, gain: int) -> Tensor:
        if taps is None:
            return x
        kernel = torch.outer(taps, taps).flip(0, 1) * gain**2
        return functional.conv2d(x.transpose(0, 1), kernel[None, None]).transpose(0, 1)


class Synthesis(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input = Input(channels=8, size=14, rate=8.0, bandwidth=2.0)
        self.layer_names, self.output_scale = ["first", "second", "last"], 2.0
        self.first = Layer((14, 14), (8, 8), up=2, down=2, last=False)
        self.second = Layer((14, SIDE), (8, 6), up=4, down=2, last=False)
        self.last = Layer((SIDE, SIDE), (6, 3), up=1, down=1, last=True)

    def forward(self, w: Tensor) -> Tensor:
        x = self.input(w)
        for name in self.layer_names:
            x = getattr(self, name)(x, w)
        return self.output_scale * x


class Generator(nn.Module):
    """As StyleGAN3's is called."""

    def __init__(self) -> None:
        super().__init__()
        self.z_dim, self.c_dim, self.img_resolution = LATENT, 0, SIDE
        self.mapping, self.synthesis = Mapping(), Synthesis()

    def forward(self, z: Tensor, c: Tensor, truncation_psi: float = 1.0, noise_mode: str = "random") -> Tensor:
        assert c.shape == (len(z), 0) and noise_mode == "const"
        return self.synthesis(self.mapping(z, truncation_psi))


def tokenizer(prompt: str | list[str], max_length: int = 12, **options: object) -> SimpleNamespace:
    """A token for each letter, of 26 and four more."""
    letters = prompt if isinstance(prompt, str) else prompt[0]
    known = [1, *(4 + ord(letter) - ord("a") for letter in letters.lower() if letter.isalpha())]
    tokens = [*known[: max_length - 1], 2]
    used = [1] * len(tokens) + [0] * (max_length - len(tokens))
    tokens += [0] * (max_length - len(tokens))
    return SimpleNamespace(input_ids=torch.tensor([tokens]), attention_mask=torch.tensor([used]))


class Attention(nn.Module):
    """From every token to all of another sequence, in two heads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.query, self.key, self.value, self.join = (nn.Linear(width, width) for _ in range(4))

    def heads(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], -1, 2, self.width // 2).transpose(1, 2)

    def forward(self, x: Tensor, other: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = self.heads(self.query(x)), self.heads(self.key(other)), self.heads(self.value(other))
        closeness = query @ key.transpose(2, 3) / math.sqrt(self.width // 2)
        if mask is not None:
            closeness = closeness + mask
        mixed = closeness.softmax(3) @ value
        return self.join(mixed.transpose(1, 2).reshape(x.shape[0], -1, self.width))


class Block(nn.Module):
    """Attention to the sequence itself, to another where there is one, and two linear layers."""

    def __init__(self, width: int, cross: bool) -> None:
        super().__init__()
        self.itself, self.other = Attention(width), Attention(width) if cross else None
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.think = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))

    def forward(self, x: Tensor, other: Tensor | None = None, masks: tuple[Tensor | None, ...] = (None, None)) -> Tensor:
        x = self.norms[0](x + self.itself(x, x, masks[0]))
        if self.other is not None:
            x = self.norms[1](x + self.other(x, other, masks[1]))
        return self.norms[2](x + self.think(x))


class VisualEncoder(nn.Module):
    """Patches of four pixels and one token more, as a plain tensor."""

    def __init__(self, side: int, width: int) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, kernel_size=4, stride=4)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, (side // 4) ** 2 + 1, width))
        self.blocks = nn.ModuleList(Block(width, cross=False) for _ in range(2))

    def forward(self, image: Tensor) -> Tensor:
        patches = self.cut(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(image.shape[0], -1, -1), patches], dim=1) + self.place
        for block in self.blocks:
            x = block(x)
        return x


class TextEncoder(nn.Module):
    """Tokens that look at an image, called as BLIP's is."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words, self.place = nn.Embedding(30, width), nn.Parameter(torch.randn(1, 40, width))
        self.blocks = nn.ModuleList(Block(width, cross=True) for _ in range(2))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        encoder_hidden_states: Tensor,
        encoder_attention_mask: Tensor,
        return_dict: bool,
    ) -> SimpleNamespace:
        assert return_dict
        both = attention_mask, encoder_attention_mask
        masks = tuple((1.0 - mask[:, None, None, :].float()) * -10000.0 for mask in both)
        x = self.words(input_ids) + self.place[:, : input_ids.shape[1]]
        for block in self.blocks:
            x = block(x, encoder_hidden_states, masks)
        return SimpleNamespace(last_hidden_state=x)


@torch.no_grad()
def lively(model: nn.Module) -> nn.Module:
    """With weights so large that images do not all look alike, as they do to a network fresh from its making."""
    for weight in model.parameters():
        if weight.ndim > 1:
            weight.normal_(std=1.5 / math.sqrt(weight[0].numel()))
    return model


def image_reward(side: int = 12, width: int = 16) -> SimpleNamespace:
    """As ImageReward is put together: BLIP's two encoders and a head of linear layers."""
    visual, text = lively(VisualEncoder(side, width)).eval(), lively(TextEncoder(width)).eval()
    head = lively(nn.Sequential(nn.Linear(width, 8), nn.Dropout(0.2), nn.Linear(8, 1))).eval()
    blip = SimpleNamespace(visual_encoder=visual, text_encoder=text, tokenizer=tokenizer)
    return SimpleNamespace(blip=blip, mlp=head, mean=0.16717362830052426, std=1.0333394966054072)


def clip(side: int = 12) -> nn.Module:
    """CLIP as transformers has it, of the smallest sizes."""
    from transformers import CLIPConfig, CLIPModel

    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {**sizes, "vocab_size": 30, "max_position_embeddings": 40, "bos_token_id": 1, "eos_token_id": 2}
    vision = {**sizes, "image_size": side, "patch_size": 4}
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=10, attn_implementation="eager")
    return lively(CLIPModel(config)).eval()
