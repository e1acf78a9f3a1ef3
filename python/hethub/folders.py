"""Output folders and files appear complete or not at all."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import HetHubError

MARKER = "plan.json"  # what tells a folder of ours from any other


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Gives a temporary folder beside `path` that takes its place at the end, or vanishes on an error.

    It lies in the same parent so that relative paths written into it stay right.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not path.is_dir():
        raise HetHubError(f"the output folder must be a folder, got a file: {path}")
    if path.is_dir() and any(path.iterdir()) and not (path / MARKER).exists():
        raise HetHubError(f"the output folder must be new, empty or written by hethub, got: {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{path.name}.partial-{os.getpid()}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
    except OSError as error:
        raise HetHubError(f"the output folder must be writable, got: {path}: {error.strerror}") from error
    old = path.parent / f".{path.name}.old-{os.getpid()}"
    try:
        yield temporary
        if path.exists():
            path.rename(old)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.exists():
            if path.exists():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.rename(path)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """The same for one file."""
    path = Path(os.path.abspath(path))
    if not path.parent.is_dir():
        raise HetHubError(f"the output's folder must exist, got: {path}")
    if path.is_dir():
        raise HetHubError(f"the output must be a file, got a folder: {path}")
    temporary = path.parent / f".{path.stem}.partial-{os.getpid()}{path.suffix}"
    try:
        yield temporary
        try:
            temporary.rename(path)
        except OSError as error:
            raise HetHubError(f"the output must be writable, got: {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def end_on_signals() -> None:
    """SIGTERM and SIGHUP end the program like Ctrl-C does: through the clean-up of `finally` blocks."""

    def stop(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
