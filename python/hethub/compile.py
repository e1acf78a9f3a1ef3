"""hethub compile and hethub plan: thin over hh-compile, which does all the work."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import tools
from .errors import HetHubError
from .folders import new_file, new_folder
from .launcher import write_launcher

EMITTERS = ("program", "cpp", "onnx")


@dataclass(frozen=True)
class Search:
    """What a plan is searched for, beside the model and the cluster."""

    train: bool = False  # a training step
    global_batch: int | None = None  # samples of a step
    replicas: bool = True  # stages may have several
    recompute: bool = True  # training: stages may compute their forward pass again
    tensor_parallel: bool = False  # devices of a node may share operations: planned, not run yet
    time_limit: float | None = None  # seconds, about

    def arguments(self) -> list[str]:
        arguments = ["--train"] if self.train else []
        arguments += [] if self.global_batch is None else [f"--global-batch={self.global_batch}"]
        arguments += [] if self.replicas else ["--replicas=off"]
        arguments += [] if self.recompute else ["--recompute=off"]
        arguments += ["--tensor-parallel"] if self.tensor_parallel else []
        arguments += [] if self.time_limit is None else [f"--time-limit={self.time_limit}"]
        return arguments


@dataclass(frozen=True)
class TrainingStep:
    """What a training step computes beside the model's forward pass: hh-compile's options of the same names."""

    loss: str | None = None  # cross-entropy or mse of an output, against the input "labels"; None: the model's own
    loss_output: str | None = None  # the output that makes the loss, where there are several
    freeze: Sequence[str] = ()  # parameters that stay as they are: glob patterns of names
    schedule: str = "1f1b"  # order of forward and backward passes: 1f1b, gpipe, zero-bubble, interleaved
    stages_per_device: int | None = None  # that lie apart in the model; None: 2 where interleaved, else 1
    training_mode: Sequence[str] = ()  # operators to set to their training form: batch-norm, dropout

    def arguments(self) -> list[str]:
        arguments = [] if self.loss is None else [f"--loss={self.loss}"]
        arguments += [] if self.loss_output is None else [f"--loss-output={self.loss_output}"]
        arguments += [f"--freeze={pattern}" for pattern in self.freeze]
        arguments.append(f"--schedule={self.schedule}")
        arguments += [] if self.stages_per_device is None else [f"--stages-per-device={self.stages_per_device}"]
        arguments += [f"--training-mode={','.join(self.training_mode)}"] if self.training_mode else []
        return arguments


def compile_arguments(
    model: Path | str,
    cluster: Path | str | None,
    stages: int | None,
    dims: Mapping[str, int | str] | None,
    plan_file: Path | str | None,
    microbatches: int | None,
    annotated: bool = False,
) -> list[str]:
    """The part of hh-compile's command line that planning and compiling share."""
    if cluster is None and stages is None:
        raise HetHubError("give a cluster, a number of stages, or both, got: neither")
    if stages is not None and stages < 1:
        raise HetHubError(f"stages must be at least 1, got: {stages}")
    if microbatches is not None and microbatches < 1:
        raise HetHubError(f"microbatches must be at least 1, got: {microbatches}")
    arguments = [str(model)]
    arguments += [] if cluster is None else [f"--cluster={cluster}"]
    arguments += [] if stages is None else [f"--stages={stages}"]
    arguments += [f"--dim={name}={size}" for name, size in (dims or {}).items()]
    if plan_file is not None:
        arguments.append(f"--plan={plan_file}")
    if annotated:
        arguments.append("--annotated")
    if microbatches is not None:
        arguments.append(f"--microbatches={microbatches}")
    return arguments


def step_arguments(search: Search, training: TrainingStep | None) -> list[str]:
    """What is planned: a training step where there is one."""
    if training is None:
        return search.arguments()
    return [*replace(search, train=True).arguments(), *training.arguments()]


def plan(
    model: Path | str,
    output: Path | str | None = None,
    *,
    cluster: Path | str | None = None,
    stages: int | None = None,
    dims: Mapping[str, int | str] | None = None,
    plan_file: Path | str | None = None,
    microbatches: int | None = None,
    explain: bool = False,
    what_if: bool = False,
    annotated: bool = False,
    search: Search = Search(),
    training: TrainingStep | None = None,
) -> dict[str, Any]:
    """Plans a model without compiling it and returns the content of plan.json, which `output` (a file) receives.

    `stages` alone stands for so many equal devices of this machine; with a cluster it is the number of stages to find.
    Times in the plan are seconds, sizes bytes. `plan_file` is a stage map of one's own, which is checked and costed;
    with `annotated` that is what the model's nodes name themselves.
    `explain` adds why the plan is not better, `what_if` also what one more device of each type would gain.
    """
    arguments = compile_arguments(model, cluster, stages, dims, plan_file, microbatches, annotated)
    arguments += step_arguments(search, training)
    arguments += ["--explain"] if explain else []
    arguments += ["--what-if"] if what_if else []
    with tempfile.TemporaryDirectory(prefix="hethub-plan-") as scratch:
        tools.run("hh-compile", [*arguments, "--plan-only", "-o", scratch])
        text = (Path(scratch) / "plan.json").read_text()
    if output is not None:
        with new_file(Path(output)) as file:
            file.write_text(text)
    return json.loads(text)


def compile(
    model: Path | str,
    output: Path | str,
    *,
    cluster: Path | str | None = None,
    stages: int | None = None,
    dims: Mapping[str, int | str] | None = None,
    plan_file: Path | str | None = None,
    microbatches: int | None = None,
    emit: Sequence[str] = ("program", "cpp"),
    pack_weights: bool = False,
    annotated: bool = False,
    search: Search = Search(),
    training: TrainingStep | None = None,
) -> Path:
    """Compiles a model into one program per stage under the folder `output`, and returns that folder.

    With `annotated` the stages are those that the model's nodes name themselves.
    With `training` the programs are those of a training step (docs/Training.md). The folder appears complete or not at
    all; a folder that hethub wrote before is replaced.
    """
    unknown = [name for name in emit if name not in EMITTERS]
    if unknown or not emit:
        raise HetHubError(f"emit must be among {', '.join(EMITTERS)}, got: {', '.join(unknown) or 'nothing'}")
    arguments = compile_arguments(model, cluster, stages, dims, plan_file, microbatches, annotated)
    arguments += step_arguments(search, training)
    arguments.append(f"--emit={','.join(emit)}")
    if pack_weights:
        arguments.append("--pack-weights")
    with new_folder(Path(output)) as folder:
        result = tools.run("hh-compile", [*arguments, "-o", str(folder)])
        for line in tools.notices_of(result.stderr, "hh-compile"):
            print(f"hethub: {line}", file=sys.stderr)
        write_launcher(folder)
    return Path(output)
