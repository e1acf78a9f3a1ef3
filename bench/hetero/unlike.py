"""Ours and the peer on unlike devices."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ..quota import ROOT, available
from ..report import Row
from . import peers
from .decoder import Size
from .devices import QUOTAS, UNLIKE, Cell
from .lab import Lab, Program
from .statistic import Median, median

WANTED = 97.49  # % of the bound
BEST = "peer, best cut"
ALONE_MICROBATCHES = 16
SELDOM = 4  # all clusters but the first are measured in each SELDOM-th round


@dataclass
class Contest:
    """One cluster and one kind of work."""

    lab: Lab
    training: bool
    options: argparse.Namespace
    ours: Program = field(init=False)
    alone: list[Program] = field(init=False)  # the whole model on each device
    cuts: list[peers.Cut] = field(init=False)
    shares: dict[str, list[float]] = field(default_factory=dict)  # % of the bound by side, one a round

    def __post_init__(self) -> None:
        types, microbatches = list(self.lab.cell.devices), self.options.microbatches
        self.ours = self.lab.program(types, self.training, microbatches, self.options.schedule)
        # A device alone streams at one rate whatever a step is; in training the optimizer has its share of it.
        count = microbatches if self.training else min(microbatches, ALONE_MICROBATCHES)
        self.alone = [self.lab.program([name], self.training, count) for name in types]
        blocks = {name: self.lab.block_seconds(name, self.training) for name in types}
        size = self.lab.size
        ours = peers.our_cut(size, self.ours.output.plan, blocks)
        self.cuts = [peers.even_cut(size, blocks), peers.best_cut(size, blocks), ours]

    @property
    def name(self) -> str:
        return f"{'training' if self.training else 'inference'}, {self.lab.cell.name}"

    @property
    def overruns(self) -> int:
        return sum(each.overruns for each in [self.ours, *self.alone, *self.cuts])

    def sides(self) -> dict[str, Median]:
        return {side: median(values) for side, values in self.shares.items()}

    def run(self) -> None:
        """One round."""
        steps = self.options.steps
        # At once, as in the pipeline: devices of one machine share its caches.
        with ThreadPoolExecutor(len(self.alone)) as pool:
            bound = sum(pool.map(lambda program: self.lab.rate(program, steps), self.alone))
        found = {"ours": self.lab.rate(self.ours, steps)}
        for cut in self.cuts:
            rate = peers.rate(self.lab, cut, self.training, self.options.microbatches, steps)
            found[f"peer, {cut.name}"] = rate
        for side, rate in found.items():
            self.shares.setdefault(side, []).append(100 * rate / bound)

    def show(self) -> None:
        blocks = ", ".join(f"{cut.name} {describe(cut)}" for cut in self.cuts)
        print(f"{self.name} ({len(self.shares['ours'])} rounds; blocks: {blocks})")
        for side, share in self.sides().items():
            print(f"  {side:16} {share}")
        if self.overruns:
            print(f"  {self.overruns} computes lasted longer than their emulated time: the machine was busy")

    def row(self) -> Row:
        sides = self.sides()
        ours = sides.pop("ours").value
        peer = max(share.value for share in sides.values())
        reached = ours >= WANTED and ours > peer
        details = f"peer at best {peer:.2f} %"
        return Row(self.name, f"{ours:.2f} %", f"at least {WANTED} % and above the peer", reached, details)


def describe(cut: peers.Cut) -> str:
    return "/".join(str(end - begin) for begin, end in itertools.pairwise(cut.borders))


def contest(scratch: Path, options: argparse.Namespace, cells: list[Cell]) -> Iterator[Contest]:
    """All rounds of all cells, in turns."""
    with ExitStack() as stack:
        labs = [stack.enter_context(Lab(scratch / f"cell{k}", cell, Size())) for k, cell in enumerate(cells)]
        contests = [Contest(lab, training, options) for lab in labs for training in (False, True)]
        for turn in range(options.rounds):
            for each in contests:
                if each.lab is labs[0] or turn % SELDOM == 0:
                    each.run()
    about = f"m = {options.microbatches}, ours: {options.schedule}"
    print(f"\n% of the upper bound: median over rounds and its 95 % interval; {about}")
    for each in contests:
        each.show()
    yield from contests


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Devices that `emulate:` makes slow, and the last line."""
    found = list(contest(scratch, options, UNLIKE[: options.cells]))
    for each in found:
        yield each.row()
    ours = [each.sides()["ours"].value for each in found[:2]]
    peer = [each.sides()[BEST].value for each in found[:2]]
    print(
        f"hetero: inference {ours[0]:.2f} % training {ours[1]:.2f} % "
        f"peer inference {peer[0]:.2f} % training {peer[1]:.2f} %"
    )


def measure_quotas(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Devices that a share of a core makes slow."""
    if not available():
        yield Row("CPU quotas", "skipped", "above the peer", True, f"needs root and {ROOT}")
        return
    for each in contest(scratch, options, QUOTAS[: options.cells]):
        yield each.row()
