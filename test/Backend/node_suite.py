#!/usr/bin/env python3
"""Runs ONNX's own node suite through the product and compares with the suite's outputs and tolerances.

Usage: node_suite.py [-k PATTERN] [--list-failures] [--jobs N] [--update]
Every case is imported and must survive print and parse as text and bytecode, and export to ONNX (hh-translate); it is
compiled to a program file of one stage (hh-compile) and run on the inputs of the suite (hh-run); all inputs of a model
are fed when it runs.
Known failures stand in expected.json with a reason each; a case that fails without, or passes against it, is an error.
  --list-failures  all cases that are not right, by reason
  --update         writes expected.json anew: reasons of cases that it has stay, cases that are right now go
The last line sums up, and always counts the cases of the whole suite unless -k is given.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "test" / "support"))

from exported import lost  # noqa: E402
from node_cases import Case, collect, difference, write_inputs  # noqa: E402  (needs the path above)

TOOLS = Path(os.environ.get("HETHUB_TOOLS", TOP / "build" / "bin"))
RUNNER = TOP / "build-runtime" / "install" / "bin" / "hh-run"
EXPECTED = Path(__file__).resolve().parent / "expected.json"
LONGEST_SECONDS = 120  # of one tool on one case


@dataclass
class Result:
    imported: set[str] = field(default_factory=set)
    round_trips: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)  # why a case is not right

    def right(self, cases: list[Case]) -> list[str]:
        return [case.name for case in cases if case.name not in self.failures]


def import_all(cases: list[Case], folder: Path, result: Result) -> None:
    """One process imports all models; what stops it is the failure of the model at which it stops."""
    left = [case.name for case in cases]
    while left:
        listed = folder / "models.txt"
        listed.write_text("\n".join(str(folder / f"{name}.onnx") for name in left))
        command = [TOOLS / "hh-translate", f"--import-onnx-list={listed}"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        told = 0
        for line in done.stdout.splitlines():
            match = re.match(r"(ok|error) (\S+)\.onnx (.*)", line)
            if not match:
                continue
            word, path, rest = match.groups()
            name, told = Path(path).name, told + 1
            if word == "ok":
                result.round_trips.add(name)
            else:
                result.failures[name] = f"import: {rest.lstrip(': ')}"
            if word == "ok" or not rest.startswith(":"):
                result.imported.add(name)
        if told < len(left):
            result.failures[left[told]] = f"import: hh-translate ended with code {done.returncode}"
        left = left[told + 1 :]


def export_one(name: str, folder: Path, result: Result) -> None:
    """What was imported is exported too: with the same content, and with the same again."""
    try:
        wrong = lost(folder / f"{name}.onnx", folder / f"{name}_exported.onnx")
    except Exception as error:  # the checker refuses what was written
        wrong = [f"{type(error).__name__}: {error}"]
    if wrong:
        result.round_trips.discard(name)
        result.failures.setdefault(name, f"export: {wrong[0]}")


def compile_one(model: Path, out: Path) -> str:
    """Empty, or the first error."""
    command = [TOOLS / "hh-compile", model, "--stages", "1", "--dim", "*=?", "--emit", "program", "-o", out]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"compile: takes more than {LONGEST_SECONDS} s"
    if done.returncode == 0:
        return ""
    for line in done.stderr.splitlines():
        _, found, message = line.partition("error: ")
        if found:
            return f"compile: {message}"
    return f"compile: hh-compile ended with code {done.returncode}"


def run_all(folder: Path) -> None:
    """Runs the cases of a folder in as few processes as crashes allow; each gets outputs.npz or error.txt."""
    pending, done = folder / "pending", folder / "done"
    done.mkdir()
    while any(pending.iterdir()):
        command = [RUNNER, "--suite", pending]
        subprocess.run(command, capture_output=True, timeout=15 * 60)
        finished = [
            case for case in pending.iterdir() if any((case / f).exists() for f in ("outputs.npz", "error.txt"))
        ]
        if not finished:  # not even the first case was begun
            raise SystemExit(f"hh-run does not start: {command}")
        for case in finished:
            shutil.move(case, done / case.name)


def run_suite(cases: list[Case], jobs: int) -> Result:
    result = Result()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        folder = Path(name)
        for case in cases:
            (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
        parts = [folder / f"part{k}" for k in range(jobs)]
        place = {case.name: parts[i % jobs] for i, case in enumerate(cases)}

        def prepare(case: Case) -> str:
            out = place[case.name] / "pending" / case.name
            message = compile_one(folder / f"{case.name}.onnx", out)
            if message:
                shutil.rmtree(out, ignore_errors=True)
            else:
                write_inputs(case, out / "inputs.npz")
            return message

        for part in parts:
            (part / "pending").mkdir(parents=True)
        imports = pool.submit(import_all, cases, folder, result)
        compiled = dict(zip([c.name for c in cases], pool.map(prepare, cases), strict=True))
        imports.result()
        list(pool.map(run_all, parts))
        list(pool.map(lambda name: export_one(name, folder, result), sorted(result.round_trips)))
        for case in cases:
            if case.name in result.failures:
                continue
            done = place[case.name] / "done" / case.name
            message = compiled[case.name]
            if not message and (done / "outputs.npz").exists():
                message = difference(case, done / "outputs.npz")
            elif not message:
                message = "run: " + (done / "error.txt").read_text().strip()
            if message:
                result.failures[case.name] = message
    return result


def group(message: str) -> str:
    """What several cases have in common: the message without types and numbers."""
    text = message.splitlines()[0]
    text = re.sub(r"tensor<[^>]*>+|'[^']*'", "...", text)
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", text)[:150]


def list_failures(failures: dict[str, str]) -> None:
    groups = collections.defaultdict(list)
    for name, message in failures.items():
        groups[group(message)].append(name)
    for key, names in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4} {key}")
        for name in names:
            print(f"       {name}: {failures[name].splitlines()[0][:300]}")


def unexpected(cases: list[Case], result: Result, expected: dict[str, str]) -> list[str]:
    """What is not as expected.json says, one line each."""
    lines = []
    for case in cases:
        message = result.failures.get(case.name)
        if message and case.name not in expected:
            lines.append(f"failed {case.name}: {message}")
        elif not message and case.name in expected:
            lines.append(f"passed {case.name}, which expected.json says fails: {expected[case.name]}")
    return lines


def update(cases: list[Case], result: Result, expected: dict[str, str]) -> None:
    ran = {case.name for case in cases}
    kept = {name: reason for name, reason in expected.items() if name not in ran}
    kept |= {name: expected.get(name, message.splitlines()[0]) for name, message in result.failures.items()}
    EXPECTED.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", metavar="PATTERN", help="only cases whose name has a match")
    parser.add_argument("--list-failures", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    cases = collect(arguments.k)
    if not cases:
        raise SystemExit(f"no case matches {arguments.k}")
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    result = run_suite(cases, max(1, arguments.jobs))
    if arguments.list_failures:
        list_failures(result.failures)
    if arguments.update:
        update(cases, result, expected)
        lines = []
    else:
        lines = unexpected(cases, result, expected)
    print("\n".join(lines), end="\n" if lines else "")
    print(
        f"node suite: {len(result.right(cases))}/{len(cases)} right, {len(result.imported)} import, "
        f"{len(result.round_trips)} round trip"
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
