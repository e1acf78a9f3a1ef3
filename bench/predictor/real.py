"""Real cores: models on one and two stages, microbatches of several numbers and sizes."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from hethub.probe import runtime_figures

from ..report import Row
from . import accuracy
from .configurations import Variant, Workshop, run_once

MEAN, WORST, MEMORY = 0.05, 0.15, 0.10
RUN_SECONDS = 1.2

# Models with a symbolic batch, with two ways to cut a step into microbatches: size x number.
SYMBOLIC = {
    "gpt2.dyn": [(4, 4), (8, 2)],
    "bert.dyn": [(4, 4), (8, 2)],
    "llama.dyn": [(4, 4), (8, 2)],
    "vit.dyn": [(2, 4), (4, 2)],
    "resnet50.dyn": [(1, 4), (2, 2)],
    "mobilenetv3.dyn": [(2, 4), (4, 2)],
    "efficientnet.dyn": [(2, 4), (4, 2)],
    "whisper_encoder.dyn": [(1, 4), (2, 2)],
    "minilm.dyn": [(4, 4), (8, 2)],
    "unet.dyn": [(1, 4), (2, 2)],
}
# Models whose batch is fixed: numbers of microbatches.
FIXED = {
    "gpt2.static": [2, 8],
    "bert.static": [2, 8],
    "llama.static": [2, 8],
    "resnet50.static": [1, 4],
    "lstm_tagger.static": [2, 6],
    "magika.package": [2, 8],
    "ocr_detect.package": [1, 3],
    "ocr_recognise.package": [1, 4],
    "ocr_direction.package": [2, 8],
}


def variants(names: list[str] | None) -> list[Variant]:
    known = [*SYMBOLIC, *FIXED]
    for name in names or []:
        if name not in known:
            sys.exit(f"bench: error: --models must be among {', '.join(known)}, got: {name}")
    found = []
    for name in names or known:
        for stages in (1, 2):
            found += [Variant(name, size, count, stages) for size, count in SYMBOLIC.get(name, [])]
            found += [Variant(name, None, count, stages) for count in FIXED.get(name, [])]
    return found


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    figures = runtime_figures()
    print("runtime: " + ", ".join(f"{name} {value:.3g}" for name, value in figures.items()), flush=True)
    workshop = Workshop(scratch, figures)
    prepared = []
    # Model by model, so that profile and runs are not an hour apart; profiles and runs of its configurations in turns.
    for _, group in itertools.groupby(variants(options.models), lambda variant: variant.spec):
        members = [workshop.prepare(variant) for variant in group]
        for turn in range(options.rounds):
            for each in members:
                if turn > 0:
                    workshop.predict_again(each, turn)
                run_once(each, RUN_SECONDS)
        for each in members:
            print(accuracy.line(each), flush=True)
        prepared += members
    yield from accuracy.rows("real cores", prepared, MEAN, WORST)
    yield from accuracy.choice_rows("real cores", prepared, lambda each: each.variant.spec)
    yield from memory_rows(prepared)


def memory_rows(prepared) -> Iterator[Row]:
    worst, name = 0.0, ""
    for each in prepared:
        for stage, measured in zip(each.prediction["stages"], each.memory, strict=True):
            error = abs(stage["process_bytes"] / measured - 1)
            if error >= worst:
                worst, name = error, f"{each.variant}: {measured / 2**20:.0f} MiB measured"
    yield Row(
        "real cores: worst error of a rank's peak memory", f"{100 * worst:.1f} %", "within 10 %", worst < MEMORY, name
    )
