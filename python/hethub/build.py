"""hethub build: compiles the emitted C++ stage programs with CMake against the installed runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import tools
from .errors import HetHubError
from .launcher import binary_of
from .output import OutputFolder


def build(folder: Path | str, *, jobs: int | None = None) -> dict[int, float]:
    """Builds every stage of an output folder, `jobs` at a time (default: one a core), and returns the seconds that
    each took; stages of one rank are built together, as the first of them. What is built already and has not changed
    costs nothing."""
    if jobs is not None and jobs < 1:
        raise HetHubError(f"jobs must be at least 1, got: {jobs}")
    output = OutputFolder.read(folder)
    # The program of a rank is that of its first stage.
    stages = sorted({rank.stage for rank in output.ranks()})
    for k in stages:
        if not (output.path / f"stage_{k}" / "CMakeLists.txt").exists():
            raise HetHubError(f"the folder must hold C++ stages (--emit=cpp), got none in: {output.path}/stage_{k}")
    for program in ("cmake", "g++"):
        if not shutil.which(program):
            raise HetHubError(f"building needs {program} on PATH, got: none")
    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1) as pool:
        seconds = list(pool.map(lambda k: _build_stage(output.path, k), stages))
    return dict(zip(stages, seconds, strict=True))


def _build_stage(folder: Path, stage: int) -> float:
    source = (folder / f"stage_{stage}").resolve()
    binary = source / "build"
    start = time.monotonic()
    configure = [
        "cmake",
        "-S",
        str(source),
        "-B",
        str(binary),
        f"-DCMAKE_PREFIX_PATH={tools.runtime_prefix()}",
        "-DCMAKE_BUILD_TYPE=Release",
        "--log-level=ERROR",
    ]
    # A build folder remembers its generator and path: a moved one is made anew.
    cache = binary / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={source}" not in cache.read_text():
        shutil.rmtree(binary)
    if not cache.exists() and shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    log = ""
    for command in (configure, ["cmake", "--build", str(binary)]):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        log += result.stdout
        if result.returncode:
            (binary / "build.log").write_text(log) if binary.is_dir() else None
            errors = [line for line in result.stdout.splitlines() if "error" in line.lower()]
            first = (errors or result.stdout.strip().splitlines() or ["no output"])[0]
            raise HetHubError(f"stage {stage} must build, got: {first.strip()} (all of it: {binary / 'build.log'})")
    if not os.access(binary_of(folder, stage), os.X_OK):
        raise HetHubError(f"stage {stage} must build to {binary_of(folder, stage)}, got: no such program")
    return time.monotonic() - start
