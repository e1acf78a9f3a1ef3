"""The hethub command: arguments in, one function of the package called, facts printed."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .build import build
from .chain import verify
from .compile import Search, TrainingStep, compile, plan
from .demo.main import demo
from .demo.train import demo_train
from .errors import HetHubError
from .explanation import explanation_lines
from .export import export
from .folders import end_on_signals
from .links import links_table, profile_links
from .output import OutputFolder
from .predict import predict, prediction_table
from .profile import profile
from .progress import Step
from .report import report
from .run import run, save_outputs
from .split import split, split_table
from .table import plan_table
from .train import Settings, train
from .version import __version__


def dimension(text: str) -> tuple[str, int | str]:
    """NAME=SIZE of --dim; ? for a dimension of which programs take any size."""
    name, separator, size = text.rpartition("=")
    if separator and name and size.startswith("?") and (size == "?" or size[1:].isdigit()):
        return name, size
    if not separator or not name or not size.isdigit() or int(size) < 1:
        raise argparse.ArgumentTypeError(f"must be NAME=SIZE with a size of at least 1, got: {text}")
    return name, int(size)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """What plan and compile share."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="an .onnx file; weights may lie in external data files"
    )
    add_planning(parser)
    parser.add_argument(
        "--annotated", action="store_true", help="follow the pipeline stages that the model's nodes name themselves"
    )


def add_planning(parser: argparse.ArgumentParser) -> None:
    """What a plan depends on beside the model."""
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="cluster.yaml: device types and links")
    parser.add_argument(
        "--stages", type=int, metavar="N", help="N stages; without a cluster on N equal devices of this machine"
    )
    add_dim(parser)
    parser.add_argument(
        "--plan", type=Path, metavar="FILE", help="a stage map of your own: checked and costed instead of a search"
    )
    parser.add_argument(
        "--microbatches", type=int, metavar="M", help="microbatches of a step that the plan is made for"
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """What a search may use: hh-compile's options of the same names."""
    parser.add_argument("--global-batch", type=int, metavar="N", help="samples of a step, cut in microbatches")
    parser.add_argument(
        "--replicas", choices=("auto", "off"), default="auto", help="devices that take turns on a stage (auto)"
    )
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="about how long the search may take (4)")


def add_training(parser: argparse.ArgumentParser) -> None:
    """What a training step computes: hh-compile's options of the same names."""
    group = parser.add_argument_group("training")
    group.add_argument("--train", action="store_true", help="a training step in place of inference")
    group.add_argument(
        "--loss", choices=("cross-entropy", "mse"), help="of an output and the input 'labels' (a scalar of the model)"
    )
    group.add_argument("--loss-output", metavar="NAME", help="the output that makes the loss, where there are several")
    group.add_argument(
        "--freeze",
        action="append",
        metavar="PATTERN",
        help="parameters that stay as they are: a glob pattern of names (once for each)",
    )
    group.add_argument(
        "--schedule",
        choices=("1f1b", "gpipe", "zero-bubble", "interleaved"),
        help="order of forward and backward passes; interleaved: 1f1b with several stages a device (1f1b)",
    )
    group.add_argument(
        "--stages-per-device",
        type=int,
        metavar="V",
        help="stages of each device, which lie apart in the model (2 where interleaved, else 1)",
    )
    group.add_argument(
        "--training-mode",
        metavar="OPERATORS",
        help="operators to set to their training form, which exporters lose: batch-norm,dropout",
    )
    group.add_argument(
        "--recompute", choices=("auto", "off"), default="auto", help="forward passes computed again (auto)"
    )


def training_of(arguments: argparse.Namespace) -> TrainingStep | None:
    given = {
        "loss": arguments.loss,
        "loss_output": arguments.loss_output,
        "freeze": arguments.freeze,
        "schedule": arguments.schedule,
        "stages_per_device": arguments.stages_per_device,
        "training_mode": arguments.training_mode and arguments.training_mode.split(","),
    }
    given = {name: value for name, value in given.items() if value is not None}
    if not arguments.train:
        for name in given:
            raise HetHubError(f"--{name.replace('_', '-')} needs --train")
        return None
    return TrainingStep(**given)


def search_of(arguments: argparse.Namespace) -> Search:
    study = {key: getattr(arguments, key) for key in ("train", "tensor_parallel") if key in arguments}
    return Search(
        global_batch=arguments.global_batch,
        replicas=arguments.replicas == "auto",
        recompute=getattr(arguments, "recompute", "auto") == "auto",
        time_limit=arguments.time_limit,
        **study,
    )


def add_dim(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dim",
        type=dimension,
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="fixes a symbolic dimension (once for each); ? leaves it open: programs take any size; ?8 says what it "
        "typically is, for the costs",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")


def plan_command(arguments: argparse.Namespace) -> None:
    with Step(f"planning {arguments.model}", arguments.json) as step:
        found = plan(
            arguments.model,
            arguments.output,
            cluster=arguments.cluster,
            stages=arguments.stages,
            dims=dict(arguments.dim),
            plan_file=arguments.plan,
            microbatches=arguments.microbatches,
            explain=arguments.explain,
            what_if=arguments.what_if,
            annotated=arguments.annotated,
            search=search_of(arguments),
            training=training_of(arguments),
        )
        step.done = f"wrote {arguments.output}"
    print(json.dumps(found, indent=1) if arguments.json else "\n".join([plan_table(found), *explanation_lines(found)]))


def compile_command(arguments: argparse.Namespace) -> None:
    with Step(f"compiling {arguments.model}", arguments.json) as step:
        compile(
            arguments.model,
            arguments.output,
            cluster=arguments.cluster,
            stages=arguments.stages,
            dims=dict(arguments.dim),
            plan_file=arguments.plan,
            microbatches=arguments.microbatches,
            emit=arguments.emit.split(","),
            pack_weights=arguments.pack_weights,
            annotated=arguments.annotated,
            search=search_of(arguments),
            training=training_of(arguments),
        )
        step.done = f"wrote {arguments.output}"
    found = OutputFolder.read(arguments.output).plan
    print(json.dumps(found, indent=1) if arguments.json else plan_table(found))


def split_command(arguments: argparse.Namespace) -> None:
    sizes = {name: size for name, size in arguments.dim if isinstance(size, int)}  # all dimensions stay open anyhow
    with Step(f"cutting {arguments.model}", arguments.json) as step:
        manifest = split(
            arguments.model,
            arguments.output,
            cluster=arguments.cluster,
            stages=arguments.stages,
            at=[border for borders in arguments.at for border in borders],
            annotated=arguments.annotated,
            dims=sizes,
            microbatches=arguments.microbatches,
            reference_weights=arguments.reference_weights,
            annotate=arguments.annotate,
        )
        step.done = f"wrote {arguments.output}"
    if not arguments.json:
        print(split_table(manifest, json.loads((arguments.output / "plan.json").read_text())))
    if arguments.verify:
        with Step("running the stages and the whole model in onnxruntime", arguments.json) as step:
            worst = verify(arguments.output, arguments.model, inputs=arguments.inputs, dims=sizes)
            manifest["largest_difference"] = worst
            how = "the same bits as" if worst == 0 else f"within {worst:.2g} of the largest value of"
            step.done = f"the stages give {how} the whole model"
    if arguments.json:
        print(json.dumps(manifest, indent=1))


def build_command(arguments: argparse.Namespace) -> None:
    with Step(f"building the C++ programs of {arguments.folder}", arguments.json) as step:
        seconds = build(arguments.folder, jobs=arguments.jobs)
        step.done = f"built {len(seconds)} stages"
    if arguments.json:
        print(json.dumps({"stages": [{"stage": k, "seconds": s} for k, s in seconds.items()]}))


def run_command(arguments: argparse.Namespace) -> None:
    with Step(f"running {arguments.folder}", arguments.json) as step:
        result = run(
            arguments.folder,
            arguments.inputs,
            microbatches=arguments.microbatches,
            repeats=arguments.repeats,
            positional=arguments.positional,
            engine=arguments.engine,
            trace=arguments.trace,
            timeout=arguments.timeout,
            threads=arguments.threads,
            port=arguments.port,
            quiet=False,
        )
        if arguments.outputs is not None:
            save_outputs(result.outputs, arguments.outputs)
            step.done = f"wrote {arguments.outputs}"
    if arguments.json:
        shapes = {k: {"dtype": str(v.dtype), "shape": list(v.shape)} for k, v in result.outputs.items()}
        print(json.dumps({"outputs": shapes, "ranks": result.ranks}))


def train_command(arguments: argparse.Namespace) -> int:
    with Step(f"training {arguments.folder}", arguments.json) as step:
        result = train(
            arguments.folder,
            arguments.data,
            steps=arguments.steps,
            settings=Settings(**{entry.name: getattr(arguments, entry.name) for entry in dataclasses.fields(Settings)}),
            resume=arguments.resume,
            restarts=arguments.restarts,
            log=arguments.log,
            trace=arguments.trace,
            engine=arguments.engine,
            timeout=arguments.timeout,
            threads=arguments.threads,
            port=arguments.port,
            quiet=arguments.json,
        )
        first, last = (result.steps[0], result.steps[-1]) if result.steps else ({}, {"step": 0})
        step.done = f"trained to step {last['step']}" if first else "no step was left to do"
        if result.stopped_by is not None:
            step.done = f"stopped at step {last['step']}"
            if arguments.checkpoint and first:
                step.done += f"; --resume goes on from {arguments.checkpoint}"
    if arguments.json:
        print(json.dumps({"first": first, "last": last, "restarts": result.restarts, "ranks": result.ranks}))
    elif "loss" in last:
        print(f"loss {first['loss']:.4g} at step {first['step']}, {last['loss']:.4g} at step {last['step']}")
    return 0 if result.stopped_by is None else 128 + result.stopped_by


def profile_links_command(arguments: argparse.Namespace) -> None:
    if arguments.model is not None:
        raise HetHubError(f"--links measures messages between devices, of no model, got: {arguments.model}")
    output = arguments.output or Path("links.json")
    with Step("measuring messages between devices", arguments.json) as step:
        found = profile_links(output, cluster=arguments.cluster)
        step.done = f"measured {sum('routes' in link for link in found['links'])} links, wrote {output}"
    print(json.dumps(found) if arguments.json else links_table(found))


def profile_command(arguments: argparse.Namespace) -> None:
    if arguments.links:
        profile_links_command(arguments)
        return
    if arguments.model is None:
        raise HetHubError("a model must be given, or --links, got: neither")
    if arguments.cluster is not None:
        raise HetHubError("--cluster needs --links: operations are timed on this machine")
    output = arguments.output or Path("profile.json")
    with Step(f"profiling {arguments.model}", arguments.json) as step:
        found = profile(
            arguments.model,
            output,
            dims=dict(arguments.dim),
            inputs=arguments.inputs,
            repeats=arguments.repeats,
            runtime=arguments.runtime,
            ranks=arguments.ranks,
            training=training_of(arguments),
        )
        step.done = f"measured {len(found['ops'])} distinct operations, wrote {output}"
    if arguments.json:
        print(json.dumps(found))


def predict_command(arguments: argparse.Namespace) -> None:
    with Step(f"predicting {arguments.target}", arguments.json) as step:
        found = predict(
            arguments.target,
            cluster=arguments.cluster,
            stages=arguments.stages,
            dims=dict(arguments.dim),
            plan_file=arguments.plan,
            microbatches=arguments.microbatches,
            schedule=arguments.schedule,
            trace=arguments.trace,
        )
        step.done = f"wrote {arguments.trace}" if arguments.trace is not None else "predicted"
    print(json.dumps(found, indent=1) if arguments.json else prediction_table(found))


def export_command(arguments: argparse.Namespace) -> None:
    with Step(f"exporting {arguments.checkpoint}", False) as step:
        export(arguments.checkpoint, arguments.model, arguments.output)
        step.done = f"wrote {arguments.output}"


def report_command(arguments: argparse.Namespace) -> None:
    with Step(f"writing {arguments.output}") as step:
        report(
            arguments.folder,
            arguments.output,
            log=arguments.log,
            trace=arguments.trace,
            figures_file=arguments.figures,
        )
        step.done = f"wrote {arguments.output}: open it in a browser"


def demo_command(arguments: argparse.Namespace) -> None:
    if arguments.train:
        demo_train(arguments.folder or Path("out-demo-train"))
    else:
        demo(arguments.folder or Path("out-demo"))


def add_plan(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_search(parser)
    add_training(parser)
    parser.add_argument(
        "--tensor-parallel",
        action="store_true",
        help="devices of a node may share operations: such plans do not run yet",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("plan.json"), help="where the plan goes (plan.json)")
    parser.add_argument(
        "--explain",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="say why the plan is not better and what others cost (yes); takes at most as long as --time-limit",
    )
    parser.add_argument("--what-if", action="store_true", help="also what one more device of each type would gain")
    add_json(parser)


def add_compile(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)
    add_search(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument("--emit", default="program,cpp", help="what to write: program, cpp, onnx (program,cpp)")
    parser.add_argument(
        "--pack-weights", action="store_true", help="also write each stage's weights as one safetensors file"
    )
    add_training(parser)
    add_json(parser)


def add_split(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="an .onnx file")
    where = parser.add_argument_group("borders (one kind)")
    where.add_argument("--cluster", type=Path, metavar="FILE", help="the fastest stages for a cluster.yaml")
    where.add_argument("--stages", type=int, metavar="N", help="N stages; without a cluster for N equal devices")
    where.add_argument(
        "--at",
        nargs="+",
        action="append",
        default=[],
        metavar="TENSOR",
        help="a border behind each of these tensors; behind several tensors at once: a,b",
    )
    where.add_argument("--annotated", action="store_true", help="the stages that the model's nodes name themselves")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write")
    parser.add_argument(
        "--dim",
        type=dimension,
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="typical size of a symbolic dimension, which stays symbolic in the files (once for each)",
    )
    parser.add_argument("--microbatches", type=int, metavar="M", help="microbatches of a step that the plan is for")
    parser.add_argument(
        "--reference-weights",
        action="store_true",
        help="point at the model's own files instead of copying weights; OUT must be their folder or above it",
    )
    parser.add_argument("--annotate", action="store_true", help="also write the model with its stages noted on nodes")
    parser.add_argument("--verify", action="store_true", help="compare with the whole model in onnxruntime")
    parser.add_argument("--inputs", type=Path, metavar="NPZ", help="inputs to verify with (made up)")
    add_json(parser)


def add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="OUT", help="folder that `hethub compile` wrote")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="stages built at a time (one a core)")
    add_json(parser)


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="OUT", help="folder that `hethub compile` wrote")
    parser.add_argument("--inputs", type=Path, metavar="NPZ", help="arrays by the model's input names")
    parser.add_argument("--outputs", type=Path, metavar="NPZ", help="file to write; keys are the model's output names")
    parser.add_argument(
        "--microbatches", type=int, default=1, metavar="M", help="axis 0 of the inputs is split in M (1)"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="run the inputs N times, for measurements (1)"
    )
    parser.add_argument("--positional", action="store_true", help="call the outputs out0, out1, ... in graph order")
    add_processes(parser)
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a Chrome trace (opens in ui.perfetto.dev)")
    add_json(parser)


def add_processes(parser: argparse.ArgumentParser) -> None:
    """What run and train share: which programs, and how the ranks are started."""
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument(
        "--programs", dest="engine", action="store_const", const="program", help="run the program files (hh-run)"
    )
    engine.add_argument("--cpp", dest="engine", action="store_const", const="cpp", help="run the built C++ programs")
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="S", help="longest wait for a rank, seconds (300)"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each rank (1)")
    parser.add_argument("--port", type=int, metavar="P", help="TCP port that the ranks meet at (any free one)")


def add_train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="OUT", help="folder that `hethub compile --train` wrote")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help=".npz or .safetensors by input name, or tokens (.bin)"
    )
    parser.add_argument("--steps", type=int, required=True, metavar="N", help="steps in all")
    for entry in dataclasses.fields(Settings):
        name, metavar, text = "--" + entry.name.replace("_", "-"), entry.metadata["metavar"], entry.metadata["help"]
        if metavar is None:
            parser.add_argument(name, action="store_true", default=None, help=text)
        else:
            parser.add_argument(name, metavar=metavar, help=text)
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint, where there is one")
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="how often all start again when a rank fails (0)"
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="write a JSON line a step")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a Chrome trace of the first steps")
    add_processes(parser)
    add_json(parser)


def add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, nargs="?", metavar="MODEL", help="an .onnx file")
    parser.add_argument("-o", "--output", type=Path, help="where it goes (profile.json, or links.json)")
    parser.add_argument(
        "--links",
        action="store_true",
        help="measure messages between kinds of devices of this machine instead, for links in cluster.yaml",
    )
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="whose kinds of devices --links is to measure")
    parser.add_argument("--inputs", type=Path, metavar="NPZ", help="inputs to run on (made up)")
    parser.add_argument(
        "--repeats", type=int, default=20, metavar="N", help="runs that the median is taken of, at least (20)"
    )
    parser.add_argument(
        "--ranks", type=int, default=1, metavar="N", help="ranks that will compute on this machine at once (1)"
    )
    parser.add_argument(
        "--runtime",
        action="store_true",
        help="also measure messages between two processes, and what a microbatch costs beside its operations",
    )
    add_training(parser)
    add_dim(parser)
    add_json(parser)


def add_predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", type=Path, metavar="MODEL|OUT|PLAN", help="an .onnx file, a folder of `compile`, or a plan.json"
    )
    add_planning(parser)
    parser.add_argument(
        "--schedule", metavar="KIND", help="of a training step: gpipe, 1f1b or zero-bubble (the plan's)"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write the step as a Chrome trace (ui.perfetto.dev)")
    add_json(parser)


def add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoint", type=Path, metavar="CKPT", help="folder of `hethub train --checkpoint`, or one step-NNNNNN in it"
    )
    parser.add_argument("--model", type=Path, required=True, metavar="MODEL", help="the .onnx file that was trained")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the .onnx file to write")


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="OUT", help="folder that `hethub compile` wrote")
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), help="the page (report.html)")
    parser.add_argument("--log", type=Path, metavar="FILE", help="log of `hethub train`: loss and throughput")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="trace of `hethub run` or `train`: what was measured"
    )
    parser.add_argument("--figures", type=Path, metavar="FILE", help="what either printed with --json: memory")


def add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, nargs="?", help="folder for the demo's files (out-demo, or out-demo-train)"
    )
    parser.add_argument("--train", action="store_true", help="train a small character model instead")


# name, one line, examples, arguments, function
COMMANDS: list[tuple[str, str, str, Callable, Callable]] = [
    (
        "plan",
        "find the best stages for a cluster and show them as a table",
        "hethub plan model.onnx --cluster cluster.yaml --dim batch=8\n  hethub plan model.onnx --stages 3 --json",
        add_plan,
        plan_command,
    ),
    (
        "compile",
        "write one program per stage, with the communication in it",
        "hethub compile model.onnx --cluster cluster.yaml -o out\n"
        "  hethub compile model.onnx --stages 2 --dim batch=4 --emit=program -o out\n"
        "  hethub compile model.onnx --stages 2 --train --loss cross-entropy --loss-output logits -o out",
        add_compile,
        compile_command,
    ),
    (
        "split",
        "cut a model into one ONNX file per stage",
        "hethub split model.onnx --stages 3 -o stages --verify\n"
        "  hethub split model.onnx --cluster cluster.yaml --dim batch=8 -o stages\n"
        "  hethub split model.onnx --at /block.3/Add_output_0 /block.7/Add_output_0 -o stages",
        add_split,
        split_command,
    ),
    (
        "build",
        "compile the C++ programs of an output folder",
        "hethub build out\n  hethub build out --jobs 1",
        add_build,
        build_command,
    ),
    (
        "run",
        "run a compiled model here, one process per rank",
        "hethub run out --inputs x.npz --outputs y.npz --microbatches 4\n"
        "  hethub run out --inputs x.npz --outputs y.npz --programs --trace trace.json\n"
        "  torchrun --no-python --nproc-per-node 3 -- out/run --inputs x.npz --outputs y.npz",
        add_run,
        run_command,
    ),
    (
        "train",
        "train a compiled model here, one process per rank",
        "hethub train out --data data.npz --steps 1000 --learning-rate 3e-4 --checkpoint ckpt --restarts 3\n"
        "  hethub train out --data tokens.bin --sequence 1024 --steps 5000 --checkpoint ckpt --resume --log log.jsonl",
        add_train,
        train_command,
    ),
    (
        "predict",
        "the step time of a plan, by simulating its schedule",
        "hethub predict model.onnx --cluster cluster.yaml --dim batch=8 --microbatches 16\n"
        "  hethub predict out --trace trace.json\n  hethub predict plan.json --json",
        add_predict,
        predict_command,
    ),
    (
        "report",
        "one HTML page of plan, timeline, memory and loss",
        "hethub report out -o report.html\n"
        "  hethub report out --log log.jsonl --trace trace.json --figures figures.json -o report.html",
        add_report,
        report_command,
    ),
    (
        "profile",
        "time each operation of a model on this machine, or messages between its devices",
        "hethub profile model.onnx --dim batch=8 -o host.json\n  hethub profile model.onnx --runtime -o host.json\n"
        "  hethub profile --links --cluster cluster.yaml -o links.json",
        add_profile,
        profile_command,
    ),
    (
        "export",
        "the model with the trained weights of a checkpoint, as ONNX",
        "hethub export ckpt --model model.onnx -o trained.onnx\n"
        "  hethub export ckpt/step-000100 --model model.onnx -o trained.onnx",
        add_export,
        export_command,
    ),
    (
        "demo",
        "a real model on three emulated unlike devices, from profile to answer",
        "hethub demo\n  hethub demo --train",
        add_demo,
        demo_command,
    ),
]


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hethub",
        description="Runs one ONNX model on accelerators that do not match: one program per pipeline stage.",
        epilog="hethub COMMAND --help has examples.",
    )
    parser.add_argument("--version", action="version", version=f"hethub {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary, examples, add_arguments, function in COMMANDS:
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=f"examples:\n  {examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_arguments(command)
        command.set_defaults(function=function)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0, 1 after one message, 2 for a wrong command line, 128 + signal number when one ended it."""
    arguments = make_parser().parse_args(argv)
    end_on_signals()
    try:
        return arguments.function(arguments) or 0
    except HetHubError as error:
        print(f"hethub: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hethub: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141
