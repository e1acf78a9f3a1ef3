"""The demo succeeds from measuring to the last line, as a user sees it."""

from __future__ import annotations

import re
from pathlib import Path

from command import hethub as command
from model_table import BY_SPEC, ensure


def test_demo(tmp_path: Path) -> None:
    ensure(BY_SPEC["minilm.dyn"])
    result = command("demo", tmp_path / "demo", timeout=600)
    assert result.returncode == 0, result.stderr
    last = result.stdout.rstrip().splitlines()[-1]
    found = re.fullmatch(r"demo: ok stages=3 max_abs_diff=([\d.e+-]+) samples_per_s=([\d.]+) efficiency=([\d.]+)", last)
    assert found, last
    difference, rate, efficiency = map(float, found.groups())
    assert difference < 1e-5
    assert rate > 0
    # Other work on the machine may cost some; more than the bound would mean that something is measured wrongly.
    assert 50 < efficiency < 105
    assert all(name in result.stdout for name in ("fast", "medium", "slow", "forward ms"))
