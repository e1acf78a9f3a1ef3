//===- Split.h - an ONNX model into one file a stage -----------*- C++ -*-===//
//
// Cuts the model as it stands in its file: nodes, names, opset, functions and
// metadata stay. So what nobody can lower or even describes is cut as well.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_SPLIT_SPLIT_H
#define HETHUB_SPLIT_SPLIT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

#include <optional>
#include <string>
#include <vector>

namespace hethub::split {

struct Options {
  // Where the borders are: the best ones for a cluster or for equal devices,
  // behind tensors, or where the file says.
  std::string cluster;
  unsigned stages = 0;
  std::vector<std::string> at; ///< a border each: names, separated by commas
  bool annotated = false;

  std::vector<std::string> dims; ///< "name=size": typical sizes, for the costs
  unsigned microbatches = 8;
  uint64_t workLimit = 100'000'000;
  /// Point at the model's own files instead of copying weights: the folder must
  /// be that of the data, or above it.
  bool referenceWeights = false;
  /// Also write the whole model with its stages noted on the nodes.
  bool annotate = false;
};

/// Writes `stage_K.onnx`, their data, `plan.json` and `stages.json`, which says
/// what of a stage feeds which other, into a folder. On failure one diagnostic
/// says why, and nothing is left.
llvm::LogicalResult splitModel(llvm::StringRef path, llvm::StringRef folder,
                               const Options &options,
                               mlir::MLIRContext *context);

/// Cuts the model at `path` as the module that was imported from it is
/// partitioned: `stage_K/stage.onnx` with copies of its weights, `stages.json`.
llvm::LogicalResult exportStages(mlir::ModuleOp module, llvm::StringRef path,
                                 llvm::StringRef folder);

/// The stages that the file itself names for its nodes.
struct AnnotatedStages {
  llvm::StringMap<unsigned> stageOf; ///< by the name of each result of a node
  std::vector<std::string> devices;  ///< of the stages, as the file calls them
};

/// Nothing where the file is contradictory or names none: one diagnostic says
/// which node.
std::optional<AnnotatedStages> readAnnotatedStages(llvm::StringRef path,
                                                   mlir::MLIRContext *context);

/// Marks the operations of an imported module (hh::stageMarkAttrName) with
/// them, for hh-partition.
llvm::LogicalResult markAnnotatedStages(mlir::ModuleOp module,
                                        llvm::StringRef path);

} // namespace hethub::split

#endif // HETHUB_SPLIT_SPLIT_H
