"""What is exported: a decoder of latents, rewards of images for a prompt, and an embedding of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

# Mean and deviation of the colours that CLIP, BLIP and ImageReward were trained with.
MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)
# ImageReward's longest prompt, in tokens.
TOKENS = 35


class Decoder(nn.Module):
    """z [batch, latent] → image [batch, 3, side, side] in [0, 1], by a generator of images in [−1, 1]."""

    def __init__(self, generator: nn.Module, psi: float = 1.0) -> None:
        super().__init__()
        self.generator, self.psi = generator, psi

    def forward(self, z: Tensor) -> Tensor:
        # No columns of labels: nothing is read of them, and any batch has as many.
        labels = z[:, :0]
        image = self.generator(z, labels, truncation_psi=self.psi, noise_mode="const")
        return (0.5 * image + 0.5).clamp(0, 1)


def resampling(from_side: int, to_side: int) -> Tensor:
    """The matrix of a bicubic resampling against aliasing, as Pillow does it: a row of weights for each new pixel."""
    columns = torch.eye(from_side)[None, None]
    return functional.interpolate(columns, (to_side, from_side), mode="bicubic", antialias=True)[0, 0]


class Prepare(nn.Module):
    """Images as an encoder wants them: resampled, by two products of matrices, and with colours normalised."""

    rows: Tensor
    mean: Tensor
    deviation: Tensor

    def __init__(self, from_side: int, to_side: int) -> None:
        super().__init__()
        self.register_buffer("rows", resampling(from_side, to_side))
        self.register_buffer("mean", torch.tensor(MEAN)[:, None, None])
        self.register_buffer("deviation", torch.tensor(DEVIATION)[:, None, None])

    def forward(self, image: Tensor) -> Tensor:
        # Along rows and then along columns, each cut to shades that there are, as Pillow does.
        narrow = (image @ self.rows.T).clamp(0, 1)
        small = (self.rows @ narrow).clamp(0, 1)
        return (small - self.mean) / self.deviation


class PromptReward(nn.Module):
    """log r = ImageReward's score of an image for one prompt, whose tokens are constants of the network."""

    tokens: Tensor
    used: Tensor
    seen: Tensor

    def __init__(self, model: Any, prompt: str, from_side: int, to_side: int = 224) -> None:
        super().__init__()
        self.prepare = Prepare(from_side, to_side)
        self.visual, self.text, self.head = model.blip.visual_encoder, model.blip.text_encoder, model.mlp
        self.mean, self.deviation = float(model.mean), float(model.std)
        said = model.blip.tokenizer(
            prompt, padding="max_length", truncation=True, max_length=TOKENS, return_tensors="pt"
        )
        with torch.no_grad():
            patches = self.visual(self.prepare(torch.zeros(1, 3, from_side, from_side))).shape[1]
        self.register_buffer("tokens", said.input_ids)
        self.register_buffer("used", said.attention_mask)
        self.register_buffer("seen", torch.ones(1, patches, dtype=torch.long))

    def forward(self, image: Tensor) -> Tensor:
        patches = self.visual(self.prepare(image))
        rows = patches.shape[0]
        read = self.text(
            self.tokens.expand(rows, -1),
            attention_mask=self.used.expand(rows, -1),
            encoder_hidden_states=patches,
            encoder_attention_mask=self.seen.expand(rows, -1),
            return_dict=True,
        )
        score = self.head(read.last_hidden_state[:, 0, :])
        return ((score - self.mean) / self.deviation).squeeze(1)


class ImageEmbedding(nn.Module):
    """CLIP's embedding of an image, of whatever length it has."""

    def __init__(self, model: Any, from_side: int) -> None:
        super().__init__()
        self.prepare = Prepare(from_side, model.config.vision_config.image_size)
        self.visual, self.project = model.vision_model, model.visual_projection

    def forward(self, image: Tensor) -> Tensor:
        return self.project(self.visual(pixel_values=self.prepare(image)).pooler_output)


class ClipReward(nn.Module):
    """log r = the cosine between CLIP's embeddings of an image and of one prompt, times `scale`."""

    text: Tensor

    def __init__(
        self, model: Any, tokenizer: Callable[..., Any], prompt: str, from_side: int, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.embed, self.scale = ImageEmbedding(model, from_side), scale
        said = tokenizer([prompt], padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            read = model.text_model(input_ids=said.input_ids, attention_mask=said.attention_mask)
            text = model.text_projection(read.pooler_output)[0]
        self.register_buffer("text", text / text.norm())

    def forward(self, image: Tensor) -> Tensor:
        embedding = self.embed(image)
        length = embedding.square().sum(1).sqrt()
        return self.scale * (embedding @ self.text) / length
