"""NumPy's .npz files with any names for keys (np.savez takes keyword arguments, so "file" is no key for it)."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .errors import HetHubError


def load_npz(path: Path | str, what: str = "the inputs") -> dict[str, np.ndarray]:
    """All arrays of an .npz file, by key. Raises HetHubError for anything else."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("one array, no names")
            return {key: file[key] for key in file.files}
    except FileNotFoundError as error:
        raise HetHubError(f"{what} must be an .npz file, got: {path} (does not exist)") from error
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise HetHubError(f"{what} must be an .npz file, got: {path} ({error})") from error


def save_npz(path: Path | str, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays, uncompressed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for key, array in arrays.items():
            values = np.asanyarray(array)
            if values.dtype.kind in "OS":  # strings in a form that every reader knows
                values = values.astype(str)
            with archive.open(f"{key}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, values, allow_pickle=False)
