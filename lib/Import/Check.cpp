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

/// The checker puts the node behind the message, we put it in front; a node
/// without a name goes by its output.
static std::string reworded(StringRef message, const ModelProto &model) {
  auto [text, context] =
      message.split("\n\n==> Context: Bad node spec for node. Name: ");
  if (context.empty())
    return message.str();
  auto [name, type] = context.split(" OpType: ");
  std::string node = ("node '" + name + "' (" + type + ")").str();
  if (name.empty())
    for (const NodeProto &candidate : model.graph().node())
      if (candidate.name().empty() && type == candidate.op_type()) {
        node = describe(candidate);
        break;
      }
  return (node + ": " + text.rtrim(". ")).str();
}

/// GroupNormalization of opset 18 to 20 is marked as deprecated, but files have
/// it and its conversion is exact. The checker does not look into a domain that
/// it does not know.
class HideGroupNormalization {
public:
  HideGroupNormalization(ModelProto &model, int opset) : model(model) {
    if (opset >= 18 && opset < 21)
      move("", hidden);
  }
  ~HideGroupNormalization() { move(hidden, ""); }

  static constexpr const char *hidden = "hidden.from.the.checker";

private:
  void move(const char *from, const char *to) {
    forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
      for (NodeProto &node : *graph.mutable_node())
        if (node.op_type() == "GroupNormalization" && node.domain() == from)
          node.set_domain(to);
    });
  }
  ModelProto &model;
};

void checkModel(ModelProto &model) {
  onnx::checker::CheckerContext context;
  // Weights need not be inputs, whatever the version; shapes of inputs and
  // outputs need not be known, as inside sub-graphs.
  context.set_ir_version(std::max<int>(4, model.ir_version()));
  context.set_is_main_graph(false);
  std::unordered_map<std::string, int> imports;
  for (const auto &import : model.opset_import())
    imports[import.domain()] = static_cast<int>(import.version());
  HideGroupNormalization hide(model, imports[""]);
  imports[HideGroupNormalization::hidden] = 1;
  if (!imports[""])
    imports.erase("");
  context.set_opset_imports(imports);
  onnx::checker::LexicalScopeContext scope;
  try {
    onnx::checker::check_graph(model.graph(), context, scope);
    onnx::checker::check_model_local_functions(model, context, scope);
  } catch (const onnx::checker::ValidationError &error) {
    fail(reworded(error.what(), model));
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

/// Operators of other domains that ONNX itself defines by a function
/// (FlexAttention): expanded into operators that have a lowering.
static void inlineSchemaFunctions(ModelProto &model) {
  onnx::inliner::FunctionIdVector functions;
  for (const NodeProto &node : model.graph().node()) {
    if (node.domain().empty() || node.domain() == onnx::AI_ONNX_ML_DOMAIN)
      continue;
    const auto *schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
    if (schema &&
        (schema->HasFunction() || schema->HasContextDependentFunction()))
      functions.emplace_back(node.domain(), node.op_type());
  }
  if (functions.empty())
    return;
  auto set = onnx::inliner::FunctionIdSet::Create(std::move(functions));
  onnx::inliner::InlineSelectedFunctions(model, *set, nullptr);
}

void inlineFunctions(ModelProto &model) {
  for (FunctionProto &function : *model.mutable_functions())
    for (NodeProto &node : *function.mutable_node())
      addDefaults(node, model);
  forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
    for (NodeProto &node : *graph.mutable_node())
      addDefaults(node, model);
  });
  try {
    if (!model.functions().empty())
      onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
    inlineSchemaFunctions(model);
  } catch (const std::exception &error) {
    fail("cannot inline functions: " +
         StringRef(error.what()).split('\n').first);
  }
  for (const FunctionProto &function : model.functions())
    fail("function '" + function.domain() + "." + function.name() +
         "' cannot be inlined: its opsets differ from those of the model");
}

} // namespace hethub::import
