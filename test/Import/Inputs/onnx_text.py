#!/usr/bin/env python3
"""Write the sections of a test as files: onnx_text.py TEST FOLDER [--metadata NODE KEY VALUE]...

A section begins with "#--- NAME" and goes to the next one. NAME.txt holds a model in ONNX's text form and becomes
NAME.onnx; any other section is written as it stands.
"""

import argparse
import pathlib
import re

import onnx
import onnx.parser


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--metadata", nargs=3, action="append", default=[])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    parts = re.split(r"^#--- (\S+)\n", arguments.test.read_text(), flags=re.MULTILINE)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        path = arguments.folder / name
        if path.suffix != ".txt":
            path.write_text(text)
            continue
        model = onnx.parser.parse_model(text)
        for node_name, key, value in arguments.metadata:
            for node in model.graph.node:
                if node.name == node_name:
                    node.metadata_props.add(key=key, value=value)
        onnx.save(model, path.with_suffix(".onnx"))


if __name__ == "__main__":
    main()
