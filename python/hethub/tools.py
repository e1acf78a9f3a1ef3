"""Finds and runs the C++ tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .errors import HetHubError

# A checkout that was built by `make setup`; a package that was installed elsewhere finds the tools on PATH.
CHECKOUT = Path(__file__).resolve().parent.parent.parent
TOOL_FOLDERS = ("build/bin", "build-runtime/install/bin", "build-runtime/bin")
RUNTIME_PREFIX = "build-runtime/install"


def find(name: str) -> Path:
    """Path of a tool: from HETHUB_TOOLS (a list of folders), the checkout, or PATH, in this order."""
    folders = [Path(folder) for folder in os.environ.get("HETHUB_TOOLS", "").split(os.pathsep) if folder]
    folders += [CHECKOUT / folder for folder in TOOL_FOLDERS]
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return folder / name
    found = shutil.which(name)
    if found:
        return Path(found)
    raise HetHubError(f"{name} must be built (make setup) or on PATH, got: neither")


def runtime_prefix() -> Path:
    """The folder that the runtime was installed to: what CMAKE_PREFIX_PATH must name to build stage programs."""
    given = os.environ.get("HETHUB_RUNTIME")
    prefix = Path(given) if given else CHECKOUT / RUNTIME_PREFIX
    if not prefix.is_dir():
        raise HetHubError(f"the runtime must be installed (make setup) or named by HETHUB_RUNTIME, got: {prefix}")
    return prefix


def diagnostics(text: str, tool: str) -> Iterator[tuple[str, str]]:
    """Kind (error, warning, remark, note) and words of each message on a tool's standard error."""
    for raw in text.splitlines():
        line = re.sub(r"\x1b\[[0-9;]*m", "", raw).rstrip().removeprefix(f"{tool}: ")
        kind, found, what = line.partition(": ")
        if found and kind in ("error", "warning", "remark", "note"):
            yield kind, what


def message_of(text: str, tool: str) -> str:
    """What went wrong, from a tool's standard error: its errors and, indented, their notes."""
    return "\n".join(
        what if kind == "error" else f"  note: {what}"
        for kind, what in diagnostics(text, tool)
        if kind in ("error", "note")
    )


def notices_of(text: str, tool: str) -> list[str]:
    """What a tool that succeeded has to say: its warnings and remarks."""
    return [f"{kind}: {what}" for kind, what in diagnostics(text, tool) if kind in ("warning", "remark")]


def run(name: str, arguments: list[str], keep_going: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs a tool to its end. Raises HetHubError with the tool's own message when it fails."""
    command = [str(find(name)), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if result.returncode and not keep_going:
        if result.returncode < 0:
            last = result.stderr.strip().splitlines()[-1:] or [""]
            raise HetHubError(f"{name} must not crash, got: {signal_name(-result.returncode)} {last[0]}".rstrip())
        message = message_of(result.stderr, name)
        fallback = result.stderr.strip() or f"{name} ended with exit status {result.returncode}"
        raise HetHubError(message or fallback)
    return result


def signal_name(number: int) -> str:
    """SIGKILL for 9."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
