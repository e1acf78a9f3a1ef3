"""A Slurm of one node on this machine, from Debian's packages, in a folder of its own. Needs root: munged and slurmd
change users."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

CONFIGURATION = """\
ClusterName=hethub
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""
CPUS = 4  # whatever the machine has (config_overrides): ranks share cores
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")


class CannotStart(Exception):
    """Why there is no Slurm here."""


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _read(path: Path) -> str:
    return _read_bytes(path).decode(errors="replace")


class Slurm:
    """Daemons that live as long as the context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Slurm:
        missing = [program for program in PROGRAMS if not shutil.which(program, path=self._path())]
        if missing:
            raise CannotStart(f"not installed: {', '.join(missing)}")
        if os.geteuid() != 0:
            raise CannotStart("needs root")
        try:
            self._start()
        except CannotStart:
            self.close()
            raise
        return self

    @staticmethod
    def _path() -> str:
        return os.environ["PATH"] + ":/usr/sbin:/sbin"

    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": self._path()}

    def _daemon(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.out").open("wb")
        self._daemons.append(
            subprocess.Popen([name, *command], stdout=log, stderr=log, env=self.environment(), start_new_session=True)
        )

    def _start(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        controller, daemon = _free_ports(2)
        text = CONFIGURATION.format(folder=self.folder, host=host, cpus=CPUS, controller=controller, daemon=daemon)
        (self.folder / "slurm.conf").write_text(text)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = ["key-file=" + str(key), "log-file=" + str(self.folder / "munged.log")]
        files += ["pid-file=" + str(self.folder / "munged.pid"), "seed-file=" + str(self.folder / "munged.seed")]
        # --force: the folder of a test may be writable by others, which munged would refuse.
        self._daemon(
            "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *[f"--{f}" for f in files]
        )
        self._until(lambda: (self.folder / "munge.socket").exists(), "munged does not start")
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", host)
        self._until(lambda: "idle" in self._run("sinfo", "-h", "-o", "%T").stdout, "no node becomes idle")

    def _until(self, condition, complaint: str, seconds: float = 40) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            for process in self._daemons:
                if process.poll() is not None:
                    raise CannotStart(f"{complaint}: {process.args[0]} ended: {self._last_line(process.args[0])}")
            if time.monotonic() > deadline:
                raise CannotStart(complaint)
            time.sleep(0.2)

    def _last_line(self, name: str) -> str:
        lines = [
            line
            for file in (f"{name}.out", f"{name}.log")
            if (self.folder / file).exists()
            for line in (self.folder / file).read_text(errors="replace").splitlines()
        ]
        return lines[-1] if lines else "no message"

    def _run(self, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, env=self.environment(), timeout=timeout)

    def _jobs(self) -> bool:
        """Whether any job or step of these daemons is not over."""
        if any(process.poll() is not None for process in self._daemons) or len(self._daemons) < 3:
            return False
        helpers = [p for p in Path("/proc").glob("[0-9]*/comm") if _read(p).startswith("slurmstepd")]
        ours = str(self.folder).encode()
        return any(ours in _read_bytes(p.parent / "environ") for p in helpers)

    def srun(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self._run("srun", *map(str, arguments))

    def close(self) -> None:
        # A step's helper process ends when it has reported to the controller, a moment after srun has returned.
        deadline = time.monotonic() + 10
        while self._jobs() and time.monotonic() < deadline:
            time.sleep(0.2)
        for process in reversed(self._daemons):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self._daemons):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __exit__(self, *_: object) -> None:
        self.close()
