"""Program files as messages of proto/hethub.proto, whatever fields a test asks for."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from model_table import TOP


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    """Descriptors only: code that protoc generates must fit the installed Python package, these need not."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "hethub.pb"
        subprocess.run(["protoc", f"-I{TOP / 'proto'}", f"--descriptor_set_out={out}", "hethub.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    return pool


def message(name: str):
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"hethub.{name}"))


def action(number: int) -> str:
    return _pool().FindEnumTypeByName("hethub.Action").values_by_number[number].name


def read_stages(out: Path) -> list:
    """The StagePrograms of an output folder, in order."""
    files = sorted(out.glob("stage_*/program.pb"), key=lambda file: int(file.parent.name.removeprefix("stage_")))
    return [
        message("StageProgram").FromString(message("ProgramFile").FromString(f.read_bytes()).program) for f in files
    ]


def functions(program) -> dict:
    return {function.name: function for function in program.functions}
