"""`hethub report`: one page that opens without a network, with every plot in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import hethub
import numpy as np
import pytest
import small_models
from chromium import open_page
from command import error_of
from command import hethub as command
from hethub.timeline import Share, Timeline, length, read_timeline, shares, union, without

MICROBATCHES = 4


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, three_stages: Path) -> Path:
    """Trace, figures and log of runs."""
    folder = tmp_path_factory.mktemp("report")
    x = np.concatenate([small_models.layers_input()["x"]] * MICROBATCHES)
    result = hethub.run(three_stages, {"x": x}, microbatches=MICROBATCHES, trace=folder / "trace.json")
    (folder / "figures.json").write_text(json.dumps({"ranks": result.ranks}))
    records = [
        {"step": step, "loss": 4 / step, "learning_rate": 1e-3, "samples_per_s": 100 + step} for step in range(1, 30)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_page_in_a_browser(files: Path, three_stages: Path) -> None:
    result = command(
        *("report", three_stages, "-o", files / "report.html", "--log", files / "log.jsonl"),
        *("--trace", files / "trace.json", "--figures", files / "figures.json"),
    )
    assert result.returncode == 0, result.stderr
    text = (files / "report.html").read_text()
    assert not re.search(r'(?:src|href)="(?!data:)', re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL))
    page = open_page(files / "report.html", files)
    assert page.errors == []
    for name in ("timeline", "busy", "memory", "loss", "throughput"):
        assert 'class="main-svg"' in page.plot(name), name
    # Bars of all forwards, predicted and measured, and what else was done between them.
    bars = page.plot("timeline").count('class="point"')
    assert bars >= 2 * 3 * MICROBATCHES
    assert page.plot("timeline").count('class="trace bars"') >= 4
    assert "4 at step 1, 0.1379 at step 29" in page.dom
    assert re.search(rf"measured: [\d.]+ ms for {MICROBATCHES} microbatches, [+-][\d.]+ % predicted", page.dom)


def test_page_of_a_plan_alone(tmp_path: Path, three_stages: Path) -> None:
    hethub.report(three_stages, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert 'id="timeline"' in text
    assert 'id="loss"' not in text
    assert '<td class="text">stage 2 (cpu)</td>' in text


def test_shares_of_a_run_add_up(files: Path) -> None:
    timeline = read_timeline(files / "trace.json")
    assert timeline.microbatches() == MICROBATCHES
    for share in shares(timeline):
        assert share.compute > 0
        assert share.compute + share.communication + share.bubble == pytest.approx(timeline.end - timeline.begin)
        assert min(share.communication, share.bubble) >= 0


def trace_of(path: Path, *events: tuple) -> Timeline:
    """Events (rank, track, name, begin ms, end ms) and arrows (phase, rank, ms)."""
    found = []
    for event in events:
        if event[0] in ("s", "f"):
            found.append({"ph": event[0], "pid": event[1], "tid": 1, "id": 7, "ts": 1e3 * event[2], "name": "message"})
        else:
            rank, track, name, begin, end = event
            found.append(
                {"ph": "X", "pid": rank, "tid": track, "name": name, "ts": 1e3 * begin, "dur": 1e3 * (end - begin)}
            )
    path.write_text(json.dumps({"traceEvents": found}))
    return read_timeline(path)


def test_a_wait_is_communication_while_the_message_is_under_way(tmp_path: Path) -> None:
    # Rank 1 waits from the begin; the message is sent at 4 ms and there at 6 ms.
    timeline = trace_of(
        tmp_path / "trace.json",
        (0, 0, "forward 0", 0, 4),
        (0, 1, "x", 4, 5),
        ("s", 0, 4),
        (1, 2, "x", 0, 6),
        ("f", 1, 6),
        (1, 0, "forward 0", 6, 10),
    )
    seconds = pytest.approx
    assert shares(timeline) == [
        Share(0, seconds(4e-3), seconds(0), seconds(6e-3)),
        Share(1, seconds(4e-3), seconds(2e-3), seconds(4e-3)),
    ]


def test_sums_of_gradients_are_communication(tmp_path: Path) -> None:
    timeline = trace_of(tmp_path / "trace.json", (0, 0, "backward 3", 0, 4), (0, 0, "all-reduce", 4, 7))
    assert [(s.action, s.label) for s in timeline.slices] == [("backward", "backward 3"), ("all-reduce", "all-reduce")]
    assert shares(timeline) == [Share(0, *map(pytest.approx, (4e-3, 3e-3, 0)))]


def test_the_last_step_of_a_training_trace(tmp_path: Path) -> None:
    steps = [
        (rank, 0, name, 10 * k + at, 10 * k + at + 2)
        for k in range(3)
        for rank in (0, 1)
        for at, name in ((rank, "forward 0"), (3 + rank, "backward 0"), (6 + rank, "optimizer step"))
    ]
    last = trace_of(tmp_path / "trace.json", *steps).last_step()
    assert [(s.rank, s.action) for s in last.slices] == [
        (0, "forward"),
        (1, "forward"),
        (0, "backward"),
        (1, "backward"),
        (0, "optimizer step"),
        (1, "optimizer step"),
    ]
    assert last.begin == pytest.approx(20e-3)


def test_intervals() -> None:
    joined = union([(3, 4), (0, 1), (0.5, 2), (4, 5), (6, 6)])
    assert joined == [(0, 2), (3, 5)]
    assert length(joined) == 4
    assert without([(0, 10)], joined) == [(2, 3), (5, 10)]
    assert without(joined, [(1, 4)]) == [(0, 1), (4, 5)]
    assert without(joined, [(0, 10)]) == []


BAD_FILES = [
    ("--trace", "{", "a trace must be a Chrome trace of hethub"),
    ("--trace", '{"traceEvents": [{"ph": "X"}]}', "a trace must be a Chrome trace of hethub"),
    ("--log", "[]", "bad:1: each line must be a JSON object with a step"),
    ("--figures", '{"ranks": [1]}', "the figures must be what --json printed"),
]


@pytest.mark.parametrize(("option", "content", "message"), BAD_FILES)
def test_bad_files(tmp_path: Path, three_stages: Path, option: str, content: str, message: str) -> None:
    (tmp_path / "bad").write_text(content)
    error = error_of(command("report", three_stages, option, tmp_path / "bad", "-o", tmp_path / "r.html"))
    assert message in error
    assert "\n" not in error
    assert not (tmp_path / "r.html").exists()
