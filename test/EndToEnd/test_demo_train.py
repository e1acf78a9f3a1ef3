"""The demo of training succeeds from the model to the last line, as a user sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from chromium import open_page
from command import hethub as command
from hethub.demo.train import LOSS, STEPS


@pytest.mark.wide
def test_demo_train(tmp_path: Path) -> None:
    result = command("demo", "--train", tmp_path / "demo", timeout=600)
    assert result.returncode == 0, result.stderr
    last = result.stdout.rstrip().splitlines()[-1]
    found = re.fullmatch(
        r"demo: ok stages=3 steps=(\d+) loss=([\d.]+)->([\d.]+) samples_per_s=([\d.]+) efficiency=([\d.]+)", last
    )
    assert found, last
    steps, before, after, rate, efficiency = map(float, found.groups())
    assert steps == STEPS
    assert before > 4
    assert after < LOSS
    assert rate > 0
    # More than the bound would mean that something is measured wrongly.
    assert 0 < efficiency < 105
    lines = (tmp_path / "demo" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == list(range(1, STEPS + 1))
    page = open_page(tmp_path / "demo" / "report.html", tmp_path)
    assert page.errors == []
    for name in ("timeline", "busy", "memory", "loss", "throughput"):
        assert 'class="main-svg"' in page.plot(name), name
    assert "measured, process" in page.plot("memory")
