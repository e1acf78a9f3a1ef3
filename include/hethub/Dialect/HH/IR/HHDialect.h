//===- HHDialect.h - devices, parameters, stages, channels -----*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_IR_HHDIALECT_H
#define HETHUB_DIALECT_HH_IR_HHDIALECT_H

#include "hethub/Dialect/HH/IR/CostInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "hethub/Dialect/HH/IR/HHDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "hethub/Dialect/HH/IR/HHAttributes.h.inc"

#define GET_OP_CLASSES
#include "hethub/Dialect/HH/IR/HHOps.h.inc"

namespace hethub::hh {

/// Marks an operation that was copied into a stage because that is cheaper than
/// to send its result.
constexpr llvm::StringLiteral cloneAttrName = "hh.clone";
/// The #hh.cost of an operation.
constexpr llvm::StringLiteral costAttrName = "hh.cost";
/// On stages and programs: predicted seconds of one microbatch on one replica.
constexpr llvm::StringLiteral forwardSecondsAttrName = "hh.forward_seconds";

// Arguments and results of training programs (docs/Training.md).

/// Number of the slot that the value is saved in.
constexpr llvm::StringLiteral savedAttrName = "hh.saved";
/// Result: gradient of the parameter.
constexpr llvm::StringLiteral gradientAttrName = "hh.gradient";
/// Result: the new value of the parameter.
constexpr llvm::StringLiteral updateAttrName = "hh.update";
/// Result of @main and of programs: the loss.
constexpr llvm::StringLiteral lossAttrName = "hh.loss";
/// On stages and programs: the forward pass is computed again for the backward
/// pass.
constexpr llvm::StringLiteral recomputeAttrName = "hh.recompute";
/// On stages and programs: predicted seconds of one microbatch's backward pass
/// on one replica.
constexpr llvm::StringLiteral backwardSecondsAttrName = "hh.backward_seconds";

/// Of operations, and of arguments: types of the results where open dims have
/// their typical sizes.
constexpr llvm::StringLiteral typicalTypesAttrName = "hh.typical_types";
constexpr llvm::StringLiteral typicalTypeAttrName = "hh.typical_type";

/// The type by which costs take a value: its typical one where that is noted.
mlir::Type typicalType(mlir::Value value);

/// Bytes of a value of a tensor type; elements of less than a byte count as
/// one, and so do sizes that only a run knows. 0 for other types.
int64_t byteSize(mlir::Type type);

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_IR_HHDIALECT_H
