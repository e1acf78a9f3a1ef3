"""The instances of msr-fiddle/dnn-partitioning: placements by hh-plan, costed again here from the instance's own rule.

Nothing of the C++ planner is used to judge a placement: this file reads the instance, checks every constraint and adds
up the loads, so that a mistake of the planner cannot hide in its own figures.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from hethub import tools

from ..report import Row

TOLERANCE = 1e-6  # of a ratio
LIMIT_SECONDS = 5.0
SOURCE = "https://github.com/msr-fiddle/dnn-partitioning"


class Instance:
    def __init__(self, path: Path) -> None:
        self.path = path
        content = json.loads(path.read_text())
        self.accelerators = content["maxFPGAs"]
        self.cpus = content["maxCPUs"]
        self.memory = content["maxSizePerFPGA"]
        self.nodes = {node["id"]: node for node in content["nodes"]}
        self.edges = [(edge["sourceId"], edge["destId"]) for edge in content["edges"]]
        self.transfer = {edge["sourceId"]: edge["cost"] for edge in content["edges"]}

    def groups(self) -> dict[int, int]:
        """Node to the smallest node of its colour class."""
        first: dict[int, int] = {}
        return {
            name: first.setdefault(node["colorClass"], name) if "colorClass" in node else name
            for name, node in sorted(self.nodes.items())
        }

    def arcs(self) -> set[tuple[int, int]]:
        """Between groups: forward edges, and the mirror image of backward edges at groups without forward nodes."""
        group = self.groups()
        forward = {group[name] for name, node in self.nodes.items() if not node["isBackwardNode"]}
        arcs = set()
        for source, target in self.edges:
            a, b = group[source], group[target]
            if not self.nodes[source]["isBackwardNode"] and not self.nodes[target]["isBackwardNode"]:
                arcs.add((a, b))
            elif self.nodes[source]["isBackwardNode"] and (a not in forward or b not in forward):
                arcs.add((b, a))
        return {(a, b) for a, b in arcs if a != b}


def acyclic(arcs: set[tuple[str, str]]) -> bool:
    after = defaultdict(set)
    waiting: dict[str, int] = defaultdict(int)
    for a, b in arcs:
        after[a].add(b)
        waiting[b] += 1
    names = {name for arc in arcs for name in arc}
    ready = [name for name in names if waiting[name] == 0]
    done = 0
    while ready:
        done += 1
        for name in after[ready.pop()]:
            waiting[name] -= 1
            if waiting[name] == 0:
                ready.append(name)
    return done == len(names)


def broken_rule(instance: Instance, device: dict[int, str], contiguous: bool) -> str | None:
    """None when the placement keeps all constraints."""
    if set(device) != set(instance.nodes):
        return "not every node has one device"
    counts = {"acc": instance.accelerators, "cpu": instance.cpus}
    memory: dict[str, float] = defaultdict(float)
    for name, place in device.items():
        kind, index = place[:3], place[3:]
        if kind not in counts or not index.isdigit() or int(index) >= counts[kind]:
            return f"there is no device {place}"
        if kind == "acc" and not instance.nodes[name]["supportedOnFpga"]:
            return f"node {name} cannot run on an accelerator"
        if kind == "acc":
            memory[place] += instance.nodes[name]["size"]
    for place, used in memory.items():
        if used > instance.memory * (1 + 1e-12):
            return f"{place} holds {used} bytes of {instance.memory}"
    group = instance.groups()
    if any(device[name] != device[first] for name, first in group.items()):
        return "a colour class is torn"
    arcs = {(device[a], device[b]) for a, b in instance.arcs()}
    if contiguous and not acyclic({(a, b) for a, b in arcs if a != b}):
        return "the devices cannot be ordered"
    return None


def busiest(instance: Instance, device: dict[int, str]) -> float:
    loads: dict[str, float] = defaultdict(float)
    for name, node in instance.nodes.items():
        on_accelerator = device[name].startswith("acc")
        loads[device[name]] += node["fpgaLatency" if on_accelerator else "cpuLatency"]
    readers = defaultdict(set)
    for source, target in instance.edges:
        if device[source] != device[target]:
            readers[source].add(device[target])
    for source, places in readers.items():
        for place in places | {device[source]}:
            if place.startswith("acc"):
                loads[place] += instance.transfer[source]
    return max(loads.values())


def finish(instance: Instance, device: dict[int, str]) -> float | None:
    """Latency of one sample; None when calls wait for each other."""
    unit = {name: place if place.startswith("acc") else name for name, place in device.items()}
    seconds: dict[int | str, float] = defaultdict(float)
    incoming: dict[int | str, set[int]] = defaultdict(set)
    outgoing: dict[int | str, set[int]] = defaultdict(set)
    before: dict[int | str, set[int | str]] = defaultdict(set)
    for name, node in instance.nodes.items():
        seconds[unit[name]] += node["fpgaLatency" if device[name].startswith("acc") else "cpuLatency"]
    for source, target in instance.edges:
        if unit[source] != unit[target]:
            before[unit[target]].add(unit[source])
            incoming[unit[target]].add(source)
            outgoing[unit[source]].add(source)
    for place in seconds:
        if isinstance(place, str):
            seconds[place] += sum(instance.transfer[name] for name in incoming[place] | outgoing[place])
    done: dict[int | str, float] = {}
    waiting = set(seconds)
    while waiting:
        ready = [place for place in waiting if all(other in done for other in before[place])]
        if not ready:
            return None
        for place in ready:
            done[place] = max((done[other] for other in before[place]), default=0.0) + seconds[place]
        waiting -= set(ready)
    return max(done.values())


def plan(instance: Instance, *options: str) -> dict:
    """What hh-plan prints; `devices` has node ids as keys."""
    command = [str(tools.find("hh-plan")), "--format", "dnn-partitioning", str(instance.path), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: error: {' '.join(command)}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    answer["devices"] = {int(name): place for name, place in answer["assignment"].items()}
    return answer


class Table:
    """Prints a line for each plan and keeps what was promised."""

    def __init__(self, title: str) -> None:
        print(f"\n{title}")
        heads = f"{'objective':>12} {'known':>12} {'ratio':>9} {'bound':>12} {'gap %':>8} {'s':>7}"
        print(f"{'instance':32} {'mode':>10} {heads}")

    def add(self, name: str, mode: str, value: float, known: float | None, bound: float, seconds: float) -> None:
        ratio = f"{value / known:9.6f}" if known else f"{'-':>9}"
        shown = f"{known:12.6f}" if known else f"{'-':>12}"
        gap = 100 * (1 - bound / value) if value > 0 else 0.0
        print(f"{name:32} {mode:>10} {value:12.6f} {shown} {ratio} {bound:12.6f} {gap:8.4f} {seconds:7.3f}", flush=True)


def judged(instance: Instance, name: str, mode: str, table: Table, known: float | None, *options: str) -> tuple:
    """(value, bound, seconds, complaint)"""
    answer = plan(instance, "--mode", mode, *options)
    complaint = broken_rule(instance, answer["devices"], mode == "contiguous")
    value = busiest(instance, answer["devices"]) if complaint is None else float("inf")
    if complaint is None and abs(value - answer["objective"]) > TOLERANCE * value:
        complaint = f"the planner says {answer['objective']}"
    if complaint is None and answer["lower_bound"] > value * (1 + TOLERANCE):
        complaint = "the bound is above the placement"
    table.add(name, mode, value, known, answer["lower_bound"], answer["seconds"])
    return value, answer["lower_bound"], answer["seconds"], complaint


def throughput(instance: Instance, name: str, known: float | None, table: Table, *options: str) -> Iterator[Row]:
    value, bound, seconds, complaint = judged(instance, name, "contiguous", table, known, *options)
    proven = value <= bound * (1 + TOLERANCE)
    ratio = value / known if known else value / bound
    right = complaint is None and proven and abs(ratio - 1) <= TOLERANCE
    yield Row(f"{name} contiguous / optimum", f"{ratio:.6f}", "1.000000, proven", right, complaint or "")
    yield Row(f"{name} contiguous, time", f"{seconds:.2f} s", f"<= {LIMIT_SECONDS} s", seconds <= LIMIT_SECONDS)
    free, free_bound, _, complaint = judged(instance, name, "free", table, known, *options)
    right = complaint is None and free <= value * (1 + TOLERANCE) and free_bound <= free * (1 + TOLERANCE)
    yield Row(f"{name} free / contiguous", f"{free / value:.6f}", "<= 1", right, complaint or "")


def latency(instance: Instance, name: str, greedy: float, table: Table) -> Iterator[Row]:
    answer = plan(instance, "--objective", "latency")
    complaint = broken_rule(instance, answer["devices"], False)
    value = finish(instance, answer["devices"]) if complaint is None else None
    if complaint is None and value is None:
        complaint = "calls wait for each other"
    if value is not None and abs(value - answer["objective"]) > TOLERANCE * value:
        complaint = f"the planner says {answer['objective']}"
    table.add(name, "latency", value or float("inf"), greedy, answer["lower_bound"], answer["seconds"])
    right = complaint is None and value is not None and answer["lower_bound"] <= value < greedy
    yield Row(f"{name} latency / greedy", f"{(value or 0) / greedy:.6f}", "< 1", right, complaint or "")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def published(data: Path) -> Iterator[Row]:
    table = Table("dnn-partitioning, throughput")
    for row in rows_of(data / "expected.csv"):
        instance = Instance(data / "throughput" / f"{row['instance']}.json")
        yield from throughput(instance, row["instance"], float(row["optimum"]), table)
    table = Table("dnn-partitioning, throughput under tight memory")
    for row in rows_of(data / "expected_memory.csv"):
        instance = Instance(data / "throughput" / f"{row['instance']}.json")
        instance.memory = int(row["memory_bytes"])
        name = f"{row['instance']}, memory"
        yield from throughput(instance, name, float(row["optimum"]), table, "--memory", row["memory_bytes"])
    table = Table("dnn-partitioning, latency of one sample (known: greedy value)")
    for row in rows_of(data / "expected_latency.csv"):
        instance = Instance(data / "latency" / f"{row['instance']}.json")
        yield from latency(instance, row["instance"], float(row["greedy_value"]), table)


def generated(folder: Path, seed: int, blocks: int) -> Instance:
    """Blocks of two to four branches one after the other; the CPU is ten times slower."""
    draw = random.Random(seed)
    nodes: list[dict] = []
    edges: list[dict] = []

    def node(inputs: list[int]) -> int:
        name, seconds = len(nodes), draw.uniform(0.1, 4)
        size = draw.randrange(1, 100) << 20
        nodes.append(
            dict(id=name, fpgaLatency=seconds, cpuLatency=10 * seconds, size=size, supportedOnFpga=1, isBackwardNode=0)
        )
        edges.extend(dict(sourceId=source, destId=name) for source in inputs)
        return name

    last = node([])
    for _ in range(blocks):
        branches = []
        for _ in range(draw.randrange(2, 5)):
            at = last
            for _ in range(draw.randrange(1, 5)):
                at = node([at])
            branches.append(at)
        last = node(branches)
    cost = [draw.uniform(0.05, 1.5) for _ in nodes]
    for edge in edges:
        edge["cost"] = cost[edge["sourceId"]]
    content = dict(maxFPGAs=4, maxCPUs=1, maxSizePerFPGA=16 << 30, nodes=nodes, edges=edges)
    path = folder / f"generated_{seed}.json"
    path.write_text(json.dumps(content))
    return Instance(path)


def measure(data: Path | None) -> Iterator[Row]:
    if data is not None:
        yield from published(data / "dnn-partitioning")
        return
    print(f"dnn-partitioning: generated instances; --data FOLDER with dnn-partitioning/ runs those of {SOURCE}")
    table = Table("dnn-partitioning, generated")
    with tempfile.TemporaryDirectory(prefix="hethub-bench-") as folder:
        for seed in range(4):
            instance = generated(Path(folder), seed, blocks=4 + 4 * seed)
            yield from throughput(instance, f"{instance.path.stem} ({len(instance.nodes)} nodes)", None, table)
