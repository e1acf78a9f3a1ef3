"""The plan as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: the first two to the left, figures to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    text = []
    for line in lines:
        cells = [
            cell.ljust(w) if k < 2 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def plan_table(plan: dict[str, Any]) -> str:
    """One line per stage, then step time, bound and gap."""
    header = ["stage", "device type", "ops", "parameters", "memory", "predicted ms"]
    rows = []
    for k, stage in enumerate(plan["stages"]):
        device = stage["device_type"] + (f" x{stage['replicas']}" if stage.get("replicas", 1) > 1 else "")
        rows.append(
            [
                str(k),
                device,
                str(len(stage["nodes"])),
                amount(stage["parameter_bytes"], "B", 1024),
                amount(stage["memory_bytes"], "B", 1024),
                milliseconds(stage["forward_seconds"]),
            ]
        )
    lines = [render(header, rows)]
    step = plan.get("step_seconds")
    if step is not None:
        microbatches = plan.get("microbatches", 1)
        of = f" for {microbatches} microbatches" if microbatches > 1 else ""
        lines.append(f"step{of}: {milliseconds(step)} ms predicted")
    bound = plan.get("lower_bound_seconds")
    if bound and step:
        lines.append(f"lower bound: {milliseconds(bound)} ms, gap {100 * (1 - bound / step):.1f} %")
    for note in plan.get("notes", []):
        lines.append(f"note: {note}")
    return "\n".join(lines)
