"""hethub export: a model with the weights of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from . import checkpoint
from .errors import HetHubError
from .folders import new_file

if TYPE_CHECKING:
    import onnx

ALIGNMENT = 4096  # of external data, so that it can be mapped
LARGEST_INLINE = 1 << 30  # bytes of trained weights that stay in the model file: protobuf ends at 2 GiB

# Names of safetensors by those of onnx.TensorProto.DataType.
DTYPES = {
    "DOUBLE": "F64",
    "FLOAT": "F32",
    "FLOAT16": "F16",
    "BFLOAT16": "BF16",
}


def export(checkpoint_folder: Path | str, model: Path | str, output: Path | str) -> Path:
    """Writes `model` with its trained initializers replaced, by name, by those of a checkpoint; all others stay.

    checkpoint_folder  what --checkpoint named (its newest one), or one step-NNNNNN in it
    output             the new .onnx file. Tensors of external data go to a new file beside it, OUTPUT.data

    Raises HetHubError: not a checkpoint, damaged, of another model; an output that cannot be written.
    """
    try:
        import onnx
    except ImportError as error:
        raise HetHubError("hethub export needs the package onnx: pip install onnx") from error
    trained = checkpoint.parameters(Path(checkpoint_folder))
    model, output = Path(model), Path(output)
    try:
        proto = onnx.load(str(model), load_external_data=False)
    except Exception as error:
        raise HetHubError(f"cannot read the model {model}: {error}") from error
    tensors = list(all_tensors(proto))
    check(trained, {name: tensor for name, tensor in tensors if name}, checkpoint_folder, model)

    outside = [tensor for _, tensor in tensors if is_external(tensor)]
    data_path = output.with_name(output.name + ".data")
    for used in [model, *(model.parent / location_of(tensor)[0] for tensor in outside)]:
        if used.resolve() in (output.resolve(), data_path.resolve()):
            raise HetHubError(f"the output must not replace what it is made from, got: {output} for {used}")
    if not outside and sum(tensor.length for tensor in trained.values()) <= LARGEST_INLINE:
        for name, tensor in tensors:
            if name in trained:
                clear(tensor)
                tensor.raw_data = bytes(trained[name].data())
        with new_file(output) as file:
            file.write_bytes(proto.SerializeToString())
        return output
    with new_file(output) as file, new_file(data_path) as data_file:
        with data_file.open("wb") as data:
            for name, tensor in tensors:
                if name in trained:
                    move_out(tensor, trained[name].data(), data, data_path.name)
                elif is_external(tensor):
                    move_out(tensor, external_data(tensor, model.parent), data, data_path.name)
        file.write_bytes(proto.SerializeToString())
    return output


def check(
    trained: dict[str, checkpoint.Tensor], tensors: dict[str, onnx.TensorProto], folder: Path | str, model: Path
) -> None:
    """All that does not fit, at once."""
    import onnx

    wrong: list[str] = []
    for name, tensor in trained.items():
        target = tensors.get(name)
        if target is None:
            wrong.append(f"parameter '{name}' of {folder} must be an initializer of {model}, got: none of that name")
            continue
        dtype = onnx.TensorProto.DataType.Name(target.data_type)
        if (DTYPES.get(dtype), tuple(target.dims)) != (tensor.dtype, tensor.shape):
            wrong.append(
                f"parameter '{name}' must be {DTYPES.get(dtype, dtype)} {list(target.dims)} as in {model}, "
                f"got: {tensor.dtype} {list(tensor.shape)} in {folder}"
            )
    if wrong:
        raise HetHubError("\n".join(wrong))


def all_tensors(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Every tensor, with its name where the compiler knows it as a parameter (initializers and the values of Constant
    nodes), else with an empty one."""
    yield from tensors_of_graph(model.graph)
    for function in model.functions:
        for node in function.node:
            for _, tensor in tensors_of_node(node):
                yield "", tensor


def tensors_of_graph(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for sparse in graph.sparse_initializer:
        yield from (("", sparse.values), ("", sparse.indices))
    for node in graph.node:
        yield from tensors_of_node(node)


def tensors_of_node(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            is_value = node.op_type == "Constant" and attribute.name == "value"
            yield node.output[0] if is_value else "", attribute.t
        for tensor in attribute.tensors:
            yield "", tensor
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            yield from tensors_of_graph(graph)


def is_external(tensor: onnx.TensorProto) -> bool:
    import onnx

    return tensor.data_location == onnx.TensorProto.EXTERNAL


def clear(tensor: onnx.TensorProto) -> None:
    for field in ("raw_data", "float_data", "double_data", "int32_data", "external_data", "data_location"):
        tensor.ClearField(field)


def location_of(tensor: onnx.TensorProto) -> tuple[str, int, int | None]:
    """File, offset and length of external data; the length may be left out."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    length = entries.get("length")
    return entries.get("location", ""), int(entries.get("offset", 0)), None if length is None else int(length)


def external_data(tensor: onnx.TensorProto, folder: Path) -> memoryview:
    """The bytes of a tensor that lies outside the model."""
    location, offset, length = location_of(tensor)
    path = folder / location
    try:
        size = path.stat().st_size
    except OSError as error:
        raise HetHubError(f"cannot read {path}, the data of '{tensor.name}': {error.strerror}") from error
    length = size - offset if length is None else length
    if offset + length > size:
        raise HetHubError(f"'{tensor.name}' reaches past the end of {path}: {offset} + {length} in {size} bytes")
    return checkpoint.Tensor(path, "", (), offset, length).data()


def move_out(tensor: onnx.TensorProto, content: memoryview, data: BinaryIO, location: str) -> None:
    """Appends the bytes to the data file and says in the model where they are."""
    import onnx

    data.write(b"\0" * (-data.tell() % ALIGNMENT))
    offset = data.tell()
    data.write(content)
    clear(tensor)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", len(content))):
        tensor.external_data.add(key=key, value=str(value))
