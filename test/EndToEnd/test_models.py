"""Real models give onnxruntime's answer on any number of stages and device types, and k stages give the bits of one."""

from __future__ import annotations

import functools
from pathlib import Path

import clusters
import hethub
import numpy as np
import oracle
import pytest
from model_table import BY_SPEC, MODELS, Model, ensure, example, fixed_dims

MICROBATCHES = 2

# Where the stages come from: a number of equal devices, or a cluster of so many types with so many devices each.
SPLITS = {
    "1": {"stages": 1},
    "2": {"stages": 2},
    "3": {"stages": 3},
    "5": {"stages": 5},
    "1type": {"types": 1, "count": 2},
    "2types": {"types": 2, "count": 1},
    "3types": {"types": 3, "count": 1},
}
# Every model runs on one stage, on three and on two device types; these run on every split, the rest of the product
# belongs to `make test-all`.
ALL_SPLITS = {"gpt2.dyn", "bert.legacy", "resnet50.static", "minilm.dyn"}
USUAL_SPLITS = {"1", "3", "2types"}


def is_wide(model: Model, split: str) -> bool:
    return model.wide or not (split in USUAL_SPLITS or model.spec in ALL_SPLITS)


CASES = [
    pytest.param(m.spec, split, marks=[pytest.mark.wide] if is_wide(m, split) else [])
    for m in MODELS
    for split in SPLITS
]


@functools.cache
def microbatches(spec: str) -> list[dict[str, np.ndarray]]:
    """Two unlike microbatches: the example, and the same with the batch in another order (in reverse for one row)."""
    inputs = example(BY_SPEC[spec])
    axis = 0 if next(iter(inputs.values())).shape[0] > 1 else -1
    return [inputs, {name: np.flip(array, axis).copy() for name, array in inputs.items()}]


@functools.cache
def expected(spec: str) -> dict[str, np.ndarray]:
    return oracle.reference(ensure(BY_SPEC[spec]), microbatches(spec))


def compile_split(spec: str, split: str, out: Path, emit: tuple[str, ...]) -> Path:
    model = BY_SPEC[spec]
    how = dict(SPLITS[split])
    if "types" in how:
        how = {"cluster": clusters.write_cluster(out.parent, how["types"], how["count"])}
    dims = fixed_dims(model, microbatches(spec)[0])
    return hethub.compile(ensure(model), out, dims=dims, microbatches=MICROBATCHES, emit=emit, **how)


def run_whole(spec: str, out: Path, engine: str) -> dict[str, np.ndarray]:
    parts = microbatches(spec)
    inputs = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return hethub.run(out, inputs, microbatches=MICROBATCHES, engine=engine, timeout=120).outputs


_one_stage: dict[str, dict[str, np.ndarray]] = {}


def one_stage(spec: str, folder: Path) -> dict[str, np.ndarray]:
    """The outputs of one stage, computed once a model."""
    if spec not in _one_stage:
        out = compile_split(spec, "1", folder / "one", ("program",))
        _one_stage[spec] = run_whole(spec, out, "program")
    return _one_stage[spec]


@pytest.mark.parametrize(("spec", "split"), CASES)
def test_program_files(spec: str, split: str, tmp_path: Path) -> None:
    ensure(BY_SPEC[spec])
    first = one_stage(spec, tmp_path)
    if split == "1":
        oracle.assert_close(first, expected(spec), BY_SPEC[spec].atol)
        return
    out = compile_split(spec, split, tmp_path / "out", ("program",))
    stages = hethub.output.OutputFolder.read(out).plan["stages"]
    if "stages" in SPLITS[split]:
        assert len(stages) == SPLITS[split]["stages"]
    assert all(stage["nodes"] for stage in stages)
    outputs = run_whole(spec, out, "program")
    oracle.assert_same_bits(outputs, first)


CPP_SPLITS = [(m.spec, split, m.wide or not (m.cpp and split == "2types")) for m in MODELS for split in SPLITS]


@pytest.mark.parametrize(
    ("spec", "split"),
    [pytest.param(spec, split, marks=[pytest.mark.wide] if wide else []) for spec, split, wide in CPP_SPLITS],
)
def test_cpp_programs(spec: str, split: str, tmp_path: Path) -> None:
    ensure(BY_SPEC[spec])
    out = compile_split(spec, split, tmp_path / "out", ("program", "cpp"))
    hethub.build(out)
    outputs = run_whole(spec, out, "cpp")
    oracle.assert_close(outputs, expected(spec), BY_SPEC[spec].atol)
    oracle.assert_same_bits(outputs, one_stage(spec, tmp_path))
