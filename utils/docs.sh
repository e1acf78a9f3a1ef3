#!/bin/sh
# Writes build/docs/: one page per dialect and per group of passes, from the descriptions in the .td files;
# and docs/SupportedOperators.md.
set -eu
cd "$(dirname "$0")/.."
tablegen=$(command -v mlir-tblgen-22 || echo /usr/lib/llvm-22/bin/mlir-tblgen)
out=build/docs
mkdir -p $out
includes="-I include -I build/include -I /usr/lib/llvm-22/include"
page() { # name, flag, file
  $tablegen $includes $2 "$3" -o "$out/$1.md"
  echo "$out/$1.md"
}
page ONNXDialect "-gen-dialect-doc -dialect=onnx" include/hethub/Dialect/ONNX/IR/ONNXOps.td
page HHDialect "-gen-dialect-doc -dialect=hh" include/hethub/Dialect/HH/IR/HHOps.td
page ATenDialect "-gen-dialect-doc -dialect=aten" include/hethub/Dialect/ATen/IR/ATenOps.td
for file in $(find include/hethub -name Passes.td); do
  name=$(echo "$file" | sed 's|include/hethub/||; s|/Passes.td||; s|/||g')
  page "${name}Passes" -gen-pass-doc "$file"
done
.venv/bin/python utils/supported_operators.py
echo docs/SupportedOperators.md
