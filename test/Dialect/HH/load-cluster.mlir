// RUN: hh-opt %s --hh-load-cluster=cluster=%S/Inputs/two.yaml | FileCheck %s
// RUN: hh-opt %s --hh-load-cluster=stages=3 | FileCheck %s --check-prefix=EQUAL
// RUN: not hh-opt %s --hh-load-cluster 2>&1 | FileCheck %s --check-prefix=NEITHER
// RUN: not hh-opt %s --hh-load-cluster=cluster=%S/Inputs/none.yaml 2>&1 | FileCheck %s --check-prefix=NONE

// Types and links stand before the model; those of an older run are replaced.
// CHECK-NOT: @stale
// CHECK: hh.device_type @old kind "cpu" count 2 memory 1048576
// CHECK-SAME: emulated_slowdown = 2.500000e+00
// CHECK: hh.device_type @new kind "cuda" count 1 memory 85899345920
// CHECK-SAME: accelerator = "A100-80GB"
// CHECK: hh.link @old to @old
// CHECK: hh.link @old to @new bandwidth 3.125000e+09 latency {{3.000000e-05|2.99999.*E-5}} {routed, stated, via = "host"}
// CHECK-NOT: hh.link
// CHECK: func.func @main

// EQUAL: hh.device_type @cpu kind "cpu" count 3 memory {{[0-9]+}}
// EQUAL: hh.link @cpu to @cpu

// NEITHER: give either a cluster file or a number of stages
// NONE: none.yaml
hh.device_type @stale kind "cpu" count 1 memory 1
func.func @main() {
  return
}
