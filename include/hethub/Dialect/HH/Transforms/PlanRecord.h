//===- PlanRecord.h - plan.json as an attribute ----------------*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_PLANRECORD_H
#define HETHUB_DIALECT_HH_TRANSFORMS_PLANRECORD_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <optional>

namespace hethub::hh {

/// JSON as attributes and back: objects are dictionaries, integers i64, other
/// numbers f64, null the unit attribute.
mlir::Attribute toAttribute(mlir::MLIRContext *context,
                            const llvm::json::Value &value);
llvm::json::Value toJSON(mlir::Attribute attribute);

/// The plan that hh-partition left in the module: the fields of plan.json.
std::optional<llvm::json::Value> planJSON(mlir::ModuleOp module);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_PLANRECORD_H
