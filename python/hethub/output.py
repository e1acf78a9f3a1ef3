"""An output folder as the compiler wrote it: which stage programs it holds and what the model's ports are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import HetHubError
from .program import Port, StageInfo, read_program


@dataclass(frozen=True)
class Rank:
    """One process of a run: ranks count through the stages and, within a stage, through its replicas. Where stages are
    interleaved a rank has `others` beside its first one."""

    rank: int
    stage: int
    replica: int
    device_type: str
    others: tuple[int, ...] = ()

    def __str__(self) -> str:
        device = f" on {self.device_type}" if self.device_type else ""
        stages = ", ".join(str(stage) for stage in (self.stage, *self.others))
        replica = f", replica {self.replica}" if self.replica else ""
        return f"rank {self.rank} (stage{'s' if self.others else ''} {stages}{device}{replica})"


def rank_files(path: Path, ranks: Sequence[Rank]) -> list[Path]:
    """Where each rank writes a file that is asked for as `path`: one that is alone uses the name as it stands."""
    return [path.with_name(f"{path.name}.rank{rank.rank}") for rank in ranks] if len(ranks) > 1 else [path]


@dataclass
class OutputFolder:
    """`programs` is empty where only C++ was emitted: then each rank checks its inputs itself."""

    path: Path
    plan: dict[str, Any]
    programs: list[StageInfo]

    @staticmethod
    def read(path: Path | str) -> OutputFolder:
        folder = Path(path)
        if not folder.is_dir():
            raise HetHubError(f"the folder must be one that `hethub compile` wrote, got: {folder} (does not exist)")
        try:
            plan = json.loads((folder / "plan.json").read_text())
            count = len(plan["stages"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HetHubError(f"the folder must hold a plan.json from `hethub compile`, got: {folder}") from error
        missing = [k for k in range(count) if not (folder / f"stage_{k}").is_dir()]
        if missing:
            raise HetHubError(f"the folder must hold all {count} stages, got one without stage_{missing[0]}: {folder}")
        files = [folder / f"stage_{k}" / "program.pb" for k in range(count)]
        programs = [read_program(file) for file in files] if any(file.exists() for file in files) else []
        for k, program in enumerate(programs):
            if program.stage != k or len(program.replicas) != count:
                raise HetHubError(f"program {k} of {count} must belong to this plan, got another one's: {files[k]}")
        return OutputFolder(folder, plan, programs)

    def ranks(self) -> list[Rank]:
        found: dict[int, Rank] = {}
        for k, stage in enumerate(self.plan["stages"]):
            first = int(stage.get("first_rank", len(found)))
            for replica in range(int(stage.get("replicas", 1))):
                rank = first + replica
                known = found.get(rank)
                found[rank] = (
                    replace(known, others=(*known.others, k))
                    if known
                    else Rank(rank, k, replica, str(stage.get("device_type", "")))
                )
        return [found[rank] for rank in sorted(found)]

    def inputs(self) -> list[Port]:
        """The model's inputs in graph order; one that several stages read is listed once."""
        return _in_order([port for program in self.programs for port in program.inputs])

    def outputs(self) -> list[Port]:
        """The model's outputs in graph order."""
        return _in_order([port for program in self.programs for port in program.outputs])


def _in_order(ports: list[Port]) -> list[Port]:
    by_index = {port.index: port for port in ports}
    return [by_index[index] for index in sorted(by_index)]
