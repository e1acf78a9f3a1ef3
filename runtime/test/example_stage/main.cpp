// Stage 0 of 'example', on device type host: 2 operations, 72 parameters.
#include "hethub/runtime/Stage.h"
#include "hethub/runtime/Weights.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

namespace rt = hethub::runtime;

namespace {

struct Weights {
  at::Tensor encoder_dense_weight;
  at::Tensor encoder_dense_bias;

  explicit Weights(rt::WeightsFile &file)
      : encoder_dense_weight(
            file.get("encoder.dense.weight", at::kFloat, {8, 8})),
        encoder_dense_bias(file.get("encoder.dense.bias", at::kFloat, {8})) {}
};

rt::Tensors forward(const Weights &w, rt::Tensors inputs) {
  at::Tensor &x = inputs[0]; // 2x8xfloat32

  // /encoder/dense/Gemm
  at::Tensor hidden =
      at::linear(x, w.encoder_dense_weight, w.encoder_dense_bias);
  x.reset();
  // /encoder/act/Relu
  at::Tensor y = at::relu(hidden);
  hidden.reset();

  return {y};
}

const rt::StageSpec spec{
    .model = "example",
    .planHash =
        "0000000000000000000000000000000000000000000000000000000000000000",
    .stage = 0,
    .stages = {{.type = "host", .kind = "cpu", .replicas = 1}},
    .inputs = {{.name = "x", .dtype = at::kFloat, .shape = {2, 8}, .index = 0}},
    .outputs =
        {{.name = "y", .dtype = at::kFloat, .shape = {2, 8}, .index = 0}},
    .channels = {},
    .rows = {{.action = rt::Action::Forward}},
    .microbatchAxisSize = 2,
};

} // namespace

int main(int argc, char **argv) {
  return rt::runStage(spec, rt::bind<Weights>(forward), argc, argv);
}
