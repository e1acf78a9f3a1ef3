"""Builds the example with plain CMake against an installed runtime, runs it and compares with NumPy.

Then builds it for device kind cuda where the runtime has that, and checks its one line where there is no GPU.

usage: check.py INSTALL_PREFIX WORK_FOLDER
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parent


def build(prefix: Path, folder: Path, replace: dict[str, str]) -> Path:
    """The built program of the example with some of its text replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("main.cpp", "CMakeLists.txt", "weights.json"):
        text = (SOURCE / name).read_text()
        for old, new in replace.items():
            text = text.replace(old, new)
        (folder / name).write_text(text)
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], check=True)
    begin = time.monotonic()
    subprocess.run(["cmake", "--build", folder / "build"], check=True)
    print(f"built in {time.monotonic() - begin:.1f} s")
    return folder / "build" / "stage"


def main() -> None:
    prefix, work = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    folder = work / "cpu"
    stage = build(prefix, folder, {})
    generator = np.random.default_rng(0)
    weight, bias = generator.normal(size=(8, 8)).astype(np.float32), generator.normal(size=8).astype(np.float32)
    (folder / "weights.bin").write_bytes(weight.tobytes() + bias.tobytes())
    x = generator.normal(size=(6, 8)).astype(np.float32)
    np.savez_compressed(work / "in.npz", x=np.asfortranarray(x))
    options = ["--inputs", work / "in.npz", "--outputs", work / "out.npz", "--microbatches", "3"]
    subprocess.run([stage, *options], check=True)
    np.testing.assert_allclose(np.load(work / "out.npz")["y"], np.maximum(x @ weight.T + bias, 0), atol=1e-5)
    print("example stage: ok")

    if (prefix / "lib" / "libhethub_runtime_cuda.so").exists():
        stage = build(prefix, work / "cuda", {'"cpu"': '"cuda"', "HetHub::runtime)": "HetHub::runtime_cuda)"})
        run = subprocess.run([stage, *options], capture_output=True, text=True)
        if run.returncode == 0 or Path("/dev/nvidia0").exists():
            print("a GPU is here: its absence is not tested")
            return
        assert run.returncode == 1 and run.stderr.count("\n") == 1, run.stderr
        assert "the stage needs a GPU and this machine has none" in run.stderr, run.stderr
        print(run.stderr.strip())


if __name__ == "__main__":
    main()
