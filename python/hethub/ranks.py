"""Starts the ranks of a run as processes of this machine and watches them: when one dies, all stop and one message
says which it was and why."""

from __future__ import annotations

import collections
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .errors import HetHubError
from .output import Rank
from .tools import signal_name

POLL_SECONDS = 0.02
# After the first death the others are given this long to say what they saw, and again to end before they are killed.
GRACE_SECONDS = 2.0
KEPT_LINES = 40
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_parent() -> None:
    """In the child: no rank outlives a launcher that was killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class RankFailed(HetHubError):
    """A rank ended badly. `killed`: by a signal, not by a decision of its own."""

    def __init__(self, message: str, killed: bool = False) -> None:
        super().__init__(message)
        self.killed = killed


@dataclass
class _Child:
    rank: Rank
    process: subprocess.Popen[str]
    lines: collections.deque[str] = field(default_factory=lambda: collections.deque(maxlen=KEPT_LINES))
    reader: threading.Thread | None = None
    stopped_since: float | None = None

    def is_stopped(self) -> bool:
        """Whether a signal (SIGSTOP) holds the process."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in ("T", "t")


def free_port() -> int:
    """A TCP port of the loop-back address that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check_port(port: int) -> None:
    """Raises HetHubError when the port cannot be served."""
    if not 1 <= port <= 65535:
        raise HetHubError(f"the port must be between 1 and 65535, got: {port}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError as error:
            raise HetHubError(f"the port must be free, got: {port} ({error.strerror})") from error


class Ranks:
    """The processes of one run. Use as a context manager: leaving it ends whatever still runs."""

    def __init__(self, ranks: Sequence[Rank], commands: Sequence[list[str]], port: int | None, quiet: bool) -> None:
        self._quiet = quiet
        self._children: list[_Child] = []
        if port is not None:
            check_port(port)
        port = port or free_port()
        try:
            for rank, command in zip(ranks, commands, strict=True):
                self._start(rank, command, port, len(ranks))
        except OSError as error:
            self.close()
            raise HetHubError(f"{rank} must be startable, got: {error}") from error

    def _start(self, rank: Rank, command: list[str], port: int, world: int) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "TORCHELASTIC_"))}
        environment |= {
            "RANK": str(rank.rank),
            "LOCAL_RANK": str(rank.rank),
            "WORLD_SIZE": str(world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C comes to us alone, so that the ranks end in order
            preexec_fn=_die_with_parent,
        )
        child = _Child(rank, process)
        child.reader = threading.Thread(target=self._read, args=(child,), daemon=True)
        child.reader.start()
        self._children.append(child)

    def _read(self, child: _Child) -> None:
        assert child.process.stdout
        for line in child.process.stdout:
            child.lines.append(line.rstrip())
            if not self._quiet:
                print(f"[rank {child.rank.rank} stage {child.rank.stage}] {line.rstrip()}", file=sys.stderr, flush=True)

    def pids(self) -> list[int]:
        return [child.process.pid for child in self._children]

    def signal(self, number: int) -> None:
        """Sends it to all ranks that still run."""
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(number)

    def wait(self, timeout: float, watch: Callable[[], None] = lambda: None) -> None:
        """Waits until all ranks have ended well, and calls `watch` again and again. Raises RankFailed when one has not,
        or stands still for `timeout` seconds."""
        while True:
            watch()
            codes = [child.process.poll() for child in self._children]
            if any(codes):
                self._fail()
            if all(code == 0 for code in codes):
                return
            now = time.monotonic()
            for child in self._children:
                if child.process.returncode is None and child.is_stopped():
                    child.stopped_since = child.stopped_since or now
                    if now - child.stopped_since > timeout:
                        text = f"{child.rank} failed: stopped by a signal for more than {timeout:g} s"
                        raise RankFailed(text, killed=True)
                else:
                    child.stopped_since = None
            time.sleep(POLL_SECONDS)

    def _fail(self) -> None:
        """Collects what the ranks say in their last moments and reports the one that failed first."""
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and any(child.process.poll() is None for child in self._children):
            time.sleep(POLL_SECONDS)
        stopped = [child for child in self._children if child.process.poll() is None and child.is_stopped()]
        for child in self._children:
            if child.process.poll() is not None and child.reader:
                child.reader.join(GRACE_SECONDS)
        for child in stopped:
            raise RankFailed(f"{child.rank} failed: stopped by a signal and not continued in time", killed=True)
        killed = [child for child in self._children if (child.process.returncode or 0) < 0]
        for child in killed:
            name = signal_name(-child.process.returncode)
            last = child.lines[-1] if child.lines and name in ("SIGABRT", "SIGSEGV", "SIGBUS") else ""
            raise RankFailed(f"{child.rank} failed: killed by {name}" + (f": {last}" if last else ""), killed=True)
        ended = [child for child in self._children if child.process.returncode]
        # The ranks tell each other whose fault it is: "rank 1 (...) failed: why". Its own words come first.
        reports = [(child, _report(child.lines)) for child in ended]
        own = [text for child, text in reports if re.match(rf"rank {child.rank.rank}\b", text)]
        for text in own + [text for _, text in reports if text]:
            raise RankFailed(text)
        child = ended[0]
        last = child.lines[-1].removeprefix("error: ") if child.lines else "it said nothing"
        raise RankFailed(f"{child.rank} failed with exit status {child.process.returncode}: {last}")

    def close(self) -> None:
        """Ends all ranks that still run: asks, then kills."""
        running = [child for child in self._children if child.process.poll() is None]
        for number in (signal.SIGTERM, signal.SIGKILL):
            for child in running:
                if child.process.poll() is None:
                    child.process.send_signal(number)
                    child.process.send_signal(signal.SIGCONT)
            deadline = time.monotonic() + GRACE_SECONDS
            while time.monotonic() < deadline and any(child.process.poll() is None for child in running):
                time.sleep(POLL_SECONDS)
        for child in self._children:
            child.process.wait()
            if child.reader:
                child.reader.join(GRACE_SECONDS)

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _report(lines: collections.deque[str]) -> str:
    """The failure that a rank reported, if it is in the runtime's form."""
    for line in reversed(lines):
        found = re.search(r"rank \d+ (\([^)]*\) )?failed: .*", line)
        if found:
            return found[0]
    return ""
