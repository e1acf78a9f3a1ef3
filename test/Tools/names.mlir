// RUN: %named-hh-opt %s | FileCheck %s
// RUN: %named-hh-opt %s | %named-hh-opt | FileCheck %s
// RUN: hh-opt --help | FileCheck %s --check-prefix=HELP

// Text keeps the model's names from step to step: as names of values and as locations.
// CHECK: func.func @main(%input_ids: tensor<2xf32>
// CHECK: %fc1 = onnx.Relu(%input_ids) : (tensor<2xf32>) -> (tensor<2xf32>) loc(
// CHECK: return %fc1
func.func @main(%0: tensor<2xf32> loc("input_ids")) -> tensor<2xf32> {
  %1 = onnx.Relu(%0) : (tensor<2xf32>) -> (tensor<2xf32>) loc("fc1"(fused<["fc1_output"]>["m.h.0.mlp"]))
  return %1 : tensor<2xf32>
}
// CHECK-DAG: loc(fused<["fc1_output"]>
// CHECK-DAG: loc("m.h.0.mlp")
// CHECK-DAG: loc("fc1"(

// Every pass says in one line what it changes.
// HELP-DAG: --hh-annotate-cost {{.*}}puts on every operation what it costs on each device type
// HELP-DAG: --hh-hoist-start-up {{.*}}moves what depends on parameters alone to the start of its program
// HELP-DAG: --hh-insert-communication {{.*}}turns each stage into a program that sends and receives what crosses its borders
// HELP-DAG: --hh-load-cluster {{.*}}puts the device types and links of a cluster file into the module
// HELP-DAG: --hh-lower-to-aten {{.*}}replaces onnx operators by LibTorch calls
// HELP-DAG: --hh-partition {{.*}}moves the operations of @main into pipeline stages
// HELP-DAG: --hh-record-origins {{.*}}numbers the operations of all programs
// HELP-DAG: --hh-schedule {{.*}}writes the schedule table of the programs and proves that it cannot block
// HELP-DAG: --hh-verify-phase {{.*}}checks what must hold after a phase
// HELP-DAG: --hh-verify-plan {{.*}}checks that the stages compute what the model did
// HELP-DAG: --onnx-fold-constants
// HELP-DAG: --onnx-infer-shapes
// HELP-DAG: --onnx-raise-patterns
// HELP-DAG: --onnx-specialize-dims
// HELP-DAG: --hh-normalize
// HELP-DAG: --hh-lower-stages
