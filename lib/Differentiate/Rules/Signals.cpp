//===- Signals.cpp - Fourier transforms and windows over signals ----------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

/// An axis cut or filled up with zeros to a size.
Value fitted(Derivation &d, Value x, int64_t axis, int64_t size) {
  int64_t now = d.dims(x)[axis];
  if (now >= size)
    return d.slice(x, axis, 0, size);
  Dims before(d.rank(x), 0), after(d.rank(x), 0);
  after[axis] = size - now;
  return d.pad(x, before, after, 0.0);
}

Value transform(Derivation &d, Value x, int64_t length, int64_t axis,
                bool inverse, bool onesided, Dims dims) {
  dims.back() = 2;
  return d.call("hethub.dft", {x},
                {d.arg("length", length), d.arg("axis", axis),
                 d.arg("inverse", inverse), d.arg("onesided", onesided)},
                d.tensor(dims, d.element(x)));
}

/// The transform is a matrix whose conjugate transpose is the inverse one, up
/// to the length.
Value fourier(Derivation &d) {
  Value x = d.in("x"), g = d.grad();
  int64_t length = d.integer("length"), axis = d.axis("axis", d.rank(x));
  bool inverse = d.flag("inverse"), onesided = d.flag("onesided");
  Dims dims(d.dims(g));
  Value y;
  if (inverse && onesided) {
    // Of one half each number stands for two, but for the ends.
    dims[axis] = length / 2 + 1;
    y = transform(d, g, length, axis, false, true, dims);
    SmallVector<double> shares(dims[axis], 2.0 / length);
    shares.front() = 1.0 / length;
    if (length % 2 == 0)
      shares.back() = 1.0 / length;
    Dims shape(d.rank(x), 1);
    shape[axis] = dims[axis];
    y = d.mul(y, d.constantReals(shares, shape, d.element(x)));
  } else {
    if (onesided)
      g = fitted(d, g, axis, length);
    dims[axis] = length;
    y = transform(d, g, length, axis, !inverse, false, dims);
    y = d.times(y, inverse ? 1.0 / length : length);
  }
  y = fitted(d, y, axis, d.dims(x)[axis]);
  int64_t last = d.rank(x) - 1;
  return d.slice(y, last, 0, d.dims(x)[last]); // a real signal: the real part
}

LogicalResult dft(Derivation &d) {
  d.give("x", [&] { return fourier(d); });
  return success();
}

Value unfold(Derivation &d) {
  Value x = d.self();
  return d.call("unfold_backward", {d.grad()},
                {d.arg("input_sizes", d.dims(x)),
                 d.arg("dim", d.axis("dimension", d.rank(x))), d.same("size"),
                 d.same("step")},
                d.typeOf(x));
}

} // namespace

void addSignalRules(RuleTable &table) {
  table["aten::unfold"] = ofSelf<unfold>;
  table["hethub::dft"] = dft;
  table["hethub::mel_weight_matrix"] = nullptr;
}

} // namespace hethub::differentiate
