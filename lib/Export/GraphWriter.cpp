//===- GraphWriter.cpp - operations to nodes of a graph -------------------===//

#include "ExportDetail.h"

#include "hethub/Dialect/ONNX/IR/Inference.h"
#include "hethub/Dialect/ONNX/IR/Node.h"
#include "hethub/Dialect/ONNX/IR/Notes.h"
#include "hethub/Dialect/ONNX/IR/Proto.h"
#include "hethub/Import/Import.h"
#include "hethub/Support/Names.h"
#include "hethub/Support/Notes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;
using onnx::ValueInfoProto;

namespace hethub::exporter {

namespace {

/// A graph under construction, and the one around it: a name that is defined
/// there has one meaning in both.
struct Frame {
  GraphProto &graph;
  Frame *outer = nullptr;
  llvm::StringSet<> names;
  llvm::StringSet<> reserved; ///< for outputs that are not defined yet
  llvm::StringSet<> nodeNames;
  llvm::StringMap<std::string> parameters; ///< by symbol
  std::optional<int64_t> stage;            ///< that its nodes are in

  bool hasName(StringRef name) const {
    for (const Frame *frame = this; frame; frame = frame->outer)
      if (frame->names.contains(name))
        return true;
    return false;
  }

  std::string fresh(StringRef wanted) {
    std::string name = wanted.empty() ? "value" : wanted.str();
    for (int suffix = 1; hasName(name) || reserved.contains(name); ++suffix)
      name = ((wanted.empty() ? "value" : wanted) + "." + Twine(suffix)).str();
    names.insert(name);
    return name;
  }
};

class GraphWriter {
public:
  GraphWriter(ModuleOp module, const PlaceParameter &place)
      : module(module), symbols(module), place(place) {}

  LogicalResult writeMain(Block &block, ArrayRef<Port> inputs,
                          ArrayRef<Port> outputs, GraphProto &graph);

private:
  LogicalResult writeUnread(Frame &frame);
  LogicalResult writeBody(Block &block, Frame &frame);
  LogicalResult writeStage(hh::StageOp stage, Frame &frame);
  LogicalResult writeNode(Operation *op, Frame &frame);
  LogicalResult writeAttributes(const ox::Node &source, NodeProto &node);
  LogicalResult writeSubgraph(Region &region, StringRef name, Frame &outer,
                              GraphProto &graph);
  LogicalResult writeParameter(hh::GetParameterOp get, Frame &frame);
  LogicalResult writeConstant(Operation *op, Frame &frame);
  void writeConstantNode(Operation *op, TensorProto &tensor, Frame &frame);
  void declareResults(Operation *op, Frame &frame);
  LogicalResult placeParameter(hh::ParameterOp parameter, TensorProto &tensor);

  LogicalResult addWeight(hh::ParameterOp parameter, const std::string &name,
                          Frame &frame);
  void define(Value value, Frame &frame);
  void connect(Value value, const std::string &name, Frame &frame);

  ModuleOp module;
  SymbolTable symbols;
  const PlaceParameter &place;
  llvm::DenseMap<Value, std::string> nameOf;
  llvm::DenseSet<Operation *> written; ///< parameters
};

/// A value that stands in the graph without a node.
bool isWeight(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<hh::GetParameterOp>(op) || ox::constantValue(value));
}

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// A result keeps its name unless the graph has another value of that name.
void GraphWriter::define(Value value, Frame &frame) {
  if (auto found = nameOf.find(value); found != nameOf.end()) {
    frame.names.insert(found->second); // an output has its name
    return;
  }
  std::string name = valueName(value);
  // The model had no name for it.
  if (name.empty() && value.use_empty())
    nameOf[value] = "";
  else
    nameOf[value] = frame.fresh(name);
}

/// Makes `name` a name of the value too.
void GraphWriter::connect(Value value, const std::string &name, Frame &frame) {
  NodeProto *node = frame.graph.add_node();
  node->set_op_type("Identity");
  node->add_input(nameOf.lookup(value));
  node->add_output(name);
}

/// A node without a name is called by its first result. Runtimes refuse a name
/// that two nodes of a graph have.
static void setName(Operation *op, Frame &frame, NodeProto &node) {
  StringRef name = nodeName(op);
  bool called = op->getNumResults() && name == valueName(op->getResult(0));
  if (name.empty() || (called && !note(op->getLoc(), "named")))
    return;
  std::string unique = name.str();
  for (int suffix = 1; !frame.nodeNames.insert(unique).second; ++suffix)
    unique = (name + "." + Twine(suffix)).str();
  node.set_name(unique);
}

template <typename Message>
static void setTexts(Location loc, Message &message) {
  NodeProto texts;
  ox::notesToNode(loc, texts);
  if (!texts.doc_string().empty())
    message.set_doc_string(texts.doc_string());
  message.mutable_metadata_props()->Swap(texts.mutable_metadata_props());
}

//===----------------------------------------------------------------------===//
// Weights and constants
//===----------------------------------------------------------------------===//

LogicalResult GraphWriter::addWeight(hh::ParameterOp parameter,
                                     const std::string &name, Frame &frame) {
  TensorProto *tensor = frame.graph.add_initializer();
  tensor->set_name(name);
  setTexts(parameter.getLoc(), *tensor);
  return placeParameter(parameter, *tensor);
}

LogicalResult GraphWriter::placeParameter(hh::ParameterOp parameter,
                                          TensorProto &tensor) {
  auto type = cast<RankedTensorType>(parameter.getType());
  tensor.set_data_type(ox::elementToProto(type.getElementType()));
  for (int64_t dim : type.getShape())
    tensor.add_dims(dim);
  written.insert(parameter);
  return place(parameter, tensor);
}

/// Nothing is dropped: weights that no operation reads stay.
LogicalResult GraphWriter::writeUnread(Frame &frame) {
  for (auto parameter : module.getOps<hh::ParameterOp>()) {
    if (written.contains(parameter))
      continue;
    StringRef wanted = nodeName(parameter.getLoc());
    std::string name =
        frame.fresh(wanted.empty() ? parameter.getSymName() : wanted);
    if (failed(addWeight(parameter, name, frame)))
      return failure();
  }
  return success();
}

/// In the graph that reads it first, as in the file.
LogicalResult GraphWriter::writeParameter(hh::GetParameterOp get,
                                          Frame &frame) {
  StringRef symbol = get.getParameter();
  for (Frame *at = &frame; at; at = at->outer)
    if (auto found = at->parameters.find(symbol);
        found != at->parameters.end()) {
      nameOf[get.getResult()] = found->second;
      return success();
    }
  auto parameter = symbols.lookup<hh::ParameterOp>(symbol);
  if (!parameter)
    return get.emitError("nothing declares the parameter '") << symbol << "'";
  StringRef wanted = nodeName(parameter.getLoc());
  std::string name = nameOf.lookup(get.getResult());
  if (name.empty())
    name = frame.fresh(wanted.empty() ? symbol : wanted);
  frame.parameters[symbol] = name;
  nameOf[get.getResult()] = name;
  if (!note(get.getLoc(), "constant"))
    return addWeight(parameter, name, frame);
  TensorProto tensor;
  if (failed(placeParameter(parameter, tensor)))
    return failure();
  // Runtimes read external data of weights alone.
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    tensor.set_name(name);
    frame.graph.add_initializer()->Swap(&tensor);
  } else {
    writeConstantNode(get, tensor, frame);
  }
  return success();
}

/// A Constant has forms that are no tensor.
static void setForm(StringRef form, TensorProto &tensor,
                    AttributeProto &attribute) {
  attribute.set_name(form.str());
  auto values = [&](auto *data) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    std::vector<T> result(tensor.raw_data().size() / sizeof(T));
    std::memcpy(result.data(), tensor.raw_data().data(),
                result.size() * sizeof(T));
    return result;
  };
  if (form == "value_int" || form == "value_ints") {
    std::vector<int64_t> numbers = values(static_cast<int64_t *>(nullptr));
    attribute.set_type(form == "value_int" ? AttributeProto::INT
                                           : AttributeProto::INTS);
    if (form == "value_int")
      attribute.set_i(numbers.front());
    else
      attribute.mutable_ints()->Assign(numbers.begin(), numbers.end());
  } else if (form == "value_float" || form == "value_floats") {
    std::vector<float> numbers = values(static_cast<float *>(nullptr));
    attribute.set_type(form == "value_float" ? AttributeProto::FLOAT
                                             : AttributeProto::FLOATS);
    if (form == "value_float")
      attribute.set_f(numbers.front());
    else
      attribute.mutable_floats()->Assign(numbers.begin(), numbers.end());
  } else if (form == "value_string") {
    attribute.set_type(AttributeProto::STRING);
    attribute.set_s(tensor.string_data(0));
  } else if (form == "value_strings") {
    attribute.set_type(AttributeProto::STRINGS);
    *attribute.mutable_strings() = tensor.string_data();
  } else {
    attribute.set_name("value");
    attribute.set_type(AttributeProto::TENSOR);
    attribute.mutable_t()->Swap(&tensor);
  }
}

LogicalResult GraphWriter::writeConstant(Operation *op, Frame &frame) {
  auto value = op->getAttrOfType<DenseElementsAttr>("value");
  if (!value)
    return op->emitError("a constant must have dense values to be exported");
  define(op->getResult(0), frame);
  TensorProto tensor = ox::tensorToProto(value);
  if (note(op->getLoc(), "constant")) {
    writeConstantNode(op, tensor, frame);
    return success();
  }
  tensor.set_name(nameOf[op->getResult(0)]);
  setTexts(op->getLoc(), tensor);
  frame.graph.add_initializer()->Swap(&tensor);
  return success();
}

/// What was a node stays one.
void GraphWriter::writeConstantNode(Operation *op, TensorProto &tensor,
                                    Frame &frame) {
  NodeProto *node = frame.graph.add_node();
  node->set_op_type("Constant");
  setName(op, frame, *node);
  node->add_output(nameOf.lookup(op->getResult(0)));
  ox::notesToNode(op->getLoc(), *node);
  setForm(noteOf<StringAttr>(op->getLoc(), "constant").getValue(), tensor,
          *node->add_attribute());
  declareResults(op, frame);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphWriter::writeAttributes(const ox::Node &source,
                                           NodeProto &node) {
  Operation *op = source.operation();
  auto add = [&](StringRef name, Attribute value) -> LogicalResult {
    AttributeProto *attribute = node.add_attribute();
    if (!ox::attributeToProto(name, value, *attribute))
      return op->emitError("attribute must have a form in ONNX: ") << name;
    return success();
  };
  if (!isa<ox::NodeInterface>(op)) {
    for (NamedAttribute field : op->getAttrOfType<DictionaryAttr>("fields"))
      if (failed(add(field.getName(), field.getValue())))
        return failure();
    return success();
  }
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    // Those of other dialects have a prefix.
    if (name.contains('.') || name == "operandSegmentSizes" ||
        name == "resultSegmentSizes")
      continue;
    if (failed(add(name == "type_attr" ? "type" : name, attribute.getValue())))
      return failure();
  }
  return success();
}

LogicalResult GraphWriter::writeNode(Operation *op, Frame &frame) {
  ox::Node source(op);
  NodeProto node;
  node.set_op_type(source.opType().str());
  if (StringRef domain =
          import::domainInFiles(source.domain(), source.opType());
      !domain.empty())
    node.set_domain(domain.str());
  setName(op, frame, node);
  for (unsigned i = 0; i < source.inputCount(); ++i) {
    Value input = source.input(i);
    if (input && !nameOf.contains(input))
      return op->emitError("an operand is defined outside of what is exported");
    node.add_input(input ? nameOf.lookup(input) : "");
  }
  if (failed(writeAttributes(source, node)))
    return failure();
  if (auto layout = dyn_cast<ox::NodeInterface>(op))
    for (int i = 0; i < layout.getNodeLayout().regionCount; ++i) {
      AttributeProto *attribute = node.add_attribute();
      attribute->set_name(layout.getNodeLayout().regions[i]);
      attribute->set_type(AttributeProto::GRAPH);
      if (failed(writeSubgraph(op->getRegion(i), attribute->name(), frame,
                               *attribute->mutable_g())))
        return failure();
    }
  // Behind the sub-graphs: those do not see the results.
  for (Value result : op->getResults())
    define(result, frame);
  for (unsigned i = 0; i < source.outputCount(); ++i) {
    Value output = source.output(i);
    node.add_output(output ? nameOf.lookup(output) : "");
  }
  ox::notesToNode(op->getLoc(), node);
  if (frame.stage) {
    node.clear_device_configurations();
    auto *device = node.add_device_configurations();
    device->set_configuration_id(pipelineConfiguration.str());
    device->set_pipeline_stage(static_cast<int32_t>(*frame.stage));
  }
  frame.graph.add_node()->Swap(&node);
  declareResults(op, frame);
  return success();
}

/// Types that the file declares.
void GraphWriter::declareResults(Operation *op, Frame &frame) {
  auto declared = noteOf<ArrayAttr>(op->getLoc(), "declared");
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    auto declaration = declared && index < declared.size()
                           ? dyn_cast<DictionaryAttr>(declared[index])
                           : nullptr;
    if (!declaration || declaration.empty() || nameOf.lookup(result).empty())
      continue;
    ValueInfoProto *info = frame.graph.add_value_info();
    info->set_name(nameOf.lookup(result));
    ox::declarationToProto(declaration, result.getType(), *info);
  }
}

LogicalResult GraphWriter::writeSubgraph(Region &region, StringRef name,
                                         Frame &outer, GraphProto &graph) {
  Block &block = region.front();
  Operation *yield = block.getTerminator();
  Frame frame{graph, &outer, {}, {}, {}, {}, std::nullopt};
  StringRef own = nodeName(yield);
  graph.set_name(own.empty() ? name.str() : own.str());
  setTexts(yield->getLoc(), graph);
  auto declare = [&](Location loc, unsigned index, Value value,
                     ValueInfoProto &info) {
    auto declared = noteOf<ArrayAttr>(loc, "declared");
    auto declaration = declared && index < declared.size()
                           ? dyn_cast<DictionaryAttr>(declared[index])
                           : nullptr;
    if (declaration)
      ox::declarationToProto(declaration, value.getType(), info);
  };
  for (BlockArgument argument : block.getArguments()) {
    define(argument, frame);
    ValueInfoProto *info = graph.add_input();
    info->set_name(nameOf.lookup(argument));
    declare(argument.getLoc(), 0, argument, *info);
  }
  if (failed(writeBody(block, frame)))
    return failure();
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
    ValueInfoProto *info = graph.add_output();
    declare(yield->getLoc(), index, value, *info);
    if (!nameOf.contains(value))
      return yield->emitError("a result of a sub-graph is defined outside of "
                              "what is exported");
    std::string result = nameOf.lookup(value);
    // ONNX asks for a node where an outer value is a result.
    if (!frame.names.contains(result)) {
      result = frame.fresh(result + "_passed_on");
      connect(value, result, frame);
    }
    info->set_name(result);
  }
  return success();
}

/// The operations of a stage stand among the others again.
LogicalResult GraphWriter::writeStage(hh::StageOp stage, Frame &frame) {
  Block &body = stage.getBody().front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), stage.getInputs()))
    nameOf[argument] = nameOf.lookup(input);
  Operation *yield = body.getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(stage.getOutputs(), yield->getOperands()))
    if (nameOf.contains(result) && !isWeight(value) && value.getDefiningOp() &&
        !nameOf.contains(value))
      nameOf[value] = nameOf.lookup(result); // an output of the model
  frame.stage = stage.getIndex();
  if (failed(writeBody(body, frame)))
    return failure();
  for (auto [result, value] :
       llvm::zip_equal(stage.getOutputs(), yield->getOperands())) {
    if (nameOf.contains(result) &&
        nameOf.lookup(result) != nameOf.lookup(value))
      connect(value, nameOf.lookup(result), frame);
    else
      nameOf[result] = nameOf.lookup(value);
  }
  frame.stage = std::nullopt;
  return success();
}

LogicalResult GraphWriter::writeBody(Block &block, Frame &frame) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    LogicalResult written = failure();
    if (auto stage = dyn_cast<hh::StageOp>(op))
      written = writeStage(stage, frame);
    else if (auto get = dyn_cast<hh::GetParameterOp>(op))
      written = writeParameter(get, frame);
    else if (op.getNumResults() == 1 && ox::constantValue(op.getResult(0)))
      written = writeConstant(&op, frame);
    else if (ox::isNode(&op))
      written = writeNode(&op, frame);
    else
      op.emitError("operation must be of the onnx dialect to be exported, "
                   "got: ")
          << op.getName();
    if (failed(written))
      return failure();
  }
  return success();
}

LogicalResult GraphWriter::writeMain(Block &block, ArrayRef<Port> inputs,
                                     ArrayRef<Port> outputs,
                                     GraphProto &graph) {
  Frame frame{graph, nullptr, {}, {}, {}, {}, std::nullopt};
  for (const Port &input : inputs) {
    nameOf[input.value] = input.info.name();
    frame.names.insert(input.info.name());
    *graph.add_input() = input.info;
  }
  // Outputs have their names whatever passes made of the values.
  for (const Port &output : outputs) {
    bool isNew = !frame.names.contains(output.info.name()) &&
                 frame.reserved.insert(output.info.name()).second;
    bool own = valueName(output.value) == output.info.name();
    if (isNew && !nameOf.contains(output.value) &&
        (own || !isWeight(output.value)))
      nameOf[output.value] = output.info.name();
    *graph.add_output() = output.info;
  }
  if (failed(writeBody(block, frame)) || failed(writeUnread(frame)))
    return failure();
  llvm::StringSet<> connected;
  for (const Port &output : outputs)
    if (nameOf.lookup(output.value) != output.info.name() &&
        connected.insert(output.info.name()).second)
      connect(output.value, output.info.name(), frame);
  // Outputs are declared as such.
  for (int i = graph.value_info_size() - 1; i >= 0; --i)
    if (llvm::any_of(outputs, [&](const Port &output) {
          return output.info.name() == graph.value_info(i).name();
        }))
      graph.mutable_value_info()->DeleteSubrange(i, 1);
  return success();
}

//===----------------------------------------------------------------------===//
// Public interface
//===----------------------------------------------------------------------===//

LogicalResult writeGraph(ModuleOp module, Block &block, ArrayRef<Port> inputs,
                         ArrayRef<Port> outputs, const PlaceParameter &place,
                         GraphProto &graph) {
  return GraphWriter(module, place).writeMain(block, inputs, outputs, graph);
}

ValueInfoProto portInfo(DictionaryAttr attributes, Type type) {
  ValueInfoProto info;
  if (auto declared =
          attributes ? attributes.getAs<TypeAttr>("onnx.type") : nullptr)
    if (Type merged = ox::mergeTypes(type, declared.getValue()))
      type = merged;
  *info.mutable_type() = ox::typeToProto(type);
  if (!attributes)
    return info;
  if (auto name = attributes.getAs<StringAttr>("onnx.name"))
    info.set_name(name.str());
  ox::setDimNames(attributes.getAs<ArrayAttr>("onnx.dims"),
                  *info.mutable_type());
  if (auto doc = attributes.getAs<StringAttr>("onnx.doc"))
    info.set_doc_string(doc.str());
  ox::pairsFromAttr(attributes.get("onnx.metadata"),
                    *info.mutable_metadata_props());
  return info;
}

} // namespace hethub::exporter
