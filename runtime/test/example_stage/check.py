"""Builds the example with plain CMake against an installed runtime, runs it and compares with NumPy.

usage: check.py INSTALL_PREFIX WORK_FOLDER
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np


def main() -> None:
    prefix, work = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    source = Path(__file__).resolve().parent
    work.mkdir(parents=True, exist_ok=True)
    for name in ("main.cpp", "CMakeLists.txt", "weights.json"):
        shutil.copy(source / name, work)
    generator = np.random.default_rng(0)
    weight, bias = generator.normal(size=(8, 8)).astype(np.float32), generator.normal(size=8).astype(np.float32)
    (work / "weights.bin").write_bytes(weight.tobytes() + bias.tobytes())
    x = generator.normal(size=(6, 8)).astype(np.float32)
    np.savez(work / "in.npz", x=x)

    build = work / "build"
    subprocess.run(["cmake", "-S", work, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], check=True)
    subprocess.run(["cmake", "--build", build], check=True)
    command = [build / "stage", "--inputs", work / "in.npz", "--outputs", work / "out.npz", "--microbatches", "3"]
    subprocess.run(command, check=True)
    got = np.load(work / "out.npz")["y"]
    np.testing.assert_allclose(got, np.maximum(x @ weight.T + bias, 0), rtol=1e-5, atol=1e-5)
    print("example stage: ok")


if __name__ == "__main__":
    main()
