//===- ONNXDialect.h - the onnx dialect without its operators --*- C++ -*-===//
//
// What passes need that treat nodes alike: dialect, types, the layout of a
// node. The header of all operators (ONNXOps.h, 66,000 generated lines) is only
// for code that names operator classes.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_ONNXDIALECT_H
#define HETHUB_DIALECT_ONNX_IR_ONNXDIALECT_H

#include "hethub/Dialect/HH/IR/CostInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hethub::ox {

/// How the formal inputs and outputs of a schema map to operands and results. A
/// variadic formal is always the last. Where `inputSegments` holds, an
/// AttrSizedOperandSegments attribute stores which formals are present.
struct NodeLayout {
  const char *name;   ///< operator name in ONNX
  const char *domain; ///< "" or "ai.onnx.ml"
  int sinceVersion;
  int inputs;
  bool inputVariadic;
  bool inputSegments;
  int outputs;
  bool outputVariadic;
  bool outputSegments;
  const char *regions[2];
  int regionCount;
};

mlir::ParseResult parseNode(mlir::OpAsmParser &parser,
                            mlir::OperationState &result,
                            const NodeLayout &layout);
void printNode(mlir::OpAsmPrinter &printer, mlir::Operation *op,
               const NodeLayout &layout);
/// Checks attributes and types against the operator's schema and its own
/// inference function.
llvm::LogicalResult verifyNode(mlir::Operation *op);
/// The work of one execution, by operator class; see
/// lib/Dialect/ONNX/IR/Work.cpp.
hh::OpWork workOf(mlir::Operation *op);

} // namespace hethub::ox

#include "hethub/Dialect/ONNX/IR/ONNXInterfaces.h.inc"

#include "hethub/Dialect/ONNX/IR/ONNXDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "hethub/Dialect/ONNX/IR/ONNXTypes.h.inc"

#endif // HETHUB_DIALECT_ONNX_IR_ONNXDIALECT_H
