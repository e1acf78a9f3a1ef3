"""`emulate:` devices, whose computes last exactly what they are told: what is left is the schedule and the messages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from hethub.probe import runtime_figures

from ..report import Row
from . import accuracy
from .configurations import Variant, Workshop, run_once

WORST = 0.01
RUN_SECONDS = 4.0

# name, samples in a microbatch, microbatches
MODELS = [("gpt2.dyn", 32, 4), ("minilm.dyn", 8, 6), ("bert.dyn", 32, 6), ("resnet50.dyn", 1, 5)]
# On two cores the busy shares (sum of 1 / slowdown) stay below one, so that nothing waits for a core.
SLOWDOWNS = {2: {"fast": 4, "slow": 7}, 3: {"fast": 4, "middle": 6, "slow": 9}}
LINKS = {"quick": "bandwidth: 10 Gbit/s, latency: 50 us", "slow": "bandwidth: 300 Mbit/s, latency: 2 ms"}


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    workshop = Workshop(scratch, runtime_figures())
    prepared = []
    for spec, size, microbatches in MODELS:
        for stages, slowdowns in SLOWDOWNS.items():
            devices = [
                f"{{name: {kind}, kind: cpu, count: 1, profile: PROFILE, emulate: {{slowdown: {slowdown}}}}}"
                for kind, slowdown in slowdowns.items()
            ]
            kinds = list(slowdowns)
            for name, figures in LINKS.items():
                links = [
                    f"{{between: [{a}, {b}], {figures}, emulate: true}}"
                    for k, a in enumerate(kinds)
                    for b in kinds[k + 1 :]
                ]
                variant = Variant(spec, size, microbatches, stages)
                prepared.append(workshop.prepare(variant, devices, links, f"-{name}"))
    for _ in range(options.rounds):
        for each in prepared:
            run_once(each, RUN_SECONDS)
    for each in prepared:
        print(accuracy.line(each))
    yield from accuracy.rows("emulated devices", prepared, WORST, WORST)
