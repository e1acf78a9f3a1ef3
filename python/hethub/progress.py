"""Progress on long work: lines on standard error with the time passed, so that standard output stays for facts."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

QUIET_SECONDS = 10.0


class Step:
    """Announces a piece of work, repeats itself every ten seconds while it lasts, and says how long it took.

    with Step("building 3 stages") as step:
        ...
        step.done = "built 3 stages"
    """

    def __init__(self, what: str, quiet: bool = False) -> None:
        self.what = what
        self.done = ""
        self._quiet = quiet
        self._start = time.monotonic()
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def elapsed(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._start

    def say(self, text: str) -> None:
        """One line, with the seconds passed."""
        if not self._quiet:
            print(f"[{self.elapsed():6.1f} s] {text}", file=sys.stderr, flush=True)

    def _tick(self) -> None:
        while not self._over.wait(QUIET_SECONDS):
            self.say(f"still {self.what}")

    def __enter__(self) -> Step:
        self._start = time.monotonic()
        self.say(self.what)
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._ticker.join()
        if kind is None and self.done:
            self.say(self.done)
