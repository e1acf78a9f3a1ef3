"""Every rule of hh-differentiate against torch autograd and finite differences (utils/check_gradients.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="all rules"),
        # Gradients of data and of parameters part ways: those whose backward operators make both.
        pytest.param(["--split-weight", "-k", "convolution|norm|linear|matmul|attention|embedding"], id="split weight"),
        pytest.param(["--dtype", "float32"], id="single precision", marks=pytest.mark.wide),
    ],
)
def test_rules(options: list[str]) -> None:
    command = [sys.executable, str(TOP / "utils/check_gradients.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 problems" in done.stdout


@pytest.mark.wide
def test_node_suite() -> None:
    """What lowering makes of ONNX's node tests, against autograd of the same calls."""
    command = [sys.executable, str(TOP / "utils/check_node_gradients.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = int(done.stdout.split("summary: ")[1].split(" passed")[0])
    assert passed > 1000, done.stdout


def test_a_wrong_gradient_is_found(tmp_path: Path) -> None:
    """The check itself: a tool whose programs drop a factor must not pass."""
    tool = tmp_path / "hh-opt"
    tool.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        f"done = subprocess.run(['{TOP}/build/bin/hh-opt', *sys.argv[1:]], capture_output=True, text=True)\n"
        "sys.stderr.write(done.stderr)\n"
        "sys.stdout.write(done.stdout.replace('aten.cos(', 'aten.sin('))\n"
        "sys.exit(done.returncode)\n"
    )
    tool.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(TOP / "utils/check_gradients.py"), "-k", "aten::sin$"],
        capture_output=True,
        text=True,
        timeout=300,
        env={"HETHUB_TOOLS": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert "aten::sin([3, 4]) (contiguous): gradient of p0 differs" in done.stdout
