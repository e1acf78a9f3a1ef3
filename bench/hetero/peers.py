"""Cuts for the peer, which has no planner, and its runs."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from hethub.output import Rank
from hethub.ranks import Ranks

from ..report import TOP
from .decoder import Size
from .devices import Seconds

TIMEOUT_SECONDS = 300.0


@dataclass
class Cut:
    """Blocks of each rank, and what a microbatch takes on its device."""

    name: str
    borders: list[int]  # from 0 to the number of blocks
    seconds: list[Seconds]
    overruns: int = 0


def seconds_of(borders: list[int], types: tuple[str, ...], blocks: dict[str, list[Seconds]]) -> list[Seconds]:
    shares = zip(types, itertools.pairwise(borders), strict=True)
    return [sum(blocks[name][begin:end], Seconds(0, 0)) for name, (begin, end) in shares]


def even_cut(size: Size, blocks: dict[str, list[Seconds]]) -> Cut:
    count = len(blocks)
    borders = [size.blocks * k // count for k in range(count + 1)]
    return Cut("even cut", borders, seconds_of(borders, tuple(blocks), blocks))


def best_cut(size: Size, blocks: dict[str, list[Seconds]]) -> Cut:
    """Of all cuts between blocks and all orders of the devices the one whose slowest stage is the fastest."""
    best: Cut | None = None
    for types in itertools.permutations(blocks):
        for inner in itertools.combinations(range(1, size.blocks), len(types) - 1):
            borders = [0, *inner, size.blocks]
            seconds = seconds_of(borders, types, blocks)
            if best is None or max(s.all for s in seconds) < max(s.all for s in best.seconds):
                best = Cut("best cut", borders, seconds)
    assert best
    return best


def our_cut(size: Size, plan: dict, seconds: list[Seconds], blocks: dict[str, list[Seconds]]) -> Cut:
    """The times of our stages, which may end within a block; what is computed meanwhile ends at the nearest border."""
    borders, done = [0], 0.0
    for stage, own in zip(plan["stages"], seconds, strict=True):
        done += own.all / sum(s.all for s in blocks[stage["device_type"]])
        least, most = borders[-1] + 1, size.blocks - (len(seconds) - len(borders))
        borders.append(min(max(round(done * size.blocks), least), most))
    borders[-1] = size.blocks
    return Cut("our cut", borders, seconds)


def samples_per_second(scratch: Path, cut: Cut, size: Size, training: bool, microbatches: int, steps: int) -> float:
    """Of steady steps of one run."""
    result = scratch / "peer"
    ranks = [Rank(k, k, 0, "") for k in range(len(cut.seconds))]
    commands = []
    for rank, (begin, end) in zip(ranks, itertools.pairwise(cut.borders), strict=True):
        seconds = cut.seconds[rank.rank]
        command = ["env", f"PYTHONPATH={TOP}", sys.executable, "-m", "bench.hetero.peer"]
        command += [f"--share={begin},{end}", f"--seconds={seconds.forward},{seconds.backward}"]
        command += [f"--size={json.dumps(dataclasses.asdict(size))}", f"--microbatches={microbatches}"]
        command += [f"--steps={steps}", f"--result={result}", *(["--train"] if training else [])]
        commands.append(command)
    with Ranks(ranks, commands, None, quiet=True) as processes:
        processes.wait(TIMEOUT_SECONDS)
    reports = [json.loads(result.with_suffix(f".{rank.rank}").read_text()) for rank in ranks]
    cut.overruns += sum(report["overruns"] for report in reports)
    return reports[-1]["rate"]
