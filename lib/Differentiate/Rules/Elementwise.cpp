//===- Elementwise.cpp - rules of arithmetic on elements ------------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

static LogicalResult mul(Derivation &d) {
  d.give("self",
         [&] { return d.binary("mul.Tensor", d.grad(), d.in("other")); });
  d.give("other",
         [&] { return d.binary("mul.Tensor", d.grad(), d.in("self")); });
  return success();
}

void addElementwiseRules(RuleTable &table) { table["aten::mul.Tensor"] = mul; }

} // namespace hethub::differentiate
