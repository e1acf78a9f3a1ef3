//===- StageFiles.h - files of the stages of a model -----------*- C++ -*-===//

#ifndef HETHUB_LIB_SPLIT_STAGEFILES_H
#define HETHUB_LIB_SPLIT_STAGEFILES_H

#include "ModelCut.h"

#include "llvm/ADT/ArrayRef.h"
namespace hethub::split {

/// Writes STEM.onnx, and STEM.onnx.data where weights are copied, into a
/// folder. The tensors of `model` are those of the file that `cut` was read
/// from. Gives back the bytes of its weights. Throws ModelError.
int64_t writeModelFile(const ModelCut &cut, ::onnx::ModelProto &model,
                       llvm::StringRef folder, llvm::StringRef stem,
                       bool referenceWeights);

/// The model of one stage: its nodes, and what of the model they need.
::onnx::ModelProto stageModel(const ModelCut &cut, unsigned stage);

/// The model with the stage of each node noted on it.
::onnx::ModelProto annotatedModel(const ModelCut &cut,
                                  llvm::ArrayRef<std::string> devices);

} // namespace hethub::split

#endif // HETHUB_LIB_SPLIT_STAGEFILES_H
