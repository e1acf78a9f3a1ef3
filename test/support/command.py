"""Runs the hethub command as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMAND = [str(Path(sys.executable).with_name("hethub"))]


def hethub(*arguments: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def error_of(result: subprocess.CompletedProcess[str]) -> str:
    """The message of a refusal: exit code 1, no traceback, one `hethub: error:`."""
    assert result.returncode == 1, f"exit code {result.returncode}: {result.stdout}{result.stderr}"
    assert "Traceback" not in result.stderr
    _, found, message = result.stderr.partition("hethub: error: ")
    assert found, result.stderr
    assert "hethub: error:" not in message
    return message.strip()
