// RUN: hh-opt %s --split-input-file --hh-verify-phase=phase=schedule --verify-diagnostics

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
  // expected-error @+1 {{programs must hold aten and hh operations only, got: onnx.Relu}}
  %0 = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
  hh.return
}

// -----

// expected-error @+1 {{module must hold a schedule (hh-schedule)}}
module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  hh.program @stage_0() attributes {stage = 0 : i64, device = @d} {
    hh.return
  }
}

// -----

// The message is that of the schedule's validator: it names the row.
// expected-error @+1 {{stage 1 replica 0}}
module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  hh.program @stage_0(%x: tensor<4xf32> {onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @d} {
    hh.send %x on 0 to 1 : tensor<4xf32>
    hh.return
  }
  hh.program @stage_1() attributes {stage = 1 : i64, device = @d} {
    %0 = hh.recv on 0 from 0 : tensor<4xf32>
    hh.return
  }
  hh.schedule microbatches 1 {
    stage 0 replica 0 { forward 0 send 0 on 0 to 1 replica 0 bytes 16 }
    stage 1 replica 0 { forward 0 recv 0 on 0 from 0 replica 0 bytes 16 }
  }
}
