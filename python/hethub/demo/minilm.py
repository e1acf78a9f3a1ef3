"""all-MiniLM-L6-v2: from its weights to an ONNX file, and its tokenizer.

The embedding of a sentence is the mean of its tokens' last hidden states, scaled to length 1; both steps are part of
the exported graph. Needs torch, transformers and onnxscript (requirements-models.txt).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .sentences import SENTENCES

if TYPE_CHECKING:
    import torch

SEQUENCE = 32  # tokens per sentence, padding included
OUTPUT = "sentence_embedding"  # not "embedding": torch names a value of the graph so


def tokenize(model: Path, sentences: Sequence[str], length: int = SEQUENCE) -> dict[str, np.ndarray]:
    """Token ids and mask, int64 [sentences, length], by the tokenizer in the model's folder."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_padding(length=length)
    tokenizer.enable_truncation(length)
    encoded = tokenizer.encode_batch(list(sentences))
    return {
        "input_ids": np.array([e.ids for e in encoded], dtype=np.int64),
        "attention_mask": np.array([e.attention_mask for e in encoded], dtype=np.int64),
    }


def load(model: Path) -> torch.nn.Module:
    """The whole embedding as one module: (input_ids, attention_mask) -> float32 [batch, 384]."""
    import torch
    from transformers import BertModel

    bert = BertModel.from_pretrained(model, add_pooling_layer=False, attn_implementation="sdpa").eval()

    class Embedding(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            states = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            weights = attention_mask.unsqueeze(-1).to(states.dtype)
            mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, dim=1)

    return Embedding().eval()


def export(model: Path, out: Path) -> None:
    """Writes out/model.onnx (symbolic batch and sequence) and io.npz; the model last, so its presence means all."""
    import torch

    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    module = load(model)
    arrays = tokenize(model, SENTENCES[:8])
    tensors = tuple(torch.from_numpy(array) for array in arrays.values())
    axes = {0: "batch", 1: "sequence"}
    with torch.no_grad():
        embedding = module(*tensors).numpy()
        torch.onnx.export(
            module,
            tensors,
            out / "model.partial.onnx",
            input_names=list(arrays),
            output_names=[OUTPUT],
            dynamic_shapes=dict.fromkeys(arrays, axes),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    _strip_stack_traces(out / "model.partial.onnx")
    np.savez(out / "io.npz", **{f"in__{k}": v for k, v in arrays.items()}, **{f"out__{OUTPUT}": embedding})
    (out / "model.partial.onnx").rename(out / "model.onnx")


def _strip_stack_traces(path: Path) -> None:
    """They hold file paths of the exporting machine."""
    import onnx

    model = onnx.load(path)
    for node in model.graph.node:
        kept = [(p.key, p.value) for p in node.metadata_props if p.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        for key, value in kept:
            node.metadata_props.add(key=key, value=value)
    onnx.save(model, path)
