//===- Inference.h - ONNX's own inference over operations ------*- C++ -*-===//
//
// Types and shapes of results come from the inference functions of the ONNX
// library, through an adapter that shows an MLIR operation to them as a node.
// What they lack stands in small tables of Inference.cpp.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_ONNX_IR_INFERENCE_H
#define HETHUB_DIALECT_ONNX_IR_INFERENCE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include <memory>
#include <optional>
#include <string>

namespace hethub::ox {

/// Holds what is known of integer values (ONNX's data propagation) from one
/// operation to the next, so infer() must be called in the order of the graph.
/// Types only ever get more exact; a contradiction is an error.
class Inference {
public:
  Inference();
  ~Inference();

  /// Refines the types of the results of `op` and, for operators with
  /// sub-graphs, of all that is inside. Operations with an operand of unknown
  /// type, and those of other dialects, are left as they are. On failure
  /// `error` says why, without the name of `op`.
  llvm::LogicalResult infer(mlir::Operation *op, std::string &error);

  /// Infers the operations of a block in order and reports failures as
  /// diagnostics.
  llvm::LogicalResult infer(mlir::Block &block);

  /// The values of a small integer tensor as far as they are known, in order;
  /// nothing where the tensor is not known at all.
  std::optional<llvm::SmallVector<std::optional<int64_t>>>
  knownValues(mlir::Value value) const;

  /// Must be called before an operation is erased: another one may get its
  /// place in memory.
  void forget(mlir::Operation *op);

  /// Implementation detail, public for the adapter.
  struct State;

private:
  std::unique_ptr<State> state;
};

/// The more exact of two types that describe the same value, or null if they
/// contradict each other.
mlir::Type mergeTypes(mlir::Type a, mlir::Type b);

/// True for domains whose operators the ONNX library or a table of ours
/// describes.
bool isKnownOperator(llvm::StringRef domain, llvm::StringRef opType);

} // namespace hethub::ox

#endif // HETHUB_DIALECT_ONNX_IR_INFERENCE_H
