"""The supervisor of ranks: ends all when one fails, says which and why, leaves nothing running."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hethub import HetHubError
from hethub.output import Rank
from hethub.ranks import Ranks

SLEEP = "import time; time.sleep(60)"


def start(*scripts: str, port: int | None = None) -> Ranks:
    ranks = [Rank(k, k, 0, f"type{k}") for k in range(len(scripts))]
    return Ranks(ranks, [[sys.executable, "-c", script] for script in scripts], port, quiet=True)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_all_end_well() -> None:
    check = "import os; assert os.environ['WORLD_SIZE'] == '2' and os.environ['RANK'] in '01'"
    with start(check, check) as ranks:
        ranks.wait(10)


def test_exit_status_and_last_words_are_reported() -> None:
    with start(SLEEP, "import sys; print('out of luck'); sys.exit(3)") as ranks:
        pids = ranks.pids()
        with pytest.raises(HetHubError) as failure:
            ranks.wait(10)
    assert str(failure.value) == "rank 1 (stage 1 on type1) failed with exit status 3: out of luck"
    assert not any(map(alive, pids))


def test_killed_rank_is_named_though_others_fail_after_it() -> None:
    follower = "import time, sys; time.sleep(0.8); print('rank 0 (stage 0 on a) stopped: x'); sys.exit(1)"
    with start(follower, SLEEP, follower) as ranks:
        threading.Timer(0.4, lambda: os.kill(ranks.pids()[1], signal.SIGKILL)).start()
        with pytest.raises(HetHubError, match=r"^rank 1 \(stage 1 on type1\) failed: killed by SIGKILL$"):
            ranks.wait(10)


def test_report_of_the_rank_at_fault_wins_over_those_of_others() -> None:
    blame = "rank 2 (stage 2 on c) failed: weights are missing"
    other = f"import sys; print('rank 0 (stage 0 on a) stopped: {blame}'); sys.exit(1)"
    guilty = f"import sys, time; time.sleep(0.3); print('{blame}'); sys.exit(1)"
    with start(other, SLEEP, guilty) as ranks, pytest.raises(HetHubError) as failure:
        ranks.wait(10)
    assert str(failure.value) == blame


def test_stopped_rank_is_named_after_the_timeout() -> None:
    with start(SLEEP, SLEEP) as ranks:
        os.kill(ranks.pids()[0], signal.SIGSTOP)
        begin = time.monotonic()
        with pytest.raises(HetHubError, match=r"rank 0 \(stage 0 on type0\) failed: stopped by a signal"):
            ranks.wait(0.5)
        assert time.monotonic() - begin < 5
        pids = ranks.pids()
    assert not any(map(alive, pids))


def test_port_in_use_is_refused() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen(1)
        port = holder.getsockname()[1]
        with pytest.raises(HetHubError, match=rf"^the port must be free, got: {port} "):
            start(SLEEP, port=port)


def test_ranks_die_with_a_killed_launcher(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom hethub.output import Rank\nfrom hethub.ranks import Ranks\n"
        f"r = Ranks([Rank(0, 0, 0, '')], [[sys.executable, '-c', {SLEEP!r}]], None, True)\n"
        "print(r.pids()[0], flush=True)\nr.wait(60)\n"
    )
    launcher = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout
    pid = int(launcher.stdout.readline())
    assert alive(pid)
    launcher.kill()
    launcher.wait()
    launcher.stdout.close()
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)
