// Partitions a model, then breaks the result as a faulty pass or an editor would. What each kind of damage is called is
// tested in unittests/Partition/VerifyPlanTest.cpp.

// RUN: hh-opt %s --hh-partition="stages=2 microbatches=16" --hh-verify-plan -o %t.stages.mlir -mlir-print-debuginfo
// RUN: hh-opt %t.stages.mlir --hh-verify-plan | FileCheck %s
// RUN: hh-opt %t.stages.mlir --hh-insert-communication --hh-verify-plan | FileCheck %s --check-prefix=PROGRAMS
// RUN: sed "s/onnx.Sub(%arg1, %arg2)/onnx.Sub(%arg2, %arg1)/" %t.stages.mlir | not hh-opt --hh-verify-plan 2>&1 | FileCheck %s --check-prefix=SWAPPED
// RUN: sed "/onnx.Tanh/d; s/hh.yield %3 :/hh.yield %2 :/; s/%3 = onnx.Exp/%9 = onnx.Exp/; s/hh.yield %2, %3/hh.yield %2, %9/" %t.stages.mlir | not hh-opt --hh-verify-plan 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: sed "/hh.fingerprint/,/^  }/d" %t.stages.mlir | not hh-opt --hh-verify-plan 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: hh.stage 1
// PROGRAMS: hh.program @stage_1
// SWAPPED: operations must read the values that they read in the model, got others: 'c'
// LOST: each operation of the model must be in a stage, lost: 'd'
// NONE: module must hold an hh.fingerprint (hh-partition leaves one)

hh.device_type @d kind "cpu" count 2 memory 100000
hh.link @d to @d bandwidth 1.0e9 latency 1.0e-6
func.func @main(%x: tensor<4x4xf32> {onnx.name = "x"}) -> tensor<4x4xf32> {
  %a = onnx.Relu(%x) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {d = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("a")
  %b = onnx.Exp(%a) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {d = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("b")
  %c = onnx.Sub(%b, %a) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {d = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("c")
  %d = onnx.Tanh(%c) {hh.cost = #hh.cost<flops = 8, moved = 96, kept = 0, parameters = 0, seconds = {d = array<f64: 1.0e-3, 1.0e-3>}>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>) loc("d")
  return %d : tensor<4x4xf32>
}
