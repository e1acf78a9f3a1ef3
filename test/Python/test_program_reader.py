"""The small reader of program files agrees with proto/hethub.proto and refuses damaged files."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from hethub import HetHubError
from hethub.program import DTYPES, FIELDS, read_program

TOP = Path(__file__).resolve().parent.parent.parent
PROTO = TOP / "proto" / "hethub.proto"

PROGRAM = """
stage: 1
stages { device_type: "old" replicas: 2 }
stages { device_type: "new" }
functions {
  name: "start_up"
  inputs { name: "not this" channel: -1 index: 0 type { dtype: FLOAT32 } }
}
functions {
  name: "forward"
  inputs { value: 1 name: "x" channel: -1 index: 2 type { dtype: FLOAT16 dims: 300 dims: -1 } }
  inputs { value: 2 name: "h" channel: 0 index: -1 type { dtype: FLOAT32 dims: 2 } }
  outputs { value: 3 name: "y" channel: -1 index: 0 type { dtype: INT64 } }
}
"""


def encode(text: str, message: str = "StageProgram") -> bytes:
    command = ["protoc", f"--encode=hethub.{message}", f"--proto_path={PROTO.parent}", PROTO.name]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


def write_program(path: Path, body: bytes, digest: bytes | None = None) -> Path:
    def field(number: int, data: bytes) -> bytes:
        size, text = len(data), b""
        while size >= 0x80:
            text += bytes([size & 0x7F | 0x80])
            size >>= 7
        return bytes([number << 3 | 2]) + text + bytes([size]) + data

    path.write_bytes(field(1, digest or hashlib.sha256(body).digest()) + field(2, body))
    return path


def test_reads_ports_of_the_model_alone(tmp_path: Path) -> None:
    info = read_program(write_program(tmp_path / "program.pb", encode(PROGRAM)))
    assert info.stage == 1
    assert info.replicas == [2, 1]
    assert info.device_types == ["old", "new"]
    assert [(p.name, p.index, p.dtype, p.shape) for p in info.inputs] == [("x", 2, "float16", (300, -1))]
    assert [(p.name, p.index, p.dtype, p.shape) for p in info.outputs] == [("y", 0, "int64", ())]


@pytest.mark.parametrize("where", ["digest", "body", "end"])
def test_refuses_changed_files(tmp_path: Path, where: str) -> None:
    path = write_program(tmp_path / "program.pb", encode(PROGRAM))
    data = bytearray(path.read_bytes())
    if where == "end":
        del data[-5:]
    else:
        data[5 if where == "digest" else 60] ^= 1
    path.write_bytes(data)
    with pytest.raises(HetHubError, match=r"must be as the compiler wrote it, got a (changed|damaged) one"):
        read_program(path)


def test_field_numbers_are_those_of_the_proto_file() -> None:
    text = re.sub(r"//.*", "", PROTO.read_text())
    for message, fields in FIELDS.items():
        body = re.search(rf"message {message} {{(.*?)\n}}", text, re.DOTALL)
        assert body, message
        declared = dict(re.findall(r"(\w+) = (\d+);", body[1]))
        for name, number in fields.items():
            assert int(declared[name]) == number, f"{message}.{name}"


def test_type_names_are_those_of_the_proto_file() -> None:
    body = re.search(r"enum DType {(.*?)}", PROTO.read_text(), re.DOTALL)
    assert body
    declared = {int(n): name.lower() for name, n in re.findall(r"(\w+) = (\d+);", body[1])}
    assert declared.pop(0) == "dtype_unspecified"
    short = {"str": "string", "float8_e8m0fnu": "float8e8m0"}
    assert {n: short.get(name, name).replace("_", "") for n, name in DTYPES.items()} == declared
