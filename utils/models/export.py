"""Exports one net: OUT/model.onnx, io.npz and (symbolic variants) io2.npz with another batch and sequence length.

The npz files hold in__NAME and out__NAME; the outputs are those of torch eager in fp32 on the CPU.
Variants:
  static  dynamo exporter, all shapes fixed       dyn     dynamo exporter, symbolic batch and sequence
  op23    as dyn, at opset 23                     legacy  TorchScript exporter, symbolic axes, opset 17
  plain   as static, without the exporter's optimizer, which folds batch norm into convolutions
  double  as plain, in float64
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import torch

from .nets import NETS, Net

VARIANTS = ("static", "dyn", "op23", "legacy", "plain", "double")
FIXED = ("static", "plain", "double")  # shapes
KEPT_METADATA = ("namespace", "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy")


def strip_stack_traces(path: Path) -> None:
    """Drops the stack traces, which hold file paths of the exporting machine; scopes and classes stay."""
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [(p.key, p.value) for p in node.metadata_props if p.key in KEPT_METADATA]
        del node.metadata_props[:]
        for key, value in kept:
            node.metadata_props.add(key=key, value=value)
    onnx.save(model, path)


def in_double(net: Net) -> Net:
    def inputs(which: int) -> dict[str, torch.Tensor]:
        return {k: v.double() if v.is_floating_point() else v for k, v in net.inputs(which).items()}

    return dataclasses.replace(net, module=net.module.double(), inputs=inputs)


def save_example(path: Path, net: Net, which: int) -> None:
    inputs = net.inputs(which)
    with torch.no_grad():
        outputs = net.module(*inputs.values())
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    arrays = {f"in__{name}": tensor.numpy() for name, tensor in inputs.items()}
    arrays |= {f"out__{name}": tensor.numpy() for name, tensor in zip(net.outputs, outputs, strict=True)}
    np.savez(path, **arrays)


def export_net(net: Net, variant: str, path: Path) -> None:
    """Writes the ONNX file alone."""
    inputs = net.inputs(0)
    common = dict(input_names=list(inputs), output_names=net.outputs)
    with torch.no_grad():
        if variant == "legacy":
            torch.onnx.export(
                net.module,
                tuple(inputs.values()),
                path,
                dynamo=False,
                opset_version=17,
                dynamic_axes=net.axes,
                **common,
            )
        else:
            symbolic = {} if variant in FIXED else {"dynamic_shapes": _dynamic_shapes(net)}
            opset = {"opset_version": 23} if variant == "op23" else {}
            torch.onnx.export(
                net.module,
                tuple(inputs.values()),
                path,
                dynamo=True,
                external_data=False,
                verbose=False,
                optimize=variant not in ("plain", "double"),
                **symbolic,
                **opset,
                **common,
            )
    strip_stack_traces(path)


def _dynamic_shapes(net: Net):
    """Symbolic axes in the form of the module's signature: by position for *args, by name otherwise."""
    import inspect

    parameters = inspect.signature(net.module.forward).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return {next(iter(parameters)).name: tuple(net.axes.values())}
    return net.axes


def export(name: str, variant: str, out: Path) -> None:
    """Writes all files of one net and variant into `out`, the model last: its presence means that all is there."""
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    net = NETS[name]()
    if variant == "double":
        net = in_double(net)
    save_example(out / "io.npz", net, 0)
    if variant not in FIXED:
        save_example(out / "io2.npz", net, 1)
    partial = out / "model.partial.onnx"
    export_net(net, variant, partial)
    partial.rename(out / "model.onnx")
