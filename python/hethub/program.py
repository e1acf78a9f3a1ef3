"""What a stage program expects and gives: its ports, read from program.pb.

Reads the few fields of proto/hethub.proto that are needed here from the wire format; a test holds the field numbers
against the .proto file. So running a model needs no Protobuf package.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from .errors import HetHubError

# Names of NumPy's types by the numbers of onnx.TensorProto.DataType.
DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "str",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    24: "float8_e8m0fnu",
}

# Field numbers, by message.
FIELDS = {
    "ProgramFile": {"sha256": 1, "program": 2},
    "StageProgram": {"stage": 4, "stages": 5, "functions": 8},
    "Stage": {"device_type": 1, "replicas": 3},
    "Function": {"name": 1, "inputs": 2, "outputs": 4},
    "Port": {"name": 2, "type": 3, "channel": 4, "index": 5, "open": 10},
    "TensorType": {"dtype": 1, "dims": 2},
}


@dataclass(frozen=True)
class Port:
    """An input or output of the model. A size of -1 is not known before the run."""

    name: str
    index: int  # position among the model's inputs or outputs
    dtype: str
    shape: tuple[int, ...]  # of one microbatch
    open: bool = False  # a sequence, an optional or a tensor of any rank: only the run knows which


@dataclass
class StageInfo:
    """One stage's share of the model's inputs and outputs."""

    stage: int
    replicas: list[int]  # of all stages
    device_types: list[str]
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


class _Message:
    """The fields of one message by number: integers, or the bytes of strings and of messages within."""

    def __init__(self, kind: str, data: bytes) -> None:
        self._numbers = FIELDS[kind]
        self._values: dict[int, list[int | bytes]] = {}
        at = 0
        while at < len(data):
            tag, at = _varint(data, at)
            number, wire = tag >> 3, tag & 7
            if wire == 0:
                value, at = _varint(data, at)
            elif wire == 2:
                size, at = _varint(data, at)
                if at + size > len(data):
                    raise IndexError
                value, at = data[at : at + size], at + size
            elif wire in (1, 5):
                width = 8 if wire == 1 else 4
                value, at = data[at : at + width], at + width
            else:
                raise IndexError
            self._values.setdefault(number, []).append(value)

    def all(self, name: str) -> list:
        return self._values.get(self._numbers[name], [])

    def integer(self, name: str) -> int:
        values = self.all(name)
        return _signed(values[-1]) if values else 0

    def text(self, name: str) -> str:
        values = self.all(name)
        return values[-1].decode() if values else ""

    def data(self, name: str) -> bytes:
        values = self.all(name)
        return values[-1] if values else b""

    def integers(self, name: str) -> list[int]:
        """A repeated integer field, packed or not."""
        found = []
        for value in self.all(name):
            if isinstance(value, int):
                found.append(_signed(value))
                continue
            at = 0
            while at < len(value):
                number, at = _varint(value, at)
                found.append(_signed(number))
        return found


def _port(data: bytes) -> tuple[Port, int]:
    port = _Message("Port", data)
    kind = _Message("TensorType", port.data("type"))
    dtype = DTYPES.get(kind.integer("dtype"), "unknown")
    shape = tuple(kind.integers("dims"))
    described = Port(port.text("name"), port.integer("index"), dtype, shape, bool(port.integer("open")))
    return described, port.integer("channel")


def read_program(path: Path) -> StageInfo:
    """Reads the ports of a stage program. Raises HetHubError for a file that is missing, damaged or was changed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HetHubError(f"a stage program must be readable, got: {path}: {error.strerror}") from error
    try:
        file = _Message("ProgramFile", data)
        body = file.data("program")
        if not body or hashlib.sha256(body).digest() != file.data("sha256"):
            raise HetHubError(f"a program file must be as the compiler wrote it, got a changed one: {path}")
        program = _Message("StageProgram", body)
        stages = [_Message("Stage", stage) for stage in program.all("stages")]
        info = StageInfo(
            stage=program.integer("stage"),
            replicas=[max(1, stage.integer("replicas")) for stage in stages],
            device_types=[stage.text("device_type") for stage in stages],
        )
        for function in (_Message("Function", f) for f in program.all("functions")):
            if function.text("name") != "forward":
                continue
            ports = [[_port(p) for p in function.all(side)] for side in ("inputs", "outputs")]
            # Values that training programs keep have neither a channel nor a place among the model's.
            info.inputs, info.outputs = (
                [port for port, channel in side if channel < 0 <= port.index] for side in ports
            )
    except (IndexError, UnicodeDecodeError) as error:
        raise HetHubError(f"a program file must be as the compiler wrote it, got a damaged one: {path}") from error
    return info
