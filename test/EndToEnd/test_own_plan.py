"""A stage map of one's own is kept, costed, and gives the same answer."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import oracle
import small_models
from command import hethub as command


def test_uneven_plan_of_ones_own(tmp_path: Path, layers: Path, three_stages: Path) -> None:
    plan = hethub.plan(layers, stages=2)
    nodes = [node for stage in plan["stages"] for node in stage["nodes"]]
    for stage, share in zip(plan["stages"], (nodes[:2], nodes[2:]), strict=True):
        stage["nodes"] = share
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"stages": plan["stages"]}))
    out = hethub.compile(layers, tmp_path / "out", stages=2, plan_file=file, emit=("program",))
    kept = hethub.output.OutputFolder.read(out).plan
    assert [len(stage["nodes"]) for stage in kept["stages"]] == [2, len(nodes) - 2]
    assert all(stage["forward_seconds"] > 0 for stage in kept["stages"])
    inputs = small_models.layers_input()
    oracle.assert_same_bits(hethub.run(out, inputs).outputs, hethub.run(three_stages, inputs).outputs)


def test_plan_command_prints_a_table_and_json(tmp_path: Path, layers: Path) -> None:
    file = tmp_path / "plan.json"
    result = command("plan", layers, "--stages", 2, "-o", file)
    assert result.returncode == 0, result.stderr
    header = "stage device type operations ops forward ms load ms memory receives receive ms"
    assert " ".join(result.stdout.splitlines()[0].split()) == header
    assert len(json.loads(file.read_text())["stages"]) == 2
    facts = json.loads(command("plan", layers, "--stages", 2, "-o", file, "--json").stdout)
    assert facts["stages"] == json.loads(file.read_text())["stages"]
