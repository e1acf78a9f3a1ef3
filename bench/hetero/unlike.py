"""Ours and the peer on unlike devices."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hethub

from ..report import Row
from . import peers
from .decoder import Size, export
from .devices import CELLS, Cell, block_seconds, stage_seconds
from .ours import Program, program
from .statistic import Median, median

WANTED = 97.49  # % of the bound


@dataclass
class Contest:
    """One cluster and one kind of work."""

    cell: Cell
    training: bool
    ours: Program
    alone: list[Program]
    cuts: list[peers.Cut]
    shares: dict[str, list[float]] = field(default_factory=dict)  # % of the bound by side, one a round

    @property
    def name(self) -> str:
        return f"{'training' if self.training else 'inference'}, {self.cell.name}"

    def sides(self) -> dict[str, Median]:
        return {side: median(values) for side, values in self.shares.items()}

    def best_peer(self) -> Median:
        return self.sides()["peer, best cut"]

    def run(self, scratch: Path, size: Size, options: argparse.Namespace) -> None:
        """One round."""
        bound = sum(each.samples_per_second(options.steps) for each in self.alone)
        found = {"ours": self.ours.samples_per_second(options.steps)}
        for cut in self.cuts:
            found[f"peer, {cut.name}"] = peers.samples_per_second(
                scratch, cut, size, self.training, options.microbatches, options.steps
            )
        for side, rate in found.items():
            self.shares.setdefault(side, []).append(100 * rate / bound)


def prepare(
    scratch: Path, model: Path, profile: Path, cell: Cell, training: bool, size: Size, microbatches: int
) -> Contest:
    types = list(cell.slowdowns)
    scratch.mkdir()

    def compiled(of: list[str]) -> Program:
        return program(scratch, model, profile, cell, of, training, microbatches, size)

    ours = compiled(types)
    blocks = {name: block_seconds(scratch, model, profile, cell, name, size, training) for name in types}
    cuts = [
        peers.even_cut(size, blocks),
        peers.best_cut(size, blocks),
        peers.our_cut(size, ours.plan, stage_seconds(ours.plan), blocks),
    ]
    return Contest(cell, training, ours, [compiled([name]) for name in types], cuts)


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    size = Size()
    model, profile = export(size, scratch / "model.onnx"), scratch / "profile.json"
    hethub.profile(model, profile)
    contests = [
        prepare(scratch / f"{k}-{training}", model, profile, cell, training, size, options.microbatches)
        for k, cell in enumerate(CELLS[: options.cells])
        for training in (False, True)
    ]
    for _ in range(options.rounds):
        for contest in contests:
            contest.run(scratch, size, options)
    print(
        f"\n% of the upper bound: median of {options.rounds} rounds and its 95 % interval; m = {options.microbatches}"
    )
    for contest in contests:
        print(f"{contest.name}: blocks {' | '.join(describe(cut) for cut in contest.cuts)}")
        for side, share in contest.sides().items():
            print(f"  {side:16} {share}")
        overruns = (
            contest.ours.overruns + sum(p.overruns for p in contest.alone) + sum(c.overruns for c in contest.cuts)
        )
        if overruns:
            print(f"  {overruns} computes lasted longer than their emulated time: the machine was busy")
    for contest in contests:
        ours, peer = (
            contest.sides()["ours"],
            max((share for side, share in contest.sides().items() if side != "ours"), key=lambda share: share.value),
        )
        reached = ours.value >= WANTED and ours.value > peer.value
        wanted = f"at least {WANTED} % and above the peer"
        yield Row(contest.name, f"{ours.value:.2f} %", wanted, reached, f"peer at best {peer.value:.2f} %")
    inference, training = contests[:2]
    print(
        f"hetero: inference {inference.sides()['ours'].value:.2f} % training {training.sides()['ours'].value:.2f} % "
        f"peer inference {inference.best_peer().value:.2f} % training {training.best_peer().value:.2f} %"
    )


def describe(cut: peers.Cut) -> str:
    return f"{cut.name} {'/'.join(str(b - a) for a, b in itertools.pairwise(cut.borders))}"
