//===- ModelFiles.h - how model files are written --------------*- C++ -*-===//
//
// What an exported model and the stages of a model share.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_EXPORT_MODELFILES_H
#define HETHUB_EXPORT_MODELFILES_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace hethub::exporter {

/// Weights of at most so many bytes stand in the model file itself.
constexpr int64_t maxInlineBytes = 1024;
/// Where tensors begin in a data file, so that they can be mapped.
constexpr int64_t dataAlignment = 4096;
/// The device configuration under which nodes name their stages.
constexpr llvm::StringLiteral pipelineConfiguration = "hethub";
/// The first version of the format that has device configurations.
constexpr int64_t configurationsVersion = 11;

/// Says in the message that its bytes are elsewhere.
void setExternal(::onnx::TensorProto &tensor, llvm::StringRef location,
                 int64_t offset, int64_t length);

/// `path` relative to `folder`; empty where it is not in it or below, so that
/// no model there can point at it.
std::string pathBelow(llvm::StringRef folder, llvm::StringRef path);

} // namespace hethub::exporter

#endif // HETHUB_EXPORT_MODELFILES_H
