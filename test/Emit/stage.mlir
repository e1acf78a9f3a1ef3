// RUN: hh-translate --emit-cpp %s --stage 0 | FileCheck %s --check-prefix=CPP0
// RUN: hh-translate --emit-cpp %s --stage 1 | FileCheck %s --check-prefix=CPP1
// RUN: hh-translate --emit-program %s --stage 1 | FileCheck %s --check-prefix=PROGRAM
// RUN: not hh-translate --emit-cpp %s --stage 2 2>&1 | FileCheck %s --check-prefix=STAGE

// STAGE: error: stage must be below 2, got: 2

hh.device_type @old kind "cpu" count 1 memory 1073741824 {emulated_slowdown = 2.0 : f64}
hh.device_type @new kind "cuda" count 1 memory 1073741824
hh.link @old to @new bandwidth 1.0e+09 latency 1.0e-04 {emulated}
hh.parameter @"fc.weight" : tensor<4x8xf32> from "model.onnx" offset 100 length 128

// Values keep the model's names as far as C++ allows; small tensors are not released early, large ones are.
// CPP0: // Stage 1 of 2 of model, for device type "old" (cpu).
// CPP0: #include <ATen/ops/linear.h>
// CPP0: #include <ATen/ops/relu.h>
// CPP0: struct Weights {
// CPP0:   at::Tensor scale;
// CPP0-NEXT:   at::Tensor fc_weight;
// CPP0-NEXT:   at::Tensor fc_weight_relu;
// CPP0:     scale = rt::constantFloats({2}, at::kFloat, {0.5, -2.0}, file.device());
// CPP0-NEXT:     fc_weight = file.get("fc.weight", at::kFloat, {4, 8});
// CPP0-NEXT:     fc_weight_relu = at::relu(fc_weight);
// CPP0: static rt::Tensors forward({{.*}}const Weights &w, {{.*}}rt::Tensors inputs) {
// CPP0-NEXT:   auto int_2 = std::move(inputs[0]);
// CPP0-NEXT:   auto large = std::move(inputs[1]);
// CPP0-NEXT:   auto y = at::linear(int_2, w.fc_weight_relu);
// CPP0-NEXT:   auto relu = at::relu(large);
// CPP0-NEXT:   large.reset();
// CPP0-NEXT:   auto sum = at::argmax(relu);
// CPP0-NEXT:   relu.reset();
// CPP0-NEXT:   auto y_2 = at::leaky_relu(y, 0.01f);
// CPP0-NEXT:   return {y_2, sum};
// CPP0: {.type = "old", .kind = "cpu", .replicas = 1, .emulatedSlowdown = 2.0, .profiledForwardS = 0.0}
// CPP0: {.name = "int", .dtype = at::kFloat, .shape = {3, 8}, .channel = -1, .index = 0},
// CPP0: {.id = 0, .name = "y", .fromStage = 0, .toStage = 1, .dtype = at::kFloat, .shape = {3, 4}, .emulatedLatencyS = 0.0001, .emulatedBytesPerS = 1e+09},
// CPP0: {.action = rt::Action::Forward},
// CPP0-NEXT: {.action = rt::Action::Send, .channel = 0},
// CPP0: return rt::runStage(spec, rt::bind<Weights>(forward), argc, argv);
hh.program @stage_0(%a: tensor<3x8xf32> {onnx.name = "int", onnx.index = 0 : i64},
                    %l: tensor<256x256xf32> {onnx.name = "large", onnx.index = 1 : i64})
    -> (tensor<f32> {onnx.name = "total", onnx.index = 0 : i64}) attributes {stage = 0 : i64, device = @old} {
  %scale = hh.constant dense<[0.5, -2.0]> : tensor<2xf32> loc("scale")
  %w = hh.start_up -> tensor<4x8xf32> {
    %p = hh.get_parameter @"fc.weight" : tensor<4x8xf32>
    %t = aten.relu(%p) : (tensor<4x8xf32>) -> (tensor<4x8xf32>) loc("fc.weight/relu")
    hh.yield %t : tensor<4x8xf32>
  }
  %y = aten.linear(%a, %w, none) : (tensor<3x8xf32>, tensor<4x8xf32>, none) -> (tensor<3x4xf32>) loc("y")
  %r = aten.relu(%l) : (tensor<256x256xf32>) -> (tensor<256x256xf32>) loc("relu")
  %s = aten.argmax(%r) : (tensor<256x256xf32>) -> (tensor<f32>) loc("sum")
  // 0.01 as a float of ONNX.
  %z = aten.leaky_relu(%y) {negative_slope = 0.0099999997764825821 : f64} : (tensor<3x4xf32>) -> (tensor<3x4xf32>) loc("y")
  hh.send %z on 0 to 1 : tensor<3x4xf32>
  hh.return %s : tensor<f32>
}

// CPP1: #include <ATen/ops/cat.h>
// CPP1: auto y = std::move(inputs[0]);
// CPP1: auto both = at::cat({y, y}, 1);
// CPP1: return {both, both};

// PROGRAM: model: "model"
// PROGRAM: stage: 1
// PROGRAM: name: "forward"
// PROGRAM: name: "y"
// PROGRAM: op: "aten::cat"
// PROGRAM: action: RECEIVE
// PROGRAM: action: FORWARD
hh.program @stage_1() -> (tensor<3x8xf32> {onnx.name = "both", onnx.index = 1 : i64},
                          tensor<3x8xf32> {onnx.name = "again", onnx.index = 2 : i64})
    attributes {stage = 1 : i64, device = @new} {
  %y = hh.recv on 0 from 0 : tensor<3x4xf32> loc("y")
  %b = aten.cat([%y, %y]) {dim = 1 : i64} : ([tensor<3x4xf32>, tensor<3x4xf32>]) -> (tensor<3x8xf32>) loc("both")
  hh.return %b, %b : tensor<3x8xf32>, tensor<3x8xf32>
}

hh.schedule {
  stage 0 replica 0 {
    forward 0
    send 0 on 0 to 1 replica 0 bytes 48
  }
  stage 1 replica 0 {
    recv 0 on 0 from 0 replica 0 bytes 48
    forward 0
  }
}
