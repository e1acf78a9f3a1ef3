//===- CloneRules.h - what is copied between stages, not sent --*- C++ -*-===//
//
// Values reach another stage in one of two ways: through a channel, or by
// computing them there again. This decides.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_CLONERULES_H
#define HETHUB_DIALECT_HH_TRANSFORMS_CLONERULES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace hethub::hh {

/// Constants and hh.get_parameter: no operation of the model, copied to every
/// reader.
bool isConstantLike(mlir::Operation *op);

/// Operations whose results hold elements of their first operand: LibTorch runs
/// them as views or plain copies.
bool isViewLike(mlir::Operation *op);

/// A tensor that a channel can carry: static shape, numbers or booleans.
bool isSendable(mlir::Type type);

/// The values that an operation reads, those that its regions capture included;
/// in order, each once.
llvm::SetVector<mlir::Value> readValues(mlir::Operation *op);

/// Judges the operations of a function that is about to be partitioned.
class CloneRules {
public:
  enum class Kind {
    Node,      ///< computed in one stage; its values are sent
    Shrinking, ///< a view of at most half its source's size: sent, unless its
               ///< source is there anyway
    Clone,     ///< copied into every stage that reads it
  };

  explicit CloneRules(mlir::func::FuncOp function);

  Kind kind(mlir::Operation *op) const { return kinds.lookup(op); }
  /// What the value comes from, looking through operations of kind Clone:
  /// values of nodes, and function arguments.
  const llvm::SetVector<mlir::Value> &sources(mlir::Value value);
  /// The parameters that a reader of the value needs when the clones in between
  /// stand in its stage.
  llvm::SetVector<mlir::StringAttr> parameters(mlir::Operation *reader);

private:
  Kind judge(mlir::Operation *op);

  /// Computed once, when a program is loaded: no cost while a model runs.
  llvm::DenseSet<mlir::Value> ofParameters;
  llvm::DenseMap<mlir::Operation *, Kind> kinds;
  llvm::DenseMap<mlir::Value, llvm::SetVector<mlir::Value>> sourcesOf;
};

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_CLONERULES_H
