"""Emulated clusters of the bench."""

from __future__ import annotations

from dataclasses import dataclass

QUICK = "bandwidth: 10 Gbit/s, latency: 50 us"
SLOW = "bandwidth: 200 Mbit/s, latency: 1 ms"


@dataclass(frozen=True)
class Device:
    """`slowdown`: computes last that many times what they were measured at (the runtime's `emulate:`). `share`: of a
    core, by a CPU quota. One of them is set. The shares of a cluster, or its 1 / slowdown, must add up to less than
    the machine's cores, else stages wait for a core and not for a device."""

    slowdown: int = 0
    share: float = 0


@dataclass(frozen=True)
class Cell:
    """A cluster of one device of each type."""

    name: str
    devices: dict[str, Device]
    link: str | None = QUICK  # None: what the machine has


UNLIKE = [
    Cell("2 devices, 1 : 0.4", {"fast": Device(2), "slow": Device(5)}),
    Cell("2 devices, 1 : 0.4, slow link", {"fast": Device(2), "slow": Device(5)}, SLOW),
    Cell("3 devices, 1 : 0.67 : 0.33", {"fast": Device(2), "medium": Device(3), "slow": Device(6)}),
    Cell("4 devices, 1 : 0.75 : 0.5 : 0.38", {"a": Device(3), "b": Device(4), "c": Device(6), "d": Device(8)}),
]
QUOTAS = [Cell("2 devices, 0.9 : 0.36, CPU quotas", {"fast": Device(share=0.9), "slow": Device(share=0.36)}, None)]
BALANCED = Cell("2 equal devices", {"first": Device(4), "second": Device(4)})


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
