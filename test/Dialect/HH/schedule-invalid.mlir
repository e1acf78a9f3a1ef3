// RUN: hh-opt %s --split-input-file --hh-schedule --verify-diagnostics

// expected-error @+1 {{module must hold programs (hh-insert-communication)}}
module {
}

// -----

hh.device_type @d kind "cpu" count 2 memory 100000
hh.program @a() attributes {stage = 0 : i64, device = @d} {
  hh.return
}
// expected-error @+1 {{each stage must have one program of a part, got two for stage 0}}
hh.program @b() attributes {stage = 0 : i64, device = @d} {
  hh.return
}

// -----

hh.device_type @d kind "cpu" count 3 memory 100000
hh.program @a(%x: tensor<4xf32>) attributes {stage = 0 : i64, device = @d} {
  hh.send %x on 0 to 1 : tensor<4xf32>
  hh.return
}
hh.program @b() attributes {stage = 1 : i64, device = @d} {
  hh.return
}
hh.program @c() attributes {stage = 2 : i64, device = @d} {
  // expected-error @+1 {{both ends of a channel must name each other, got: channel 0 from stage 0 to 1, received by stage 2 from 0}}
  %0 = hh.recv on 0 from 0 : tensor<4xf32>
  hh.return
}
