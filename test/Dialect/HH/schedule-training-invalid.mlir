// RUN: hh-opt %s --split-input-file --hh-schedule="training microbatches=2" --verify-diagnostics

// expected-error @+1 {{a training step must have backward programs (hh-differentiate), got none}}
module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  hh.program @a() attributes {stage = 0 : i64, device = @d} {
    hh.return
  }
}

// -----

module {
  hh.device_type @d kind "cpu" count 2 memory 100000
  // expected-error @+1 {{each stage must have a forward program, got none for stage 0}}
  hh.program @a() attributes {stage = 0 : i64, part = "backward", device = @d} {
    hh.return
  }
}
