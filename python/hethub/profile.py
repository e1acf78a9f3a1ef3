"""hethub profile: times each distinct operation of a model on this machine."""

from __future__ import annotations

import json
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import tools
from .compile import Search, TrainingStep, compile
from .errors import HetHubError
from .folders import new_file
from .probe import runtime_figures

REPEATS = 20
WITHOUT_END = 1_000_000_000


def processor() -> str:
    """What the machine calls its processor, and Python's word for it where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@contextmanager
def neighbours(count: int, command: Sequence[str]) -> Iterator[None]:
    """`count` processes of a command that does not end by itself, for as long as the block lasts."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def profile(
    model: Path | str,
    output: Path | str,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Path | str | None = None,
    repeats: int = REPEATS,
    runtime: bool = False,
    ranks: int = 1,
    training: TrainingStep | None = None,
) -> dict[str, Any]:
    """Times every distinct operation (name, attributes, types) of a model on one thread of this machine, within runs
    of the whole model, and writes `output` for the `profile:` field of cluster.yaml. Returns its content: under "ops",
    by signature, seconds of one execution ("forward_s": median of `repeats` runs) and how many nodes there are.

    `inputs` is an .npz file to run on; without it inputs are made up. `runtime` adds what messages and microbatches
    take (`hethub.probe.runtime_figures`). `ranks` is how many will compute on this machine at once: they share its
    caches and memory, so the others run the same model while one is timed. With `training` each operation's backward
    pass is timed as well ("backward_s"), and the loss is one of the operations.
    """
    if repeats < 1:
        raise HetHubError(f"repeats must be at least 1, got: {repeats}")
    if ranks < 1:
        raise HetHubError(f"ranks must be at least 1, got: {ranks}")
    with tempfile.TemporaryDirectory(prefix="hethub-profile-") as scratch, new_file(Path(output)) as file:
        if training is not None:
            # One backward program, which is timed by the operations that its calls belong to.
            training = replace(training, schedule="1f1b")
        search = Search(recompute=False)
        folder = compile(
            model, Path(scratch) / "out", stages=1, dims=dims, emit=("program",), search=search, training=training
        )
        times = Path(scratch) / "times.json"
        arguments = ["--profile", str(folder)]
        if inputs is not None:
            arguments.append(f"--inputs={inputs}")
        beside = [*arguments, f"--profile-out={Path(scratch) / 'beside.json'}", f"--repeats={WITHOUT_END}"]
        with neighbours(ranks - 1, [str(tools.find("hh-run")), *beside]):
            tools.run("hh-run", [*arguments, f"--profile-out={times}", f"--repeats={repeats}"])
        measured = json.loads(times.read_text())
        # What the process held beside what the plan of this one stage counts.
        [stage] = json.loads((folder / "plan.json").read_text())["stages"]
        counted = stage["parameter_bytes"] + max(stage["live_bytes"], stage["workspace_bytes"])
        if training is not None:
            counted = 2 * stage["parameter_bytes"] + stage["activation_bytes"] + stage["workspace_bytes"]
        content = {
            "device": "cpu",
            "machine": processor(),
            "threads": 1,
            "repeats": repeats,
            "ranks": ranks,
            **({"runtime": runtime_figures()} if runtime else {}),
            "library_bytes": max(0, measured["process_bytes"] - counted),
            **measured,
        }
        file.write_text(json.dumps(content, indent=1) + "\n")
    return content
