#!/usr/bin/env python3
"""Import many models in one process and report what is not imported, and why.

Usage: check_import.py [--tool build/bin/hh-translate] [--node-suite] [--traps DIR] [--models FILE...] [--dim NAME=N]
  --node-suite  all models of ONNX's own node tests (onnx.backend.test.case.node)
  --traps       a folder of NAME/model.onnx with NAME/case.json: models of kind "ok" must be imported, those of kind
                "error" with phase "import" must be refused with the words that the case asks for
Each model is also printed and parsed again, as text and as bytecode. Exit code 1 if anything is not as it must be.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def import_all(tool, paths, dims=()):
    """Status line of each path: {path: (imported, text)}."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(map(str, paths)))
        file.flush()
        command = [tool, f"--import-onnx-list={file.name}", *(f"--dim={d}" for d in dims)]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    status = {}
    for line in result.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("ok", "error"):
            path, _, text = rest.partition(" ")
            status[path] = (word == "ok", text)
    if missing := [p for p in paths if str(p) not in status]:
        sys.exit(f"stopped at {missing[0]}, exit code {result.returncode}: {result.stderr[-2000:]}")
    return status


def node_suite(folder):
    """Write the models of ONNX's node tests; their paths."""
    from onnx.backend.test.case.node import collect_testcases

    paths = []
    for case in collect_testcases(None):
        path = folder / f"{case.name}.onnx"
        path.write_bytes(case.model.SerializeToString())
        paths.append(path)
    return paths


def report(title, status):
    good = sum(imported for imported, _ in status.values())
    print(f"{title}: {good} of {len(status)} imported")
    for path, (imported, text) in status.items():
        if not imported:
            print(f"  {path}: {text}")
    unranked = [p for p, (imported, text) in status.items() if imported and "unranked=0" not in text]
    print(f"  {len(unranked)} with values of unknown rank")
    return good == len(status), unranked


def check_traps(tool, folder):
    cases = {}
    for path in sorted(folder.glob("*/case.json")):
        case = json.loads(path.read_text())
        model = path.parent / "model.onnx"
        if model.exists() and not case.get("sparse_files"):
            cases[str(model)] = case
    status = import_all(tool, list(cases))
    wrong, refused, passed = [], 0, 0
    for path, case in cases.items():
        imported, text = status[path]
        name = case["name"]
        if case["kind"] == "ok" or case.get("phase") not in ("import", "any"):
            passed += imported
            if not imported:
                wrong.append(f"{name}: must be imported, got: {text}")
        elif imported:
            if case["phase"] == "import":
                wrong.append(f"{name}: must be refused")
            else:
                print(f"  {name}: imported, to be refused when run")
        else:
            words = [w for w in case["error_mentions"] if not any(a in text.lower() for a in w.lower().split("|"))]
            refused += not words
            if words:
                wrong.append(f"{name}: message must mention {words}, got: {text}")
    print(f"traps: {passed} imported, {refused} refused as asked, {len(wrong)} wrong")
    for line in wrong:
        print(f"  {line}")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/bin/hh-translate")
    parser.add_argument("--node-suite", action="store_true")
    parser.add_argument("--traps", type=pathlib.Path)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--verbose", action="store_true", help="print the status of every model")
    arguments = parser.parse_args()
    good = True
    if arguments.node_suite:
        with tempfile.TemporaryDirectory() as folder:
            status = import_all(arguments.tool, node_suite(pathlib.Path(folder)))
            status = {pathlib.Path(p).stem: s for p, s in status.items()}
            suite_good, unranked = report("node suite", status)
            good &= suite_good
            if arguments.verbose:
                print("\n".join(f"  {name}: {status[name][1]}" for name in unranked))
    if arguments.traps:
        good &= check_traps(arguments.tool, arguments.traps)
    if arguments.models:
        status = import_all(arguments.tool, arguments.models, arguments.dim)
        good &= report("models", status)[0]
        if arguments.verbose:
            print("\n".join(f"  {path}: {text}" for path, (_, text) in status.items()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
