#!/usr/bin/env python3
"""Runs lit, GoogleTest (compiler and runtime) and pytest, prints their summaries, and one line that sums them up.

usage: run_tests.py [--jobs N] [--wide] [lit|gtest|pytest ...]
Exit code: 0 when all passed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
RESULTS = TOP / "build" / "test-results"


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)


def read_report(file: Path) -> Count:
    """Counts the cases of a JUnit report; a report that is missing is a failure."""
    if not file.exists():
        return Count(failed=1)
    count = Count()
    for case in xml.parse(file).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            count.failed += 1
        elif "skipped" in kinds or case.get("status") in ("notrun", "disabled"):
            count.skipped += 1
        else:
            count.passed += 1
    return count


def run(command: list[str], report: Path, environment: dict[str, str] | None = None) -> Count:
    """Runs one suite. A suite that fails without a failed case (a crash at its start) counts as one failure."""
    report.unlink(missing_ok=True)
    code = subprocess.run(command, cwd=TOP, env={**os.environ, **(environment or {})}).returncode
    count = read_report(report)
    if code and not count.failed:
        count.failed += 1
    return count


def lit(jobs: int, wide: bool) -> Count:
    command = [".venv/bin/lit", "-s", f"-j{jobs}", "--xunit-xml-output", str(RESULTS / "lit.xml"), "build/test"]
    if wide:
        command.append("-Dwide=1")
    return run(command, RESULTS / "lit.xml")


def gtest(jobs: int, wide: bool) -> Count:
    count = Count()
    binaries = sorted(p for p in (TOP / "build" / "unittests").glob("*") if p.is_file() and os.access(p, os.X_OK))
    for binary in binaries:
        report = RESULTS / f"{binary.name}.xml"
        environment = {"HETHUB_WIDE_TESTS": "1"} if wide else {}
        count += run([str(binary), "--gtest_brief=1", f"--gtest_output=xml:{report}"], report, environment)
    report = RESULTS / "runtime.xml"
    command = ["ctest", "--test-dir", "build-runtime", "--output-on-failure", "-Q", "--output-junit", str(report)]
    return count + run(command, report)


def pytest(jobs: int, wide: bool) -> Count:
    report = RESULTS / "pytest.xml"
    command = [".venv/bin/python", "-m", "pytest", "-q", "--durations=10", f"--junitxml={report}"]
    command += [] if wide else ["-m", "not wide"]
    return run(command, report)


SUITES = {"lit": lit, "gtest": gtest, "pytest": pytest}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], help="which (all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--wide", action="store_true", help="also what takes minutes")
    arguments = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    total, lines = Count(), []
    for name in arguments.suites or SUITES:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        count = SUITES[name](arguments.jobs, arguments.wide)
        seconds = time.monotonic() - start
        lines.append(
            f"{name:8} {count.passed:6} passed {count.failed:4} failed {count.skipped:4} skipped {seconds:7.0f} s"
        )
        total += count
    print("\n".join(["", *lines]))
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
