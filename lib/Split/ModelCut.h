//===- ModelCut.h - a model as nodes that stages share out -----*- C++ -*-===//

#ifndef HETHUB_LIB_SPLIT_MODELCUT_H
#define HETHUB_LIB_SPLIT_MODELCUT_H

#include "../Import/ImportDetail.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace hethub::split {

/// A node of the main graph. What its sub-graphs read from outside it reads.
struct CutNode {
  const ::onnx::NodeProto *proto;
  std::vector<std::string> reads; ///< each name once
  /// Depends on weights alone: each stage that reads it has a copy.
  bool constant = false;
  /// No output of the model depends on it: it stays with what it reads.
  bool dead = true;
  unsigned stage = 0;
};

/// The model with its main graph's nodes in order, and what they read.
class ModelCut {
public:
  ModelCut(import::ModelFile file, ::onnx::ModelProto model);

  import::ModelFile file;
  ::onnx::ModelProto model; ///< checked and sorted, without its weights' bytes
  std::vector<CutNode> nodes;
  llvm::StringMap<unsigned> producer; ///< of a value: index of its node
  llvm::StringSet<> inputs;           ///< of the model, default values too
  llvm::StringSet<> weights;          ///< dense and sparse ones
  unsigned stageCount = 1;

  /// "layer0 (MatMul)", as messages call a node.
  std::string describe(unsigned node) const {
    return import::describe(*nodes[node].proto);
  }
  /// What the file or inference knows of a value; null: nothing.
  const ::onnx::TypeProto *typeOf(llvm::StringRef value) const;
  /// Types that only the importer finds.
  void addType(llvm::StringRef value, const ::onnx::TypeProto &type) {
    types.try_emplace(value, type);
  }

  /// Nodes that a stage computes, copies of constant ones included, in order.
  std::vector<unsigned> contents(unsigned stage) const;
  /// Gives each constant node the stage of its first reader, each dead one that
  /// of the last value it reads.
  void placeOthers();
  /// Refuses stages without a node of their own, values that flow back and
  /// values that are no tensors across a border.
  void check() const;

private:
  void inferTypes();
  void findDead();

  llvm::StringMap<::onnx::TypeProto> types;
};

/// Reads and checks a model. Throws ModelError.
ModelCut readModel(llvm::StringRef path);

/// What a node and its sub-graphs read from outside of it.
llvm::StringSet<> outerReads(const ::onnx::NodeProto &node);

} // namespace hethub::split

#endif // HETHUB_LIB_SPLIT_MODELCUT_H
