// RUN: hh-opt %s --hh-record-memory 2>&1 | FileCheck %s

// Both stages are on rank 0: 2 x 4000 bytes, of which the workspace of 300 is not needed beside that of 500, leave 2300 of
// 10000, half for each of them: two microbatches more.
// CHECK-NOT: warning
// CHECK: hh.program @stage_0({{.*}}hh.in_flight_limit = 4 : i64
// CHECK: hh.program @stage_1({{.*}}hh.in_flight_limit = 3 : i64

// RUN: sed 's/limit_bytes = 10000/limit_bytes = 7000/' %s | hh-opt --hh-record-memory 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: warning: a stage should fit on its device: stage 0 with 1 needs 7700 bytes, 'd' has 7000
// SMALL: hh.program @stage_0({{.*}}hh.in_flight_limit = 2 : i64
hh.device_type @d kind "cpu" count 1 memory 10000
hh.program @stage_0(%x: tensor<100xf32> {onnx.index = 0 : i64}) -> (tensor<100xf32> {hh.saved = 0 : i64})
    attributes {stage = 0 : i64, device = @d, hh.first_rank = 0 : i64} {
  hh.return %x : tensor<100xf32>
}
hh.program @stage_0_backward(%x: tensor<100xf32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, part = "backward", device = @d} {
  hh.return
}
hh.program @stage_1(%x: tensor<100xf32> {onnx.index = 1 : i64}) -> (tensor<100xf32> {hh.saved = 0 : i64})
    attributes {stage = 1 : i64, device = @d, hh.first_rank = 0 : i64} {
  hh.return %x : tensor<100xf32>
}
hh.program @stage_1_backward(%x: tensor<100xf32> {hh.saved = 0 : i64}) attributes {stage = 1 : i64, part = "backward", device = @d} {
  hh.return
}
hh.plan {
  microbatches = 8
  stages = [{
    activation_bytes = 400
    in_flight = 2
    memory_bytes = 4000
    memory_limit_bytes = 10000
    workspace_bytes = 500
  }, {
    activation_bytes = 400
    in_flight = 1
    memory_bytes = 4000
    memory_limit_bytes = 10000
    workspace_bytes = 300
  } ]
}
