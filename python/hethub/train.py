"""hethub train: starts the ranks of a training program, shows how far they are, and starts them again from the last
checkpoint when one fails."""

from __future__ import annotations

import contextlib
import json
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .errors import HetHubError
from .launcher import command_of
from .output import OutputFolder, rank_files
from .progress import TrainingProgress
from .ranks import RankFailed, Ranks
from .run import check_launch, join_traces
from .trainlog import TrainLog


def _shown(metavar: str | None, text: str) -> dict[str, str | None]:
    """What --help says of it; without a metavar it is a switch."""
    return {"metavar": metavar, "help": text}


@dataclass(frozen=True)
class Settings:
    """How a model is trained: the runtime's options of the same names (docs/Training.md), which it checks itself.
    None: its default."""

    sequence: int | None = field(default=None, metadata=_shown("N", "token files: tokens of a sample"))
    token_type: str | None = field(default=None, metadata=_shown("TYPE", "token files: uint16 or uint32 (uint16)"))
    in_order: bool | None = field(default=None, metadata=_shown(None, "do not shuffle the samples"))
    seed: int | None = field(
        default=None, metadata=_shown("N", "of the order of the samples and of random operators (0)")
    )
    optimizer: str | None = field(default=None, metadata=_shown("NAME", "sgd, adam or adamw (adamw)"))
    learning_rate: float | None = field(default=None, metadata=_shown("X", "highest learning rate (0.001)"))
    momentum: float | None = field(default=None, metadata=_shown("X", "of sgd (0)"))
    nesterov: bool | None = field(default=None, metadata=_shown(None, "Nesterov's form of momentum"))
    betas: str | None = field(default=None, metadata=_shown("B1,B2", "of adam and adamw (0.9,0.999)"))
    epsilon: float | None = field(default=None, metadata=_shown("X", "of adam and adamw (1e-8)"))
    weight_decay: float | None = field(
        default=None, metadata=_shown("X", "not of parameters of one axis (adamw: 0.01, else 0)")
    )
    decay_all: bool | None = field(default=None, metadata=_shown(None, "weight decay for parameters of one axis too"))
    clip_norm: float | None = field(default=None, metadata=_shown("X", "largest norm of all gradients together (none)"))
    lr_schedule: str | None = field(
        default=None,
        metadata=_shown("NAME", "constant, cosine or linear, down to the minimum at the last step (constant)"),
    )
    warmup_steps: int | None = field(default=None, metadata=_shown("N", "steps in which the learning rate rises (0)"))
    minimum_learning_rate: float | None = field(default=None, metadata=_shown("X", "of cosine and linear (0)"))
    checkpoint: Path | None = field(default=None, metadata=_shown("DIR", "folder for checkpoints (none)"))
    checkpoint_every: int | None = field(
        default=None, metadata=_shown("N", "steps between two; the last one has one too (100)")
    )
    keep: int | None = field(default=None, metadata=_shown("K", "newest checkpoints that stay, 0: all (3)"))
    gradients: Path | None = field(default=None, metadata=_shown("FILE", "write the gradients of the first step"))
    trace_steps: int | None = field(default=None, metadata=_shown("N", "first steps of the run in --trace (3)"))
    ignore_nonfinite: bool | None = field(
        default=None, metadata=_shown(None, "go on when the loss is no finite number")
    )

    def options(self) -> list[str]:
        """As the ranks take them."""
        found = []
        for entry in fields(self):
            value = getattr(self, entry.name)
            name = "--" + entry.name.replace("_", "-")
            if entry.metadata["metavar"] is None:
                found += [name] if value else []
            elif value is not None:
                found.append(f"{name}={value}")
        return found


@dataclass
class Training:
    """What a training run gave."""

    steps: list[dict[str, Any]]  # one record a step, as --log has them (docs/Training.md); after a resume the new ones
    ranks: list[dict[str, Any]] = field(default_factory=list)  # the runtime's figures of each rank (docs/Runtime.md)
    restarts: int = 0
    stopped_by: int | None = None  # number of the signal that ended it before its last step


def train(
    folder: Path | str,
    data: Path | str,
    *,
    steps: int,
    settings: Settings | None = None,
    resume: bool = False,
    restarts: int = 0,
    log: Path | str | None = None,
    trace: Path | str | None = None,
    engine: str | None = None,
    timeout: float = 300.0,
    threads: int = 1,
    port: int | None = None,
    quiet: bool = True,
    on_step: Callable[[dict[str, Any]], None] | None = None,
) -> Training:
    """Trains a compiled model on this machine, one process per rank, to step `steps`.

    data          .npz or .safetensors file of arrays by input name, or a token file (docs/Training.md)
    resume        goes on from the newest checkpoint, where there is one
    restarts      how often a rank may fail: all are started again from the newest checkpoint
    log           gets one JSON line a step; a resumed run continues it
    trace         gets a Chrome trace of the first steps
    on_step       called with each record
    engine, timeout, threads, port as for run.
    SIGINT, SIGTERM and SIGHUP end the run at the end of a step, with a checkpoint where there is a folder for them.
    Raises HetHubError that names rank, stage and reason when a rank fails; nothing is left running.
    """
    settings = settings or Settings()
    for name, value, least in (("steps", steps, 1), ("threads", threads, 1), ("restarts", restarts, 0)):
        if value < least:
            raise HetHubError(f"{name} must be at least {least}, got: {value}")
    check_launch(timeout, engine)
    if (restarts or resume) and settings.checkpoint is None:
        raise HetHubError(f"{'restarts' if restarts else 'resume'} needs a folder of checkpoints (--checkpoint)")
    output = OutputFolder.read(folder)
    if not output.plan.get("training"):
        raise HetHubError(f"the folder must hold a training program (hethub compile --train), got: {output.path}")
    if not Path(data).is_file():
        raise HetHubError(f"the data must be a file, got: {data}")
    run = _Run(output, TrainLog(log, keep=resume), steps, TrainingProgress(steps, quiet), on_step)
    options = [f"--data={data}", f"--steps={steps}", f"--timeout={timeout:g}", f"--threads={threads}"]
    options += settings.options()
    with run.log, run.signals():
        while True:
            again = ["--resume"] if resume or run.restarts else []
            commands = [[*command_of(output, rank, engine), *options, *again] for rank in output.ranks()]
            try:
                run.attempt(commands, port, timeout, trace)
                break
            except RankFailed as failure:
                if run.stopped_by is not None and not run.trained:
                    break  # the signal came before there was anything to keep
                if run.restarts == restarts or not (run.trained or failure.killed):
                    raise run.explained(failure, settings.checkpoint) from failure
                run.restart(failure, restarts)
    return Training(run.log.records, run.statistics, run.restarts, run.stopped_by)


class _Run:
    """The attempts of one training run."""

    def __init__(
        self,
        output: OutputFolder,
        log: TrainLog,
        steps: int,
        progress: TrainingProgress,
        on_step: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self.log = log
        self.statistics: list[dict[str, Any]] = []
        self.restarts = 0
        self.trained = False  # whether this attempt has done a step
        self.stopped_by: int | None = None
        self._output = output
        self._steps = steps
        self._progress = progress
        self._on_step = on_step
        self._passed_on = False

    def attempt(self, commands: list[list[str]], port: int | None, timeout: float, trace: Path | str | None) -> None:
        """Starts all ranks and waits for their end."""
        ranks = self._output.ranks()
        self.trained = False
        with tempfile.TemporaryDirectory(prefix="hethub-train-") as scratch:
            files = Path(scratch)
            options = [f"--log={files / 'log'}", f"--stats={files / 'stats'}"]
            options += [f"--trace={files / 'trace'}"] if trace is not None else []
            with Ranks(ranks, [[*command, *options] for command in commands], port, self._progress.quiet) as processes:
                try:
                    processes.wait(timeout, lambda: self._watch(processes, files / "log"))
                finally:
                    self._read(files / "log")
                    self._progress.end()
            reports = rank_files(files / "stats", ranks)
            self.statistics = [json.loads(file.read_text()) for file in reports if file.exists()]
            traces = rank_files(files / "trace", ranks)
            if trace is not None and all(file.exists() for file in traces):
                join_traces(traces, Path(trace))
        # A run that is resumed behind its last step does none.
        if self.stopped_by is None and self.trained and self.log.last_step < self._steps:
            self.stopped_by = signal.SIGTERM  # a rank got it from somebody else

    def _watch(self, processes: Ranks, log: Path) -> None:
        self._read(log)
        if self.stopped_by is not None and not self._passed_on:
            self._passed_on = True
            self._progress.say("stopping at the end of this step")
            processes.signal(signal.SIGTERM)

    def _read(self, log: Path) -> None:
        for record in self.log.follow(log):
            self.trained = True
            self._progress.update(record)
            if self._on_step:
                self._on_step(record)

    def explained(self, failure: RankFailed, checkpoint: Path | None) -> HetHubError:
        """The failure, and what is left of the work."""
        if not self.trained and not self.log.records:
            return failure
        step = f"after step {self.log.last_step}"
        if checkpoint is None:
            return HetHubError(f"{failure}; {step}, of which nothing is kept without --checkpoint")
        return HetHubError(f"{failure}; {step}: --resume goes on from the newest checkpoint in {checkpoint}")

    def restart(self, failure: RankFailed, most: int) -> None:
        self.restarts += 1
        self._progress.say(f"{failure}; starting again from the newest checkpoint (restart {self.restarts} of {most})")

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """SIGINT, SIGTERM and SIGHUP ask the run to end; a second one ends it at once."""
        if threading.current_thread() is not threading.main_thread():
            yield  # handlers belong to the main thread
            return

        def stop(number: int, frame: object) -> None:
            if self.stopped_by is not None:
                raise SystemExit(128 + number)
            self.stopped_by = number

        old = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
