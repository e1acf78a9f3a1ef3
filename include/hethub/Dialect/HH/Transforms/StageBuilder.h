//===- StageBuilder.h - moves operations into stage regions ----*- C++ -*-===//

#ifndef HETHUB_DIALECT_HH_TRANSFORMS_STAGEBUILDER_H
#define HETHUB_DIALECT_HH_TRANSFORMS_STAGEBUILDER_H

#include "hethub/Dialect/HH/Transforms/CloneRules.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace hethub::hh {

/// What an hh.stage says about itself.
struct StageDescription {
  std::string device;
  unsigned replicas = 1;
  double forwardSeconds = 0;
  // Training.
  double backwardSeconds = 0;
  double weightSeconds = 0; ///< of them, for gradients of parameters
  unsigned inFlight = 0;    ///< 0: not training
  bool recompute = false;
  int firstRank = -1; ///< of its first replica; -1: behind all stages before
};

/// Rewrites @main into one hh.stage region a stage, for any assignment of
/// operations to stages in which no operation reads a value of a later stage
/// (other than through clones).
class StageBuilder {
public:
  /// `order` is a topological order of all operations but constants,
  /// `stages[k]` the stage of `order[k]`.
  StageBuilder(mlir::func::FuncOp function, CloneRules &rules,
               llvm::ArrayRef<mlir::Operation *> order,
               llvm::ArrayRef<unsigned> stages, unsigned stageCount);

  /// The stage in which each operation of the order stands unmarked: clones
  /// have moved to their first reader.
  const std::vector<unsigned> &homes() const { return homeOf; }

  /// A stage that has nothing to compute: all that was assigned to it are
  /// clones that only later stages read and that no channel carries.
  std::optional<unsigned> emptyStage() const;

  void build(llvm::ArrayRef<StageDescription> descriptions);

private:
  /// What one stage computes, in order, and receives.
  struct Contents {
    llvm::SetVector<mlir::Operation *> local;
    llvm::SetVector<mlir::Value> imports;
    /// Shrinking views whose source is there anyway.
    llvm::DenseSet<mlir::Operation *> extraClones;
  };

  unsigned home(mlir::Operation *op) const {
    return homeOf[position.lookup(op)];
  }
  bool isClone(mlir::Operation *op, unsigned stage) const;
  void place(unsigned stage);
  void add(mlir::Operation *op, unsigned stage);
  bool cloneShrinkingViews(unsigned stage);
  bool pinClonesOfEmptyStages();
  void moveClonesToReaders();
  void buildStage(unsigned stage, const StageDescription &description,
                  llvm::ArrayRef<mlir::Value> exports, mlir::IRMapping &outer);

  mlir::func::FuncOp function;
  CloneRules &rules;
  std::vector<mlir::Operation *> order;
  std::vector<unsigned> homeOf;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  /// Clones that stay where they are and send, since their stage has nothing
  /// else to do.
  llvm::DenseSet<mlir::Operation *> pinned;
  std::vector<Contents> contents;
};

} // namespace hethub::hh

#endif // HETHUB_DIALECT_HH_TRANSFORMS_STAGEBUILDER_H
