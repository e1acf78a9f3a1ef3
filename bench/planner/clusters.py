"""Llama-like models on mixed clusters of hundreds and thousands of accelerators, planned for training by hh-compile.

scale: seconds of the whole tool (import, costs, search, bounds) and the plan's gap, as nodes, devices and types grow.
mixes: the simulated throughput of six mixed clusters, as a share of what their device types would reach alone, beside
an even split of the layers and one in proportion to peak FLOP/s on the same devices.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hethub import tools

from ..large_model import Llama, write_model
from ..report import Row

SEQUENCE = 4096
BEST_SHARE = 0.9749  # published by HETHUB for its best mix
DEVICES_OF_A_NODE = 8
# Seconds for a plan, by devices.
LIMITS = {768: 10.0, 25_000: 60.0}

SIZES = {
    "7B": Llama(32, 4096, 11008, 32, 32, 32000, SEQUENCE),
    "13B": Llama(40, 5120, 13824, 40, 40, 32000, SEQUENCE),
    "35B": Llama(48, 7168, 22016, 56, 56, 32000, SEQUENCE),
    "70B": Llama(80, 8192, 28672, 64, 8, 32000, SEQUENCE),
    "140B": Llama(88, 11264, 34816, 88, 8, 32000, SEQUENCE),
}
# Operators of 80 and of 126 layers, forward and backward, are more than 10,000 with the inner dimension in blocks.
DEEP = {
    "80 layers": Llama(80, 8192, 28672, 64, 8, 128256, SEQUENCE, blocks=8),
    "126 layers": Llama(126, 16384, 53248, 128, 8, 128256, SEQUENCE, blocks=8),
}
MIXES = [
    ("7B", {"MI250X": 16, "A100-80GB": 16}),
    ("13B", {"A100-40GB": 32, "H100-80GB": 32}),
    ("35B", {"MI300X": 64, "A100-80GB": 128}),
    ("70B", {"MI250X": 128, "A100-80GB": 256}),
    ("70B", {"A100-80GB": 256, "H100-80GB": 128}),
    ("140B", {"MI250X": 128, "A100-80GB": 640}),
]
SAMPLES_OF_A_DEVICE = 32  # of a step
# Most different types first.
TYPES = ["A100-80GB", "MI250X", "H100-80GB", "MI300X", "A100-40GB", "V100-16GB"]


def cluster_file(counts: dict[str, int]) -> str:
    lines = ["devices:"]
    for name, count in counts.items():
        nodes = -(-count // DEVICES_OF_A_NODE)
        lines.append(f"  - {{name: {name}, accelerator: {name}, count: {count}, nodes: {nodes}}}")
    lines.append("links:")
    lines += [f"  - {{within: {name}, bandwidth: 200 Gbit/s, latency: 10 us, via: direct}}" for name in counts]
    names = list(counts)
    for index, name in enumerate(names):
        for other in names[index + 1 :]:
            lines.append(f"  - {{between: [{name}, {other}], bandwidth: 100 Gbit/s, latency: 30 us, via: host}}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Planned:
    plan: dict[str, Any]
    seconds: float  # of a core: import, costs, search, upper bound
    tool_seconds: float  # of the clock


def plan(model: Path, cluster: Path, *options: str) -> Planned | str:
    """Or what hh-compile says against it."""
    with tempfile.TemporaryDirectory(prefix="hethub-bench-") as out:
        command = [str(tools.find("hh-compile")), str(model), f"--cluster={cluster}", "--plan-only", "--train"]
        start = time.perf_counter()
        process = subprocess.Popen([*command, *options, "-o", out], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        errors = process.stderr.read().strip()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode:
            return errors.splitlines()[0] if errors else "failed"
        return Planned(json.loads((Path(out) / "plan.json").read_text()), usage.ru_utime + usage.ru_stime, seconds)


def throughput(found: dict[str, Any]) -> float:
    return found["microbatches"] / (found["simulated_seconds"] or found["step_seconds"])


def layer_of(node: str) -> str:
    return node.split("/")[0]


def split_plan(found: dict[str, Any], weights: list[float]) -> dict[str, Any]:
    """The same stages, with whole layers in proportion to `weights`."""
    nodes = [node for stage in found["stages"] for node in stage["nodes"]]
    layers = list(dict.fromkeys(layer_of(node) for node in nodes))
    stages, total, done = [], sum(weights), 0.0
    for stage, weight in zip(found["stages"], weights, strict=True):
        begin, done = round(len(layers) * done / total), done + weight
        chosen = set(layers[begin : round(len(layers) * done / total)])
        stages.append(
            {key: stage[key] for key in ("device_type", "replicas", "tensor_parallel", "recompute")}
            | {"nodes": [node for node in nodes if layer_of(node) in chosen]}
        )
    return {"stages": stages}


PEAK = {"A100-40GB": 312, "A100-80GB": 312, "H100-80GB": 989.4, "MI250X": 383, "MI300X": 1307.4}


def share_of_split(model: Path, cluster: Path, found: dict[str, Any], weights: list[float], batch: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(split_plan(found, weights), file)
        file.flush()
        own = plan(model, cluster, batch, f"--plan={file.name}")
    if isinstance(own, str):
        return "does not fit" if "must fit" in own else "empty stage" if "at least one operation" in own else own
    return f"{throughput(own.plan) / found['upper_bound_throughput']:.2%}"


def mixes(folder: Path) -> Iterator[Row]:
    print(
        f"{'model':6} {'cluster':32} {'stages':>6} {'step s':>9} {'gap':>7} {'of bound':>9} {'even':>13}"
        f" {'by peak':>13}"
    )
    best = 0.0
    for size, counts in MIXES:
        home = folder / f"{size}-{'-'.join(counts)}"
        home.mkdir()
        model = write_model(home, SIZES[size])
        cluster = home / "cluster.yaml"
        cluster.write_text(cluster_file(counts))
        batch = f"--global-batch={SAMPLES_OF_A_DEVICE * sum(counts.values())}"
        found = plan(model, cluster, batch, "--tensor-parallel", "--time-limit=32")
        name = " + ".join(f"{count} {kind}" for kind, count in counts.items())
        if isinstance(found, str):
            yield Row(f"{size} on {name}", "no plan", found, False)
            continue
        facts = found.plan
        share = throughput(facts) / facts["upper_bound_throughput"]
        # Above 1 the plans of single types were not the best there are, or cut worse than the mix: proof of nothing.
        best = max(best, share) if share <= 1 else best
        stages = facts["stages"]
        devices = [stage["replicas"] * stage["tensor_parallel"] for stage in stages]
        even = share_of_split(model, cluster, facts, [1.0] * len(stages), batch)
        peaks = [count * PEAK[stage["device_type"]] for count, stage in zip(devices, stages, strict=True)]
        peak = share_of_split(model, cluster, facts, peaks, batch)
        step = facts["simulated_seconds"] or facts["step_seconds"]
        of_bound = f"{share:8.2%}" + ("*" if share > 1 else " ")
        print(
            f"{size:6} {name:32} {len(stages):6} {step:9.3f} {facts['gap']:7.2%} {of_bound} {even:>13} {peak:>13}",
            flush=True,
        )
    print("* the types alone are planned worse than the mix: not counted")
    yield Row(
        "best mix, of what its types reach alone", f"{best:.2%}", f"at least {BEST_SHARE:.2%}", best >= BEST_SHARE
    )


def scale(folder: Path) -> Iterator[Row]:
    print(
        f"{'model':11} {'nodes':>6} {'devices':>8} {'types':>5} {'stages':>6} {'gap':>7} {'core s':>7} {'clock s':>7}"
    )
    for name, sizes in DEEP.items():
        home = folder / name.replace(" ", "-")
        home.mkdir()
        model = write_model(home, sizes)
        for devices, limit in LIMITS.items():
            for types in (2, 4, 6):
                counts = {kind: devices // types + (k < devices % types) for k, kind in enumerate(TYPES[:types])}
                cluster = home / "cluster.yaml"
                cluster.write_text(cluster_file(counts))
                found = plan(model, cluster, f"--global-batch={8 * devices}")
                what = f"plan of {name} on {devices} devices of {types} types"
                if isinstance(found, str):
                    yield Row(what, "no plan", found, False)
                    continue
                facts = found.plan
                nodes = sum(len(stage["nodes"]) for stage in facts["stages"])
                print(
                    f"{name:11} {nodes:6} {devices:8} {types:5} {len(facts['stages']):6} {facts['gap']:7.2%}"
                    f" {found.seconds:7.2f} {found.tool_seconds:7.2f}"
                )
                yield Row(what, f"{found.seconds:.1f} s", f"under {limit:.0f} s", found.seconds < limit)


def measure(data: Path | None) -> Iterator[Row]:
    """Nothing published is read: models and clusters are written here, figures come from the accelerator table."""
    del data
    with tempfile.TemporaryDirectory(prefix="hethub-bench-") as folder:
        yield from scale(Path(folder))
        yield from mixes(Path(folder))
