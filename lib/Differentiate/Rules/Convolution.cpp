//===- Convolution.cpp - rules of convolutions and unfolding --------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

static LogicalResult convolution(Derivation &d) {
  Value x = d.in("input"), w = d.in("weight"), bias = d.in("bias");
  bool wantsBias = d.wants("bias");
  Type element = d.element(d.grad());
  auto backward = [&](bool ofInput, bool ofWeight, bool ofBias) {
    SmallVector<NamedArg> args =
        d.arguments({"stride", "padding", "dilation", "transposed",
                     "output_padding", "groups"});
    if (bias)
      args.push_back(d.arg("bias_sizes", d.dims(bias)));
    args.push_back(d.mask({ofInput, ofWeight, ofBias}));
    return d.calls("convolution_backward", {d.grad(), x, w}, args,
                   {ofInput ? d.typeOf(x) : d.absent(element),
                    ofWeight ? d.typeOf(w) : d.absent(element),
                    ofBias ? d.typeOf(bias) : d.absent(element)});
  };
  d.give("input", [&] { return backward(true, false, false)[0]; });
  if (!d.wants("weight") && !wantsBias)
    return success();
  Values gradients = backward(false, d.wants("weight"), wantsBias);
  d.give("weight", [&] { return gradients[1]; });
  d.give("bias", [&] { return gradients[2]; });
  return success();
}

static Value col2im(Derivation &d) {
  return d.call("im2col", {d.grad()},
                d.arguments({"kernel_size", "dilation", "padding", "stride"}),
                d.typeOf(d.self()));
}

void addConvolutionRules(RuleTable &table) {
  table["aten::col2im"] = ofSelf<col2im>;
  table["aten::convolution"] = convolution;
}

} // namespace hethub::differentiate
