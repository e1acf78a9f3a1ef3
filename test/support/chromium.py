"""Opens a page in headless Chromium, without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Page:
    dom: str  # after its scripts have run
    errors: list[str]  # on the console

    def plot(self, name: str) -> str:
        """What plotly drew into the element of this id."""
        begin = self.dom.index(f'<div id="{name}"')
        end = self.dom.find("<h2>", begin)
        return self.dom[begin : end if end >= 0 else len(self.dom)]


def open_page(path: Path, scratch: Path) -> Page:
    """Skips the test where Chromium is not installed."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed (utils/setup/debian-packages.txt)")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={scratch / 'chromium'}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += ["--window-size=1280,4000", "--virtual-time-budget=20000", "--enable-logging=stderr", "--v=0"]
    result = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    errors = [line for line in result.stderr.splitlines() if re.search(r"CONSOLE[:(]", line)]
    return Page(result.stdout, errors)
