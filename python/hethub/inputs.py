"""Checks what a user feeds before any process starts."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .errors import HetHubError
from .output import OutputFolder
from .program import Port


def load_npz(path: Path | str) -> dict[str, np.ndarray]:
    """All arrays of an .npz file, by key."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("one array, no names")
            return {key: file[key] for key in file.files}
    except FileNotFoundError as error:
        raise HetHubError(f"the inputs must be an .npz file, got: {path} (does not exist)") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise HetHubError(f"the inputs must be an .npz file, got: {path} ({error})") from error


def dtype_name(array: np.ndarray) -> str:
    """NumPy's name; text is "str"; two-byte void is bfloat16, as the ml_dtypes package stores it."""
    if array.dtype.kind in "USO":
        return "str"
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:
        return "bfloat16"
    return array.dtype.name


def _shape_text(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join("?" if size < 0 else str(size) for size in shape) + "]"


def expected_shape(port: Port, batch: int, microbatches: int) -> tuple[int, ...]:
    """Shape of the whole input of a run: axis 0 of a batched input holds all microbatches."""
    if batch and port.shape and port.shape[0] == batch:
        return (batch * microbatches, *port.shape[1:])
    return port.shape


def check_inputs(folder: OutputFolder, inputs: Mapping[str, np.ndarray], microbatches: int) -> None:
    """Raises HetHubError that lists every input which is missing, unexpected, or of another shape or dtype."""
    wrong: list[str] = []
    ports = folder.inputs()
    for port in ports:
        if port.name not in inputs:
            given = ", ".join(sorted(inputs)) or "none"
            wrong.append(f"input '{port.name}' must be given, got: {given}")
            continue
        array = inputs[port.name]
        if dtype_name(array) != port.dtype:
            wrong.append(f"input '{port.name}' must be {port.dtype}, got: {dtype_name(array)}")
        expected = expected_shape(port, folder.batch(), microbatches)
        fits = len(expected) == array.ndim and all(e < 0 or e == g for e, g in zip(expected, array.shape, strict=True))
        if not fits:
            of = f" for {microbatches} microbatches" if microbatches > 1 else ""
            wrong.append(
                f"input '{port.name}' must have shape {_shape_text(expected)}{of}, got: {_shape_text(array.shape)}"
            )
    known = {port.name for port in ports}
    for name in inputs:
        if name not in known:
            wrong.append(f"input '{name}' must be one of the model's ({', '.join(sorted(known))}), got: another name")
    if wrong:
        raise HetHubError("\n".join(wrong))
