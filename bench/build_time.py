"""How long a C++ compiler takes for an emitted stage of gpt2 (12 layers, 3 stages)."""

from __future__ import annotations

from pathlib import Path

import hethub

from .report import Row, models

LIMIT_SECONDS = 20.0


def measure(folder: Path) -> list[Row]:
    path = models.ensure(models.Model("gpt2_full.dyn"))
    out = hethub.compile(path, folder / "gpt2_3", stages=3, dims={"batch": 1, "seq": 128}, emit=("program", "cpp"))
    seconds = hethub.build(out, jobs=1)
    return [
        Row(
            "C++ build of one stage, gpt2 in 3 stages, the slowest",
            f"{max(seconds.values()):.1f} s",
            f"under {LIMIT_SECONDS:.0f} s",
            max(seconds.values()) < LIMIT_SECONDS,
            ", ".join(f"stage {k}: {s:.1f} s" for k, s in seconds.items()),
        )
    ]
