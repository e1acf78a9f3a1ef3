"""`hethub profile --links` measures how messages go between devices; plans, predictions and programs go by it."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import hethub
import numpy as np
import oracle
import pytest
import small_models
from command import error_of
from command import hethub as command
from hethub import cli, links
from hethub.links import Way
from onnx import TensorProto, helper, numpy_helper

BATCH, WIDE, NARROW = 64, 2048, 64
SIZES = (0, 1 << 18)
quickly = functools.partial(hethub.profile_links, sizes=SIZES, turns=1)


@pytest.fixture(scope="module")
def waists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two blocks, inside which values are wide; between them they are narrow."""
    random = np.random.default_rng(4)
    nodes, weights, value = [], [], "x"
    for k, (rows, columns) in enumerate([(NARROW, WIDE), (WIDE, NARROW)] * 2):
        weights.append(numpy_helper.from_array(random.standard_normal((rows, columns), np.float32) / rows, f"w_{k}"))
        result = "y" if k == 3 else f"h_{k}"
        nodes.append(helper.make_node("MatMul", [value, f"w_{k}"], [result], name=f"matmul_{k}"))
        value = result
    return small_models.save_graph(
        tmp_path_factory.mktemp("waists") / "model.onnx",
        nodes,
        {"x": (TensorProto.FLOAT, [BATCH, NARROW])},
        {"y": (1, [BATCH, NARROW])},
        weights,
    )


def write_cluster(folder: Path, *routes: dict[str, Any], link: str = "profile: links.json") -> Path:
    """A fast and a slow CPU; `routes` between them are what links.json says."""
    content = {"links": [{"kinds": ["cpu", "cpu"], "routes": list(routes)}]}
    (folder / "links.json").write_text(json.dumps(content))
    cluster = folder / "cluster.yaml"
    figures = "kind: cpu, memory: 1 GiB, memory_bandwidth: 20 GB/s"
    cluster.write_text(
        f"devices:\n  - {{name: fast, {figures}, peak: 60 GFLOP/s}}\n  - {{name: slow, {figures}, peak: 20 GFLOP/s}}\n"
        f"links:\n  - {{between: [fast, slow], {link}}}\n"
    )
    return cluster


def route(latency: float, rate: float, via: str = "direct", chunk: int = 0) -> dict[str, Any]:
    return {"via": via, "chunk_bytes": chunk, "latency_s": latency, "bytes_per_s": rate}


def test_a_measured_link_decides_where_the_cut_is(tmp_path: Path, waists: Path) -> None:
    """The devices ask for a cut in a block, a slow link for one between the blocks; the plan counts on its figures."""
    messages = {}
    for name, latency, rate in (("quick", 1e-6, 1e11), ("slow", 1e-3, 1e7)):
        cluster = write_cluster(tmp_path, route(latency, rate))
        plan = hethub.plan(waists, cluster=cluster, stages=2, microbatches=8)
        [message] = plan["messages"]
        assert message["seconds"] == pytest.approx(latency + message["bytes"] / rate)
        messages[name] = message
        # The same figures in the cluster file make the same plan.
        stated = write_cluster(tmp_path, link=f"latency: {latency}, bandwidth: {rate}")
        assert hethub.plan(waists, cluster=stated, stages=2, microbatches=8)["stages"] == plan["stages"]
        predicted = hethub.predict(waists, cluster=cluster, stages=2, microbatches=8)
        assert predicted["step_seconds"] == pytest.approx(plan["simulated_seconds"])
    assert messages["quick"]["bytes"] == 4 * BATCH * WIDE
    assert messages["slow"]["bytes"] == 4 * BATCH * NARROW


def test_programs_take_the_measured_route(tmp_path: Path, waists: Path) -> None:
    """The fastest one for a message's size, which both engines carry out."""
    slow, whole, pieces = route(1e-3, 1e6), route(2e-6, 1e11, "host"), route(1e-6, 1e11, "host", 1000)
    for routes, how in (
        ([slow, pieces], ", .viaHost = true, .chunkBytes = 1000}"),
        ([slow, whole], ", .viaHost = true}"),
        ([slow, route(0, 1e12)], ", .shape = {64, 2048}}"),
    ):
        cluster = write_cluster(tmp_path, *routes)
        out = hethub.compile(waists, tmp_path / "out", cluster=cluster, stages=2, microbatches=2)
        code = (out / "stage_0" / "main.cpp").read_text()
        [channel] = [line for line in code.splitlines() if ".fromStage = 0" in line]
        assert channel.rstrip(",").endswith(how), channel
        parts = [{"x": np.random.default_rng(k).standard_normal((BATCH, NARROW), np.float32)} for k in range(2)]
        result = hethub.run(out, {"x": np.concatenate([part["x"] for part in parts])}, microbatches=2, engine="program")
        oracle.assert_close(result.outputs, oracle.reference(waists, parts))


def test_links_of_this_machine(tmp_path: Path, waists: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "profile_links", quickly)
    cluster = write_cluster(tmp_path, route(1, 1))
    assert cli.main(["profile", "--links", "--cluster", str(cluster), "-o", str(tmp_path / "links.json")]) == 0
    [link] = json.loads((tmp_path / "links.json").read_text())["links"]
    assert link["kinds"] == ["cpu", "cpu"]
    [measured] = link["routes"]
    assert (measured["via"], measured["chunk_bytes"]) == ("direct", 0)
    assert 0 <= measured["latency_s"] < 1
    assert 1e6 < measured["bytes_per_s"] < 1e13
    assert [message["bytes"] for message in measured["messages"]] == list(SIZES)
    # What is measured is what the cluster file takes.
    [message] = hethub.plan(waists, cluster=cluster, stages=2)["messages"]
    assert message["seconds"] == pytest.approx(
        measured["latency_s"] + message["bytes"] / measured["bytes_per_s"], rel=1e-3
    )


def test_each_way_is_measured(tmp_path: Path) -> None:
    """Here through host memory, where there are no devices that would need it."""
    ways = [Way("direct"), Way("host", 1 << 14)]
    found = quickly(tmp_path / "links.json", ways=lambda kinds: ways)
    by_kinds = {tuple(link["kinds"]): link for link in found["links"]}
    assert set(by_kinds) == {("cpu", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")}
    routes = by_kinds["cpu", "cpu"]["routes"]
    assert [(found["via"], found["chunk_bytes"]) for found in routes] == [("direct", 0), ("host", 1 << 14)]
    assert all(found["bytes_per_s"] > 0 for found in routes)
    for link in found["links"]:
        assert ("routes" in link) != ("skipped" in link)
        assert len(link.get("skipped", "").splitlines()) < 2
    assert "cpu - cpu: host in chunks of 16384 bytes: " in links.links_table(found)


def test_ways_that_the_runtime_has() -> None:
    assert links.ways_between(("cpu", "cpu")) == [Way("direct")]
    assert [way.via for way in links.ways_between(("cpu", "cuda"))] == ["host"] * len(links.CHUNKS)
    assert links.ways_between(("cuda", "cuda"))[0] == Way("direct")
    assert links.ways_between(("rocm", "rocm"))[0].via == "host"


BAD = [
    (["profile"], "a model must be given, or --links, got: neither"),
    (["profile", "--links", "model.onnx"], "--links measures messages between devices, of no model, got: model.onnx"),
    (["profile", "model.onnx", "--cluster", "c.yaml"], "--cluster needs --links: operations are timed on this machine"),
    (["profile", "--links", "--cluster", "none.yaml"], "cannot read cluster file none.yaml: No such file or directory"),
    (["profile", "--links", "-o", "no/such/links.json"], "the output's folder must exist, got: "),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_wrong_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error_of(command(*arguments))
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_this_machine_has_no_devices_of(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: a, kind: hpu, memory: 1 GiB, peak: 1e12, memory_bandwidth: 1e12}\n")
    error = error_of(command("profile", "--links", "--cluster", cluster, "-o", tmp_path / "links.json"))
    assert "this machine must have devices for at least one link, got none: rank " in error
    assert "this runtime was built without devices of kind hpu" in error
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.yaml"]


def test_a_bad_file_of_links(tmp_path: Path, waists: Path) -> None:
    cluster = write_cluster(tmp_path, route(0, -1))
    error = error_of(command("compile", waists, "--cluster", cluster, "-o", tmp_path / "out"))
    assert error == f"{tmp_path}/links.json: 'bytes_per_s' of a route must be a number greater than 0, got: -1"
    assert not (tmp_path / "out").exists()
