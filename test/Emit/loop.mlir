// RUN: hh-translate --emit-cpp %s --stage 0 | FileCheck %s --check-prefix=CPP
// RUN: hh-translate --emit-program %s --stage 0 | FileCheck %s --check-prefix=PROGRAM

hh.device_type @d kind "cpu" count 1 memory 1073741824

// What the iterations give is gathered and stacked; carried values change when all of them have been read.
// CPP: at::Tensor sum = x;
// CPP: std::vector<at::Tensor> sum_1_all;
// CPP: at::Tensor go_2 = go;
// CPP: const int64_t trip_count = n.item().toLong();
// CPP: for (int64_t iteration = 0; iteration < trip_count && go_2.item<bool>(); ++iteration) {
// CPP:   auto i = at::full({}, iteration, at::TensorOptions(at::kLong).device(w.device));
// CPP:   auto after = at::add(sum, x);
// CPP:   at::Tensor next = after;
// CPP:   sum_1_all.push_back(after);
// CPP:   sum = std::move(next);
// CPP: }
// CPP: auto sum_1 = hethub::ops::stack_iterations(sum_1_all, {2}, at::kFloat);
// CPP: auto same = sum_1;
// CPP: return {sum, same};
// CPP: {.name = "names", .dtype = at::kLong, .shape = {2}, .channel = -1, .index = 2, .isText = true},
// CPP: {.name = "parts", .dtype = at::kFloat, .shape = {}, .channel = -1, .index = 3, .isOpen = true},

// PROGRAM: dtype: STRING
// PROGRAM: open: true
// PROGRAM: loop {
// PROGRAM:   condition: 1
// PROGRAM:   initial: 2
// PROGRAM:   body {
// PROGRAM:     op: "aten::add.Tensor"
// PROGRAM:   stacked_types {
// PROGRAM-NEXT: dtype: FLOAT32
// PROGRAM-NEXT: dims: -1
// PROGRAM-NEXT: dims: 2
hh.program @stage_0(%n: tensor<i64> {onnx.name = "n", onnx.index = 0 : i64},
                    %go: tensor<i1> {onnx.name = "go", onnx.index = 1 : i64},
                    %x: tensor<2xf32> {onnx.name = "x", onnx.index = 4 : i64},
                    %names: tensor<2x!onnx.string> {onnx.name = "names", onnx.index = 2 : i64},
                    %parts: !onnx.seq<tensor<?xf32>> {onnx.name = "parts", onnx.index = 3 : i64})
    -> (tensor<2xf32> {onnx.name = "sum", onnx.index = 0 : i64}, tensor<?x2xf32> {onnx.name = "all", onnx.index = 1 : i64})
    attributes {stage = 0 : i64, device = @d} {
  %0:2 = hh.loop %n while %go carries (%x) : tensor<i64>, tensor<i1>, (tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^bb0(%i: tensor<i64> loc("i"), %c: tensor<i1> loc("go"), %before: tensor<2xf32> loc("before")):
    %1 = aten.add.Tensor(%before, %x) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>) loc("after")
    hh.yield %c, %1, %1 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  } loc(#names)
  %2 = hh.cast %0#1 : tensor<?x2xf32> to tensor<?x2xf32> loc("same")
  hh.return %0#0, %2 : tensor<2xf32>, tensor<?x2xf32>
}
hh.schedule {
  stage 0 replica 0 {
    forward 0
  }
}
#names = loc("sum")
