"""`hethub demo --train`: a small character model learns on three emulated devices of unlike speed."""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path

from ..compile import Search, TrainingStep, compile
from ..compile import plan as plan_model
from ..errors import HetHubError
from ..export import export as export_trained
from ..output import OutputFolder
from ..profile import profile
from ..progress import Step
from ..report import report
from ..table import plan_table
from ..train import Settings, train
from . import character_model
from .main import SLOWDOWNS, write_cluster

BATCH = 2  # samples in a microbatch
MICROBATCHES = 8
STEPS = 400
HELD_OUT = 20_000  # characters that are not learnt
# What the trained model must reach on characters that it has not seen, in nats; a model that only knows how frequent
# each character is has about 3.
LOSS = 2.4


def upper_bound(folder: Path, model: Path) -> float:
    """Samples/s of the mix if each device trained the model alone."""
    rate = 0.0
    for name in SLOWDOWNS:
        alone = write_cluster(folder / f"only_{name}.yaml", [name])
        rate += BATCH / plan_model(model, cluster=alone, search=Search(train=True))["bottleneck_seconds"]
    return rate


def demo_train(folder: Path) -> None:
    """Prints the plan, what the trained model writes and, on the last line, the figures. Raises HetHubError when it
    has not learnt enough."""
    folder.mkdir(parents=True, exist_ok=True)
    text = character_model.read_text()
    model, tokens = folder / "model.onnx", folder / "characters.bin"
    text.numbers[:-HELD_OUT].tofile(tokens)
    with Step("exporting a character model to ONNX") as step:
        character_model.export(len(text.alphabet), BATCH, model)
        step.done = f"wrote {model}: {len(text.alphabet)} characters, {len(text.numbers)} of them to learn from"
    loss = TrainingStep(loss="cross-entropy", loss_output=character_model.OUTPUT)
    with Step("measuring each operation of the model, forward and backward, on this machine") as step:
        found = profile(model, folder / "profile.json", training=loss)
        step.done = f"measured {len(found['ops'])} distinct operations"
    cluster = write_cluster(folder / "cluster.yaml", list(SLOWDOWNS))
    out = folder / "out"
    with Step("planning, differentiating and compiling for three emulated device types") as step:
        compile(model, out, cluster=cluster, microbatches=MICROBATCHES, emit=("program",), training=loss)
        step.done = f"wrote {out}"
    plan = OutputFolder.read(out).plan
    print(f"\nplan for {', '.join(f'{n} (1/{s} of the speed)' for n, s in SLOWDOWNS.items())}, emulated:")
    print(plan_table(plan) + "\n")
    before = character_model.Reader(model, BATCH).loss(text.numbers[-HELD_OUT:])
    checkpoint, log, trace = folder / "checkpoint", folder / "log.jsonl", folder / "trace.json"
    figures = folder / "figures.json"
    settings = Settings(
        sequence=character_model.SEQUENCE,
        learning_rate=4e-3,
        lr_schedule="cosine",
        warmup_steps=20,
        clip_norm=1.0,
        checkpoint=checkpoint,
    )
    with Step(f"training in {len(plan['stages'])} processes over Gloo: {STEPS} steps") as step:
        shutil.rmtree(checkpoint, ignore_errors=True)  # of an earlier demo: a run without --resume must find none
        result = train(out, tokens, steps=STEPS, settings=settings, log=log, trace=trace, quiet=False)
        if result.stopped_by is not None:
            raise HetHubError(f"the demo must run to its end, got: a signal ({result.stopped_by})")
        step.done = f"trained: loss {result.steps[0]['loss']:.3f} -> {result.steps[-1]['loss']:.3f}"
    trained = folder / "trained.onnx"
    export_trained(checkpoint, model, trained)
    reader = character_model.Reader(trained, BATCH)
    after = reader.loss(text.numbers[-HELD_OUT:])
    start = text.numbers[-HELD_OUT : -HELD_OUT + character_model.SEQUENCE]
    print("\nthe trained model, exported to ONNX, continues in onnxruntime:")
    print("  " + (text.write(start) + text.write(reader.continue_text(start, 240))).replace("\n", "\n  ") + "\n")
    figures.write_text(json.dumps({"ranks": result.ranks}) + "\n")
    report(out, folder / "report.html", log=log, trace=trace, figures_file=figures)
    print(f"report: {folder / 'report.html'}")
    if not after < LOSS:
        raise HetHubError(
            f"the loss on text that was not learnt must fall below {LOSS}, got: {before:.3f} -> {after:.3f}"
        )
    rate = statistics.median(record["samples_per_s"] for record in result.steps[1:])
    print(
        f"demo: ok stages={len(plan['stages'])} steps={STEPS} loss={before:.2f}->{after:.2f} samples_per_s={rate:.1f} "
        f"efficiency={100 * rate / upper_bound(folder, model):.1f}"
    )
