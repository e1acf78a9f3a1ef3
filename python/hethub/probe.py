"""What the runtime takes on this machine beyond the operations of a model: per microbatch, per message and per byte."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import tools
from .output import Rank, rank_files
from .ranks import Ranks

# From a message that is all latency to one that fills caches.
SIZES = (0, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22)
SUM_SIZES = (1 << 12, 1 << 18, 1 << 22, 1 << 24)
MICROBATCHES = 8
REPEATS = 30
WORK_SECONDS = 2e-3
WARM_UP = 3
TIMEOUT_SECONDS = 60.0


def step_seconds(ranks: Sequence[dict[str, Any]]) -> list[float]:
    """Seconds of each step of a run with --drain, from the first rank's begin to the last one's end."""
    begins = [[rank["start_s"] + second for second in rank["repeat_begin_s"]] for rank in ranks]
    ends = [[rank["start_s"] + second for second in rank["repeat_end_s"]] for rank in ranks]
    return [
        max(end) - min(begin) for begin, end in zip(zip(*begins, strict=True), zip(*ends, strict=True), strict=True)
    ]


def run_ranks(ranks: Sequence[Rank], commands: Sequence[list[str]], timeout: float) -> list[dict[str, Any]]:
    """Runs one process a rank and returns what each reports (--stats)."""
    with tempfile.TemporaryDirectory(prefix="hethub-probe-") as scratch:
        file = Path(scratch) / "stats.json"
        with Ranks(ranks, [[*command, f"--stats={file}"] for command in commands], None, quiet=True) as processes:
            processes.wait(timeout)
        return [json.loads(report.read_text()) for report in rank_files(file, ranks)]


@dataclass(frozen=True)
class Probe:
    """What a run of two ranks took that do little but send."""

    step: float  # seconds of a step
    send: float  # of handing a message over
    beside: float  # of rank 0 for each microbatch beside sending and computing
    computes: list[float]  # of a compute on each rank


def probe(
    size: int,
    microbatches: int,
    works: tuple[float, float],
    kinds: tuple[str, str] = ("cpu", "cpu"),
    way: Sequence[str] = (),
) -> Probe:
    """Sends `microbatches` values of `size` bytes from one process to another, again and again. They compute for about
    `works` seconds a microbatch. `kinds` are what they compute on, `way` options of hh-run that say how messages go."""
    ranks = [Rank(k, k, 0, kind) for k, kind in enumerate(kinds)]
    command = [str(tools.find("hh-run")), f"--probe={size}", f"--probe-kinds={','.join(kinds)}", *way, "--drain"]
    command += [f"--microbatches={microbatches}", f"--repeats={REPEATS}"]
    stats = run_ranks(ranks, [[*command, f"--probe-work={work:g}"] for work in works], TIMEOUT_SECONDS)
    sender = stats[0]
    messages = REPEATS * microbatches
    spans = zip(sender["repeat_begin_s"], sender["repeat_end_s"], strict=True)
    active = sum(end - begin for begin, end in spans) - sender["send_s"] - sum(sender["repeat_busy_s"])
    # The median over steps, since a single disturbance may last longer than all messages.
    busy = [statistics.median(rank["repeat_busy_s"][WARM_UP:]) / microbatches for rank in stats]
    return Probe(
        step=statistics.median(step_seconds(stats)[WARM_UP:]),
        send=sender["send_s"] / messages,
        beside=max(0.0, active) / messages,
        computes=busy,
    )


def message_seconds(size: int, kinds: tuple[str, str] = ("cpu", "cpu"), way: Sequence[str] = ()) -> float:
    """Seconds of one message, from the end of what makes its value to the begin of what reads it. CPUs compute beside
    that, as those of a model do: then caches are cold and the transport's threads share the cores."""
    if kinds == ("cpu", "cpu"):
        found = probe(size, 1, (WORK_SECONDS, WORK_SECONDS), kinds, way)
        return max(0.0, found.step - sum(found.computes))
    # A device is waited for where the receiver would compute.
    return probe(size, 1, (0.0, 0.0), kinds, way).step


def taking(size: int) -> float:
    """Seconds by which a message delays the computes of its receiver when that is the slower rank and both keep a core
    busy: then the transport's threads wait for a core, and the receiver for them."""
    works = (0.75 * WORK_SECONDS, WORK_SECONDS)
    one, several = (probe(size, count, works) for count in (1, MICROBATCHES))
    period = (several.step - one.step) / (MICROBATCHES - 1)
    return max(0.0, period - one.computes[1])


def rank_bytes() -> int:
    """What a process holds that sends a byte and computes nothing: libraries, and connections to another one."""
    ranks = [Rank(k, k, 0, "cpu") for k in range(2)]
    command = [str(tools.find("hh-run")), "--probe=1", f"--microbatches={MICROBATCHES}"]
    return max(rank["max_rss_bytes"] for rank in run_ranks(ranks, [command, command], TIMEOUT_SECONDS))


def sum_figures() -> dict[str, float]:
    """What sums over ranks of this machine take, as rings of `simulator::allReduceSeconds` have it.

    sum_latency_s, sum_bytes_per_s  of each of the messages of a sum
    """
    ranks = [Rank(k, 0, k, "cpu") for k in range(2)]
    seconds = []
    for size in SUM_SIZES:
        command = [str(tools.find("hh-run")), f"--probe-sum={size}", f"--repeats={REPEATS}"]
        stats = run_ranks(ranks, [command, command], TIMEOUT_SECONDS)
        seconds.append(max(rank["sum_s"] for rank in stats))
    # Two ranks: 2 latencies, and all bytes once.
    latencies, per_byte = line(SUM_SIZES, seconds)
    return {"sum_latency_s": latencies / 2, "sum_bytes_per_s": 1 / max(per_byte, 1e-12)}


def line(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """a >= 0 and b >= 0 of a + b x size, with the least relative errors."""
    x, y = np.asarray(sizes, float), np.maximum(np.asarray(seconds, float), 1e-7)
    design = np.stack([1 / y, x / y], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, np.ones_like(y), rcond=None)
    if a < 0:
        return 0.0, float((x / y).sum() / ((x / y) ** 2).sum())
    if b < 0:
        return float((1 / y).sum() / (1 / y**2).sum()), 0.0
    return float(a), float(b)


def runtime_figures(turns: int = 3) -> dict[str, float]:
    """The "runtime" part of a profile, from medians of `turns` runs for each size of message. The ranks compute beside
    that (`message_seconds`).

    microbatch_s                   seconds of a stage for each microbatch beside its operations
    send_s, send_s_per_byte        for which a message keeps its sender from computing
    receive_s, receive_s_per_byte  for which it keeps its receiver from computing
    latency_s, bytes_per_s         of a whole message, sending and taking included
    rank_bytes                     of a process that sends and computes nothing
    """
    messages, sends, takes, beside = [], [], [], []
    for size in SIZES:
        single = [message_seconds(size) for _ in range(turns)]
        several = [probe(size, MICROBATCHES, (WORK_SECONDS, WORK_SECONDS)) for _ in range(turns)]
        messages.append(statistics.median(single))
        sends.append(statistics.median(each.send for each in several))
        takes.append(statistics.median(taking(size) for _ in range(turns)))
        beside.append(statistics.median(each.beside for each in several))
    send, send_per_byte = line(SIZES, sends)
    receive, receive_per_byte = line(SIZES, takes)
    latency, per_byte = line(SIZES, messages)
    return {
        "microbatch_s": min(beside),
        "send_s": send,
        "send_s_per_byte": send_per_byte,
        "receive_s": receive,
        "receive_s_per_byte": receive_per_byte,
        "latency_s": latency,
        "bytes_per_s": 1 / max(per_byte, 1e-12),
        "rank_bytes": rank_bytes(),
    }
