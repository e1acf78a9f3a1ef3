"""The plots of `hethub report`, as plotly figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .timeline import Slice, Timeline, shares

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Colours that stay apart for people who do not see red and green apart (Okabe, Ito: Color universal design, 2008).
COLORS = {
    "forward": "#0072B2",
    "backward": "#D55E00",
    "weight": "#E69F00",
    "optimizer step": "#CC79A7",
    "all-reduce": "#009E73",
    "send": "#56B4E9",
    "receive": "#999999",
    "compute": "#0072B2",
    "communication": "#56B4E9",
    "bubble": "#DDDDDD",
}
MOST_SLICES = 20_000  # of one timeline: browsers draw more only slowly
LANE_PIXELS = 44
LOOK = {
    "template": "plotly_white",
    "margin": {"l": 10, "r": 10, "t": 40, "b": 40},
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
}
HOVER = "%{customdata[0]}<br>begin %{customdata[1]:.3f} ms<br>%{customdata[2]:.3f} ms<extra></extra>"
GIB = 1 << 30


def _figure(height: int, **layout: Any) -> go.Figure:
    import plotly.graph_objects as go

    return go.Figure(layout={"height": height, **LOOK, **layout})


def shown(timeline: Timeline) -> list[Slice]:
    """What fits in a plot: from the begin on."""
    return timeline.slices[:MOST_SLICES]


def timelines(named: Mapping[str, Timeline]) -> go.Figure:
    """A lane a rank, one plot over the other on the same axis of time: milliseconds from the begin of each."""
    from plotly.subplots import make_subplots

    lanes = max(len(timeline.ranks) for timeline in named.values())
    figure = make_subplots(
        rows=len(named), cols=1, shared_xaxes=True, vertical_spacing=0.08, subplot_titles=list(named)
    )
    legend: set[str] = set()
    for row, timeline in enumerate(named.values(), 1):
        start = timeline.begin
        by_action: dict[str, list[Slice]] = {}
        for item in shown(timeline):
            by_action.setdefault(item.action, []).append(item)
        for action in sorted(by_action, key=lambda name: (list(COLORS).index(name) if name in COLORS else 99, name)):
            items = by_action[action]
            figure.add_bar(
                row=row,
                col=1,
                orientation="h",
                name=action,
                legendgroup=action,
                showlegend=action not in legend,
                marker={"color": COLORS.get(action, "#000000"), "line": {"width": 0.5, "color": "white"}},
                # Messages are thin beside what is computed.
                width=0.25 if _is_message(items[0]) else 0.8,
                offset=0.15 if _is_message(items[0]) else -0.4,
                y=[timeline.names[item.rank] for item in items],
                base=[1e3 * (item.begin - start) for item in items],
                x=[1e3 * (item.end - item.begin) for item in items],
                customdata=[[item.label, 1e3 * (item.begin - start), 1e3 * (item.end - item.begin)] for item in items],
                hovertemplate=HOVER,
            )
            legend.add(action)
        figure.update_yaxes(
            row=row,
            col=1,
            autorange="reversed",
            categoryorder="array",
            categoryarray=[timeline.names[rank] for rank in timeline.ranks],
        )
    figure.update_xaxes(title_text="ms", row=len(named), col=1)
    height = 100 + len(named) * (60 + LANE_PIXELS * lanes)
    figure.update_layout(barmode="overlay", height=height, **LOOK)
    return figure


def _is_message(item: Slice) -> bool:
    return item.action in ("send", "receive", "all-reduce")


def busy(named: Mapping[str, Timeline]) -> go.Figure:
    """Of each rank the share of time in which it computes, waits for a message under way, and waits for others."""
    figure = _figure(420, barmode="stack", yaxis={"title": "% of the step", "range": [0, 100]})
    for part in ("compute", "communication", "bubble"):
        lanes: list[list[str]] = [[], []]
        values = []
        for name, timeline in named.items():
            whole = timeline.end - timeline.begin
            for share in shares(timeline):
                lanes[0].append(timeline.names[share.rank])
                lanes[1].append(name)
                values.append(100 * getattr(share, part) / whole if whole > 0 else 0)
        figure.add_bar(name=part, x=lanes, y=values, marker={"color": COLORS[part]})
    return figure


def memory(predicted: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Of each stage the predicted bytes of its fullest replica, the limit that it was planned for, and what its
    processes used at most."""
    figure = _figure(420, barmode="group", yaxis={"title": "GiB"})
    names = [f"stage {k} ({stage['device_type']})" for k, stage in enumerate(predicted)]
    figure.add_bar(name="predicted, process", x=names, y=[stage["process_bytes"] / GIB for stage in predicted])
    figure.add_bar(name="predicted, weights and values", x=names, y=[stage["peak_bytes"] / GIB for stage in predicted])
    if measured:
        most = [
            max(
                (rank.get("max_rss_bytes", 0) for rank in measured if k in rank.get("stages", [rank.get("stage")])),
                default=0,
            )
            for k in range(len(predicted))
        ]
        figure.add_bar(name="measured, process", x=names, y=[value / GIB for value in most])
    limits = [stage["memory_limit_bytes"] / GIB for stage in predicted]
    if any(limits):
        figure.add_scatter(
            name="limit of the plan", x=names, y=limits, mode="markers", marker={"symbol": "line-ew-open", "size": 40}
        )
    return figure


def loss(records: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Loss and learning rate by step."""
    figure = _figure(
        460,
        xaxis={"title": "step"},
        yaxis={"title": "loss"},
        yaxis2={
            "title": "learning rate",
            "tickformat": ".3~g",
            "overlaying": "y",
            "side": "right",
            "showgrid": False,
            "rangemode": "tozero",
        },
    )
    for name, axis, dash in (("loss", "y", "solid"), ("learning_rate", "y2", "dot")):
        points = [(record["step"], record[name]) for record in records if isinstance(record.get(name), int | float)]
        if points:
            steps, values = zip(*points, strict=True)
            figure.add_scatter(x=steps, y=values, name=name.replace("_", " "), yaxis=axis, line={"dash": dash})
    return figure


def rate(records: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Samples a second by step."""
    figure = _figure(360, xaxis={"title": "step"}, yaxis={"title": "samples/s", "rangemode": "tozero"})
    points = [(r["step"], r["samples_per_s"]) for r in records if isinstance(r.get("samples_per_s"), int | float)]
    steps, values = zip(*points, strict=True) if points else ((), ())
    figure.add_scatter(x=steps, y=values, name="samples/s")
    return figure
