// RUN: hh-opt %S/../Dialect/HH/schedule-training.mlir --hh-schedule="training microbatches=2 schedule=zero-bubble" -o %t.mlir
// RUN: hh-translate --emit-cpp %t.mlir --stage 1 | FileCheck %s
// RUN: hh-translate --emit-program %t.mlir --stage 1 | FileCheck %s --check-prefix=PROGRAM

// Parameters are members once, whichever function reads them; each function has its own names.
// CHECK:      struct Weights {
// CHECK-NEXT:   at::Device device;
// CHECK-NEXT:   at::Tensor tied;
// CHECK-NEXT:   at::Tensor own;
// CHECK:      static rt::Tensors forward(
// CHECK:      static rt::Tensors backward(
// CHECK-NEXT:   auto [[GRADIENT:grad.*]] = at::mul(w.own, w.tied);
// CHECK-NEXT:   return {[[GRADIENT]], w.own};
// Gradients are given away where they are computed.
// CHECK:      static rt::Tensors weight({{.*}}, const rt::Early &early) {
// CHECK:        early(0, std::move(grad));
// CHECK-NEXT:   auto grad_2 = at::mul({{.*}}, w.tied);
// CHECK-NEXT:   early(1, std::move(grad_2));
// CHECK-NEXT:   return {at::Tensor(), at::Tensor()};

// CHECK:          {.name = "{{.*}}", .dtype = at::kFloat, .shape = {}, .channel = -1, .index = 0, .isLoss = true},
// CHECK:          {.name = "{{.*}}", .dtype = at::kFloat, .shape = {4}, .saved = 0},
// CHECK:          {.action = rt::Action::Weight, .microbatch = 0, .replica = 0, .peerReplica = -1},
// CHECK:      .training = true,
// CHECK-NEXT: .backward = {
// CHECK-NEXT:     .inputs = {
// CHECK-NEXT:     },
// CHECK-NEXT:     .outputs = {
// CHECK-NEXT:         {.name = "{{.*}}", .dtype = at::kFloat, .shape = {4}, .channel = 1, .index = -1},
// CHECK-NEXT:         {.name = "own", .dtype = at::kFloat, .shape = {4}, .saved = 1},
// CHECK:      .weight = {
// CHECK:              {.name = "tied", .dtype = at::kFloat, .shape = {4}, .gradientOf = "tied"},
// CHECK-NEXT:         {.name = "own", .dtype = at::kFloat, .shape = {4}, .gradientOf = "own"},
// CHECK:      .trained = {
// CHECK-NEXT:     {.name = "tied", .dtype = at::kFloat, .shape = {4}, .stages = {0, 1}},
// CHECK-NEXT:     {.name = "own", .dtype = at::kFloat, .shape = {4}, .stages = {1}},
// CHECK:      rt::bind<Weights>(forward, backward, weight)

// Parameters have one number in all functions: @tied is 1, @own is 2.
// PROGRAM:      profiled_backward_s: 0.75
// PROGRAM-NEXT: profiled_weight_s: 0.25
// PROGRAM:      parameters {
// PROGRAM-NEXT:   value: 1
// PROGRAM-NEXT:   name: "tied"
// PROGRAM:        gradient_stages: 0
// PROGRAM-NEXT:   gradient_stages: 1
// PROGRAM:      functions {
// PROGRAM-NEXT:   name: "forward"
// PROGRAM:          loss: true
// PROGRAM:          saved: 0
// PROGRAM:      functions {
// PROGRAM-NEXT:   name: "backward"
// PROGRAM:            op: "aten::mul.Tensor"
// PROGRAM-NEXT:       arguments {
// PROGRAM-NEXT:         value: 2
// PROGRAM-NEXT:       }
// PROGRAM-NEXT:       arguments {
// PROGRAM-NEXT:         value: 1
// PROGRAM:      functions {
// PROGRAM-NEXT:   name: "weight"
// PROGRAM:          gradient_of: "tied"
// PROGRAM:          gradient_of: "own"
// PROGRAM:      action: WEIGHT
// PROGRAM:      action: ALL_REDUCE
// PROGRAM:      action: OPTIMIZER_STEP
// PROGRAM:      training: true
