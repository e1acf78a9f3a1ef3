// LSTM, GRU and RNN with all options of ONNX. The input's share of all gates is
// one matrix product for all steps; the rest is computed step by step.
#include "hethub/runtime/ops.h"

#include <ATen/ATen.h>

#include <functional>
#include <string>

namespace hethub::ops {

namespace {

using Activation = std::function<at::Tensor(const at::Tensor &)>;

/// Takes the next value of a list, or the default of the activation where the
/// list is at its end.
class Parameters {
public:
  explicit Parameters(at::ArrayRef<double> values) : values(values) {}
  double next(double fallback) {
    return position < values.size() ? values[position++] : fallback;
  }

private:
  at::ArrayRef<double> values;
  size_t position = 0;
};

Activation makeActivation(const std::string &name, Parameters &alphas,
                          Parameters &betas) {
  if (name == "sigmoid")
    return [](const at::Tensor &x) { return x.sigmoid(); };
  if (name == "tanh")
    return [](const at::Tensor &x) { return x.tanh(); };
  if (name == "relu")
    return [](const at::Tensor &x) { return x.relu(); };
  if (name == "softsign")
    return [](const at::Tensor &x) { return x / (x.abs() + 1); };
  if (name == "softplus")
    return [](const at::Tensor &x) { return at::softplus(x); };
  if (name == "leakyrelu") {
    double a = alphas.next(0.01f);
    return [a](const at::Tensor &x) { return at::leaky_relu(x, a); };
  }
  if (name == "elu") {
    double a = alphas.next(1);
    return [a](const at::Tensor &x) { return at::elu(x, a); };
  }
  if (name == "thresholdedrelu") {
    double a = alphas.next(1);
    return [a](const at::Tensor &x) { return at::threshold(x, a, 0); };
  }
  if (name == "affine") {
    double a = alphas.next(1), b = betas.next(0);
    return [a, b](const at::Tensor &x) { return x * a + b; };
  }
  if (name == "scaledtanh") {
    double a = alphas.next(1), b = betas.next(1);
    return [a, b](const at::Tensor &x) { return (x * b).tanh() * a; };
  }
  if (name == "hardsigmoid") {
    double a = alphas.next(0.2f), b = betas.next(0.5);
    return [a, b](const at::Tensor &x) { return (x * a + b).clamp(0, 1); };
  }
  TORCH_CHECK(false, "recurrent networks have no activation '", name, "'");
}

std::vector<Activation> makeActivations(std::string_view names,
                                        at::ArrayRef<double> alpha,
                                        at::ArrayRef<double> beta,
                                        size_t expected) {
  Parameters alphas(alpha), betas(beta);
  std::vector<Activation> result;
  while (!names.empty()) {
    size_t comma = names.find(',');
    result.push_back(
        makeActivation(std::string(names.substr(0, comma)), alphas, betas));
    names = comma == std::string_view::npos ? std::string_view()
                                            : names.substr(comma + 1);
  }
  TORCH_CHECK(result.size() == expected, "expected ", expected,
              " activations, got: ", result.size());
  return result;
}

/// One direction of a network: its weights, and where its sequences start and
/// end.
struct Direction {
  at::Tensor x;      ///< [T, N, I], in the order of processing
  at::Tensor w, r;   ///< transposed: [I, G*H], [H, G*H]
  at::Tensor wb, rb; ///< [G*H], zeros without a bias
  at::Tensor h;      ///< [N, H]
  at::Tensor lengths;
  bool backward;
  int64_t hidden;

  int64_t steps() const { return x.size(0); }
  /// Entries whose sequence is longer than step t: [N, 1].
  at::Tensor active(int64_t t) const { return lengths.gt(t).unsqueeze(1); }
  at::Tensor keep(int64_t t, const at::Tensor &now,
                  const at::Tensor &before) const {
    return lengths.defined() ? at::where(active(t), now, before) : now;
  }
  at::Tensor output(int64_t t, const at::Tensor &h) const {
    return lengths.defined() ? at::where(active(t), h, at::zeros_like(h)) : h;
  }
  /// The order of processing and the order of time are each other's inverse.
  at::Tensor turn(const at::Tensor &sequence) const {
    if (!backward)
      return sequence;
    return lengths.defined() ? reverse_sequence(sequence, lengths, 0, 1)
                             : sequence.flip(0);
  }
};

Direction makeDirection(const at::Tensor &x, const at::Tensor &w,
                        const at::Tensor &r, const OptionalTensor &b,
                        const OptionalTensor &lengths, const OptionalTensor &h,
                        int64_t d, std::string_view direction) {
  Direction result;
  result.hidden = r.size(2);
  result.backward = direction == "reverse" || d == 1;
  if (lengths)
    result.lengths = lengths->to(at::kLong);
  result.x = x;
  result.x = result.turn(x);
  result.w = w.select(0, d).t();
  result.r = r.select(0, d).t();
  int64_t gates = w.size(1);
  at::Tensor bias = b ? b->select(0, d) : at::zeros({2 * gates}, x.options());
  result.wb = bias.slice(0, 0, gates);
  result.rb = bias.slice(0, gates);
  result.h =
      h ? h->select(0, d) : at::zeros({x.size(1), result.hidden}, x.options());
  return result;
}

at::Tensor clipped(const at::Tensor &x, double clip) {
  return clip > 0 ? x.clamp(-clip, clip) : x;
}

at::Tensor gate(const at::Tensor &gates, int64_t index, int64_t hidden) {
  return gates.slice(-1, index * hidden, (index + 1) * hidden);
}

/// Outputs and last states of the directions, stacked.
struct Results {
  std::vector<at::Tensor> y, h, c;
  at::Tensor sequence() const { return at::stack(y, 1); }
};

int64_t directionsOf(const at::Tensor &w, std::string_view direction) {
  int64_t expected = direction == "bidirectional" ? 2 : 1;
  TORCH_CHECK(w.size(0) == expected, "direction ", direction, " needs ",
              expected, " sets of weights, got: ", w.size(0));
  return expected;
}

/// `entering` is done to what goes into a product: the input and each state.
std::tuple<at::Tensor, at::Tensor, at::Tensor>
runLstm(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
        const OptionalTensor &b, const OptionalTensor &lengths,
        const OptionalTensor &h, const OptionalTensor &c,
        const OptionalTensor &p, std::string_view direction,
        std::string_view activations, at::ArrayRef<double> alpha,
        at::ArrayRef<double> beta, double clip, bool input_forget,
        const Activation &entering) {
  int64_t directions = directionsOf(w, direction);
  auto functions = makeActivations(activations, alpha, beta, 3 * directions);
  Results results;
  for (int64_t d = 0; d < directions; ++d) {
    Direction dir = makeDirection(x, w, r, b, lengths, h, d, direction);
    const Activation &f = functions[3 * d], &g = functions[3 * d + 1],
                     &k = functions[3 * d + 2];
    int64_t H = dir.hidden;
    at::Tensor state = dir.h;
    at::Tensor cell =
        c ? c->select(0, d) : at::zeros({x.size(1), H}, x.options());
    at::Tensor peephole = p ? p->select(0, d) : at::Tensor(); // i, o, f
    at::Tensor inputs = at::matmul(entering(dir.x), dir.w) + (dir.wb + dir.rb);
    std::vector<at::Tensor> outputs;
    for (int64_t t = 0; t < dir.steps(); ++t) {
      at::Tensor gates = inputs.select(0, t) + at::mm(entering(state), dir.r);
      at::Tensor i = gate(gates, 0, H), o = gate(gates, 1, H),
                 forget = gate(gates, 2, H), candidate = gate(gates, 3, H);
      if (peephole.defined()) {
        i = i + gate(peephole, 0, H) * cell;
        forget = forget + gate(peephole, 2, H) * cell;
      }
      i = f(clipped(i, clip));
      forget = input_forget ? 1 - i : f(clipped(forget, clip));
      at::Tensor next = forget * cell + i * g(clipped(candidate, clip));
      if (peephole.defined())
        o = o + gate(peephole, 1, H) * next;
      at::Tensor out = f(clipped(o, clip)) * k(clipped(next, clip));
      outputs.push_back(dir.output(t, out));
      state = dir.keep(t, out, state);
      cell = dir.keep(t, next, cell);
    }
    results.y.push_back(dir.turn(at::stack(outputs)));
    results.h.push_back(state);
    results.c.push_back(cell);
  }
  return {results.sequence(), at::stack(results.h), at::stack(results.c)};
}

/// The nearest of 256 values that a zero point and a scale give, these from the
/// extent of the data and 0.
at::Tensor throughQuantized(const at::Tensor &x) {
  at::Tensor low = x.min().clamp_max(0), high = x.max().clamp_min(0);
  at::Tensor scale = (high - low) / 255;
  scale = at::where(scale.eq(0), at::ones_like(scale), scale);
  at::Tensor zero = (-low / scale).round().clamp(0, 255);
  return ((x / scale).round().add(zero).clamp(0, 255) - zero) * scale;
}

/// 8-bit weights [D, I, G*H] as floats in ONNX's layout [D, G*H, I].
at::Tensor dequantized(const at::Tensor &w, const at::Tensor &scale,
                       const at::Tensor &zero) {
  auto spread = [&](const at::Tensor &v) {
    return v.to(at::kFloat).reshape({v.size(0), 1, -1});
  };
  TORCH_CHECK(scale.dim() >= 1 && zero.dim() >= 1,
              "scales and zero points need an entry a direction, got: ",
              scale.sizes(), " and ", zero.sizes());
  return ((w.to(at::kFloat) - spread(zero)) * spread(scale)).transpose(1, 2);
}

} // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor>
lstm(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
     const OptionalTensor &b, const OptionalTensor &lengths,
     const OptionalTensor &h, const OptionalTensor &c, const OptionalTensor &p,
     std::string_view direction, std::string_view activations,
     at::ArrayRef<double> alpha, at::ArrayRef<double> beta, double clip,
     bool input_forget) {
  return runLstm(x, w, r, b, lengths, h, c, p, direction, activations, alpha,
                 beta, clip, input_forget,
                 [](const at::Tensor &entering) { return entering; });
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
dynamic_quantize_lstm(const at::Tensor &x, const at::Tensor &w,
                      const at::Tensor &r, const OptionalTensor &b,
                      const OptionalTensor &lengths, const OptionalTensor &h,
                      const OptionalTensor &c, const OptionalTensor &p,
                      const at::Tensor &w_scale, const at::Tensor &w_zero,
                      const at::Tensor &r_scale, const at::Tensor &r_zero,
                      std::string_view direction, std::string_view activations,
                      at::ArrayRef<double> alpha, at::ArrayRef<double> beta,
                      double clip, bool input_forget) {
  return runLstm(x, dequantized(w, w_scale, w_zero),
                 dequantized(r, r_scale, r_zero), b, lengths, h, c, p,
                 direction, activations, alpha, beta, clip, input_forget,
                 throughQuantized);
}

std::tuple<at::Tensor, at::Tensor>
gru(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
    const OptionalTensor &b, const OptionalTensor &lengths,
    const OptionalTensor &h, std::string_view direction,
    std::string_view activations, at::ArrayRef<double> alpha,
    at::ArrayRef<double> beta, double clip, bool linear_before_reset) {
  int64_t directions = directionsOf(w, direction);
  auto functions = makeActivations(activations, alpha, beta, 2 * directions);
  Results results;
  for (int64_t d = 0; d < directions; ++d) {
    Direction dir = makeDirection(x, w, r, b, lengths, h, d, direction);
    const Activation &f = functions[2 * d], &g = functions[2 * d + 1];
    int64_t H = dir.hidden;
    at::Tensor state = dir.h;
    at::Tensor inputs = at::matmul(dir.x, dir.w) + dir.wb;
    at::Tensor rGates = dir.r.slice(1, 0, 2 * H),
               rHidden = dir.r.slice(1, 2 * H);
    at::Tensor bGates = dir.rb.slice(0, 0, 2 * H),
               bHidden = dir.rb.slice(0, 2 * H);
    std::vector<at::Tensor> outputs;
    for (int64_t t = 0; t < dir.steps(); ++t) {
      at::Tensor in = inputs.select(0, t);
      at::Tensor both = f(clipped(
          in.slice(-1, 0, 2 * H) + at::mm(state, rGates) + bGates, clip));
      at::Tensor update = gate(both, 0, H), reset = gate(both, 1, H);
      at::Tensor hidden = linear_before_reset
                              ? reset * (at::mm(state, rHidden) + bHidden)
                              : at::mm(reset * state, rHidden) + bHidden;
      at::Tensor candidate = g(clipped(in.slice(-1, 2 * H) + hidden, clip));
      at::Tensor out = (1 - update) * candidate + update * state;
      outputs.push_back(dir.output(t, out));
      state = dir.keep(t, out, state);
    }
    results.y.push_back(dir.turn(at::stack(outputs)));
    results.h.push_back(state);
  }
  return {results.sequence(), at::stack(results.h)};
}

std::tuple<at::Tensor, at::Tensor>
rnn(const at::Tensor &x, const at::Tensor &w, const at::Tensor &r,
    const OptionalTensor &b, const OptionalTensor &lengths,
    const OptionalTensor &h, std::string_view direction,
    std::string_view activations, at::ArrayRef<double> alpha,
    at::ArrayRef<double> beta, double clip) {
  int64_t directions = directionsOf(w, direction);
  auto functions = makeActivations(activations, alpha, beta, directions);
  Results results;
  for (int64_t d = 0; d < directions; ++d) {
    Direction dir = makeDirection(x, w, r, b, lengths, h, d, direction);
    at::Tensor state = dir.h;
    at::Tensor inputs = at::matmul(dir.x, dir.w) + (dir.wb + dir.rb);
    std::vector<at::Tensor> outputs;
    for (int64_t t = 0; t < dir.steps(); ++t) {
      at::Tensor out = functions[d](
          clipped(inputs.select(0, t) + at::mm(state, dir.r), clip));
      outputs.push_back(dir.output(t, out));
      state = dir.keep(t, out, state);
    }
    results.y.push_back(dir.turn(at::stack(outputs)));
    results.h.push_back(state);
  }
  return {results.sequence(), at::stack(results.h)};
}

} // namespace hethub::ops
