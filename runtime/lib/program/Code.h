// A function of a program, compiled to what the interpreter runs.
#pragma once

#include "hethub.pb.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hethub::runtime {

/// One argument: a constant, or values to take from the table.
struct CodeArgument {
  enum Kind {
    Fixed,
    Value,
    TensorList,
    OptionalTensorList,
    StageDevice
  } kind = Fixed;
  c10::IValue fixed;
  int32_t value = -1;
  bool lastUse = false; ///< the value moves out of the table
  std::vector<int32_t> values;
};

struct CodeInstruction;

struct CodeBlock {
  std::vector<CodeInstruction> instructions;
};

/// A block that runs again and again (hethub.Loop). The condition is the
/// instruction's own, the block its `thenBlock`.
struct CodeLoop {
  int32_t tripCount, iteration, conditionIn, conditionOut;
  std::vector<int32_t> initial, carriedIn, carriedOut, stacked;
  std::vector<at::ScalarType> stackedTypes;
  std::vector<std::vector<int64_t>> emptyShapes; ///< of one iteration's part
};

struct CodeInstruction {
  // A call ...
  std::optional<c10::OperatorHandle> op;
  std::vector<CodeArgument> arguments;
  std::vector<int32_t> results;
  bool returnsList = false; ///< a single Tensor[]: its elements are the results
  int origin = 0;
  // ... or a branch
  int32_t condition = -1;
  std::shared_ptr<CodeBlock> thenBlock, elseBlock;
  std::vector<int32_t> thenResults, elseResults;
  // ... or a loop
  std::shared_ptr<const CodeLoop> loop;
  // Values without any later use.
  std::vector<int32_t> release;
  // Outputs of the function that are computed here, where they may be given
  // away early; `isLast`: nothing behind reads the value.
  struct Output {
    int32_t value;
    size_t position;
    bool isLast;
  };
  std::vector<Output> outputs;
};

/// Compiles the arguments of calls; problems go to `problems`.
void compileCall(const Call &call, const StageProgram &program,
                 CodeInstruction &code, std::vector<std::string> &problems);

/// Fills in lastUse and release for a function whose values in `keep` live on
/// after it.
void markLastUses(CodeBlock &block, const std::vector<bool> &keep);

/// Fills in the outputs of instructions: those among `values`, which are -1
/// where an output must not be given away early.
void markEarlyOutputs(CodeBlock &block, const std::vector<int32_t> &values);

/// Marks all values that a block reads.
void collectReads(const CodeBlock &block, std::vector<bool> &reads);

/// "aten::add.Tensor (node '/layer/Add')"
std::string labelOf(const Call &call, const StageProgram &program);

} // namespace hethub::runtime
