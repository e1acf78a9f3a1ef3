"""One line a figure: what, how much, what was wanted."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "utils"))
sys.path.insert(0, str(TOP / "test" / "support"))

import model_table as models  # noqa: E402  (needs the paths above)

__all__ = ["Row", "models", "render"]


@dataclass(frozen=True)
class Row:
    what: str
    figure: str
    wanted: str
    reached: bool
    details: str = ""


def render(row: Row) -> str:
    word = "ok" if row.reached else "MISSED"
    return f"{row.what:58} {row.figure:>10}  ({row.wanted}) {word:6} {row.details}".rstrip()
