"""Constants are found again in measurements that were made with them, and mistakes in files are named."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hethub import tools

SCRIPT = Path(__file__).resolve().parent.parent.parent / "bench" / "predictor" / "vtrain.py"
HEADER = ["id", "gpus", "global_batch", "micro_batch", "hidden", "heads", "layers", "seq", "tp", "dp", "pp"]
HARDWARE = {
    "gpu": "Example X1",
    "gpus_per_node": 4,
    "intra_node_bandwidth_GBps": 200,
    "inter_node_bandwidth_Gbps": 200,
    "peak_fp16_dense_TFLOPs": 100,
    "gpu_memory_GB": 40,
    "value_bytes": 2,
    "vocabulary": 32001,
    "activation_checkpointing": True,
}
# Away from what is expected of each, so that finding them is no accident.
TRUTH = {
    "matmul_efficiency": 0.5,
    "memory_bandwidth": 0.9e12,
    "kernel_seconds": 1e-3,
    "launch_seconds": 2.5e-3,
    "straggler_seconds": 3e-4,
    "head_seconds": 6e-3,
    "odd_vocabulary_slowdown": 4.0,
    "network_efficiency": 0.4,
    "iteration_seconds": 2e-2,
}


def vtrain(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True)


def write_data(folder: Path) -> None:
    (folder / "hardware.json").write_text(json.dumps(HARDWARE))
    lines = ["size_mib,ns_2gpu,ns_4gpu"]
    lines += [f"{size},{20000 + size * 10000},{40000 + size * 15000}" for size in (1, 2, 8, 64, 512)]
    (folder / "allreduce_x1.csv").write_text("\n".join(lines) + "\n")


def runs(count: int) -> list[dict[str, object]]:
    """Valid runs of several sizes on 1 to 32 devices, the same each time."""
    generator = random.Random(7)
    rows = []
    while len(rows) < count:
        tp, dp, pp = (generator.choice([1, 2, 4]) for _ in range(3))
        micro = generator.choice([1, 2, 4])
        row = [f"r{len(rows)}", tp * dp * pp, dp * micro * generator.choice([1, 4, 8]), micro]
        row += [generator.choice([512, 1024, 2048, 4096]), 16, generator.choice([8, 16, 24]), 1024, tp, dp, pp]
        rows.append(dict(zip(HEADER, row, strict=True)))
    return rows


def write_csv(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def predictions(path: Path) -> dict[str, float]:
    with path.open(newline="") as file:
        return {row["id"]: float(row["predicted_ms"]) for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """A folder with runs measured with TRUTH and 2 % noise, one in 25 twice as slow as it should be."""
    folder = tmp_path_factory.mktemp("measured")
    write_data(folder)
    rows = runs(150)
    configs = write_csv(folder / "configs.csv", rows)
    # The machine as fit reads it, with the true constants in place of the fitted ones.
    one = write_csv(folder / "one.csv", [{**rows[0], "iteration_ms": 1}])
    made = vtrain("fit", "--csv", one, "--out", folder / "truth.json")
    assert made.returncode == 0, made.stderr
    truth = json.loads((folder / "truth.json").read_text())
    (folder / "truth.json").write_text(json.dumps({**truth, "constants": TRUTH}))
    tools.run("hh-predict", [str(configs), "--constants", str(folder / "truth.json"), "-o", str(folder / "exact.csv")])
    exact = predictions(folder / "exact.csv")
    noise = random.Random(1)
    for index, row in enumerate(rows):
        row["iteration_ms"] = exact[str(row["id"])] * noise.gauss(1, 0.02) * (2 if index % 25 == 0 else 1)
    return folder, rows


def test_constants_are_found_again(measured: tuple[Path, list[dict[str, object]]]) -> None:
    folder, rows = measured
    first, second = write_csv(folder / "a.csv", rows[:100]), write_csv(folder / "b.csv", rows[100:])
    out = folder / "constants.json"
    made = vtrain("fit", "--csv", first, "--csv", second, "--out", out)
    assert made.returncode == 0, made.stderr
    found = json.loads(out.read_text())["constants"]
    assert found.keys() == TRUTH.keys()
    for name, value in TRUTH.items():
        assert found[name] == pytest.approx(value, rel=0.15), name
    # The constants file is all that predict needs.
    configs = write_csv(folder / "later.csv", runs(200)[150:])
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    made = vtrain("predict", "--csv", configs, "--constants", out, "--out", elsewhere / "p.csv")
    assert made.returncode == 0, made.stderr
    tools.run("hh-predict", [str(configs), "--constants", str(folder / "truth.json"), "-o", str(elsewhere / "t.csv")])
    predicted, exact = predictions(elsewhere / "p.csv"), predictions(elsewhere / "t.csv")
    assert list(predicted) == [f"r{index}" for index in range(150, 200)]
    for name, value in exact.items():
        assert predicted[name] == pytest.approx(value, rel=0.03), name


def test_a_fit_is_the_same_each_time(measured: tuple[Path, list[dict[str, object]]]) -> None:
    folder, rows = measured
    few = write_csv(folder / "few.csv", rows[:20])
    texts = []
    for _ in range(2):
        assert vtrain("fit", "--csv", few, "--out", folder / "again.json").returncode == 0
        texts.append((folder / "again.json").read_text())
    assert texts[0] == texts[1]


GOOD = dict(zip(HEADER, ["a", 2, 8, 2, 64, 4, 6, 32, 2, 1, 1], strict=True)) | {"iteration_ms": 5.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iteration_ms": "slow"}, "runs.csv: line 2: iteration_ms must be a number above 0, got: slow"),
        ({"iteration_ms": "nan"}, "runs.csv: line 2: iteration_ms must be a number above 0, got: nan"),
        ({"hidden": "wide"}, "runs.csv: line 2: hidden must be a number above 0, got: wide"),
        ({"gpus": 8}, "runs.csv: line 2: gpus must be tp x dp x pp = 2, got: 8"),
        ({"layers": 7, "pp": 2, "gpus": 4}, "runs.csv: line 2: layers must be a multiple of pp = 2, got: 7"),
    ],
)
def test_mistakes_in_runs(tmp_path: Path, change: dict[str, object], message: str) -> None:
    write_data(tmp_path)
    path = write_csv(tmp_path / "runs.csv", [GOOD | change])
    made = vtrain("fit", "--csv", path, "--out", tmp_path / "c.json")
    assert (made.returncode, made.stderr) == (1, f"vtrain.py: error: {tmp_path}/{message}\n")
    assert not (tmp_path / "c.json").exists()


def test_missing_columns_and_files(tmp_path: Path) -> None:
    write_data(tmp_path)
    path = write_csv(tmp_path / "runs.csv", [{name: GOOD[name] for name in HEADER}])
    made = vtrain("fit", "--csv", path, "--out", tmp_path / "c.json")
    expected = f"{path}: line 1: column 'iteration_ms' must be present, got: {','.join(HEADER)}"
    assert (made.returncode, made.stderr) == (1, f"vtrain.py: error: {expected}\n")
    made = vtrain("predict", "--csv", path, "--constants", tmp_path / "none.json", "--out", tmp_path / "p.csv")
    assert (made.returncode, made.stderr) == (1, f"vtrain.py: error: {tmp_path}/none.json: No such file or directory\n")
    (tmp_path / "c.json").write_text("{}")
    made = vtrain("predict", "--csv", path, "--constants", tmp_path / "c.json", "--out", tmp_path / "p.csv")
    assert (made.returncode, made.stderr) == (
        1,
        f"vtrain.py: error: {tmp_path}/c.json: machine must be an object, got: nothing\n",
    )
    (tmp_path / "hardware.json").write_text(json.dumps({**HARDWARE, "vocabulary": -1}))
    path = write_csv(tmp_path / "runs.csv", [GOOD])
    made = vtrain("fit", "--csv", path, "--out", tmp_path / "c.json")
    expected = f"{tmp_path}/hardware.json: vocabulary must be a number above 0, got: -1"
    assert (made.returncode, made.stderr) == (1, f"vtrain.py: error: {expected}\n")


def test_a_machine_is_assumed_where_none_is_described(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "runs.csv", [GOOD | {"note": "a column of text"}])
    made = vtrain("fit", "--csv", path, "--out", tmp_path / "c.json")
    assert made.returncode == 0, made.stderr
    assert made.stderr == f"note: no hardware.json in {tmp_path} and no --data: a100_node.json is assumed\n"
    machine = json.loads((tmp_path / "c.json").read_text())["machine"]
    assert machine["peak_flops"] == 312e12
    assert "all_reduce" not in machine
    # A folder that was named must have it.
    made = vtrain("fit", "--csv", path, "--data", tmp_path, "--out", tmp_path / "c.json")
    assert made.returncode == 1
    assert made.stderr.startswith(f"vtrain.py: error: {tmp_path}/hardware.json: must be a readable JSON file, got: ")
