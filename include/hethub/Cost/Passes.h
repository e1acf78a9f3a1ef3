//===- Passes.h - passes of the cost model ---------------------*- C++ -*-===//

#ifndef HETHUB_COST_PASSES_H
#define HETHUB_COST_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace hethub::cost {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "hethub/Cost/Passes.h.inc"

} // namespace hethub::cost

#endif // HETHUB_COST_PASSES_H
