// RUN: not hh-opt %s --hh-differentiate="frozen=encoder.*" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hh-opt %s --hh-differentiate="frozen=[" 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not hh-opt %s --hh-differentiate="frozen=w" 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not hh-opt %s --hh-differentiate="microbatches=0" 2>&1 | FileCheck %s --check-prefix=ZERO

// NONE: error: a pattern of frozen parameters must match one, got: 'encoder.*'
// GLOB: error: a pattern of frozen parameters must be a glob pattern, got: '[': invalid glob pattern, unmatched '['
// ALL: error: a parameter must be left to train, got none: all are frozen
// ZERO: error: microbatches must be at least 1, got: 0

module {
  hh.device_type @host kind "cpu" count 1 memory 1073741824
  hh.parameter @w : tensor<f32> from "m.onnx" offset 0 length 4
  hh.program @stage_0() -> (tensor<f32> {hh.loss, onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @host, replicas = 1 : i64} {
    %w = hh.get_parameter @w : tensor<f32>
    hh.return %w : tensor<f32>
  }
}
