//===- Build.cpp - a checked model to operations of the onnx dialect ------===//

#include "ImportDetail.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/Inference.h"
#include "hethub/Dialect/ONNX/IR/Notes.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"
#include "hethub/Support/Names.h"
#include "hethub/Support/Notes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "onnx/defs/schema.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::OpSchema;
using onnx::TensorProto;
using onnx::TypeProto;
using onnx::ValueInfoProto;

namespace hethub::import {

namespace {

/// Inline below this many bytes, where passes need the values: integers, bools
/// and strings.
constexpr int64_t maxInlineBytes = 1024;

/// Float inputs that decide a shape: passes need their values too.
bool decidesShape(const NodeProto &node, int input) {
  return node.domain().empty() && node.op_type() == "Resize" &&
         (input == 1 || input == 2);
}

bool isFloating(int elementType) {
  switch (elementType) {
  case TensorProto::INT64:
  case TensorProto::INT32:
  case TensorProto::INT16:
  case TensorProto::INT8:
  case TensorProto::INT4:
  case TensorProto::INT2:
  case TensorProto::UINT64:
  case TensorProto::UINT32:
  case TensorProto::UINT16:
  case TensorProto::UINT8:
  case TensorProto::UINT4:
  case TensorProto::UINT2:
  case TensorProto::BOOL:
  case TensorProto::STRING:
    return false;
  default:
    return true;
  }
}

Location locationOfTensor(StringRef name, const TensorProto &tensor,
                          MLIRContext *context) {
  ox::Notes notes;
  ox::addTexts(tensor.doc_string(), tensor.metadata_props(), context, notes);
  return withNotes(makeNodeLoc(context, name, {name}), notes);
}

/// The names that one graph defines, seen from the graphs inside it.
struct Scope {
  Scope *outer;
  Block *block;
  llvm::StringMap<Value> values;
  /// Weights that no operation has read so far.
  llvm::StringMap<const TensorProto *> weights;
  /// What the file declares of results of nodes.
  llvm::StringMap<const ValueInfoProto *> declarations;
};

class ModuleBuilder {
public:
  ModuleBuilder(const ModelProto &model, const Declared &declared,
                const ModelFile &file, MLIRContext *context)
      : model(model), declared(declared), file(file), context(context),
        builder(context) {}

  OwningOpRef<ModuleOp> build();

private:
  void collectShapeInputs(const GraphProto &graph);
  void buildFunction();
  void addWeights(const GraphProto &graph, Scope &scope);
  void keepUnread(const GraphProto &graph, Scope &scope);
  Location locationOf(const NodeProto &node, ArrayRef<StringRef> results,
                      const Scope &scope);
  void buildNodes(const GraphProto &graph, Scope &scope, bool infer);
  void buildNode(const NodeProto &node, Scope &scope, bool infer);
  void buildConstant(const NodeProto &node, Scope &scope);
  void buildSubgraph(const GraphProto &graph, Region &region, Scope &outer);
  void addCustom(const NodeProto &node, OperationState &state,
                 ArrayRef<Value> inputs);
  void addAttributes(const NodeProto &node, const OpSchema *schema,
                     OperationState &state);

  Value lookup(StringRef name, Scope &scope);
  Value materialise(StringRef name, const TensorProto &tensor, Location loc,
                    Block *block);
  bool isInline(StringRef name, const TensorProto &tensor) const;
  DenseElementsAttr denseOf(const TensorProto &tensor);
  FlatSymbolRefAttr addParameter(StringRef name, const TensorProto &tensor);
  std::string filePath(StringRef location) const;

  Type declaredType(StringRef name) const;
  DictionaryAttr valueAttributes(const ValueInfoProto &info, Type type);

  const ModelProto &model;
  const Declared &declared;
  const ModelFile &file;
  MLIRContext *context;
  OpBuilder builder;
  ox::Inference inference;
  OwningOpRef<ModuleOp> module;
  /// Parameters go in front of it.
  func::FuncOp function;
  llvm::StringSet<> symbols;
  /// Values that decide shapes in every use; false where some use does not.
  llvm::StringMap<bool> shapeInputs;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> externalFiles;
};

//===----------------------------------------------------------------------===//
// Weights and constants
//===----------------------------------------------------------------------===//

void ModuleBuilder::collectShapeInputs(const GraphProto &graph) {
  for (const NodeProto &node : graph.node()) {
    for (auto [index, input] : llvm::enumerate(node.input())) {
      bool decides = decidesShape(node, index);
      auto [it, added] = shapeInputs.try_emplace(input, decides);
      if (!added)
        it->second &= decides;
    }
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collectShapeInputs(attribute.g());
  }
}

bool ModuleBuilder::isInline(StringRef name, const TensorProto &tensor) const {
  int64_t count = ox::elementCount(tensor).value_or(0);
  Source source;
  if (count == 0 || !getSource(tensor, source))
    return true;
  bool floating = isFloating(tensor.data_type());
  if (floating && count > 1 && !shapeInputs.lookup(name))
    return false;
  if (tensor.data_type() == TensorProto::STRING)
    return true; // there is no raw form to point at
  return ox::rawByteCount(tensor).value_or(0) <= maxInlineBytes;
}

std::string ModuleBuilder::filePath(StringRef location) const {
  if (location.empty())
    return file.path;
  SmallString<256> path(file.folder);
  llvm::sys::path::append(path, location);
  return path.str().str();
}

/// The values of a tensor whose data may be external: only small ones, and
/// attributes, are read.
DenseElementsAttr ModuleBuilder::denseOf(const TensorProto &tensor) {
  if (!isExternal(tensor))
    return ox::tensorFromProto(tensor, context);
  Source source;
  getSource(tensor, source);
  StringRef bytes = file.bytes->getBuffer();
  if (!source.location.empty()) {
    auto &buffer = externalFiles[source.location];
    if (!buffer) {
      auto opened = llvm::MemoryBuffer::getFile(filePath(source.location),
                                                /*IsText=*/false,
                                                /*RequiresNullTerminator=*/
                                                false);
      if (!opened)
        fail("cannot read external data '" + source.location +
             "': " + opened.getError().message());
      buffer = std::move(*opened);
    }
    bytes = buffer->getBuffer();
  }
  auto type = RankedTensorType::get(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()),
      ox::elementFromProto(tensor.data_type(), context));
  return ox::denseFromRaw(type, bytes.substr(source.offset, source.length));
}

FlatSymbolRefAttr ModuleBuilder::addParameter(StringRef name,
                                              const TensorProto &tensor) {
  // Weights of different sub-graphs may share a name.
  std::string symbol = name.str();
  for (int suffix = 1; !symbols.insert(symbol).second; ++suffix)
    symbol = (name + "." + Twine(suffix)).str();
  Source source;
  getSource(tensor, source);
  auto type = RankedTensorType::get(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()),
      ox::elementFromProto(tensor.data_type(), context));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  IntegerAttr offset = builder.getI64IntegerAttr(source.offset);
  IntegerAttr length = builder.getI64IntegerAttr(source.length);
  auto parameter = hh::ParameterOp::create(
      builder, locationOfTensor(name, tensor, context),
      builder.getStringAttr(symbol), TypeAttr::get(type),
      builder.getStringAttr(filePath(source.location)),
      source.isMessage ? nullptr : offset, source.isMessage ? nullptr : length,
      source.isMessage ? builder.getStringAttr(name) : nullptr);
  if (source.isMessage) // where readParameterBytes finds the tensor
    parameter->setAttr("message", builder.getDenseI64ArrayAttr(
                                      {source.offset, source.length}));
  return FlatSymbolRefAttr::get(context, symbol);
}

Value ModuleBuilder::materialise(StringRef name, const TensorProto &tensor,
                                 Location loc, Block *block) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(block);
  if (!isInline(name, tensor)) {
    FlatSymbolRefAttr symbol = addParameter(name, tensor);
    auto type = RankedTensorType::get(
        ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()),
        ox::elementFromProto(tensor.data_type(), context));
    return hh::GetParameterOp::create(builder, loc, type, symbol);
  }
  DenseElementsAttr dense = denseOf(tensor);
  OperationState state(loc, "onnx.Constant");
  state.addAttribute("value", dense);
  state.addTypes(dense.getType());
  return builder.create(state)->getResult(0);
}

/// Weights become operations where they are first read.
void ModuleBuilder::addWeights(const GraphProto &graph, Scope &scope) {
  for (const TensorProto &tensor : graph.initializer())
    scope.weights[tensor.name()] = &tensor;
  for (const ValueInfoProto &info : graph.value_info())
    if (declared.listed.contains(info.name()))
      scope.declarations[info.name()] = &info;
}

/// Nothing is dropped: what no node reads stays as well.
void ModuleBuilder::keepUnread(const GraphProto &graph, Scope &scope) {
  for (const TensorProto &tensor : graph.initializer()) {
    if (scope.values.count(tensor.name()))
      continue;
    if (isInline(tensor.name(), tensor))
      materialise(tensor.name(), tensor,
                  locationOfTensor(tensor.name(), tensor, context),
                  scope.block);
    else
      addParameter(tensor.name(), tensor);
  }
}

Value ModuleBuilder::lookup(StringRef name, Scope &scope) {
  for (Scope *at = &scope; at; at = at->outer) {
    if (Value value = at->values.lookup(name))
      return value;
    if (const TensorProto *tensor = at->weights.lookup(name)) {
      // In the scope of the weight, ahead of the operation that is being built
      // there.
      Location loc = locationOfTensor(name, *tensor, context);
      return at->values[name] = materialise(name, *tensor, loc, at->block);
    }
  }
  fail("nothing defines the value '" + name + "'");
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The last module path that the exporter wrote, not counting the node's own
/// entry.
std::string exporterScope(const NodeProto &node) {
  SmallVector<StringRef> scopes;
  for (const auto &entry : node.metadata_props()) {
    if (entry.key() == "pkg.torch.onnx.name_scopes") {
      // "['', 'm', 'm.layer', 'mul_1']": the last one is the operation itself.
      StringRef rest = entry.value();
      while (true) {
        size_t open = rest.find_first_of("'\"");
        if (open == StringRef::npos)
          break;
        size_t close = rest.find(rest[open], open + 1);
        if (close == StringRef::npos)
          break;
        scopes.push_back(rest.slice(open + 1, close));
        rest = rest.drop_front(close + 1);
      }
      if (!scopes.empty())
        scopes.pop_back();
      break;
    }
    if (entry.key() == "namespace") {
      // ": Model/m: Model/m.layer: Layer/mul_1: aten.mul.Tensor"
      SmallVector<StringRef> parts;
      StringRef(entry.value()).split(parts, '/');
      if (!parts.empty())
        parts.pop_back();
      for (StringRef part : parts)
        scopes.push_back(part.split(':').first.trim());
    }
  }
  for (StringRef scope : llvm::reverse(scopes))
    if (!scope.empty())
      return scope.str();
  // The TorchScript exporter has the scope in the node's name:
  // "/m/layer/MatMul".
  StringRef name = node.name();
  if (scopes.empty() && name.consume_front("/") && name.contains('/')) {
    std::string path = name.rsplit('/').first.str();
    std::replace(path.begin(), path.end(), '/', '.');
    return path;
  }
  return "";
}

/// `results`: the names of the results of the operation. A name alone stands
/// for a node without one, which is called by its first result.
Location ModuleBuilder::locationOf(const NodeProto &node,
                                   ArrayRef<StringRef> results,
                                   const Scope &scope) {
  ox::Notes notes = ox::notesOfNode(node, context);
  if (!results.empty() && !node.name().empty() && node.name() == results[0])
    notes.push_back(builder.getNamedAttr("named", builder.getUnitAttr()));
  SmallVector<Attribute> declarations;
  bool any = false;
  for (StringRef result : results) {
    const ValueInfoProto *info = scope.declarations.lookup(result);
    any |= info != nullptr;
    declarations.push_back(info ? ox::declarationOf(*info, context)
                                : builder.getDictionaryAttr({}));
  }
  if (any)
    notes.push_back(
        builder.getNamedAttr("declared", builder.getArrayAttr(declarations)));
  return withNotes(
      makeNodeLoc(context, node.name(), results, exporterScope(node)), notes);
}

/// Sizes of the groups of a schema's formal inputs or outputs: position k
/// belongs to group min(k, groups - 1).
DenseI32ArrayAttr segments(Builder &builder, ArrayRef<bool> present,
                           int groups) {
  SmallVector<int32_t> sizes(groups, 0);
  for (auto [position, there] : llvm::enumerate(present))
    if (there)
      ++sizes[std::min<int>(position, groups - 1)];
  return builder.getDenseI32ArrayAttr(sizes);
}

SmallVector<int64_t> gaps(ArrayRef<bool> present) {
  SmallVector<int64_t> result;
  for (auto [position, there] : llvm::enumerate(present))
    if (!there)
      result.push_back(position);
  return result;
}

Type ModuleBuilder::declaredType(StringRef name) const {
  auto it = declared.types.find(name);
  Type type = it == declared.types.end()
                  ? Type()
                  : ox::typeFromProto(it->second, context);
  return type ? type : ox::UnknownType::get(context);
}

void ModuleBuilder::addAttributes(const NodeProto &node, const OpSchema *schema,
                                  OperationState &state) {
  for (const AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      continue;
    if (!schema->attributes().count(attribute.name()))
      fail(describe(node) +
           ": operator has no attribute of this name: " + attribute.name());
    Attribute value = attribute.has_t()
                          ? Attribute(denseOf(attribute.t()))
                          : ox::attributeFromProto(attribute, context);
    if (!value)
      fail(describe(node) + ": attribute '" + attribute.name() +
           "' is of a kind that is not supported");
    state.addAttribute(
        attribute.name() == "type" ? "type_attr" : attribute.name(), value);
  }
}

void ModuleBuilder::addCustom(const NodeProto &node, OperationState &state,
                              ArrayRef<Value> inputs) {
  SmallVector<NamedAttribute> fields;
  for (const AttributeProto &attribute : node.attribute()) {
    Attribute value = attribute.has_t()
                          ? Attribute(denseOf(attribute.t()))
                          : ox::attributeFromProto(attribute, context);
    if (!value)
      fail(describe(node) + ": attribute '" + attribute.name() +
           "' is of a kind that is not supported");
    fields.push_back(builder.getNamedAttr(attribute.name(), value));
  }
  state.addAttribute("domain", builder.getStringAttr(node.domain()));
  state.addAttribute("op_type", builder.getStringAttr(node.op_type()));
  state.addAttribute("fields", builder.getDictionaryAttr(fields));
  SmallVector<bool> present;
  for (Value input : inputs)
    present.push_back(static_cast<bool>(input));
  if (auto missing = gaps(present); !missing.empty())
    state.addAttribute("input_gaps", builder.getDenseI64ArrayAttr(missing));
  present.clear();
  for (const std::string &output : node.output())
    present.push_back(!output.empty());
  while (!present.empty() && !present.back())
    present.pop_back();
  if (auto missing = gaps(present); !missing.empty())
    state.addAttribute("output_gaps", builder.getDenseI64ArrayAttr(missing));
}

/// All forms of a Constant become one: a dense `value`, or a parameter.
void ModuleBuilder::buildConstant(const NodeProto &node, Scope &scope) {
  if (node.attribute_size() != 1)
    fail(describe(node) +
         ": must have one value, got: " + Twine(node.attribute_size()));
  const AttributeProto &attribute = node.attribute(0);
  const std::string &name = node.output(0);
  // Weights are constants too: this says that it was a node, and of which form.
  Location loc =
      withNotes(locationOf(node, StringRef(name), scope),
                {builder.getNamedAttr(
                    "constant", builder.getStringAttr(attribute.name()))});
  TensorProto tensor;
  switch (attribute.type()) {
  case AttributeProto::TENSOR:
    scope.values[name] = materialise(name, attribute.t(), loc, scope.block);
    return;
  case AttributeProto::INT:
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_int64_data(attribute.i());
    break;
  case AttributeProto::FLOAT:
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_float_data(attribute.f());
    break;
  case AttributeProto::STRING:
    tensor.set_data_type(TensorProto::STRING);
    tensor.add_string_data(attribute.s());
    break;
  case AttributeProto::INTS:
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(attribute.ints_size());
    *tensor.mutable_int64_data() = attribute.ints();
    break;
  case AttributeProto::FLOATS:
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
    break;
  case AttributeProto::STRINGS:
    tensor.set_data_type(TensorProto::STRING);
    tensor.add_dims(attribute.strings_size());
    *tensor.mutable_string_data() = attribute.strings();
    break;
  default:
    fail(describe(node) + ": value is of a kind that is not supported");
  }
  scope.values[name] = materialise(name, tensor, loc, scope.block);
}

void ModuleBuilder::buildNode(const NodeProto &node, Scope &scope, bool infer) {
  if (node.domain().empty() && node.op_type() == "Constant")
    return buildConstant(node, scope);

  SmallVector<Value> inputs;
  for (const std::string &input : node.input())
    inputs.push_back(input.empty() ? Value() : lookup(input, scope));
  while (!inputs.empty() && !inputs.back())
    inputs.pop_back();

  bool isMl = node.domain() == onnx::AI_ONNX_ML_DOMAIN;
  bool isMicrosoft = node.domain() == "com.microsoft";
  std::string opName = (isMl          ? "onnx.ml."
                        : isMicrosoft ? "com_microsoft."
                                      : "onnx.") +
                       node.op_type();
  auto registered = RegisteredOperationName::lookup(opName, context);
  bool custom = !isMl && !node.domain().empty() && !(isMicrosoft && registered);
  if (custom)
    opName = "onnx.Custom";
  else if (!registered)
    fail(describe(node) + ": no operator of this name in opset " +
         Twine(newestOpset()));
  OperationState state(builder.getUnknownLoc(), opName);
  for (Value input : inputs)
    if (input)
      state.operands.push_back(input);

  // Which outputs become results.
  SmallVector<StringRef> results;
  if (custom) {
    addCustom(node, state, inputs);
    for (const std::string &output : node.output())
      if (!output.empty())
        results.push_back(output);
  } else {
    const ox::NodeLayout &layout =
        registered->getInterface<ox::NodeInterface>()->getNodeLayout();
    const OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(layout.name, layout.domain);
    SmallVector<bool> present;
    for (Value input : inputs)
      present.push_back(static_cast<bool>(input));
    if (layout.inputSegments)
      state.addAttribute("operandSegmentSizes",
                         segments(builder, present, layout.inputs));
    else if (llvm::is_contained(present, false))
      fail(describe(node) + ": input " + Twine(gaps(present).front()) +
           " must not be left out");
    // Only optional outputs can be left out; others get a result without a
    // name.
    present.clear();
    for (auto [index, output] : llvm::enumerate(node.output())) {
      size_t formal = std::min<size_t>(index, schema->outputs().size() - 1);
      present.push_back(!output.empty() ||
                        schema->outputs()[formal].GetOption() !=
                            OpSchema::Optional);
    }
    while (!present.empty() && !present.back())
      present.pop_back();
    for (auto [index, there] : llvm::enumerate(present))
      if (there)
        results.push_back(node.output(index));
    if (layout.outputSegments)
      state.addAttribute("resultSegmentSizes",
                         segments(builder, present, layout.outputs));
    addAttributes(node, schema, state);
    for (int i = 0; i < layout.regionCount; ++i) {
      Region *region = state.addRegion();
      for (const AttributeProto &attribute : node.attribute())
        if (attribute.name() == layout.regions[i])
          buildSubgraph(attribute.g(), *region, scope);
    }
  }
  state.location = locationOf(node, results, scope);
  for (StringRef result : results)
    state.addTypes(custom && !result.empty()
                       ? declaredType(result)
                       : Type(ox::UnknownType::get(context)));

  // Without this, MLIR drops an attribute of the wrong kind in silence.
  NamedAttrList attributes(state.attributes);
  std::string problem;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      problem = diagnostic.str();
      return success();
    });
    if (failed(state.name.verifyInherentAttrs(
            attributes, [&] { return emitError(state.location); })))
      fail(describe(node) + ": " + problem);
  }
  builder.setInsertionPointToEnd(scope.block);
  Operation *op = builder.create(state);
  for (auto [name, value] : llvm::zip(results, op->getResults()))
    if (!name.empty())
      scope.values[name] = value;
  if (!infer)
    return;

  std::string error;
  if (failed(inference.infer(op, error)))
    fail(describe(node) + ": " + error);
  // What inference cannot know the file may declare.
  for (auto [name, value] : llvm::zip(results, op->getResults()))
    if (!isa<RankedTensorType>(value.getType()) && !name.empty())
      if (Type merged = ox::mergeTypes(value.getType(), declaredType(name)))
        value.setType(merged);
}

void ModuleBuilder::buildNodes(const GraphProto &graph, Scope &scope,
                               bool infer) {
  for (const NodeProto &node : graph.node())
    buildNode(node, scope, infer);
}

/// Types of what is inside come from the inference of the operator that owns
/// the sub-graph.
void ModuleBuilder::buildSubgraph(const GraphProto &graph, Region &region,
                                  Scope &outer) {
  Block &block = region.emplaceBlock();
  Scope scope{&outer, &block, {}, {}, {}};
  addWeights(graph, scope);
  auto declaredNote = [&](ArrayRef<Attribute> declarations) {
    return builder.getNamedAttr("declared", builder.getArrayAttr(declarations));
  };
  for (const ValueInfoProto &input : graph.input())
    scope.values[input.name()] = block.addArgument(
        ox::UnknownType::get(context),
        withNotes(NameLoc::get(builder.getStringAttr(input.name())),
                  {declaredNote({ox::declarationOf(input, context)})}));
  buildNodes(graph, scope, /*infer=*/false);
  SmallVector<Value> results;
  SmallVector<Attribute> declarations;
  for (const ValueInfoProto &output : graph.output()) {
    results.push_back(lookup(output.name(), scope));
    declarations.push_back(ox::declarationOf(output, context));
  }
  keepUnread(graph, scope);
  // Its end speaks for the graph.
  ox::Notes notes{declaredNote(declarations)};
  ox::addTexts(graph.doc_string(), graph.metadata_props(), context, notes);
  OperationState yield(
      withNotes(NameLoc::get(builder.getStringAttr(graph.name())), notes),
      "onnx.Yield");
  yield.addOperands(results);
  builder.setInsertionPointToEnd(&block);
  builder.create(yield);
}

//===----------------------------------------------------------------------===//
// Function and module
//===----------------------------------------------------------------------===//

/// Name, names of symbolic dims, texts, and the declared type where that is
/// more exact.
DictionaryAttr ModuleBuilder::valueAttributes(const ValueInfoProto &info,
                                              Type type) {
  SmallVector<NamedAttribute> result{
      builder.getNamedAttr("onnx.name", builder.getStringAttr(info.name()))};
  Type declared = ox::typeFromProto(info.type(), context);
  if (Type merged = declared ? ox::mergeTypes(type, declared) : nullptr;
      merged && merged != type)
    result.push_back(builder.getNamedAttr("onnx.type", TypeAttr::get(merged)));
  ArrayAttr dims = ox::dimNames(info.type(), context);
  while (isa<ox::SeqType, ox::OptType>(type))
    type = isa<ox::SeqType>(type) ? cast<ox::SeqType>(type).getElementType()
                                  : cast<ox::OptType>(type).getElementType();
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (dims && ranked && ranked.getRank() == int64_t(dims.size()))
    result.push_back(builder.getNamedAttr("onnx.dims", dims));
  if (!info.doc_string().empty())
    result.push_back(builder.getNamedAttr(
        "onnx.doc", builder.getStringAttr(info.doc_string())));
  if (!info.metadata_props().empty())
    result.push_back(builder.getNamedAttr(
        "onnx.metadata", ox::pairsToAttr(info.metadata_props(), context)));
  return builder.getDictionaryAttr(result);
}

void ModuleBuilder::buildFunction() {
  const GraphProto &graph = model.graph();
  llvm::StringSet<> defaults;
  for (const TensorProto &tensor : graph.initializer())
    defaults.insert(tensor.name());

  SmallVector<Type> inputTypes;
  SmallVector<Attribute> inputAttributes, outputAttributes;
  SmallVector<const ValueInfoProto *> inputs;
  for (const ValueInfoProto &input : graph.input()) {
    if (defaults.contains(input.name()))
      continue; // a default value: the parameter is used
    Type type = declaredType(input.name());
    if (isa<ox::UnknownType>(type))
      fail("input '" + input.name() + "' must have a type that is supported");
    inputs.push_back(&input);
    inputTypes.push_back(type);
    inputAttributes.push_back(valueAttributes(input, type));
  }
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, module->getLoc(), "main",
                                  builder.getFunctionType(inputTypes, {}));
  Block *block = function.addEntryBlock();
  Scope scope{nullptr, block, {}, {}, {}};
  for (auto [input, argument] : llvm::zip(inputs, block->getArguments())) {
    argument.setLoc(NameLoc::get(builder.getStringAttr(input->name())));
    scope.values[input->name()] = argument;
  }
  addWeights(graph, scope);
  buildNodes(graph, scope, /*infer=*/true);
  SmallVector<Value> results;
  SmallVector<Type> resultTypes;
  for (const ValueInfoProto &output : graph.output()) {
    Value value = lookup(output.name(), scope);
    results.push_back(value);
    resultTypes.push_back(value.getType());
    outputAttributes.push_back(valueAttributes(output, value.getType()));
  }
  keepUnread(graph, scope);
  builder.setInsertionPointToEnd(block);
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setType(builder.getFunctionType(inputTypes, resultTypes));
  function.setAllArgAttrs(inputAttributes);
  function.setAllResultAttrs(outputAttributes);
}

OwningOpRef<ModuleOp> ModuleBuilder::build() {
  auto loc = FileLineColLoc::get(context, file.path, 0, 0);
  module = ModuleOp::create(loc);
  symbols.insert("main");
  collectShapeInputs(model.graph());

  NamedAttrList facts(ox::factsOfModel(model, context));
  if (declared.opset)
    facts.set("opset", builder.getI64IntegerAttr(declared.opset));
  // Which inputs have default values, and stand where.
  llvm::StringSet<> weights;
  for (const TensorProto &tensor : model.graph().initializer())
    weights.insert(tensor.name());
  SmallVector<StringRef> inputs;
  for (const ValueInfoProto &input : model.graph().input())
    inputs.push_back(input.name());
  if (llvm::any_of(inputs,
                   [&](StringRef name) { return weights.contains(name); }))
    facts.set("inputs", builder.getStrArrayAttr(inputs));
  (*module)->setAttr(ox::modelAttrName, facts.getDictionary(context));
  buildFunction();
  return std::move(module);
}

} // namespace

OwningOpRef<ModuleOp> buildModule(const ModelProto &model,
                                  const Declared &declared,
                                  const ModelFile &file, MLIRContext *context) {
  return ModuleBuilder(model, declared, file, context).build();
}

} // namespace hethub::import
