//===- ATenDialect.h - the aten dialect without its operators --*- C++ -*-===//
//
// Passes and emitters look at calls through Call.h; only the registration names
// operator classes.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ATEN_IR_ATENDIALECT_H
#define HETHUB_DIALECT_ATEN_IR_ATENDIALECT_H

#include "hethub/Dialect/ATen/IR/Call.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hethub::aten {

mlir::ParseResult parseCall(mlir::OpAsmParser &parser,
                            mlir::OperationState &result,
                            const CallLayout &layout);
void printCall(mlir::OpAsmPrinter &printer, mlir::Operation *op,
               const CallLayout &layout);
/// Checks operands, attributes and the number of results against the schema.
llvm::LogicalResult verifyCall(mlir::Operation *op, const CallLayout &layout);

} // namespace hethub::aten

#include "hethub/Dialect/ATen/IR/ATenInterfaces.h.inc"

#include "hethub/Dialect/ATen/IR/ATenDialect.h.inc"

#endif // HETHUB_DIALECT_ATEN_IR_ATENDIALECT_H
