"""Finds and runs the C++ tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
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


def location_name(text: str) -> tuple[str, str]:
    """Splits an MLIR location off the front of a diagnostic: loc(fused<1>["node_7"("x.scope")]): rest -> node_7, rest.
    The first name in it is the model's own; a file at line 0 has no line to speak of."""
    if not text.startswith("loc("):
        return "", text
    depth, quoted, at = 0, False, 3
    while at < len(text):
        character = text[at]
        if quoted:
            if character == "\\":
                at += 1
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
            if depth == 0:
                break
        at += 1
    inside, rest = text[4:at], text[at + 1 :].removeprefix(":").strip()
    name = re.search(r'"((?:[^"\\]|\\.)*)"(:[1-9]\d*:\d+)?', inside)
    return (name[1] + (name[2] or "") if name else ""), rest


def message_of(text: str, tool: str) -> str:
    """What went wrong, from a tool's standard error: its errors and their notes, with the model's own names."""
    lines = []
    for raw in text.splitlines():
        line = re.sub(r"\x1b\[[0-9;]*m", "", raw).rstrip()
        line = re.sub(rf"^{re.escape(tool)}: ", "", line)
        where, line = location_name(line)
        found = re.match(r"^(?P<before>.*?)\b(?P<kind>error|note): (?P<what>.*)$", line)
        if not found:
            continue
        indent = "  note: " if found["kind"] == "note" else ""
        place = f"{where}: " if where else ""
        lines.append(f"{indent}{place}{found['before']}{found['what']}")
    return "\n".join(lines)


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
