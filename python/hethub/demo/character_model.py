"""A small language model that reads and writes single characters: text, module, ONNX file, and what it writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import HetHubError

if TYPE_CHECKING:
    import torch

SEQUENCE = 64  # characters of a sample
WIDTH = 96
HEADS = 4
BLOCKS = 4
INPUT, OUTPUT = "characters", "logits"
LICENSES = Path("/usr/share/common-licenses")  # text that Debian ships
SEED = 1


class Text:
    """Characters as numbers, in order of their code."""

    def __init__(self, content: str) -> None:
        self.alphabet = sorted(set(content))
        number = {character: k for k, character in enumerate(self.alphabet)}
        self.numbers = np.array([number[character] for character in content], dtype=np.uint16)

    def write(self, numbers: np.ndarray) -> str:
        return "".join(self.alphabet[number] for number in numbers)


def read_text() -> Text:
    """The free software licences of this machine, else of the checkout."""
    files = sorted(path for path in LICENSES.glob("*") if path.is_file() and not path.is_symlink())
    files = files or sorted(Path(__file__).resolve().parents[3].glob("docs/*.md"))
    content = "\n".join(path.read_text(errors="replace") for path in files)
    if len(content) < 50_000:
        raise HetHubError(f"the demo needs text to learn, at least 50000 characters, got: {len(content)}")
    return Text("".join(character if character.isascii() else "?" for character in content))


def make_module(alphabet: int) -> torch.nn.Module:
    """A transformer: int64 characters [batch, SEQUENCE] -> logits of the next ones [batch, SEQUENCE, alphabet]."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
            self.attention_output = nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            batch, length, _ = x.shape
            parts = self.queries_keys_values(self.attention_norm(x)).chunk(3, -1)
            query, key, value = (p.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for p in parts)
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.attention_output(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
            return x + self.mlp(self.mlp_norm(x))

    class CharacterModel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.characters = nn.Embedding(alphabet, WIDTH)
            self.places = nn.Parameter(torch.randn(SEQUENCE, WIDTH) * 0.02)
            self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, alphabet)

        def forward(self, characters: torch.Tensor) -> torch.Tensor:
            x = self.characters(characters) + self.places
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    torch.manual_seed(SEED)
    return CharacterModel()


def export(alphabet: int, batch: int, target: Path) -> None:
    """Writes the untrained model for microbatches of `batch` samples."""
    import torch

    torch.set_num_threads(1)
    module = make_module(alphabet).eval()
    torch.onnx.export(
        module,
        (torch.zeros(batch, SEQUENCE, dtype=torch.int64),),
        target,
        input_names=[INPUT],
        output_names=[OUTPUT],
        dynamo=True,
        external_data=False,
        verbose=False,
    )


class Reader:
    """An ONNX file of the model in onnxruntime."""

    def __init__(self, model: Path, batch: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._batch = batch

    def _log_probabilities(self, characters: np.ndarray) -> np.ndarray:
        logits = self._session.run([OUTPUT], {INPUT: characters.astype(np.int64)})[0].astype(np.float64)
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def loss(self, numbers: np.ndarray) -> float:
        """Mean cross-entropy of the next character, in nats."""
        count = (len(numbers) - 1) // SEQUENCE // self._batch * self._batch
        inputs = numbers[: count * SEQUENCE].reshape(-1, self._batch, SEQUENCE)
        labels = numbers[1 : count * SEQUENCE + 1].reshape(-1, self._batch, SEQUENCE, 1).astype(np.int64)
        parts = [
            -np.take_along_axis(self._log_probabilities(x), y, -1).mean() for x, y in zip(inputs, labels, strict=True)
        ]
        return float(np.mean(parts))

    def continue_text(self, start: np.ndarray, length: int) -> np.ndarray:
        """`length` characters after `start`, drawn by their probability, each with a context of SEQUENCE - 1."""
        draw = np.random.default_rng(SEED)
        numbers = list(start)
        while len(numbers) < len(start) + length:
            context = numbers[-SEQUENCE:]
            batch = np.zeros((self._batch, SEQUENCE), dtype=np.int64)
            batch[0, : len(context)] = context
            probabilities = np.exp(self._log_probabilities(batch)[0, len(context) - 1] / 0.7)
            numbers.append(int(draw.choice(len(probabilities), p=probabilities / probabilities.sum())))
        return np.array(numbers[len(start) :])
