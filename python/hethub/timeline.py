"""What a Chrome trace says of a run: what each rank computed, sent and waited for. The simulator and the runtime write
the same form (docs/Predictor.md)."""

from __future__ import annotations

import bisect
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import HetHubError

# Tracks of a rank, by tid.
COMPUTE, SEND, RECEIVE, ALL_REDUCE = range(4)
MICROSECOND = 1e-6
OPTIMIZER_STEP = "optimizer step"

Interval = tuple[float, float]


@dataclass(frozen=True)
class Slice:
    rank: int
    track: int
    action: str  # "forward", "backward", "weight", "all-reduce", "optimizer step", "send", "receive"
    label: str
    microbatch: int | None
    begin: float  # seconds
    end: float
    message_begin: float  # of a receive: when its message was sent; else `begin`


@dataclass
class Timeline:
    names: dict[int, str] = field(default_factory=dict)  # of the ranks
    slices: list[Slice] = field(default_factory=list)  # by begin

    @property
    def ranks(self) -> list[int]:
        return sorted(self.names)

    @property
    def begin(self) -> float:
        return min((s.begin for s in self.slices), default=0.0)

    @property
    def end(self) -> float:
        return max((s.end for s in self.slices), default=0.0)

    def microbatches(self) -> int:
        """How many went forward."""
        return len({s.microbatch for s in self.slices if s.action == "forward"})

    def last_step(self) -> Timeline:
        """Of a trace of several training steps the last one; others stay whole."""
        kept: list[Slice] = []
        for rank in self.ranks:
            own = [s for s in self.slices if s.rank == rank]
            # A rank with several stages has an optimizer step of each, one behind the other.
            computes = [s for s in own if s.track == COMPUTE]
            ends = [
                s.end
                for k, s in enumerate(computes)
                if s.action == OPTIMIZER_STEP and all(n.action != OPTIMIZER_STEP for n in computes[k + 1 : k + 2])
            ]
            kept += [s for s in own if len(ends) < 2 or s.begin >= ends[-2]]
        return Timeline(self.names, sorted(kept, key=lambda s: s.begin))


def read_timeline(path: Path) -> Timeline:
    """Raises HetHubError for a file that is no trace."""
    try:
        content = json.loads(path.read_text())
        events = content["traceEvents"] if isinstance(content, dict) else content
        return _timeline(events)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HetHubError(f"a trace must be a Chrome trace of hethub, got: {path}: {error}") from error


def _timeline(events: list[dict[str, Any]]) -> Timeline:
    timeline = Timeline()
    # The number of an arrow is equal at both ends of a message.
    sent = {e["id"]: e["ts"] * MICROSECOND for e in events if e["ph"] == "s"}
    arrivals: dict[int, list[tuple[float, float]]] = {}  # by rank: when, and when that message was sent
    for event in events:
        if event["ph"] == "f" and event["id"] in sent:
            arrivals.setdefault(event["pid"], []).append((event["ts"] * MICROSECOND, sent[event["id"]]))
    for event in events:
        if event["ph"] == "M" and event["name"] == "process_name":
            timeline.names[event["pid"]] = str(event["args"]["name"])
        if event["ph"] == "X":
            timeline.names.setdefault(event["pid"], f"rank {event['pid']}")
            timeline.slices.append(_slice(event))
    timeline.slices.sort(key=lambda s: s.begin)
    return _with_messages(timeline, arrivals)


def _slice(event: dict[str, Any]) -> Slice:
    label, track = str(event["name"]), int(event["tid"])
    if label == "all-reduce":  # what is left of it when a rank has nothing else to do, in traces of the runtime
        track = ALL_REDUCE
    action = {SEND: "send", RECEIVE: "receive", ALL_REDUCE: "all-reduce"}.get(track)
    begin = event["ts"] * MICROSECOND
    return Slice(
        rank=event["pid"],
        track=track,
        action=action or re.sub(r" \d+$", "", label),
        label=label,
        microbatch=event.get("args", {}).get("microbatch"),
        begin=begin,
        end=begin + event["dur"] * MICROSECOND,
        message_begin=begin,
    )


def _with_messages(timeline: Timeline, arrivals: dict[int, list[tuple[float, float]]]) -> Timeline:
    """Receives learn when their message was sent: its arrow ends within their slice."""
    for arrows in arrivals.values():
        arrows.sort()
    found = []
    for item in timeline.slices:
        if item.track == RECEIVE:
            arrows = arrivals.get(item.rank, [])
            at = bisect.bisect_right(arrows, (item.end + 1e-9, math.inf)) - 1
            if at >= 0 and arrows[at][0] >= item.begin - 1e-9:
                item = replace(item, message_begin=arrows[at][1])
        found.append(item)
    return Timeline(timeline.names, found)


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Without overlaps, in order."""
    joined: list[Interval] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        elif end > begin:
            joined.append((begin, end))
    return joined


def length(intervals: Iterable[Interval]) -> float:
    return sum(end - begin for begin, end in intervals)


def without(intervals: list[Interval], others: list[Interval]) -> list[Interval]:
    """What of `intervals` is not in `others`; both are unions."""
    left: list[Interval] = []
    for begin, end in intervals:
        for other_begin, other_end in others:
            if other_end <= begin:
                continue
            if other_begin >= end:
                break
            if other_begin > begin:
                left.append((begin, other_begin))
            begin = max(begin, other_end)
        if begin < end:
            left.append((begin, end))
    return left


@dataclass(frozen=True)
class Share:
    """Seconds of a rank between the first and the last moment of a run."""

    rank: int
    compute: float
    communication: float  # no compute, and a message for it or a sum of gradients is under way
    bubble: float  # neither


def shares(timeline: Timeline) -> list[Share]:
    found = []
    whole = [(timeline.begin, timeline.end)]
    for rank in timeline.ranks:
        own = [s for s in timeline.slices if s.rank == rank]
        compute = union((s.begin, s.end) for s in own if s.track == COMPUTE)
        # A receive of the runtime lasts as long as its rank waits: the message was not under way all that time.
        transfers = union(
            (s.begin if s.track == ALL_REDUCE else max(s.begin, s.message_begin), s.end)
            for s in own
            if s.track in (RECEIVE, ALL_REDUCE)
        )
        idle = without(whole, compute)
        bubble = without(idle, transfers)
        busy, waits = length(compute), length(bubble)
        found.append(Share(rank, busy, length(whole) - busy - waits, waits))
    return found
