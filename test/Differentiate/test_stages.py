"""Whole models cut in stages: what their backward and weight programs compute equals torch autograd of the forward
programs, however they are cut, and forward programs save no more than autograd does."""

from __future__ import annotations

import functools
import math

import onnx
import pytest
import torch
from model_table import TOP, Model, ensure, example, fixed_dims
from training_programs import TrainingModule, check_saved, relative, tool

MODELS = ["gpt2.static", "bert.static", "mixtral.static"]
OTHERS = ["llama.static", "vit.static", "resnet50.static", "mobilenetv3.static", "efficientnet.static"]
OTHERS += ["whisper_encoder.static", "lstm_tagger.static", "unet.static", "minilm.dyn"]
CLASSES = 5  # labels are below: bert has no more
VARIANTS = {
    "whole": {"stages": 1},
    "stages": {"stages": 3},
    "split": {"stages": 3, "split": True},
    "recompute": {"stages": 3, "recompute": True},
    "recompute-split": {"stages": 2, "recompute": True, "split": True},
}


@pytest.fixture(autouse=True, scope="module")
def operators() -> None:
    torch.ops.load_library(str(TOP / "build-runtime" / "lib" / "libhethub_runtime.so"))


@functools.cache
def normalised(spec: str) -> str:
    model = Model(spec)
    dims = [f"--dim={name}={size}" for name, size in fixed_dims(model, example(model)).items()]
    imported = tool("hh-translate", "--import-onnx", str(ensure(model)), *dims)
    output = onnx.load(model.path, load_external_data=False).graph.output[0].name
    loss = "cross-entropy" if spec in MODELS else "mse"
    return tool("hh-opt", "--hh-normalize", f"--onnx-add-loss=loss={loss} loss-output={output}", text=imported)


@functools.cache
def compiled(spec: str, variant: str) -> TrainingModule:
    options = VARIANTS[variant]
    stages = options["stages"]
    lowered = tool(
        "hh-opt",
        f"--hh-load-cluster=stages={stages}",
        "--hh-annotate-cost=training",
        f"--hh-partition=stages={stages} training",
        "--hh-insert-communication",
        "--hh-lower-to-aten",
        "--cse",
        "--canonicalize",
        "--hh-hoist-start-up=training",
        text=normalised(spec),
    )
    if options.get("recompute"):
        lowered = lowered.replace("attributes {", "attributes {hh.recompute, ")
    differentiate = "--hh-differentiate" + ("=split-weight" if options.get("split") else "")
    verify = "--hh-verify-phase=phase=differentiate"
    plain = ["--mlir-print-debuginfo=false", "--mlir-use-nameloc-as-prefix=false"]
    return TrainingModule(tool("hh-opt", differentiate, verify, "--cse", verify, *plain, text=lowered))


@functools.cache
def values(spec: str) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Parameters of any values, and inputs."""
    module = compiled(spec, "whole")
    generator = torch.Generator().manual_seed(3)

    def parameter(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        if not dtype.is_floating_point:
            return torch.zeros(shape, dtype=dtype)
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        # Scaled as initialisers do, so that deep models stay finite; what has one axis may be a variance.
        scaled = 1 + 0.1 * values if len(shape) < 2 else values * math.prod(shape[1:]) ** -0.5
        return scaled.to(dtype)

    def made(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        if dtype.is_floating_point:
            return torch.randn(shape, generator=generator, dtype=dtype)
        return torch.randint(0, CLASSES, tuple(shape), generator=generator, dtype=dtype)

    parameters = {name: parameter(*kind) for name, kind in module.parameters.items()}
    given = {name: torch.from_numpy(value) for name, value in example(Model(spec)).items()}
    return parameters, {name: given[name] if name in given else made(*kind) for name, kind in module.inputs().items()}


@functools.cache
def autograd(spec: str) -> tuple[torch.Tensor, dict[str, torch.Tensor], int]:
    """Loss, gradients, and the bytes that autograd keeps between forward and backward."""
    parameters, inputs = values(spec)
    leaves = {name: value.clone().requires_grad_(value.dtype.is_floating_point) for name, value in parameters.items()}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = compiled(spec, "whole").forward(leaves, inputs)
    for leaf in leaves.values():
        kept.pop(leaf.untyped_storage().data_ptr(), None)
    loss.backward()
    return loss.detach(), {n: v.grad for n, v in leaves.items() if v.grad is not None}, sum(kept.values())


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("spec", MODELS + [pytest.param(spec, marks=pytest.mark.wide) for spec in OTHERS])
def test_gradients_equal_autograd(spec: str, variant: str) -> None:
    parameters, inputs = values(spec)
    loss, gradients, _ = autograd(spec)
    step = compiled(spec, variant).step(parameters, inputs)
    assert not step.messages, "messages that nobody takes"
    assert relative(step.loss, loss) < 1e-5
    assert set(step.gradients) == set(gradients)
    far = {n: e for n, g in gradients.items() if (e := relative(step.gradients[n], g)) > 1e-5}
    assert not far, far
    check_saved(compiled(spec, variant), step)


@pytest.mark.parametrize("spec", MODELS)
def test_saves_no_more_than_autograd(spec: str) -> None:
    parameters, inputs = values(spec)
    _, _, bytes_of_autograd = autograd(spec)
    step = compiled(spec, "whole").step(parameters, inputs)
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in step.saved[0]}
    weights = {value.untyped_storage().data_ptr() for value in parameters.values()}
    assert not weights & set(storages), "a parameter is saved"
    given = {value.untyped_storage().data_ptr() for value in inputs.values()}
    saved = sum(size for pointer, size in storages.items() if pointer not in given)
    print(f"{spec}: {saved} bytes saved, autograd keeps {bytes_of_autograd}")
    # Masks made from inputs are kept here; the positions that autograd keeps are constants.
    assert saved <= 1.01 * bytes_of_autograd


def test_recomputation_saves_what_a_stage_receives() -> None:
    for program in compiled("gpt2.static", "recompute").programs({}, {}):
        if program.part != "forward":
            continue
        received = {line.split(" = ")[0] for line in program.lines if "hh.recv" in line} | set(program.arguments)
        returned = next(line for line in program.lines if line.startswith("hh.return")).split(" : ")[0]
        names = returned.removeprefix("hh.return").replace(",", " ").split()
        saved = [n for n, a in zip(names, program.result_attributes, strict=True) if "hh.saved" in a]
        assert set(saved) <= received
