//===- Fourier.cpp - transforms to frequencies and back -------------------===//
//
// ONNX writes complex numbers as a last axis of 2 and real ones as one of 1; so
// does hethub.dft.
//===----------------------------------------------------------------------===//

#include "OpenHandlers.h"

using namespace mlir;

namespace hethub {

namespace {

/// Windows over a signal, one after the other: axis `axis` becomes the windows,
/// and what they hold stands in a new last axis.
Value unfold(Lowering &l, Value x, int64_t axis, int64_t size, int64_t step) {
  Dims dims(Lowering::dims(x));
  dims[axis] = (dims[axis] - size) / step + 1;
  dims.push_back(size);
  return l.call(
      "unfold", {x},
      {l.arg("dimension", axis), l.arg("size", size), l.arg("step", step)},
      Lowering::tensor(dims, Lowering::element(x)));
}

/// A scalar that must be known when compiling; nothing where it is not.
std::optional<int64_t> known(Lowering &l, unsigned input, int64_t fallback) {
  if (!l.has(input))
    return fallback;
  auto values = l.ints(l.in(input));
  if (!values || values->size() != 1)
    return std::nullopt;
  return values->front();
}

Value transform(Lowering &l, Value x, int64_t length, int64_t axis,
                bool inverse, bool onesided, RankedTensorType type) {
  return l.call("hethub.dft", {x},
                {l.arg("length", length), l.arg("axis", axis),
                 l.arg("inverse", inverse), l.arg("onesided", onesided)},
                type);
}

LogicalResult lowerDFT(Lowering &l) {
  Value x = l.in(0);
  int64_t rank = Lowering::rank(x);
  std::optional<int64_t> axis = known(l, 2, -2);
  if (!axis)
    return l.refuse("the axis must be a constant");
  if (*axis < 0)
    *axis += rank;
  if (*axis < 0 || *axis >= rank - 1)
    return l.refuse("the axis must be one of the signal's, got: " +
                    Twine(*axis));
  bool inverse = l.node.integer("inverse", 0);
  bool onesided = l.node.integer("onesided", 0);
  int64_t size = Lowering::dims(x)[*axis];
  // Of one half of a spectrum the inverse has an even length.
  std::optional<int64_t> length =
      known(l, 1, inverse && onesided ? 2 * (size - 1) : size);
  if (!length)
    return l.refuse("the length must be a constant");
  if (*length < 1)
    return l.refuse("the length must be at least 1, got: " + Twine(*length));
  return l.done(
      transform(l, x, *length, *axis, inverse, onesided, l.outType()));
}

/// Transforms of windows that follow each other.
LogicalResult lowerSTFT(Lowering &l) {
  Value signal = l.in(0), window = l.in(2);
  if (Lowering::rank(signal) == 2)
    signal = l.unsqueeze(signal, 2);
  int64_t samples = Lowering::dims(signal)[1];
  std::optional<int64_t> step = known(l, 1, 0);
  std::optional<int64_t> length =
      known(l, 3, window ? Lowering::dims(window).front() : samples);
  if (!step || !length)
    return l.refuse("frame step and length must be constants");
  if (*step < 1 || *length < 1 || *length > samples)
    return l.refuse("frames must lie within the signal, got step " +
                    Twine(*step) + " and length " + Twine(*length));
  if (window && Lowering::dims(window).front() != *length)
    return l.refuse("the window must have the length of a frame, " +
                    Twine(*length));
  // [B, frames, length, 1 or 2]
  Value frames = l.transpose(unfold(l, signal, 1, *length, *step), 2, 3);
  if (window)
    frames = l.binary("mul.Tensor", frames, l.reshape(window, {*length, 1}));
  bool onesided = l.node.integer("onesided", 1);
  return l.done(transform(l, frames, *length, 2, false, onesided, l.outType()));
}

LogicalResult lowerMelWeightMatrix(Lowering &l) {
  Values inputs;
  for (unsigned i = 0; i < 5; ++i)
    inputs.push_back(l.in(i));
  RankedTensorType type = l.outType();
  Type element =
      isFloat(type.getElementType()) ? type.getElementType() : Type(l.f32());
  Value matrix = l.call("hethub.mel_weight_matrix",
                        {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]},
                        {l.arg("dtype", element)}, type.clone(element));
  return l.done(l.cast(matrix, type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Where lengths and axes come as tensors
//===----------------------------------------------------------------------===//

LogicalResult lowerOpenDFT(Lowering &l) {
  return l.done(l.call("hethub.dft_by", {l.in(0), l.in(1), l.in(2)},
                       {l.arg("inverse", bool(l.node.integer("inverse", 0))),
                        l.arg("onesided", bool(l.node.integer("onesided", 0)))},
                       l.node.output(0).getType()));
}

LogicalResult lowerOpenSTFT(Lowering &l) {
  return l.done(l.call("hethub.stft_by", {l.in(0), l.in(1), l.in(2), l.in(3)},
                       {l.arg("onesided", bool(l.node.integer("onesided", 1)))},
                       l.node.output(0).getType()));
}

LogicalResult lowerOpenWindow(Lowering &l) {
  StringRef kind = llvm::StringSwitch<StringRef>(l.node.opType())
                       .Case("BlackmanWindow", "blackman")
                       .Case("HannWindow", "hann")
                       .Case("HammingWindow", "hamming");
  auto type = llvm::cast<TensorType>(l.node.output(0).getType());
  return l.done(l.call("hethub.window_of", {l.in(0)},
                       {l.arg("kind", kind),
                        l.arg("periodic", bool(l.node.integer("periodic", 1))),
                        l.arg("dtype", type.getElementType())},
                       type));
}

} // namespace

void addOpenSignalHandlers(OpenHandlerTable &table) {
  table["DFT"] = {lowerOpenDFT, Known::Nothing};
  table["STFT"] = {lowerOpenSTFT, Known::Nothing};
  for (const char *name : {"BlackmanWindow", "HannWindow", "HammingWindow"})
    table[name] = {lowerOpenWindow, Known::Nothing};
}

void addFourierHandlers(HandlerTable &table) {
  table["DFT"] = lowerDFT;
  table["STFT"] = lowerSTFT;
  table["MelWeightMatrix"] = lowerMelWeightMatrix;
}

} // namespace hethub
