"""Emulated clusters of the bench, and what a block of the model costs on each of their devices."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hethub
from hethub import Search

from .decoder import Size

QUICK = "bandwidth: 10 Gbit/s, latency: 50 us"
SLOW = "bandwidth: 200 Mbit/s, latency: 1 ms"


@dataclass(frozen=True)
class Cell:
    """Device types by slowdown, one device each. The busy shares, 1 / slowdown, must add up to less than the machine's
    cores, else stages wait for a core and not for a device."""

    name: str
    slowdowns: dict[str, int]
    link: str = QUICK


CELLS = [
    Cell("2 devices, 1 : 0.4", {"fast": 2, "slow": 5}),
    Cell("2 devices, 1 : 0.4, slow link", {"fast": 2, "slow": 5}, SLOW),
    Cell("3 devices, 1 : 0.67 : 0.33", {"fast": 2, "medium": 3, "slow": 6}),
    Cell("4 devices, 1 : 0.75 : 0.5 : 0.38", {"a": 3, "b": 4, "c": 6, "d": 8}),
]


def cluster_file(path: Path, profile: Path, cell: Cell, types: Sequence[str], count: int = 1) -> Path:
    """`count` devices of each of `types`."""
    lines = ["devices:"]
    for name in types:
        emulated = f"emulate: {{slowdown: {cell.slowdowns[name]}}}"
        lines.append(f"  - {{name: {name}, kind: cpu, count: {count}, memory: 4 GiB, profile: {profile}, {emulated}}}")
    if len(types) > 1:
        lines.append("links:")
        lines += [
            f"  - {{between: [{a}, {b}], {cell.link}, emulate: true}}" for a, b in itertools.combinations(types, 2)
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


@dataclass(frozen=True)
class Seconds:
    """Of one microbatch."""

    forward: float
    backward: float

    @property
    def all(self) -> float:
        return self.forward + self.backward

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.forward + other.forward, self.backward + other.backward)


def stage_seconds(plan: dict) -> list[Seconds]:
    return [Seconds(stage["forward_seconds"], stage["backward_seconds"]) for stage in plan["stages"]]


def block_seconds(scratch: Path, model: Path, profile: Path, cell: Cell, name: str, size: Size, train: bool) -> list:
    """What each block takes on a device of type `name`, by the planner's costs: the embedding is with the first block,
    the head with the last one."""
    cluster = cluster_file(scratch / f"blocks_{name}.yaml", profile, cell, [name], count=size.blocks)
    stages = [{"device_type": name} | ({"first": f"blocks.{k}"} if k else {}) for k in range(size.blocks)]
    file = scratch / f"blocks_{name}.json"
    file.write_text(json.dumps({"stages": stages}))
    return stage_seconds(hethub.plan(model, cluster=cluster, plan_file=file, search=Search(train=train)))
