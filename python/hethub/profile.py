"""hethub profile: times each distinct operation of a model on this machine."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import tools
from .compile import compile
from .errors import HetHubError
from .folders import new_file
from .probe import runtime_figures

REPEATS = 20


def processor() -> str:
    """What the machine calls its processor, and Python's word for it where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def profile(
    model: Path | str,
    output: Path | str,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Path | str | None = None,
    repeats: int = REPEATS,
    runtime: bool = False,
) -> dict[str, Any]:
    """Times every distinct operation (name, attributes, types) of a model on one thread of this machine, within runs
    of the whole model, and writes `output` for the `profile:` field of cluster.yaml. Returns its content: under "ops",
    by signature, seconds of one execution ("forward_s": median of `repeats` runs) and how many nodes there are.

    `inputs` is an .npz file to run on; without it inputs are made up. `runtime` adds what messages and microbatches
    take (`hethub.probe.runtime_figures`).
    """
    if repeats < 1:
        raise HetHubError(f"repeats must be at least 1, got: {repeats}")
    with tempfile.TemporaryDirectory(prefix="hethub-profile-") as scratch, new_file(Path(output)) as file:
        folder = compile(model, Path(scratch) / "out", stages=1, dims=dims, emit=("program",))
        times = Path(scratch) / "times.json"
        arguments = ["--profile", str(folder), "--profile-out", str(times), f"--repeats={repeats}"]
        if inputs is not None:
            arguments.append(f"--inputs={inputs}")
        tools.run("hh-run", arguments)
        measured = json.loads(times.read_text())
        # What the process held beside what the plan of this one stage counts.
        [stage] = json.loads((folder / "plan.json").read_text())["stages"]
        counted = stage["parameter_bytes"] + max(stage["live_bytes"], stage["workspace_bytes"])
        content = {
            "device": "cpu",
            "machine": processor(),
            "threads": 1,
            "repeats": repeats,
            **({"runtime": runtime_figures()} if runtime else {}),
            "library_bytes": max(0, measured["process_bytes"] - counted),
            **measured,
        }
        file.write_text(json.dumps(content, indent=1) + "\n")
    return content
