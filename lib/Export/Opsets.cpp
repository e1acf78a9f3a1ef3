//===- Opsets.cpp - versions, texts and metadata of a model ---------------===//
//
// The dialect has operators of the newest opset only, and runtimes lag behind
// it. Most nodes mean the same in older ones: where all do, the file may say
// so.
//===----------------------------------------------------------------------===//

#include "ExportDetail.h"

#include "hethub/Dialect/ONNX/IR/Node.h"
#include "hethub/Dialect/ONNX/IR/Notes.h"
#include "hethub/Dialect/ONNX/IR/Proto.h"
#include "hethub/Import/Import.h"
#include "hethub/Support/Names.h"

#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using onnx::ModelProto;
using onnx::OpSchema;

namespace hethub::exporter {

static int64_t newestOpset(const std::string &domain) {
  const auto &ranges =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto found = ranges.find(domain);
  return found == ranges.end() ? 1 : found->second.second;
}

/// Whether a type is among those of a formal; unknown types are.
static bool allows(const OpSchema::FormalParameter &formal, Type type) {
  onnx::TypeProto proto = ox::typeToProto(type);
  try {
    return proto.value_case() == onnx::TypeProto::VALUE_NOT_SET ||
           formal.GetTypes().count(onnx::Utils::DataTypeUtils::ToType(proto));
  } catch (const std::exception &) {
    return true; // of an element type that is not known
  }
}

/// Whether values fill the formals of a schema, in number and types.
template <typename Get>
static bool fit(const std::vector<OpSchema::FormalParameter> &formals,
                int least, int most, int count, Get value) {
  if (count < least || count > most || (count && formals.empty()))
    return false;
  for (int i = 0; i < count; ++i) {
    const auto &formal = formals[std::min<size_t>(i, formals.size() - 1)];
    Value present = value(i);
    if (present ? !allows(formal, present.getType())
                : formal.GetOption() != OpSchema::Optional)
      return false;
  }
  return true;
}

/// Whether a node of the newest opset is a node of that one too.
static bool isNodeOf(Operation *op, int64_t opset) {
  ox::Node node(op);
  if (!node.domain().empty())
    return true;
  const OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.opType().str(), opset, "");
  if (!schema || schema->deprecated() ||
      import::unchangedSince(node.opType()) > schema->since_version())
    return false;
  const auto &attributes = schema->attributes();
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if (!name.contains('.') && name != "operandSegmentSizes" &&
        name != "resultSegmentSizes" &&
        !attributes.count(name == "type_attr" ? "type" : name.str()))
      return false;
  }
  for (const auto &[name, attribute] : attributes)
    if (attribute.required && !node.attribute(name) && !node.subgraph(name))
      return false;
  return fit(schema->inputs(), schema->min_input(), schema->max_input(),
             node.inputCount(), [&](int i) { return node.input(i); }) &&
         fit(schema->outputs(), schema->min_output(), schema->max_output(),
             node.outputCount(), [&](int i) { return node.output(i); });
}

int64_t lowestOpset(Block &block, int64_t floor, Operation *&blame) {
  int64_t newest = newestOpset("");
  int64_t opset = std::clamp<int64_t>(floor, 1, newest);
  blame = nullptr;
  // A node that is one at some opset need not be one at a later one that
  // took something away: all of them agree at the newest.
  auto misfit = [&](int64_t at) {
    Operation *found = nullptr;
    block.walk([&](Operation *op) {
      if (!ox::isNode(op) || isNodeOf(op, at))
        return WalkResult::advance();
      found = op;
      return WalkResult::interrupt();
    });
    return found;
  };
  for (; opset < newest; ++opset) {
    Operation *found = misfit(opset);
    if (!found)
      break;
    blame = found;
  }
  return opset;
}

LogicalResult writeFacts(ModuleOp module, Block &block, int64_t opset,
                         bool ownOpset, ModelProto &model) {
  auto facts = module->getAttrOfType<DictionaryAttr>(ox::modelAttrName);
  model.set_ir_version(onnx::IR_VERSION);
  model.mutable_graph()->set_name("graph");
  if (facts)
    ox::factsToModel(facts, model);
  const int64_t newest = newestOpset("");
  auto own = facts ? facts.getAs<IntegerAttr>("opset") : nullptr;
  if (opset < 0 || opset > newest)
    return module.emitError("opset must be 1 to ")
           << newest << ", got: " << opset;
  int64_t version = newest;
  if (opset || (ownOpset && own)) {
    Operation *blame = nullptr;
    version = lowestOpset(block, opset ? opset : own.getInt(), blame);
    if (opset && version != opset)
      return blame->emitError("node must be one of opset ")
             << opset << ", but needs " << version << ": "
             << ox::Node(blame).opType();
  }
  llvm::StringSet<> domains;
  block.walk([&](Operation *op) {
    if (ox::isNode(op))
      domains.insert(ox::Node(op).domain());
  });
  auto has = [&](StringRef domain) {
    return llvm::any_of(model.opset_import(), [&](const auto &import) {
      return import.domain() == domain;
    });
  };
  std::vector<std::string> missing;
  if (own || !facts || domains.contains(""))
    missing.emplace_back("");
  for (const auto &domain : domains)
    if (!domain.getKey().empty() && !has(domain.getKey()))
      missing.push_back(domain.getKey().str());
  llvm::sort(missing);
  for (const std::string &domain : missing) {
    auto *import = model.add_opset_import();
    import->set_domain(domain);
    import->set_version(domain.empty() ? version : newestOpset(domain));
  }
  return success();
}

} // namespace hethub::exporter
