"""hethub report: one HTML page about a compiled model and its runs. It opens without a network: plotly is in it."""

from __future__ import annotations

import html
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import HetHubError
from .folders import new_file
from .output import OutputFolder
from .predict import predict, prediction_rows
from .table import figures, milliseconds, percent, stage_rows
from .timeline import Timeline, read_timeline, shares
from .trainlog import read_records

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_MICROBATCHES = 256  # of the predicted timeline

STYLE = """
body { font-family: system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em; color: #222; }
h1 { font-weight: 600; } h2 { margin-top: 2em; border-bottom: 1px solid #ccc; padding-bottom: 0.2em; font-weight: 600; }
table { border-collapse: collapse; font-size: 0.92em; } th, td { padding: 0.3em 0.8em; text-align: right; }
th { border-bottom: 2px solid #888; } td { border-bottom: 1px solid #ddd; }
.text { text-align: left; } .wide { overflow-x: auto; } p, li { line-height: 1.5; }
"""


def report(
    folder: Path | str,
    target: Path | str,
    *,
    log: Path | str | None = None,
    trace: Path | str | None = None,
    figures_file: Path | str | None = None,
) -> None:
    """Writes the page of an output folder to `target`.

    log           what `hethub train --log` wrote: loss and throughput
    trace         what `hethub run` or `hethub train --trace` wrote: the measured timeline beside the predicted one
    figures_file  what either printed with --json: measured memory
    """
    try:
        import plotly  # noqa: F401
    except ImportError as error:
        raise HetHubError("the report needs plotly (pip install plotly), got: no such package") from error
    output = OutputFolder.read(folder)
    records = read_records(Path(log)) if log is not None else []
    measured = read_timeline(Path(trace)).last_step() if trace is not None else None
    ranks = _ranks(Path(figures_file)) if figures_file is not None else []
    prediction, predicted = _predicted(output, measured)
    if measured:
        measured.names |= {rank: name for rank, name in predicted.names.items() if rank in measured.names}
    page = _page(output, prediction, predicted, measured, ranks, records)
    with new_file(Path(target)) as temporary:
        temporary.write_text(page)


def _ranks(file: Path) -> list[dict[str, Any]]:
    try:
        ranks = json.loads(file.read_text())["ranks"]
        if not all(isinstance(rank, dict) for rank in ranks):
            raise TypeError("ranks must be objects")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HetHubError(f"the figures must be what --json printed, got: {file}: {error}") from error
    return ranks


def _predicted(output: OutputFolder, measured: Timeline | None) -> tuple[dict[str, Any], Timeline]:
    """The step that was measured, or that the plan was made for."""
    microbatches = (measured.microbatches() if measured else 0) or output.plan.get("microbatches", 1)
    with tempfile.TemporaryDirectory(prefix="hethub-report-") as scratch:
        file = Path(scratch) / "trace.json"
        prediction = predict(output.path, microbatches=min(microbatches, MOST_MICROBATCHES), trace=file)
        return prediction, read_timeline(file)


def _page(
    output: OutputFolder,
    prediction: dict[str, Any],
    predicted: Timeline,
    measured: Timeline | None,
    ranks: list[dict[str, Any]],
    records: list[dict[str, Any]],
) -> str:
    import plotly.offline

    from . import charts

    plan = output.plan
    named = {"predicted": predicted} | ({"measured": measured} if measured else {})
    kind = "Training" if plan.get("training") else "Inference"
    sections = [
        ("Plan", _table(*stage_rows(plan), left=3) + _lines(figures(plan))),
        ("Prediction", _table(*prediction_rows(prediction))),
        ("Timeline", _facts(prediction, measured) + _plot(charts.timelines(named), "timeline") + _cut_short(named)),
        ("Busy, communication, bubble", _plot(charts.busy(named), "busy") + _share_table(named)),
        ("Memory", _plot(charts.memory(prediction["stages"], ranks), "memory")),
    ]
    if records:
        sections.append(("Loss", _loss_line(records) + _plot(charts.loss(records), "loss")))
        sections.append(("Throughput", _plot(charts.rate(records), "throughput")))
    body = "".join(f"<h2>{html.escape(title)}</h2>\n{content}\n" for title, content in sections)
    name = html.escape(output.path.resolve().name)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>HetHub: {name}</title>\n'
        f'<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n<script>{plotly.offline.get_plotlyjs()}</script>\n'
        f"</head>\n<body>\n<h1>{name}</h1>\n<p>{kind} on {_devices(plan)}.</p>\n{body}</body>\n</html>\n"
    )


def _devices(plan: Mapping[str, Any]) -> str:
    counts: dict[str, int] = {}
    ranks: set[int] = set()  # with stages so far, where they have several
    for stage in plan["stages"]:
        if stage.get("first_rank") in ranks:
            continue
        if "first_rank" in stage:
            ranks.add(stage["first_rank"])
        kind = stage.get("device_type", "")
        counts[kind] = counts.get(kind, 0) + stage.get("replicas", 1) * stage.get("tensor_parallel", 1)
    return html.escape(", ".join(f"{count} x {name}" for name, count in counts.items()))


def _plot(figure: go.Figure, name: str) -> str:
    return figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config={"displaylogo": False})


def _table(header: list[str], rows: list[list[str]], left: int = 2) -> str:
    """The first `left` columns are text, the others figures."""

    def row(cells: list[str], tag: str) -> str:
        kinds = [' class="text"' if k < left else "" for k in range(len(cells))]
        parts = (f"<{tag}{kind}>{html.escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
        return f"<tr>{''.join(parts)}</tr>\n"

    body = row(header, "th") + "".join(row(cells, "td") for cells in rows)
    return f'<div class="wide"><table>\n{body}</table></div>\n'


def _lines(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>\n" if lines else ""


def _facts(prediction: Mapping[str, Any], measured: Timeline | None) -> str:
    step = prediction["step_seconds"]
    lines = [f"predicted: {milliseconds(step)} ms for {prediction['microbatches']} microbatches"]
    if measured and measured.slices:
        seconds = measured.end - measured.begin
        error = f", {percent(step / seconds - 1, sign=True)} predicted" if seconds > 0 else ""
        lines.append(f"measured: {milliseconds(seconds)} ms for {measured.microbatches()} microbatches{error}")
    return _lines(lines)


def _cut_short(named: Mapping[str, Timeline]) -> str:
    from . import charts

    return _lines(
        [
            f"{name}: the first {charts.MOST_SLICES} of {len(timeline.slices)} events are drawn"
            for name, timeline in named.items()
            if len(timeline.slices) > charts.MOST_SLICES
        ]
    )


def _share_table(named: Mapping[str, Timeline]) -> str:
    rows = []
    for name, timeline in named.items():
        for share in shares(timeline):
            parts = [milliseconds(value) for value in (share.compute, share.communication, share.bubble)]
            rows.append([timeline.names[share.rank], name, *parts])
    return _table(["rank", "", "compute ms", "communication ms", "bubble ms"], rows)


def _loss_line(records: list[dict[str, Any]]) -> str:
    known = [record for record in records if isinstance(record.get("loss"), int | float)]
    if not known:
        return ""
    first, last = known[0], known[-1]
    return _lines([f"{first['loss']:.4g} at step {first['step']}, {last['loss']:.4g} at step {last['step']}"])
