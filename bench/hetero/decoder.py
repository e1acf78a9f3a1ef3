"""The model of the bench: a decoder of equal blocks, as a module that can be cut between them and as an ONNX file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

INPUT, OUTPUT, LABELS = "tokens", "logits", "labels"


@dataclass(frozen=True)
class Size:
    blocks: int = 12
    width: int = 192
    heads: int = 4
    sequence: int = 32
    vocabulary: int = 1024
    batch: int = 4  # samples of a microbatch


class Block(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        width = size.width
        self.heads = size.heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.mix = (nn.Linear(width, width) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.attention_norm(x)
        query, key, value = (
            layer(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    """Blocks `begin` to `end` of the model; the first share has the embedding, the last one the head."""

    def __init__(self, size: Size, begin: int, end: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size.vocabulary, size.width) if begin == 0 else None
        self.blocks = nn.ModuleList(Block(size) for _ in range(begin, end))
        last = end == size.blocks
        self.norm = nn.LayerNorm(size.width) if last else None
        self.head = nn.Linear(size.width, size.vocabulary, bias=False) if last else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(self.norm(x))


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def samples(size: Size, count: int) -> dict[str, np.ndarray]:
    """Tokens and the ones that follow them."""
    tokens = np.random.default_rng(5).integers(0, size.vocabulary, (count, size.sequence + 1))
    return {INPUT: np.ascontiguousarray(tokens[:, :-1]), LABELS: np.ascontiguousarray(tokens[:, 1:])}


def export(size: Size, path: Path) -> Path:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = Decoder(size, 0, size.blocks).eval()
    example = torch.from_numpy(samples(size, size.batch)[INPUT])
    torch.onnx.export(
        module, (example,), path, input_names=[INPUT], output_names=[OUTPUT], external_data=False, verbose=False
    )
    return path
