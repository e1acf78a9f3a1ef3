"""Ranks of a training run as bare processes, without the launcher: what they do when one is lost is their own doing."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from hethub import tools
from hethub.output import OutputFolder
from hethub.ranks import free_port

_libc = ctypes.CDLL(None, use_errno=True)
_PIDFD_GETFD = 438  # number of the system call


@dataclass
class TrainingRanks:
    """Use as a context manager: leaving it kills what still runs."""

    out: Path  # folder of `hethub compile --train`
    options: list[str]
    folder: Path  # for what the ranks say
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> TrainingRanks:
        ranks = OutputFolder.read(self.out).ranks()
        port = free_port()
        for rank in ranks:
            environment = os.environ | {
                "RANK": str(rank.rank),
                "WORLD_SIZE": str(len(ranks)),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
            command = [str(tools.find("hh-run")), str(self.out), *self.options]
            with self._words(rank.rank).open("wb") as words:
                self.processes.append(subprocess.Popen(command, env=environment, stdout=words, stderr=words))
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _words(self, rank: int) -> Path:
        return self.folder / f"rank{rank}.txt"

    def said(self, rank: int) -> list[str]:
        """Its lines on both streams."""
        return self._words(rank).read_text(errors="replace").splitlines()

    def wait(self, seconds: float, ranks: list[int] | None = None) -> list[int | None]:
        """Exit codes after at most so long; None: still runs."""
        deadline = time.monotonic() + seconds
        chosen = [self.processes[rank] for rank in (range(len(self.processes)) if ranks is None else ranks)]
        while time.monotonic() < deadline and any(process.poll() is None for process in chosen):
            time.sleep(0.02)
        return [process.poll() for process in chosen]

    def signal(self, rank: int, number: signal.Signals) -> None:
        self.processes[rank].send_signal(number)

    def cut_socket(self, rank: int, choice: int) -> bool:
        """Shuts one of its connections down, as a broken network would. False: it had none at that moment."""
        pid = self.processes[rank].pid
        pidfd = os.pidfd_open(pid)
        try:
            connected = []
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                if not os.readlink(entry).startswith("socket:"):
                    continue
                copy = _libc.syscall(_PIDFD_GETFD, pidfd, int(entry.name), 0)
                if copy < 0:
                    raise OSError(ctypes.get_errno(), "pidfd_getfd")
                connection = socket.socket(fileno=copy)
                try:
                    connection.getpeername()
                    connected.append(connection)
                except OSError:
                    connection.close()  # it listens, or is no longer connected
            if connected:
                connected[choice % len(connected)].shutdown(socket.SHUT_RDWR)
            for connection in connected:
                connection.close()
            return bool(connected)
        finally:
            os.close(pidfd)
