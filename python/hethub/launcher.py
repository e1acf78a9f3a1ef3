"""OUT/run: the script that torchrun and srun start on every rank, and the choice of what a rank executes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from . import tools
from .errors import HetHubError
from .output import OutputFolder, Rank

SCRIPT = """\
#!/bin/sh
# Starts the stage program of this rank: the one for RANK (torchrun) or SLURM_PROCID (srun).
#   torchrun --no-python --nproc-per-node {world} -- {name}/run {example}
#   srun -n {world} {name}/run {example}
# Runs the compiled C++ program where `hethub build` made it, else the program file; HETHUB_ENGINE=program or cpp
# insists on one. All ranks get the same arguments{joins}.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
rank=${{RANK:-${{SLURM_PROCID:-}}}}
case $rank in
{cases}  "") echo "run: RANK or SLURM_PROCID must be set (start this script with torchrun or srun)" >&2; exit 1 ;;
  *) echo "run: the rank must be below {world}, got: $rank" >&2; exit 1 ;;
esac
size=${{WORLD_SIZE:-${{SLURM_STEP_NUM_TASKS:-${{SLURM_NTASKS:-{world}}}}}}}
if [ "$size" != {world} ]; then
  echo "run: the number of ranks must be {world}, got: $size" >&2
  exit 1
fi
stage_folder=$here/stage_$stage
binary=$stage_folder/build/stage
program=$stage_folder/program.pb
interpreter={interpreter}
[ -x "$interpreter" ] || interpreter=hh-run
case ${{HETHUB_ENGINE:-}} in
  cpp) ;;
  program) binary= ;;
  "") [ -x "$binary" ] || binary= ;;
  *) echo "run: HETHUB_ENGINE must be program or cpp, got: $HETHUB_ENGINE" >&2; exit 1 ;;
esac

if [ -n "$binary" ]; then
  exec "$binary" "$@"
fi
exec "$interpreter" "$program" "$@"
"""

EXAMPLE = "--inputs x.npz --outputs y.npz --microbatches 4"
TRAINING_EXAMPLE = "--data data.npz --steps 1000 --checkpoint ckpt --resume"


def binary_of(folder: Path, stage: int) -> Path:
    """Where `hethub build` leaves the program of a stage."""
    return folder / f"stage_{stage}" / "build" / "stage"


def write_launcher(folder: Path) -> None:
    """Writes `folder`/run, executable."""
    output = OutputFolder.read(folder)
    ranks = output.ranks()
    cases = "".join(f"  {rank.rank}) stage={rank.stage} ;;\n" for rank in ranks)
    try:
        interpreter = str(tools.find("hh-run"))
    except HetHubError:
        interpreter = "hh-run"
    name = folder.name.removeprefix(".").split(".partial-")[0]
    training = output.plan.get("training")
    text = SCRIPT.format(
        world=len(ranks),
        name=name,
        cases=cases,
        interpreter=_quoted(interpreter),
        example=TRAINING_EXAMPLE if training else EXAMPLE,
        joins="" if training else ": rank 0 joins the outputs",
    )
    script = folder / "run"
    script.write_text(text)
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def command_of(output: OutputFolder, rank: Rank, engine: str | None) -> list[str]:
    """What one rank executes: its C++ program, or hh-run on its program file. `engine`: program, cpp, or None for
    the C++ program where it was built."""
    binary = binary_of(output.path, rank.stage)
    program = output.path / f"stage_{rank.stage}" / "program.pb"
    if engine == "cpp" or (engine is None and os.access(binary, os.X_OK)):
        if not os.access(binary, os.X_OK):
            raise HetHubError(f"the C++ programs must be built first (hethub build {output.path}), got none: {binary}")
        return [str(binary)]
    if not program.exists():
        raise HetHubError(f"the folder must hold program files (--emit=program) or be built, got neither: {program}")
    return [str(tools.find("hh-run")), str(program)]
