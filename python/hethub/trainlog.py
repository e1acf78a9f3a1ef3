"""The records of a training run: read while rank 0 writes them, joined over restarts, kept in the user's file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from .errors import HetHubError
from .folders import new_file


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a log file, each step once: where a restarted run did steps again, as it did them last. Raises
    HetHubError for a line that is none."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HetHubError(f"a log of training must be readable, got: {path}: {error}") from error
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        add_record(records, _record(line, f"{path}:{number}"))
    return records


def add_record(records: list[dict[str, Any]], record: dict[str, Any]) -> bool:
    """Puts it behind those of earlier steps; returns whether it took the place of others."""
    repeated = drop_from(records, record["step"])
    records.append(record)
    return repeated


def drop_from(records: list[dict[str, Any]], step: int) -> bool:
    """Removes this step and later ones; returns whether there were any."""
    count = len(records)
    while records and records[-1]["step"] >= step:
        records.pop()
    return len(records) < count


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        if not isinstance(record["step"], int):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise HetHubError(f"{where}: each line must be a JSON object with a step, got: {line[:80]}") from error
    return record


class TrainLog:
    """`records` are in order of their steps, each step once: an attempt that goes on from an earlier checkpoint takes
    the place of what was lost.

    target   the user's file, or None
    keep     go on with what stands in it
    """

    def __init__(self, target: Path | str | None, keep: bool) -> None:
        self.records: list[dict[str, Any]] = []
        self._target = None if target is None else Path(target)
        self._earlier: list[dict[str, Any]] = []  # of runs before this one
        self._file: IO[str] | None = None
        self._place: tuple[Path, int] = (Path(), 0)  # what is followed, and how far it has been read
        if self._target is not None and keep and self._target.exists():
            self._earlier = read_records(self._target)

    @property
    def last_step(self) -> int:
        return self.records[-1]["step"] if self.records else 0

    def follow(self, path: Path) -> Iterator[dict[str, Any]]:
        """The records that have been written to `path` since the last call."""
        if self._place[0] != path:
            self._place = (path, 0)
        try:
            with path.open("rb") as file:
                file.seek(self._place[1])
                text = file.read()
        except FileNotFoundError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._place = (path, self._place[1] + len(whole))
        for line in whole.decode(errors="replace").splitlines():
            record = _record(line, str(path))
            self._add(record)
            yield record

    def _add(self, record: dict[str, Any]) -> None:
        repeated = drop_from(self._earlier, record["step"]) | add_record(self.records, record)
        if repeated or self._file is None:
            self._rewrite()
        else:
            self._file.write(json.dumps(record) + "\n")
            self._file.flush()

    def _rewrite(self) -> None:
        if self._target is None:
            return
        with new_file(self._target) as temporary:
            temporary.write_text("".join(json.dumps(r) + "\n" for r in self._earlier + self.records))
        self._open()

    def _open(self) -> None:
        assert self._target
        if self._file is not None:
            self._file.close()
        self._file = self._target.open("a")

    def __enter__(self) -> TrainLog:
        """The file is not touched before the first record: a run that never begins must not cost an old log."""
        if self._target is not None:
            if not self._target.absolute().parent.is_dir():
                raise HetHubError(f"the log's folder must exist, got: {self._target}")
            if self._target.is_dir():
                raise HetHubError(f"the log must be a file, got a folder: {self._target}")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
