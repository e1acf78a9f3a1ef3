//===- Check.cpp - ONNX's checker and function inliner --------------------===//

#include "ImportDetail.h"

#include "hethub/Dialect/ONNX/IR/Inference.h"

#include "onnx/checker.h"
#include "onnx/inliner/inliner.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;
using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

namespace hethub::import {

/// The checker puts the node behind the message; we put it in front.
static std::string reworded(StringRef message) {
  auto [text, context] =
      message.split("\n\n==> Context: Bad node spec for node. Name: ");
  if (context.empty())
    return message.str();
  auto [name, type] = context.split(" OpType: ");
  return ("node '" + name + "' (" + type + "): " + text.rtrim(". ")).str();
}

void checkModel(ModelProto &model) {
  onnx::checker::CheckerContext context;
  // Weights need not be inputs, whatever the version; shapes of inputs and
  // outputs need not be known, as inside sub-graphs.
  context.set_ir_version(std::max<int>(4, model.ir_version()));
  context.set_is_main_graph(false);
  std::unordered_map<std::string, int> imports;
  for (const auto &import : model.opset_import())
    imports[import.domain()] = static_cast<int>(import.version());
  context.set_opset_imports(imports);
  onnx::checker::LexicalScopeContext scope;
  try {
    onnx::checker::check_graph(model.graph(), context, scope);
    onnx::checker::check_model_local_functions(model, context, scope);
  } catch (const onnx::checker::ValidationError &error) {
    fail(reworded(error.what()));
  }
}

/// The inliner forgets the default values of a function's attributes: writes
/// them into each call.
static void addDefaults(NodeProto &node, const ModelProto &model) {
  for (const FunctionProto &function : model.functions()) {
    if (function.name() != node.op_type() ||
        function.domain() != node.domain() ||
        function.overload() != node.overload())
      continue;
    for (const AttributeProto &fallback : function.attribute_proto())
      if (llvm::none_of(node.attribute(), [&](const AttributeProto &given) {
            return given.name() == fallback.name();
          }))
        *node.add_attribute() = fallback;
  }
}

void inlineFunctions(ModelProto &model) {
  if (model.functions().empty())
    return;
  for (FunctionProto &function : *model.mutable_functions())
    for (NodeProto &node : *function.mutable_node())
      addDefaults(node, model);
  forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
    for (NodeProto &node : *graph.mutable_node())
      addDefaults(node, model);
  });
  try {
    onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
  } catch (const std::exception &error) {
    fail("cannot inline functions: " +
         StringRef(error.what()).split('\n').first);
  }
  // Domains that only the functions used.
  for (const FunctionProto &function : model.functions())
    fail("function '" + function.domain() + "." + function.name() +
         "' cannot be inlined: its opsets differ from those of the model");
}

} // namespace hethub::import
