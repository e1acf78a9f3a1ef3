"""hethub profile: times each distinct operation of a model on this machine."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import tools
from .compile import compile
from .folders import new_file
from .output import OutputFolder


def profile(
    model: Path | str, output: Path | str, *, dims: Mapping[str, int] | None = None, repeats: int | None = None
) -> dict[str, Any]:
    """Compiles the model as one stage, times every distinct operation (name, attributes, types) on one thread of this
    machine, writes profile.json to `output` and returns its content: seconds by signature."""
    with tempfile.TemporaryDirectory(prefix="hethub-profile-") as scratch, new_file(Path(output)) as file:
        folder = compile(model, Path(scratch) / "out", stages=1, dims=dims, emit=("program",))
        OutputFolder.read(folder)
        arguments = ["--profile", str(file), str(folder / "stage_0" / "program.pb")]
        if repeats is not None:
            arguments.append(f"--profile-repeats={repeats}")
        tools.run("hh-run", arguments)
        return json.loads(file.read_text())
