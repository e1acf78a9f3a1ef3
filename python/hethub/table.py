"""The plan as a table for people. Every figure is one of plan.json."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

RANGE_WIDTH = 48


def amount(value: float, unit: str, base: int) -> str:
    """12.3 M of a number, 45.6 MiB of bytes: three significant digits."""
    prefixes = ["", "K", "M", "G", "T"] if base == 1000 else ["", "Ki", "Mi", "Gi", "Ti"]
    index = 0
    while value >= 999.5 and index < len(prefixes) - 1:
        value /= base
        index += 1
    digits = 0 if index == 0 or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {prefixes[index]}{unit}".rstrip()


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}" if seconds < 0.1 else f"{seconds * 1e3:.1f}"


def percent(share: float, sign: bool = False) -> str:
    return f"{100 * share:+.1f} %" if sign else f"{100 * share:.1f} %"


def per_second(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}" if value < 999.5 else amount(value, "", 1000)


def rate(plan: Mapping[str, Any], step_seconds: float) -> str:
    """Microbatches/s, and samples/s where the size of a microbatch is known."""
    if step_seconds <= 0:
        return "no time"
    microbatches = plan.get("microbatches", 1) / step_seconds
    size = plan.get("microbatch_size", 0)
    samples = f", {per_second(microbatches * size)} samples/s" if size else ""
    return f"{per_second(microbatches)} microbatches/s{samples}"


def render(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 2) -> str:
    """Aligned columns: the first `left` ones to the left, figures to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    text = []
    for line in lines:
        cells = [
            cell.ljust(w) if k < left else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def device_of(stage: Mapping[str, Any]) -> str:
    """`new x3 tp2`: three replicas of two devices each; `new (rank 1)` where ranks have several stages."""
    replicas, width = stage.get("replicas", 1), stage.get("tensor_parallel", 1)
    text = stage["device_type"] + (f" x{replicas}" if replicas > 1 else "") + (f" tp{width}" if width > 1 else "")
    return text + (f" (rank {stage['first_rank']})" if "first_rank" in stage else "")


def load_of(stage: Mapping[str, Any]) -> float:
    """Seconds of a stage for each microbatch of the step: replicas take turns."""
    return (stage["forward_seconds"] + stage.get("backward_seconds", 0)) / stage.get("replicas", 1)


def shorten(text: str, width: int) -> str:
    """The end of a long name says more than its begin. It starts with a whole part of a dotted one where it can."""
    if len(text) <= width:
        return text
    tail = text[len(text) - width + 3 :]
    part = re.search(r"[./]", tail[: width // 2])
    return "..." + (tail[part.end() :] if part else tail)


def range_of(stage: Mapping[str, Any]) -> str:
    """`layers.0 .. layers.5`: where the stage's first and last operation come from."""
    first, last = (stage.get(field) or "" for field in ("first", "last"))
    if first == last:
        return shorten(first, RANGE_WIDTH)
    room = RANGE_WIDTH - len(" .. ")
    half = room // 2
    # A short name leaves its room to the other.
    first = shorten(first, max(half, room - len(last)))
    return f"{first} .. {shorten(last, room - len(first))}"


def memory_of(stage: Mapping[str, Any]) -> str:
    used, limit = stage["memory_bytes"], stage.get("memory_limit_bytes", 0)
    text = amount(used, "B", 1024)
    return f"{text} of {amount(limit, 'B', 1024)}" if limit else text


def stage_rows(plan: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header, and one row per stage. Columns of training stand only in its plans."""
    training = plan.get("training", False)
    header = ["stage", "device type", "operations", "ops", "forward ms"]
    header += ["backward ms", "once ms"] if training else []
    header += ["load ms", "memory", "receives", "receive ms"]
    rows = []
    for k, stage in enumerate(plan["stages"]):
        row = [str(k), device_of(stage), range_of(stage), str(len(stage["nodes"]))]
        row.append(milliseconds(stage["forward_seconds"]))
        if training:
            again = " (recomputes)" if stage.get("recompute") else ""
            row.append(milliseconds(stage["backward_seconds"]) + again)
            row.append(milliseconds(stage.get("all_reduce_seconds", 0) + stage.get("optimizer_seconds", 0)))
        row += [milliseconds(load_of(stage)), memory_of(stage)]
        received = stage.get("receive_bytes", 0)
        row.append(amount(received, "B", 1024) if received else "-")
        row.append(milliseconds(stage.get("receive_seconds", 0)) if k else "-")
        rows.append(row)
    return header, rows


def stage_table(plan: Mapping[str, Any]) -> str:
    return render(*stage_rows(plan), left=3)


def figures(plan: Mapping[str, Any]) -> list[str]:
    """Step time and what is known about better ones, a line each."""
    lines = []
    step = plan.get("step_seconds")
    if step:
        microbatches = plan.get("microbatches", 1)
        of = f" for {microbatches} microbatches" if microbatches > 1 else ""
        lines.append(f"step{of}: {milliseconds(step)} ms predicted, {rate(plan, step)}")
    simulated = plan.get("simulated_seconds")
    if step and simulated:
        more = percent(simulated / step - 1, sign=True)
        lines.append(f"by its schedule table, links that are busy included: {milliseconds(simulated)} ms ({more})")
    bound = plan.get("lower_bound_seconds")
    if bound and step:
        proven = ", no plan of this order is better" if plan.get("optimal_for_order") else ""
        lines.append(f"lower bound: {milliseconds(bound)} ms, gap {percent(1 - bound / step)}{proven}")
    mix = plan.get("upper_bound_throughput")
    if mix and step:
        reached = plan.get("microbatches", 1) / step / mix
        lines.append(f"upper bound of the mix: {per_second(mix)} microbatches/s, reached: {percent(reached)}")
    lines += [f"note: {note}" for note in plan.get("notes", [])]
    return lines


def plan_table(plan: Mapping[str, Any]) -> str:
    """Stages, step time, throughput, bound and gap."""
    return "\n".join([stage_table(plan), *figures(plan)])
