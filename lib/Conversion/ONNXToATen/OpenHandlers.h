//===- OpenHandlers.h - nodes whose shapes only a run knows ----*- C++ -*-===//
//
// Ordinary handlers see static shapes. A node that has others, or one whose
// handler refuses since sizes or axes are no constants, is lowered by the table
// here: to functions of the runtime that take them as tensors, or by the
// ordinary handler where that looks at nothing but what is known.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_OPENHANDLERS_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_OPENHANDLERS_H

#include "Lowering.h"

namespace hethub {

/// What a handler needs to know of the tensors of a node.
enum class Known {
  Nothing, ///< takes tensors of any rank, sequences and optionals
  Ranks,   ///< ranks of all tensors
  Tail,    ///< and sizes of input 0 from the axis of attribute `axis` (-1) on
};

struct OpenHandler {
  Handler handler;
  Known needs;
};
using OpenHandlerTable = llvm::StringMap<OpenHandler>;

/// Those of `ordinary` that do not look at sizes stand in for themselves.
void addOpenShapeHandlers(OpenHandlerTable &table,
                          const HandlerTable &ordinary);
void addSequenceHandlers(OpenHandlerTable &table);
void addOpenSearchHandlers(OpenHandlerTable &table);
void addOpenSignalHandlers(OpenHandlerTable &table);
void addTextHandlers(OpenHandlerTable &table);
void addOpenWindowHandlers(OpenHandlerTable &table);

/// Why the types of a node do not fit; empty where they do.
std::string refusedBy(Known needs, mlir::Operation *op);

/// Lowers If, Loop, Scan or SequenceMap and, by `lowerBlock`, what is in its
/// sub-graphs.
llvm::LogicalResult
lowerControlFlow(Lowering &l,
                 llvm::function_ref<void(mlir::Block &)> lowerBlock);
bool isControlFlow(llvm::StringRef opType);

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_OPENHANDLERS_H
