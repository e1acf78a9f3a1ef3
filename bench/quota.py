"""A device as a share of a core, which a CPU quota of the kernel enforces (cgroup v1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 5000  # short against a microbatch, so that a share is a speed


def available() -> bool:
    """Whether this user may set quotas."""
    return os.access(ROOT / "cpu.cfs_period_us", os.R_OK) or os.access(ROOT / "tasks", os.W_OK)


class Quota:
    """A control group whose processes together get `share` of a core."""

    def __init__(self, name: str, share: float) -> None:
        self.folder = ROOT / f"hethub-{os.getpid()}-{name}"
        self.folder.mkdir()
        (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.folder / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD_US)))

    def wrap(self) -> list[str]:
        """What goes before a command that is to run in it."""
        return ["/bin/sh", "-c", f'echo $$ > {self.folder}/tasks && exec "$@"', "sh"]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """This thread, and what it starts, is in it."""
        tasks = Path("/proc/thread-self").resolve().name
        (self.folder / "tasks").write_text(tasks)
        try:
            yield
        finally:
            (ROOT / "tasks").write_text(tasks)

    def close(self) -> None:
        self.folder.rmdir()
