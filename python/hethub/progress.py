"""Progress on long work: lines on standard error with the time passed, so that standard output stays for facts."""

from __future__ import annotations

import collections
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

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


def duration(seconds: float) -> str:
    """1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class TrainingProgress:
    """One line that tells how far a training run is: in place on a terminal, every ten seconds elsewhere."""

    AVERAGED_STEPS = 50
    TERMINAL_SECONDS = 0.2

    def __init__(self, steps: int, quiet: bool = False) -> None:
        self.quiet = quiet
        self._steps = steps
        self._terminal = sys.stderr.isatty()
        self._recent: collections.deque[tuple[int, float]] = collections.deque(maxlen=self.AVERAGED_STEPS)
        self._last = float("-inf")
        self._open = False  # a line without its end stands on the terminal

    def line(self, record: Mapping[str, Any]) -> str:
        """Of a record of the log (docs/Training.md)."""
        step = record["step"]
        parts = [f"step {step} of {self._steps}"]
        if isinstance(record.get("loss"), int | float):
            parts.append(f"loss {record['loss']:.4g}")
        if isinstance(record.get("samples_per_s"), int | float):
            parts.append(f"{record['samples_per_s']:.3g} samples/s")
        (first, begin), (last, end) = self._recent[0], self._recent[-1]
        if last > first and step < self._steps:
            parts.append(f"{duration((end - begin) / (last - first) * (self._steps - step))} left")
        return "  ".join(parts)

    def update(self, record: Mapping[str, Any]) -> None:
        """Shows it, unless the last one has just been shown."""
        now = time.monotonic()
        if self._recent and record["step"] <= self._recent[-1][0]:
            self._recent.clear()  # started again
        self._recent.append((record["step"], now))
        wait = self.TERMINAL_SECONDS if self._terminal else QUIET_SECONDS
        if self.quiet or (now - self._last < wait and record["step"] < self._steps):
            return
        self._last = now
        if self._terminal:
            print(f"\r\x1b[K{self.line(record)}", end="", file=sys.stderr, flush=True)
            self._open = True
        else:
            print(self.line(record), file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """A line of its own."""
        self.end()
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._open:
            print(file=sys.stderr, flush=True)
        self._open = False
