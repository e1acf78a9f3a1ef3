//===- StageGradients.h - the backward pass of one stage -------*- C++ -*-===//

#ifndef HETHUB_LIB_DIFFERENTIATE_STAGEGRADIENTS_H
#define HETHUB_LIB_DIFFERENTIATE_STAGEGRADIENTS_H

#include "Derivation.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include <map>
#include <vector>

namespace hethub::differentiate {

/// A call that cannot be differentiated.
struct Refusal {
  mlir::Location loc;
  std::string operation;
  std::string reason;
};

/// The way back of a channel's gradient. The receiver is in an earlier stage:
/// it is made later.
struct GradientChannel {
  hh::SendOp send;
  hh::RecvOp recv = {};
};

/// Gradient channels by the channel of the value.
using GradientChannels = std::map<int64_t, GradientChannel>;

/// Makes the backward pass of one stage: a program that still reads the values
/// of the forward program directly (SplitPrograms.h cuts the two apart).
/// Stages are differentiated from the last one to the first.
class StageGradients {
public:
  /// `wanted`: values that need a gradient, of all stages.
  StageGradients(hh::ProgramOp forward, Gradients &gradients);

  /// `seed`: gradient of the loss where this stage makes it. Adds the channels
  /// on which gradients leave the stage.
  void run(double seed, GradientChannels &channels);

  hh::ProgramOp forward, backward;
  /// Gradients of parameters, each parameter once, in the order of their use.
  llvm::MapVector<mlir::StringAttr, Value> ofParameters;
  /// Gradients of values that depend on more than parameters: what the way back
  /// to earlier layers and stages is made of.
  llvm::SetVector<Value> ofActivations;

  size_t calls = 0; ///< calls that a gradient passed
  std::vector<Refusal> refusals;

private:
  void receive(GradientChannels &channels);
  void visit(mlir::Operation *op);
  void visitBranch(hh::IfOp op); ///< BranchGradients.cpp
  void makeBranch(hh::IfOp op, mlir::Region &branch, mlir::Region &made,
                  llvm::ArrayRef<Value> outer);
  void refuse(mlir::Operation *op, const llvm::Twine &reason);
  void add(Value value, Value gradient, mlir::Location loc);
  void collect(GradientChannels &channels);

  Gradients *gradients; ///< of the program, or of a branch while it is made
  mlir::OpBuilder builder;
};

/// Whether it is a call that draws random numbers.
bool isRandom(mlir::Operation *op);

/// Adds the values of the block that are the same for every microbatch of a
/// step: parameters, constants, and what pure calls make of such values alone.
void addValuesOfParameters(mlir::Block &block, llvm::DenseSet<Value> &values);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_STAGEGRADIENTS_H
