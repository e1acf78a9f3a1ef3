"""Cuts for the peer, which has no planner, and its runs."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
from dataclasses import dataclass

from hethub.output import Rank
from hethub.ranks import Ranks

from ..report import TOP
from .decoder import Size
from .devices import Seconds, stage_seconds
from .lab import TIMEOUT_SECONDS, Lab


@dataclass
class Cut:
    """Blocks of each rank, and what a microbatch takes on its device."""

    name: str
    types: tuple[str, ...]  # of the devices
    borders: list[int]  # from 0 to the number of blocks
    seconds: list[Seconds]
    overruns: int = 0


def seconds_of(borders: list[int], types: tuple[str, ...], blocks: dict[str, list[Seconds]]) -> list[Seconds]:
    shares = zip(types, itertools.pairwise(borders), strict=True)
    return [sum(blocks[name][begin:end], Seconds(0, 0)) for name, (begin, end) in shares]


def even_cut(size: Size, blocks: dict[str, list[Seconds]]) -> Cut:
    count = len(blocks)
    borders = [size.blocks * k // count for k in range(count + 1)]
    return Cut("even cut", tuple(blocks), borders, seconds_of(borders, tuple(blocks), blocks))


def best_cut(size: Size, blocks: dict[str, list[Seconds]]) -> Cut:
    """Of all cuts between blocks and all orders of the devices the one whose slowest stage is the fastest."""
    best: Cut | None = None
    for types in itertools.permutations(blocks):
        for inner in itertools.combinations(range(1, size.blocks), len(types) - 1):
            borders = [0, *inner, size.blocks]
            seconds = seconds_of(borders, types, blocks)
            if best is None or max(s.all for s in seconds) < max(s.all for s in best.seconds):
                best = Cut("best cut", types, borders, seconds)
    assert best
    return best


def our_cut(size: Size, plan: dict, blocks: dict[str, list[Seconds]]) -> Cut:
    """The times of our stages, which may end within a block; what is computed meanwhile ends at the nearest border."""
    borders, done, seconds = [0], 0.0, stage_seconds(plan)
    for stage, own in zip(plan["stages"], seconds, strict=True):
        done += own.all / sum(s.all for s in blocks[stage["device_type"]])
        least, most = borders[-1] + 1, size.blocks - (len(seconds) - len(borders))
        borders.append(min(max(round(done * size.blocks), least), most))
    borders[-1] = size.blocks
    return Cut("our cut", tuple(stage["device_type"] for stage in plan["stages"]), borders, seconds)


def rate(lab: Lab, cut: Cut, training: bool, microbatches: int, steps: int) -> float:
    """Samples/s of steady steps of one run."""
    result = lab.scratch / "peer"
    ranks = [Rank(k, k, 0, name) for k, name in enumerate(cut.types)]
    commands = []
    for rank, (begin, end) in zip(ranks, itertools.pairwise(cut.borders), strict=True):
        # A device that a quota makes slow is slow by itself.
        emulated = lab.cell.devices[rank.device_type].slowdown
        seconds = cut.seconds[rank.rank] if emulated else Seconds(0, 0)
        command = [*lab.wraps.get(rank.device_type, []), "env", f"PYTHONPATH={TOP}", "OMP_NUM_THREADS=1"]
        command += [sys.executable, "-m", "bench.hetero.peer"]
        command += [f"--share={begin},{end}", f"--seconds={seconds.forward},{seconds.backward}"]
        command += [f"--slowdown={emulated}"]
        command += [f"--size={json.dumps(dataclasses.asdict(lab.size))}", f"--microbatches={microbatches}"]
        command += [f"--steps={steps}", f"--result={result}", *(["--train"] if training else [])]
        commands.append(command)
    with Ranks(ranks, commands, None, quiet=True) as processes:
        processes.wait(TIMEOUT_SECONDS)
    reports = [json.loads(result.with_suffix(f".{rank.rank}").read_text()) for rank in ranks]
    cut.overruns += sum(report["overruns"] for report in reports)
    return reports[-1]["rate"]
