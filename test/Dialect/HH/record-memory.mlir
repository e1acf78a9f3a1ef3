// RUN: hh-opt %s --hh-record-memory 2>&1 | FileCheck %s

// Stage 0 saves 1600 bytes where the plan counts on 1000: with two microbatches in flight on its one replica it needs
// 1200 more, and three more microbatches fit. Stage 1 has more to hand over to its weight program than it saves, and
// does not fit any more.
// CHECK: warning: a stage should fit on its device: stage 1 needs 9600 bytes, 'd' has 9000
// CHECK: hh.program @stage_0({{.*}}hh.in_flight_limit = 5 : i64
// CHECK: hh.program @stage_1({{.*}}hh.in_flight_limit = 1 : i64
// CHECK: hh.plan {
// CHECK:   activation_bytes = 1600
// CHECK:   memory_bytes = 5200
// CHECK:   activation_bytes = 1600
// CHECK:   memory_bytes = 9600
hh.device_type @d kind "cpu" count 2 memory 10000
hh.program @stage_0(%x: tensor<400xf32> {onnx.index = 0 : i64}) -> (tensor<400xf32> {hh.saved = 0 : i64})
    attributes {stage = 0 : i64, device = @d} {
  hh.return %x : tensor<400xf32>
}
hh.program @stage_0_backward(%x: tensor<400xf32> {hh.saved = 0 : i64}) attributes {stage = 0 : i64, part = "backward", device = @d} {
  hh.return
}
hh.program @stage_1(%x: tensor<100xf32> {onnx.index = 1 : i64}) -> (tensor<100xf32> {hh.saved = 0 : i64})
    attributes {stage = 1 : i64, device = @d} {
  hh.return %x : tensor<100xf32>
}
hh.program @stage_1_backward() -> (tensor<300xf32> {hh.saved = 1 : i64}) attributes {stage = 1 : i64, part = "backward", device = @d} {
  %0 = aten.full() {dtype = f32, fill_value = 1.0 : f64, size = array<i64: 300>} : () -> (tensor<300xf32>)
  hh.return %0 : tensor<300xf32>
}
hh.program @stage_1_weight(%x: tensor<100xf32> {hh.saved = 0 : i64}, %y: tensor<300xf32> {hh.saved = 1 : i64})
    attributes {stage = 1 : i64, part = "weight", device = @d} {
  hh.return
}
hh.plan {
  microbatches = 8
  stages = [{
    activation_bytes = 1000
    in_flight = 2
    memory_bytes = 4000
    memory_limit_bytes = 10000
  }, {
    activation_bytes = 400
    in_flight = 1
    memory_bytes = 8400
    memory_limit_bytes = 9000
  } ]
}
