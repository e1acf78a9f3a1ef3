"""Checks what a user feeds before any process starts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .errors import HetHubError
from .output import OutputFolder
from .program import Port


def dtype_name(array: np.ndarray) -> str:
    """NumPy's name; text is "str"; two-byte void is bfloat16, as the ml_dtypes package stores it."""
    if array.dtype.kind in "USO":
        return "str"
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        return "bfloat16"
    return array.dtype.name


def _has_type(array: np.ndarray, dtype: str) -> bool:
    """NumPy files hold the bits of one-byte floats as void or bytes."""
    name = dtype_name(array)
    return name == dtype or (dtype.startswith("float8") and name in ("void8", "uint8"))


def _shape_text(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join("?" if size < 0 else str(size) for size in shape) + "]"


def _fits(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return len(shape) == len(expected) and all(e in (-1, g) for e, g in zip(expected, shape, strict=True))


def check_shape(port: Port, shape: tuple[int, ...], microbatches: int) -> str:
    """What is wrong with an input's shape; empty: nothing. Axis 0 holds all microbatches; an input that has the size
    of one microbatch goes to each of them."""
    whole = port.shape
    if whole and whole[0] > 0:
        whole = (whole[0] * microbatches, *whole[1:])
    splits = bool(whole) and _fits(shape, whole) and shape[0] % microbatches == 0
    if splits or _fits(shape, port.shape):
        return ""
    of = f" ({microbatches} microbatches of {_shape_text(port.shape)})" if microbatches > 1 else ""
    return f"input '{port.name}' must have shape {_shape_text(whole)}{of}, got: {_shape_text(shape)}"


def check_inputs(folder: OutputFolder, inputs: Mapping[str, np.ndarray], microbatches: int) -> None:
    """Raises HetHubError that lists every input which is missing, unexpected, or of another shape or dtype."""
    wrong: list[str] = []
    ports = folder.inputs()
    for port in ports:
        # What is there of a sequence or an optional, the runtime sees.
        if port.open:
            continue
        if port.name not in inputs:
            given = ", ".join(sorted(inputs)) or "none"
            wrong.append(f"input '{port.name}' must be given, got: {given}")
            continue
        array = inputs[port.name]
        if not _has_type(array, port.dtype):
            wrong.append(f"input '{port.name}' must be {port.dtype}, got: {dtype_name(array)}")
        complaint = check_shape(port, array.shape, microbatches)
        if complaint:
            wrong.append(complaint)
    known = {port.name for port in ports}
    parts = tuple(f"{port.name}[" for port in ports if port.open)  # of sequences: NAME[], NAME[0], ...
    for name in inputs:
        if name not in known and not name.startswith(parts):
            wrong.append(f"input '{name}' must be one of the model's ({', '.join(sorted(known))}), got: another name")
    if wrong:
        raise HetHubError("\n".join(wrong))
