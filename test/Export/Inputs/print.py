"""Prints a model in ONNX's text form, with the stage in front of each node that names one."""

import sys

import onnx
from onnx.printer import to_text

model = onnx.load(sys.argv[1])
onnx.checker.check_model(sys.argv[1])
stages = [[d.pipeline_stage for d in node.device_configurations] for node in model.graph.node]
configurations = [f"configuration {c.name}: {', '.join(c.device)}" for c in model.configuration]
for node in model.graph.node:
    node.ClearField("device_configurations")
model.ClearField("configuration")
text = to_text(model).splitlines()
begin = text.index("{")
print("\n".join(text[: begin + 1] + configurations))
for line, stage in zip(text[begin + 1 :], [*stages, *[[]] * len(text)], strict=False):
    print(f"[stage {stage[0]}] {line.strip()}" if stage else line.strip())
