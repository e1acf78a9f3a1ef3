"""Unlike devices: each rank computes on a share of a core, which CPU quotas enforce, and was profiled on the
same share. Links: loop-back, and a slow one that the runtime holds messages back for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from hethub.probe import runtime_figures

from ..quota import ROOT, Quota, available
from ..report import Row
from . import accuracy
from .configurations import Variant, Workshop, run_once

MEAN = 0.10
RUN_SECONDS = 4.0

# name, samples in a microbatch: tens of milliseconds and more a stage
MODELS = [("gpt2_full.dyn", 1), ("bert_full.dyn", 1), ("resnet50_full.dyn", 1), ("minilm.dyn", 8)]
SHARES = {"half": (1.0, 0.5), "third": (0.9, 0.3)}
LINKS = {"loopback": [], "slow": ["{between: [fast, slow], bandwidth: 200 Mbit/s, latency: 1 ms, emulate: true}"]}
MICROBATCHES = 6


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    if not available():
        yield Row("CPU quotas: mean error", "skipped", f"below {100 * MEAN:g} %", True, f"needs root and {ROOT}")
        return
    workshop = Workshop(scratch, runtime_figures())
    prepared = []
    with ExitStack() as stack:
        for label, shares in SHARES.items():
            quotas = {}
            for kind, share in zip(("fast", "slow"), shares, strict=True):
                quotas[kind] = Quota(f"{label}-{kind}", share)
                stack.callback(quotas[kind].close)
            wrap = {kind: quota.wrap() for kind, quota in quotas.items()}
            prepared += [(each, wrap) for each in prepare(workshop, label, quotas)]
        for _ in range(options.rounds):
            for each, wrap in prepared:
                run_once(each, RUN_SECONDS, wrap)
    found = [each for each, _ in prepared]
    for each in found:
        print(accuracy.line(each))
    yield from accuracy.rows("CPU quotas", found, MEAN, None)


def prepare(workshop: Workshop, label: str, quotas: dict[str, Quota]):
    """Both models' links for one pair of shares."""
    from ..report import models

    for spec, size in MODELS:
        model = models.Model(spec)
        models.ensure(model)
        for kind, quota in quotas.items():
            with quota.entered():
                workshop.profile(model, size, label=f"-{label}_{kind}")
        devices = [f"{{name: {kind}, kind: cpu, count: 1, profile: PROFILE-{label}_{kind}}}" for kind in quotas]
        for link, lines in LINKS.items():
            yield workshop.prepare(Variant(spec, size, MICROBATCHES, 2), devices, lines, f"-{label}-{link}")
