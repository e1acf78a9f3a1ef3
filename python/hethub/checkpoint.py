"""What a checkpoint folder of `hethub train` holds: docs/Training.md."""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from pathlib import Path

from .errors import HetHubError

FORMAT = 1


@dataclass(frozen=True)
class Tensor:
    """A tensor in a safetensors file; its bytes are little endian and row major, as in ONNX."""

    file: Path
    dtype: str  # of safetensors: "F32"
    shape: tuple[int, ...]
    offset: int
    length: int

    def data(self) -> memoryview:
        """A view of the file: nothing is read before it is used."""
        if self.length == 0:
            return memoryview(b"")
        with self.file.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(mapped)[self.offset : self.offset + self.length]


def newest(folder: Path) -> Path:
    """The checkpoint that a folder of checkpoints says to be its newest, or the folder itself when it is one."""
    if (folder / "manifest.json").is_file():
        return folder
    latest = folder / "latest"
    if latest.is_file():
        named = folder / latest.read_text().strip()
        if named.parent == folder and (named / "manifest.json").is_file():
            return named
    steps = sorted(path.parent for path in folder.glob("step-*/manifest.json"))
    if not steps:
        raise HetHubError(f"the folder must hold a checkpoint of `hethub train`, got: {folder}")
    return steps[-1]


def read_header(file: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length)) if 0 < length <= size - 8 else None
        if not isinstance(header, dict):
            raise ValueError("no header")
        tensors: dict[str, Tensor] = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            if not 0 <= begin <= end <= size - 8 - length:
                raise ValueError(f"'{name}' reaches past the end")
            tensors[name] = Tensor(file, entry["dtype"], tuple(entry["shape"]), 8 + length + begin, end - begin)
    except OSError as error:
        raise HetHubError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise HetHubError(f"not a safetensors file: {file}: {error}") from error
    return tensors


def parameters(folder: Path) -> dict[str, Tensor]:
    """All parameters of a checkpoint by the model's names."""
    step = newest(folder)
    manifest = step / "manifest.json"
    try:
        content = json.loads(manifest.read_text())
        found = content["format"]
        files = [(step / entry["file"], entry["bytes"]) for entry in content["parameters"]] if found <= FORMAT else []
    except OSError as error:
        raise HetHubError(f"cannot read {manifest}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise HetHubError(f"not a checkpoint's manifest: {manifest}") from error
    if found > FORMAT:
        raise HetHubError(
            f"the format of {manifest} must be at most {FORMAT}, got: {found} (it was written by a newer version)"
        )
    tensors: dict[str, Tensor] = {}
    for file, size in files:
        actual = file.stat().st_size if file.is_file() else 0
        if actual != size:
            raise HetHubError(f"{file} must have {size} bytes, got: {actual}")
        tensors |= read_header(file)
    return tensors
