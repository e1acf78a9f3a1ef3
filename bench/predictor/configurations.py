"""Compiled models that are run and predicted alike."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hethub
import numpy as np
from hethub.output import OutputFolder, Rank
from hethub.probe import run_ranks, step_seconds

from ..report import models

TIMEOUT_SECONDS = 300.0
WARM_UP = 2  # steps of a run that are not counted


@dataclass(frozen=True)
class Variant:
    """One way to run one model: samples in a microbatch (None: the model's own), microbatches, stages, replicas."""

    spec: str
    size: int | None
    microbatches: int
    stages: int

    def __str__(self) -> str:
        size = "" if self.size is None else f"{self.size} x "
        return f"{self.spec} {size}{self.microbatches} microbatches, {self.stages} stages"


@dataclass
class Prepared:
    variant: Variant
    folder: Path
    inputs: Path
    prediction: dict[str, Any]
    samples: int  # of a step
    predictions: list[float] = field(default_factory=list)  # seconds of a step, one a profile
    steps: list[float] = field(default_factory=list)  # medians of runs, seconds
    memory: list[int] = field(default_factory=list)  # peak of each rank, bytes

    @property
    def predicted(self) -> float:
        return statistics.median(self.predictions)

    @property
    def measured(self) -> float:
        return statistics.median(self.steps)

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured


def batch_dims(model: models.Model, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    return models.fixed_dims(model, dict(inputs))


def inputs_of(model: models.Model, samples: int) -> dict[str, np.ndarray]:
    """`samples` along axis 0, by repeating the example's."""
    arrays = models.example(model)
    return {
        name: array if array.ndim == 0 else np.resize(array, (samples, *array.shape[1:]))
        for name, array in arrays.items()
    }


def own_size(model: models.Model) -> int:
    """Samples of the example: the size of a microbatch where the model fixes it."""
    return next(array.shape[0] for array in models.example(model).values() if array.ndim > 0)


def equal(variant: Variant, label: str = "") -> list[str]:
    """As many equal devices as there are stages."""
    return [f"{{name: cpu, kind: cpu, count: {variant.stages}, profile: PROFILE{label}}}"]


class Workshop:
    """Profiles, compiles and runs; profiles are taken once for each model, size of a microbatch and number of ranks."""

    def __init__(self, scratch: Path, runtime: dict[str, float]) -> None:
        self.scratch, self.runtime = scratch, runtime
        self.profiles: dict[tuple[str, int, int, str], Path] = {}

    def profile(self, model: models.Model, size: int, ranks: int = 1, label: str = "") -> Path:
        """The profile for microbatches of `size` where `ranks` compute at once; `label` tells other circumstances
        apart."""
        key = (model.spec, size, ranks, label)
        if key not in self.profiles:
            inputs = inputs_of(model, size)
            file = self.scratch / f"{model.spec}-{size}-{ranks}{label}.json"
            np.savez(self.scratch / "profile.npz", **inputs)
            dims = batch_dims(model, inputs)
            content = hethub.profile(model.path, file, dims=dims, inputs=self.scratch / "profile.npz", ranks=ranks)
            file.write_text(json.dumps(content | {"runtime": self.runtime}))
            self.profiles[key] = file
        return self.profiles[key]

    def cluster(
        self, name: str, profile: Callable[[str], Path], devices: Sequence[str], links: Sequence[str] = ()
    ) -> Path:
        """A cluster file of these lines, in which `profile` tells what PROFILE-LABEL stands for."""
        lines = [re.sub(r"PROFILE(-\w+)?", lambda m: profile(m[1] or "").name, text) for text in devices]
        text = "devices:\n" + "".join(f"  - {line}\n" for line in lines)
        text += "links:\n" + "".join(f"  - {line}\n" for line in links) if links else ""
        file = self.scratch / f"{name}.yaml"
        file.write_text(text)
        return file

    def prepare(
        self, variant: Variant, devices: Sequence[str] = (), links: Sequence[str] = (), note: str = ""
    ) -> Prepared:
        """`devices` and `links` are lines of a cluster file, in whose place PROFILE stands for the profile's name and
        PROFILE-LABEL for that of one with a label; without them as many equal devices as there are stages."""
        model = models.Model(variant.spec)
        models.ensure(model)
        size = variant.size or own_size(model)
        name = f"{variant.spec}-{size}-{variant.microbatches}-{variant.stages}{note}"
        # Devices of one's own are quotas or emulated ones, which leave cores idle.
        ranks = 1 if devices else variant.stages
        cluster = self.cluster(
            name, lambda label: self.profile(model, size, ranks, label), devices or equal(variant), links
        )
        folder = hethub.compile(
            model.path,
            self.scratch / name,
            cluster=cluster,
            stages=variant.stages,
            dims=batch_dims(model, inputs_of(model, size)),
            microbatches=variant.microbatches,
            emit=("program",),
        )
        samples = size * variant.microbatches
        inputs = self.scratch / f"{name}.npz"
        np.savez(inputs, **inputs_of(model, samples))
        prediction = hethub.predict(folder, microbatches=variant.microbatches)
        return Prepared(variant, folder, inputs, prediction, samples, [prediction["step_seconds"]])

    def predict_again(self, prepared: Prepared, turn: int) -> None:
        """Adds the prediction from a profile that is taken now, for the same cut: a shared machine is faster in one
        minute than in the next."""
        variant = prepared.variant
        model = models.Model(variant.spec)
        size = variant.size or own_size(model)
        name = f"{prepared.folder.name}-{turn}"
        cluster = self.cluster(
            name, lambda label: self.profile(model, size, variant.stages, label), equal(variant, f"-{turn}")
        )
        found = hethub.predict(
            model.path,
            cluster=cluster,
            dims=batch_dims(model, inputs_of(model, size)),
            plan_file=prepared.folder / "plan.json",
            microbatches=variant.microbatches,
        )
        prepared.predictions.append(found["step_seconds"])


def run_once(prepared: Prepared, seconds: float, wrap: Mapping[str, Sequence[str]] | None = None) -> None:
    """Adds the median step of one run of about `seconds`, and each rank's peak memory. `wrap`: what goes before the
    command on a device type."""
    steps = WARM_UP + max(4, min(60, int(seconds / prepared.predicted)))
    ranks = OutputFolder.read(prepared.folder).ranks()
    commands = [[*(wrap or {}).get(rank.device_type, ()), *command(prepared, rank, steps)] for rank in ranks]
    stats = run_ranks(ranks, commands, TIMEOUT_SECONDS)
    prepared.steps.append(statistics.median(step_seconds(stats)[WARM_UP:]))
    memory = [rank["max_rss_bytes"] for rank in stats]
    prepared.memory = [max(pair) for pair in zip(prepared.memory or memory, memory, strict=True)]


def command(prepared: Prepared, rank: Rank, steps: int) -> list[str]:
    program = prepared.folder / f"stage_{rank.stage}" / "program.pb"
    options = [f"--microbatches={prepared.variant.microbatches}", f"--repeats={steps}", "--drain"]
    return [str(hethub.tools.find("hh-run")), str(program), f"--inputs={prepared.inputs}", *options]
