"""The instances of msr-fiddle/piper: plans by hh-plan, costed again here from the rules of the problem.

Nothing of the C++ planner is used to judge a plan: this file reads the instance, checks every rule and adds up the
loads.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hethub import tools

from ..report import Row

TOLERANCE = 1e-6  # of a ratio
LIMIT_SECONDS = 5.0  # where the authors' time is not known
GIB = 1 << 30
BANDWIDTH = 25.0 * GIB
SOURCE = "https://github.com/msr-fiddle/piper"

# Seconds of the authors' planner on a core like this one: the least over the memory sizes of a device count.
LISTED_SECONDS = {
    ("bert32a100", 8): 0.06,
    ("bert32a100", 512): 3.0,
    ("bert32a100", 1024): 13.0,
    ("bert32a100", 2048): 58.0,
} | {("resnet", devices): 4.0 for devices in (8, 16, 32, 64, 128)}

# No published value: ours, with its bound. (devices, memory in GiB)
GNMT_POINTS = [(8, 1), (8, 4), (32, 1), (32, 4), (128, 1), (128, 4), (512, 1), (1024, 1)]


@dataclass(frozen=True)
class Setting:
    devices: int
    memory: float
    bandwidth: float
    microbatches: int


class Instance:
    def __init__(self, path: Path) -> None:
        self.path = path
        content = json.loads(path.read_text())
        self.microbatches = content["mbsInBatch"]
        self.nodes = {node["id"]: node for node in content["nodes"]}
        self.edges = [(edge["sourceId"], edge["destId"], edge["communicationCost"]) for edge in content["edges"]]

    def options(self, node: int, degree: int) -> dict[str, dict]:
        return {option["id"]: option for option in self.nodes[node]["TMPCs"].get(str(degree), [])}


def time_per_sample(instance: Instance, setting: Setting, stages: list[dict]) -> float | str:
    """The largest load, or the rule that the plan breaks."""
    stage_of = {node: index for index, stage in enumerate(stages) for node in stage["nodes"]}
    if sorted(node for stage in stages for node in stage["nodes"]) != sorted(instance.nodes):
        return "not every node is in one stage"
    if any(stage_of[source] > stage_of[target] for source, target, _ in instance.edges):
        return "an edge leads to an earlier stage"
    degrees = [(stage["dataParallelDegree"], stage["tensorParallelDegree"]) for stage in stages]
    if sum(d * t for d, t in degrees) > setting.devices:
        return "too many devices"
    if any(setting.microbatches % d for d, _ in degrees) or sum(d for d, _ in degrees) > setting.microbatches:
        return "data degrees do not suit the microbatches"
    worst = 0.0
    for index, stage in enumerate(stages):
        d, t = degrees[index]
        behind = sum(degree for degree, _ in degrees[index:])
        in_flight = -(-behind // d)
        chosen = {}
        for node in stage["nodes"]:
            option = instance.options(node, t).get(stage["TMPCids"][str(node)])
            if option is None:
                return f"node {node} has no such option of degree {t}"
            chosen[node] = option
        memory = sum(option["memoryUsageA"] * in_flight + option["memoryUsageB"] for option in chosen.values())
        if memory > setting.memory * (1 + 1e-12):
            return f"stage {index} holds {memory} bytes of {setting.memory}"
        sent = 0.0
        for source, target, size in instance.edges:
            if target in chosen and source not in chosen:
                sent += 2 * (size + chosen[target]["syncTimeFw"].get(str(source), 0.0))
            if source in chosen and target not in chosen:
                sent += 2 * (size + chosen[source]["syncTimeBw"].get(str(target), 0.0))
        reduced = sum(4 * (d - 1) * option["parameterSize"] / d / setting.microbatches for option in chosen.values())
        compute = sum(option["timePerSample"] for option in chosen.values())
        worst = max(worst, compute / d + (sent / d + reduced) / setting.bandwidth)
    return worst


def plan(instance: Instance, setting: Setting) -> dict:
    """What hh-plan prints."""
    command = [str(tools.find("hh-plan")), "--format", "piper", str(instance.path), "--json"]
    command += ["--devices", str(setting.devices), "--memory", repr(setting.memory)]
    command += ["--bandwidth", repr(setting.bandwidth), "--microbatches", str(setting.microbatches)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"bench: error: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Table:
    """Prints a line for each plan."""

    def __init__(self, title: str) -> None:
        print(f"\n{title}")
        print(
            f"{'instance':14} {'devices':>7} {'GiB':>6} {'time/sample':>14} {'listed':>14} {'ratio':>9} {'bound':>14}"
            f" {'gap %':>8} {'s':>8} {'listed s':>8}"
        )

    def add(self, name: str, setting: Setting, answer: dict, listed: str, listed_seconds: float | None) -> None:
        value, bound = answer["objective"], answer["lower_bound"]
        numbers = f"{'infeasible':>14}" if value is None else f"{value:14.9g}"
        ratio = f"{value / float(listed):9.6f}" if value and listed not in ("", "infeasible") else f"{'-':>9}"
        shown = "-" if bound is None else f"{bound:.9g}"
        gap = "-" if value is None else f"{100 * answer['gap']:.4f}"
        seconds = "-" if listed_seconds is None else f"{listed_seconds:.2f}"
        print(
            f"{name:14} {setting.devices:7} {setting.memory / GIB:6.4g} {numbers} {listed or '-':>14} {ratio}"
            f" {shown:>14} {gap:>8} {answer['seconds']:8.3f} {seconds:>8}",
            flush=True,
        )


def judged(instance: Instance, setting: Setting, table: Table, listed: str, listed_seconds: float | None) -> tuple:
    """(value or None when infeasible, whether it is proven, seconds, complaint)"""
    answer = plan(instance, setting)
    table.add(instance.path.stem, setting, answer, listed, listed_seconds)
    value, complaint = answer["objective"], ""
    if value is None:
        return None, answer["infeasible"], answer["seconds"], ""
    again = time_per_sample(instance, setting, answer["stages"])
    if isinstance(again, str):
        complaint = again
    elif abs(again - value) > 1e-9 * value:
        complaint = f"the planner says {value}, the rules say {again}"
    elif answer["lower_bound"] > value * (1 + TOLERANCE):
        complaint = "the bound is above the plan"
    return value, answer["lower_bound"] >= value * (1 - 1e-9), answer["seconds"], complaint


def published(data: Path) -> Iterator[Row]:
    table = Table("Piper: pipeline x data x tensor parallelism x recomputation")
    with (data / "expected.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        instance = Instance(data / f"{row['instance']}.json")
        setting = Setting(int(row["devices"]), float(row["memory_gib"]) * GIB, BANDWIDTH, instance.microbatches)
        listed = row["piper"]
        listed_seconds = LISTED_SECONDS.get((row["instance"], setting.devices))
        value, proven, seconds, complaint = judged(instance, setting, table, listed, listed_seconds)
        name = f"{row['instance']}, {setting.devices} devices, {row['memory_gib']} GiB"
        if listed == "infeasible":
            yield Row(name, "infeasible" if value is None else "found", listed, value is None and proven, complaint)
        else:
            ratio = float("inf") if value is None else value / float(listed)
            right = ratio <= 1 + TOLERANCE and proven and not complaint
            yield Row(f"{name}, / listed", f"{ratio:.6f}", "<= 1, proven", right, complaint)
        limit = listed_seconds if listed_seconds is not None else LIMIT_SECONDS
        yield Row(f"{name}, time", f"{seconds:.2f} s", f"< {limit} s", seconds < limit)

    table = Table("GNMT, which has no published value")
    instance = Instance(data / "gnmt.json")
    settings = [Setting(k, memory * GIB, BANDWIDTH, instance.microbatches) for k, memory in GNMT_POINTS]
    yield from proofs(instance, settings, table)


def proofs(instance: Instance, settings: list[Setting], table: Table) -> Iterator[Row]:
    """Any answer will do that is proven and keeps the rules."""
    for setting in settings:
        value, proven, _, complaint = judged(instance, setting, table, "", None)
        name = f"{instance.path.stem}, {setting.devices} devices, {setting.memory / GIB:g} GiB"
        figure = "infeasible" if value is None else f"{value:.6g}"
        yield Row(name, figure, "proven", proven and not complaint, complaint)


def generated(folder: Path, seed: int, blocks: int) -> Instance:
    """Blocks of one to three branches, tensor degrees 1, 2 and 4, with and without recomputation."""
    draw = random.Random(seed)
    nodes: list[dict] = []
    edges: list[dict] = []

    def node(sources: list[int]) -> int:
        name = len(nodes)
        seconds, weights, kept = draw.uniform(0.1, 4), draw.uniform(1, 50) * 2**20, draw.uniform(5, 100) * 2**20
        degrees = {}
        for t in (1, 2, 4):
            plain = dict(
                id="vanilla",
                timePerSample=seconds * (0.2 + 0.8 / t),
                parameterSize=weights / t,
                memoryUsageA=kept / t,
                memoryUsageB=2 * weights / t,
                syncTimeFw={str(source): 1e7 * (t - 1) for source in sources},
                syncTimeBw={},
            )
            again = dict(
                plain,
                id="activation recomp",
                timePerSample=plain["timePerSample"] * draw.uniform(1.2, 1.5),
                memoryUsageA=plain["memoryUsageA"] * 0.1,
                memoryUsageB=plain["memoryUsageB"] + plain["memoryUsageA"] * 0.9,
            )
            degrees[str(t)] = [plain, again]
        nodes.append(dict(id=name, name=f"layer{name}", TMPCs=degrees))
        edges.extend(dict(sourceId=source, destId=name, communicationCost=draw.uniform(1e6, 3e7)) for source in sources)
        return name

    last = node([])
    for _ in range(blocks):
        branches = []
        for _ in range(draw.randrange(1, 4)):
            at = last
            for _ in range(draw.randrange(1, 4)):
                at = node([at])
            branches.append(at)
        last = node(branches)
    content = dict(maxDevices=8, maxMemoryPerDevice=GIB, bandwidth=BANDWIDTH, mbsInBatch=480, nodes=nodes, edges=edges)
    path = folder / f"generated_{seed}.json"
    path.write_text(json.dumps(content))
    return Instance(path)


def measure(data: Path | None) -> Iterator[Row]:
    if data is not None:
        yield from published(data / "piper")
        return
    print(f"piper: generated instances; --data FOLDER with piper/ runs those of {SOURCE}")
    table = Table("Piper's problem, generated")
    with tempfile.TemporaryDirectory(prefix="hethub-bench-") as folder:
        for seed in range(4):
            instance = generated(Path(folder), seed, blocks=4 + 4 * seed)
            settings = [
                Setting(devices, memory * GIB, BANDWIDTH, instance.microbatches)
                for devices, memory in [(8, 0.5), (8, 4), (64, 0.25), (512, 0.5)]
            ]
            yield from proofs(instance, settings, table)
