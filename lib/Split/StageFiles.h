//===- StageFiles.h - files of the stages of a model -----------*- C++ -*-===//

#ifndef HETHUB_LIB_SPLIT_STAGEFILES_H
#define HETHUB_LIB_SPLIT_STAGEFILES_H

#include "ModelCut.h"
#include "NewFiles.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
namespace hethub::split {

/// Writes STEM.onnx, and STEM.onnx.data where weights are copied, into a
/// folder. The tensors of `model` are those of the file that `cut` was read
/// from. Gives back the bytes of its weights. Throws ModelError.
int64_t writeModelFile(const ModelCut &cut, ::onnx::ModelProto &model,
                       llvm::StringRef folder, llvm::StringRef stem,
                       bool referenceWeights, NewFiles &files);

/// The model of one stage: its nodes, and what of the model they need.
::onnx::ModelProto stageModel(const ModelCut &cut, unsigned stage);

/// A file that holds a stage.
struct StageFile {
  const ::onnx::ModelProto *model;
  std::string path; ///< relative to the manifest
  int64_t weightBytes = 0;
};

/// stages.json (docs/Split.md): which value of which file feeds which other.
/// Values have the model's own names, so that a name is a link.
llvm::json::Value describeStages(llvm::ArrayRef<StageFile> stages,
                                 llvm::ArrayRef<std::string> inputs,
                                 llvm::ArrayRef<std::string> outputs);

/// Writes a file for each stage of a cut, STEM(stage).onnx under the folder,
/// and stages.json.
void writeStages(const ModelCut &cut, llvm::StringRef folder,
                 llvm::function_ref<std::string(unsigned)> stem,
                 bool referenceWeights, NewFiles &files);

/// The model with the stage of each node noted on it.
::onnx::ModelProto annotatedModel(const ModelCut &cut,
                                  llvm::ArrayRef<std::string> devices);

} // namespace hethub::split

#endif // HETHUB_LIB_SPLIT_STAGEFILES_H
