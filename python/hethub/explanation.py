"""Why a plan is not better, for people: the `explanation` of plan.json (docs/Planner.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from .table import amount, device_of, load_of, milliseconds, percent, render, shorten

Facts = Mapping[str, Any]


def load_reason(border: Facts) -> str:
    return f"stage {border['neighbour']} would need {milliseconds(border['neighbour_load_seconds'])} ms itself"


def memory_reason(border: Facts) -> str:
    needed, limit = border["neighbour_memory_bytes"], border["neighbour_memory_limit_bytes"]
    if not limit or needed <= limit:
        return "an earlier stage would lack memory"
    return f"stage {border['neighbour']} would need {amount(needed, 'B', 1024)} of {amount(limit, 'B', 1024)}"


# What the border of the bottleneck is held by (`hold`), in words.
REASONS: dict[str, Callable[[Facts], str]] = {
    "no_cut": lambda border: "no cut is allowed that would take work from the bottleneck",
    "cannot_run": lambda border: f"the device type of stage {border['neighbour']} cannot run '{border['first']}'",
    "memory": memory_reason,
    "load": load_reason,
    "tied": lambda border: "another stage is as slow as this one",
    "sum": lambda border: "fill and messages would grow by more",
    "nothing": lambda border: "that is better: this plan is not the best",
}


def border_line(border: Facts, step: float) -> str:
    """What moving one border could do, and what speaks against it."""
    reason = REASONS[border["hold"]](border)
    if "moved" not in border:
        return f"  towards stage {border['neighbour']}: {reason}"
    names = shorten(border["first"], 40)
    if border["moved"] > 1:
        names += f" .. {shorten(border['last'], 40)} ({border['moved']} operations)"
    becomes = ""
    if "step_seconds" in border:
        change = percent(border["step_seconds"] / step - 1, sign=True)
        becomes = f" makes the step {milliseconds(border['step_seconds'])} ms ({change})"
    return f"  moving {names} to stage {border['neighbour']}{becomes}: {reason}"


def bottleneck_lines(plan: Facts, explanation: Facts) -> list[str]:
    found = explanation.get("bottleneck")
    if not found:
        return []
    stage, step = found["stage"], plan["step_seconds"]
    device = device_of(plan["stages"][stage])
    microbatches = plan["microbatches"]
    several = found.get("stages")  # of the busiest rank
    parts = f"{'way there and back' if several else 'first microbatch'} {milliseconds(explanation['fill_seconds'])}"
    if len(plan["stages"]) > 1:
        parts += f" + its messages {milliseconds(explanation['message_seconds'])}"
    if several:
        names = ", ".join(str(each) for each in several)
        parts += f" + all microbatches on stages {names} {milliseconds(explanation['steady_seconds'])}"
    elif microbatches > 1:
        parts += f" + the others on stage {stage} {milliseconds(explanation['steady_seconds'])}"
    if explanation["once_seconds"]:
        parts += f" + its all-reduce and optimizer {milliseconds(explanation['once_seconds'])}"
    lines = ["why not better:", f"  step = {parts} ms"]
    seconds = plan["stages"][stage]["forward_seconds"] + plan["stages"][stage]["backward_seconds"]
    share = percent(found["heaviest_seconds"] / seconds) if seconds else "0 %"
    lines.append(
        f"  bottleneck: stage {stage} on {device}, {milliseconds(found['load_seconds'])} ms for each microbatch; "
        f"its heaviest operation '{shorten(found['heaviest'], 40)}' is {share} of that"
    )
    lines += [border_line(border, step) for border in found["borders"]]
    if len(plan["stages"]) > 1:
        lines.append(f"  imbalance: devices wait {percent(explanation['imbalance'])} of the time for the bottleneck")
    unused = explanation["unused_devices"]
    if unused:
        lines.append("  not used: " + ", ".join(f"{count} of '{name}'" for name, count in unused.items()))
    return lines


def stages_text(stages: list[Facts]) -> str:
    """`old x2: 12 | new: 30`: operations of each stage."""
    return " | ".join(f"{device_of(stage)}: {stage['operations']}" for stage in stages)


def alternative_lines(explanation: Facts) -> list[str]:
    rows = []
    for other in explanation["alternatives"]:
        change = " = ".join(other["changes"])
        if "error" in other:
            rows.append([change, other["error"].partition(";")[0].partition("\n")[0], "none", ""])
            continue
        gain = percent(other["throughput_gain"], sign=True)
        step = ("" if other["optimal_for_order"] else "at most ") + milliseconds(other["step_seconds"])
        rows.append([change, stages_text(other["stages"]), step, gain])
    return ["other plans:", indent(render(["change", "operations", "step ms", "throughput"], rows))] if rows else []


def what_if_lines(explanation: Facts) -> list[str]:
    rows = [
        [
            f"{other['device_type']} ({other['count']})",
            stages_text(other["stages"]),
            milliseconds(other["step_seconds"]),
            percent(other["throughput_gain"], sign=True),
        ]
        for other in explanation["what_if"]
    ]
    return (
        ["one more device:", indent(render(["device type", "operations", "step ms", "throughput"], rows))]
        if rows
        else []
    )


def comparison_lines(plan: Facts, explanation: Facts) -> list[str]:
    """A plan of one's own beside the automatic one, stage by stage."""
    automatic = explanation.get("automatic")
    if not automatic:
        error = explanation.get("automatic_error")
        return [f"beside the automatic plan: there is none: {error}"] if error else []

    def cells(show: Callable[[Facts], str], *stages: Facts | None) -> list[str]:
        return ["-" if stage is None else show(stage) for stage in stages]

    rows = []
    for k, (own, other) in enumerate(zip_longest(plan["stages"], automatic["stages"])):
        row = [str(k), *cells(device_of, own, other)]
        row += cells(lambda stage: str(len(stage["nodes"])), own, other)
        row += cells(lambda stage: milliseconds(load_of(stage)), own, other)
        rows.append(row)
    header = ["stage", "yours", "automatic", "your ops", "its ops", "your load ms", "its load ms"]
    yours, its = (milliseconds(each["step_seconds"]) for each in (plan, automatic))
    gain = percent(explanation["automatic_throughput_gain"], sign=True)
    return [
        "beside the automatic plan:",
        indent(render(header, rows, left=3)),
        f"  step: {yours} ms yours, {its} ms automatic: {gain} throughput",
    ]


def indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def explanation_lines(plan: Facts) -> list[str]:
    """None where the plan has no explanation."""
    explanation = plan.get("explanation")
    if not explanation:
        return []
    parts = (
        bottleneck_lines(plan, explanation),
        comparison_lines(plan, explanation),
        alternative_lines(explanation),
        what_if_lines(explanation),
    )
    return [line for lines in parts for line in lines]
