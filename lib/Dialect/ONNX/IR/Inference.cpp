//===- Inference.cpp - ONNX's own inference over operations ---------------===//

#include "hethub/Dialect/ONNX/IR/Inference.h"
#include "SupplementaryInference.h"
#include "hethub/Dialect/ONNX/IR/Node.h"
#include "hethub/Dialect/ONNX/IR/Proto.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "llvm/Support/MathExtras.h"

#include <deque>
#include <unordered_map>

using namespace mlir;
using onnx::AttributeProto;
using onnx::OpSchema;
using onnx::TensorProto;
using onnx::TensorShapeProto;
using onnx::TypeProto;

namespace hethub::ox {

/// Constants with more elements are not shown to inference functions: none of
/// them needs that many.
static constexpr int64_t maxShownElements = 4096;
/// Known values are lists of sizes; longer ones are data.
static constexpr int64_t maxKnownValues = 1024;

struct Inference::State {
  /// False while verifying: nothing in the IR may change.
  bool refine = true;
  /// Node-based: inference functions keep pointers into it.
  std::unordered_map<void *, TensorShapeProto> values;
};

namespace {

using State = Inference::State;

LogicalResult inferNode(Operation *op, State &state, std::string &error);

/// "node 'conv1' (Conv)", for errors inside a sub-graph.
std::string describe(Operation *op) {
  return ("node '" + nodeName(op) + "' (" + Node(op).opType() + ")").str();
}

LogicalResult inferBlock(Block &block, State &state, std::string &error) {
  for (Operation &op : block)
    if (failed(inferNode(&op, state, error))) {
      error = describe(&op) + ": " + error;
      return failure();
    }
  return success();
}

/// Shows a sub-graph to the inference function of the operator that owns it.
class SubgraphInferencer final : public onnx::GraphInferencer {
public:
  SubgraphInferencer(Region &region, State &state)
      : region(region), state(state) {}

  std::vector<const TypeProto *>
  doInferencing(const std::vector<const TypeProto *> &inputTypes,
                const std::vector<const TensorProto *> &) override {
    Block &block = region.front();
    if (block.getNumArguments() != inputTypes.size())
      throw onnx::InferenceError(
          "sub-graph has " + std::to_string(block.getNumArguments()) +
          " inputs but is given " + std::to_string(inputTypes.size()));
    if (state.refine) {
      for (auto [argument, proto] :
           llvm::zip(block.getArguments(), inputTypes)) {
        Type type =
            proto ? typeFromProto(*proto, argument.getContext()) : Type();
        Type merged = type ? mergeTypes(argument.getType(), type) : Type();
        if (merged)
          argument.setType(merged);
        else if (type)
          throw onnx::InferenceError("sub-graph input is declared with "
                                     "another type than it is given");
      }
      std::string error;
      if (failed(inferBlock(block, state, error)))
        throw onnx::InferenceError(error);
    }
    std::vector<const TypeProto *> results;
    for (Value yielded : block.getTerminator()->getOperands()) {
      types.push_back(typeToProto(yielded.getType()));
      results.push_back(&types.back());
    }
    return results;
  }

private:
  Region &region;
  State &state;
  std::deque<TypeProto> types;
};

/// An operation as inference and data propagation functions want to see it. All
/// that is handed out lives as long as the adapter.
class NodeAdapter final : public onnx::InferenceContext,
                          public onnx::DataPropagationContext {
public:
  NodeAdapter(const Node &node, State &state)
      : node(node), state(state), outputs(node.outputCount()) {
    for (unsigned i = 0; i < node.inputCount(); ++i)
      inputs.push_back(node.input(i) ? typeToProto(node.input(i).getType())
                                     : TypeProto());
  }

  const AttributeProto *getAttribute(const std::string &name) const override {
    auto [it, added] = attributes.try_emplace(name);
    if (added)
      if (Attribute value = node.attribute(name)) {
        // Large values are not needed to infer the type of a Constant, and cost
        // time at each verification.
        auto dense = dyn_cast<DenseElementsAttr>(value);
        it->second = std::make_unique<AttributeProto>();
        if (dense && dense.getNumElements() > maxShownElements) {
          it->second->set_name(name);
          it->second->set_type(AttributeProto::TENSOR);
          auto *tensor = it->second->mutable_t();
          tensor->set_data_type(elementToProto(dense.getElementType()));
          for (int64_t dim : dense.getType().getShape())
            tensor->add_dims(dim);
        } else if (!attributeToProto(name, value, *it->second)) {
          it->second.reset();
        }
      }
    return it->second.get();
  }
  size_t getNumInputs() const override { return inputs.size(); }
  bool hasInput(size_t index) const override {
    return index < inputs.size() && node.input(index);
  }
  const TypeProto *getInputType(size_t index) const override {
    if (!hasInput(index) ||
        inputs[index].value_case() == TypeProto::VALUE_NOT_SET)
      return nullptr;
    return &inputs[index];
  }
  const TensorProto *getInputData(size_t index) const override {
    if (!hasInput(index))
      return nullptr;
    // Range takes tensors of one element too, but its function refuses to read
    // them.
    auto type = dyn_cast<RankedTensorType>(node.input(index).getType());
    if (node.opType() == "Range" && (!type || type.getRank() != 0))
      return nullptr;
    auto dense =
        dyn_cast_or_null<DenseElementsAttr>(constantValue(node.input(index)));
    if (!dense || dense.getNumElements() > maxShownElements)
      return nullptr;
    auto [it, added] = constants.try_emplace(index);
    if (added)
      it->second = tensorToProto(dense);
    return &it->second;
  }
  const onnx::SparseTensorProto *getInputSparseData(size_t) const override {
    return nullptr;
  }
  const TensorShapeProto *getSymbolicInput(size_t index) const override {
    if (!hasInput(index))
      return nullptr;
    auto it = state.values.find(node.input(index).getAsOpaquePointer());
    return it == state.values.end() ? nullptr : &it->second;
  }
  size_t getNumOutputs() const override { return outputs.size(); }
  bool hasOutput(size_t index) override {
    return index < outputs.size() && node.output(index);
  }
  TypeProto *getOutputType(size_t index) override {
    return index < outputs.size() ? &outputs[index] : nullptr;
  }
  onnx::GraphInferencer *
  getGraphAttributeInferencer(const std::string &name) override {
    Region *region = node.subgraph(name);
    if (!region)
      return nullptr;
    auto &inferencer = inferencers[name];
    if (!inferencer)
      inferencer = std::make_unique<SubgraphInferencer>(*region, state);
    return inferencer.get();
  }
  std::string getDisplayName() const override { return ""; }

  // Data propagation.
  const TypeProto *getOutputType(size_t index) const override {
    return index < outputs.size() ? &outputs[index] : nullptr;
  }
  const TensorShapeProto *getInputData(size_t index) override {
    if (const TensorShapeProto *known = getSymbolicInput(index))
      return known;
    if (!hasInput(index))
      return nullptr;
    auto dense =
        dyn_cast_or_null<DenseElementsAttr>(constantValue(node.input(index)));
    if (!dense || dense.getNumElements() > maxKnownValues ||
        dense.getType().getRank() > 1 ||
        !(dense.getElementType().isInteger(64) ||
          dense.getElementType().isInteger(32)))
      return nullptr;
    auto [it, added] = constantShapes.try_emplace(index);
    if (added)
      for (APInt value : dense.getValues<APInt>())
        it->second.add_dim()->set_dim_value(value.getSExtValue());
    return &it->second;
  }
  void addOutputData(size_t index, TensorShapeProto &&data) override {
    if (hasOutput(index) && data.dim_size() <= maxKnownValues)
      state.values[node.output(index).getAsOpaquePointer()] = std::move(data);
  }

private:
  const Node &node;
  State &state;
  std::deque<TypeProto> inputs;
  std::deque<TypeProto> outputs;
  mutable std::unordered_map<std::string, std::unique_ptr<AttributeProto>>
      attributes;
  mutable std::unordered_map<size_t, TensorProto> constants;
  std::unordered_map<size_t, TensorShapeProto> constantShapes;
  std::unordered_map<std::string, std::unique_ptr<SubgraphInferencer>>
      inferencers;
};

/// The library's message without its decoration: prefixes, file names, the list
/// of the whole node.
std::string plain(StringRef message) {
  for (StringRef prefix : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    size_t found;
    while ((found = message.find(prefix)) != StringRef::npos)
      message = message.drop_front(found + prefix.size());
  }
  message = message.split("\n\n==> Context").first;
  return message.split('\n').first.rtrim(". ").str();
}

/// A dim that came out negative: the library lets a window larger than its
/// padded input pass.
const TypeProto *negative(const TypeProto &type, int64_t &dim) {
  if (type.has_tensor_type())
    for (const auto &entry : type.tensor_type().shape().dim())
      if (entry.has_dim_value() && entry.dim_value() < 0) {
        dim = entry.dim_value();
        return &type;
      }
  return nullptr;
}

/// Forgets what was inferred inside a region, so that it can be inferred for
/// wider argument types.
void reset(Region &region, State &state) {
  region.walk([&](Operation *op) {
    if (!isNode(op))
      return;
    const OpSchema *schema = onnx::OpSchemaRegistry::Schema(
        Node(op).opType().str(), Node(op).domain().str());
    for (Value result : op->getResults()) {
      state.values.erase(result.getAsOpaquePointer());
      if (schema)
        result.setType(UnknownType::get(op->getContext()));
    }
    for (Region &inner : op->getRegions())
      for (BlockArgument argument : inner.getArguments())
        argument.setType(UnknownType::get(op->getContext()));
  });
}

/// The type of a value that is `a` before and `b` after an iteration: dims that
/// differ become dynamic.
Type joinTypes(Type a, Type b) {
  if (a == b || isa<UnknownType>(b))
    return a;
  if (isa<UnknownType>(a))
    return b;
  auto tensorA = dyn_cast<TensorType>(a), tensorB = dyn_cast<TensorType>(b);
  if (!tensorA || !tensorB) {
    auto seqA = dyn_cast<SeqType>(a), seqB = dyn_cast<SeqType>(b);
    if (seqA && seqB)
      if (Type element =
              joinTypes(seqA.getElementType(), seqB.getElementType()))
        return SeqType::get(a.getContext(), element);
    auto optA = dyn_cast<OptType>(a), optB = dyn_cast<OptType>(b);
    if (optA && optB)
      if (Type element =
              joinTypes(optA.getElementType(), optB.getElementType()))
        return OptType::get(a.getContext(), element);
    return nullptr;
  }
  if (tensorA.getElementType() != tensorB.getElementType())
    return nullptr;
  if (!tensorA.hasRank() || !tensorB.hasRank() ||
      tensorA.getRank() != tensorB.getRank())
    return UnrankedTensorType::get(tensorA.getElementType());
  SmallVector<int64_t> dims;
  for (auto [dimA, dimB] : llvm::zip(tensorA.getShape(), tensorB.getShape()))
    dims.push_back(dimA == dimB ? dimA : ShapedType::kDynamic);
  return RankedTensorType::get(dims, tensorA.getElementType());
}

/// True where every iteration that the trip count allows is run: no condition
/// can end the loop early.
bool runsToTripCount(const Node &node, Block &body) {
  auto isTrue = [](Value value) {
    auto constant = dyn_cast_or_null<DenseElementsAttr>(constantValue(value));
    return constant && constant.getElementType().isInteger(1) &&
           constant.getNumElements() == 1 && *constant.value_begin<bool>();
  };
  if (node.input(1) && !isTrue(node.input(1)))
    return false;
  Value next = body.getTerminator()->getOperand(0);
  while (Operation *op = next.getDefiningOp()) {
    if (Node(op).opType() != "Identity")
      break;
    next = op->getOperand(0);
  }
  return next == body.getArgument(1) || isTrue(next);
}

/// Loop: the library passes the body element types without a shape. Starts from
/// the operands' types instead and widens the dims that differ after an
/// iteration until nothing changes.
LogicalResult inferLoop(const Node &node, State &state,
                        SmallVectorImpl<Type> &results, std::string &error) {
  Region &region = *node.subgraph("body");
  Block &body = region.front();
  MLIRContext *context = body.getParentOp()->getContext();
  unsigned carried = std::max(2u, node.inputCount()) - 2;
  unsigned yields = body.getTerminator()->getNumOperands();
  if (body.getNumArguments() != carried + 2) {
    error = "body must have " + std::to_string(carried + 2) +
            " inputs, got: " + std::to_string(body.getNumArguments());
    return failure();
  }
  if (yields != node.outputCount() + 1 || yields < carried + 1) {
    error = "body must give " +
            std::to_string(std::max(node.outputCount(), carried) + 1) +
            " results, got: " + std::to_string(yields);
    return failure();
  }
  body.getArgument(0).setType(
      RankedTensorType::get({}, IntegerType::get(context, 64)));
  body.getArgument(1).setType(
      RankedTensorType::get({}, IntegerType::get(context, 1)));
  for (unsigned i = 0; i < carried; ++i)
    if (node.input(i + 2))
      body.getArgument(i + 2).setType(node.input(i + 2).getType());
  // Each round makes at least one dim or type wider; a rank cannot shrink for
  // ever.
  for (bool changed = true; changed;) {
    changed = false;
    reset(region, state);
    if (failed(inferBlock(body, state, error)))
      return failure();
    for (unsigned i = 0; i < carried; ++i) {
      BlockArgument argument = body.getArgument(i + 2);
      Type yielded = body.getTerminator()->getOperand(i + 1).getType();
      // An optional that the body always fills is given on as what it holds.
      if (isa<OptType>(argument.getType()) &&
          !isa<OptType, UnknownType>(yielded))
        yielded = OptType::get(context, yielded);
      Type joined = joinTypes(argument.getType(), yielded);
      if (!joined) {
        error = "carried value " + std::to_string(i) +
                " changes its element type in the body";
        return failure();
      }
      changed |= joined != argument.getType();
      argument.setType(joined);
    }
  }
  for (unsigned i = 0; i < carried; ++i) {
    Type type = body.getArgument(i + 2).getType();
    Type yielded = body.getTerminator()->getOperand(i + 1).getType();
    results.push_back(isa<OptType>(type) && !isa<OptType>(yielded) ? yielded
                                                                   : type);
  }
  int64_t trips = ShapedType::kDynamic;
  if (auto count = dyn_cast_or_null<DenseElementsAttr>(
          node.input(0) ? constantValue(node.input(0)) : nullptr))
    if (count.getNumElements() == 1 && runsToTripCount(node, body))
      trips =
          std::max<int64_t>(0, (*count.value_begin<APInt>()).getSExtValue());
  for (unsigned i = carried + 1; i < yields; ++i) {
    Type type = body.getTerminator()->getOperand(i).getType();
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      SmallVector<int64_t> dims{trips};
      llvm::append_range(dims, tensor.getShape());
      type = RankedTensorType::get(dims, tensor.getElementType());
    }
    results.push_back(type);
  }
  return success();
}

/// Number of elements of a static type; nothing otherwise.
std::optional<int64_t> staticCount(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  return tensor.getNumElements();
}

/// Results of more bytes fit no machine's memory; a model that asks for them is
/// broken or hostile.
constexpr int64_t maxResultBytes = int64_t(1) << 47;

bool isTooLarge(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || llvm::is_contained(tensor.getShape(), 0))
    return false;
  int64_t bytes = 1;
  for (int64_t dim : tensor.getShape())
    if (!ShapedType::isDynamic(dim) &&
        (llvm::MulOverflow(bytes, dim, bytes) || bytes > maxResultBytes))
      return true;
  return false;
}

/// Constant indices stay within the dim that they index.
LogicalResult checkIndices(const Node &node, std::string &error) {
  auto data = node.input(0)
                  ? dyn_cast<RankedTensorType>(node.input(0).getType())
                  : RankedTensorType();
  auto indices = dyn_cast_or_null<DenseElementsAttr>(
      node.input(1) ? constantValue(node.input(1)) : nullptr);
  if (!data || !indices || !isa<IntegerType>(indices.getElementType()))
    return success();
  int64_t axis = node.integer("axis", 0);
  if (axis < 0)
    axis += data.getRank();
  if (axis < 0 || axis >= data.getRank() || data.isDynamicDim(axis))
    return success();
  int64_t dim = data.getDimSize(axis);
  for (const APInt &index : indices.getValues<APInt>())
    if (int64_t at = index.getSExtValue(); at < -dim || at >= dim) {
      error = "indices must be " + std::to_string(-dim) + " to " +
              std::to_string(dim - 1) + ", got: " + std::to_string(at);
      return failure();
    }
  return success();
}

/// What ONNX demands but its functions do not check.
LogicalResult checkNode(const Node &node, ArrayRef<Type> results,
                        std::string &error) {
  if (llvm::any_of(results, isTooLarge)) {
    llvm::raw_string_ostream stream(error);
    stream << "result must fit a memory of " << maxResultBytes
           << " bytes, got: " << results.front();
    return failure();
  }
  if (!node.domain().empty() || results.empty())
    return success();
  if (node.opType() == "Gather" || node.opType() == "GatherElements")
    return checkIndices(node, error);
  if (node.opType() != "Reshape")
    return success();
  auto before = staticCount(node.input(0).getType());
  auto after = staticCount(results[0]);
  if (before && after && *before != *after) {
    error = "must keep the number of elements, " + std::to_string(*before) +
            ", got: " + std::to_string(*after);
    return failure();
  }
  return success();
}

/// Some functions of the library use an axis without a look at the rank.
LogicalResult checkAxis(const Node &node, std::string &error) {
  auto axis = dyn_cast_or_null<IntegerAttr>(node.attribute("axis"));
  auto type = node.input(0)
                  ? dyn_cast<RankedTensorType>(node.input(0).getType())
                  : RankedTensorType();
  // One beyond is where a new dim may stand; an axis of quantization means
  // nothing for a single scale.
  if (!axis || !type || node.domain() == "com.microsoft") // functions of ours
    return success();
  int64_t limit = type.getRank() + 1;
  if (axis.getInt() >= -limit && axis.getInt() <= limit)
    return success();
  error = "axis must be within the rank of the input, " +
          std::to_string(type.getRank()) +
          ", got: " + std::to_string(axis.getInt());
  return failure();
}

LogicalResult inferNode(Operation *op, State &state, std::string &error) {
  if (!isNode(op))
    return success();
  Node node(op);
  for (Value operand : op->getOperands())
    if (isa<UnknownType>(operand.getType()))
      return success();

  // A sub-graph that has not been inferred yet tells nothing.
  if (!state.refine)
    for (Region &region : op->getRegions())
      for (Type type : region.front().getTerminator()->getOperandTypes())
        if (isa<UnknownType>(type))
          return success();

  if (failed(checkAxis(node, error)))
    return failure();
  MLIRContext *context = op->getContext();
  SmallVector<Type> results;
  bool isLoop = node.opType() == "Loop" && node.domain().empty();
  const OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.opType().str(), node.domain().str());
  NodeAdapter adapter(node, state);
  try {
    if (isLoop && state.refine) {
      if (failed(inferLoop(node, state, results, error)))
        return failure();
    } else if (schema) {
      if (schema->has_type_and_shape_inference_function())
        schema->GetTypeAndShapeInferenceFunction()(adapter);
    }
    if (schema) {
      if (isLoop && state.refine)
        for (unsigned i = 0; i < node.outputCount(); ++i)
          *static_cast<onnx::InferenceContext &>(adapter).getOutputType(i) =
              typeToProto(results[i]);
      supplement(node, adapter);
      schema->CheckInputOutputType(adapter);
    } else {
      supplement(node, adapter);
    }
    for (unsigned i = 0; i < node.outputCount(); ++i) {
      const TypeProto &proto =
          *static_cast<onnx::InferenceContext &>(adapter).getOutputType(i);
      int64_t dim;
      // In a branch that is not taken for these shapes a size may well come out
      // negative: it stays unknown.
      if (isa<func::FuncOp>(op->getParentOp()) && negative(proto, dim)) {
        error = "size of a result must not be negative, got: " +
                std::to_string(dim);
        return failure();
      }
      Type type = typeFromProto(proto, context);
      if (!isLoop || !state.refine)
        results.push_back(type ? type : UnknownType::get(context));
    }
    if (state.refine && schema && schema->has_data_propagation_function())
      schema->GetDataPropagationFunction()(adapter);
  } catch (const std::exception &exception) {
    error = plain(exception.what());
    llvm::raw_string_ostream stream(error);
    stream << "; operand types: ";
    llvm::interleaveComma(op->getOperandTypes(), stream);
    return failure();
  }
  if (failed(checkNode(node, results, error)))
    return failure();
  for (auto [position, type] : llvm::enumerate(results)) {
    Value output = node.output(position);
    if (!output)
      continue;
    Type merged = mergeTypes(output.getType(), type);
    if (!merged) {
      llvm::raw_string_ostream stream(error);
      stream << "result " << position << " must be " << type
             << " by the operator's rules, got: " << output.getType();
      return failure();
    }
    if (state.refine)
      output.setType(merged);
  }
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Public interface
//===----------------------------------------------------------------------===//

Type mergeTypes(Type a, Type b) {
  if (a == b || isa<UnknownType>(b))
    return a;
  if (isa<UnknownType>(a))
    return b;
  MLIRContext *context = a.getContext();
  auto tensorA = dyn_cast<TensorType>(a), tensorB = dyn_cast<TensorType>(b);
  if (tensorA && tensorB) {
    if (tensorA.getElementType() != tensorB.getElementType())
      return nullptr;
    if (!tensorA.hasRank())
      return b;
    if (!tensorB.hasRank())
      return a;
    if (tensorA.getRank() != tensorB.getRank())
      return nullptr;
    SmallVector<int64_t> dims;
    for (auto [dimA, dimB] :
         llvm::zip(tensorA.getShape(), tensorB.getShape())) {
      if (dimA != dimB && !ShapedType::isDynamic(dimA) &&
          !ShapedType::isDynamic(dimB))
        return nullptr;
      dims.push_back(ShapedType::isDynamic(dimA) ? dimB : dimA);
    }
    return RankedTensorType::get(dims, tensorA.getElementType());
  }
  if (auto seqA = dyn_cast<SeqType>(a))
    if (auto seqB = dyn_cast<SeqType>(b))
      if (Type element =
              mergeTypes(seqA.getElementType(), seqB.getElementType()))
        return SeqType::get(context, element);
  if (auto optA = dyn_cast<OptType>(a))
    if (auto optB = dyn_cast<OptType>(b))
      if (Type element =
              mergeTypes(optA.getElementType(), optB.getElementType()))
        return OptType::get(context, element);
  return nullptr;
}

Inference::Inference() : state(std::make_unique<State>()) {}
Inference::~Inference() = default;

LogicalResult Inference::infer(Operation *op, std::string &error) {
  return inferNode(op, *state, error);
}

LogicalResult Inference::infer(Block &block) {
  for (Operation &op : block) {
    std::string error;
    if (failed(inferNode(&op, *state, error)))
      return op.emitOpError(error);
  }
  return success();
}

void Inference::forget(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value result : inner->getResults())
      state->values.erase(result.getAsOpaquePointer());
  });
}

std::optional<SmallVector<std::optional<int64_t>>>
Inference::knownValues(Value value) const {
  auto it = state->values.find(value.getAsOpaquePointer());
  if (it == state->values.end())
    return std::nullopt;
  SmallVector<std::optional<int64_t>> result;
  for (const auto &dim : it->second.dim())
    result.push_back(dim.has_dim_value()
                         ? std::optional<int64_t>(dim.dim_value())
                         : std::nullopt);
  return result;
}

bool isKnownOperator(StringRef domain, StringRef opType) {
  return domain == "com.microsoft" ||
         onnx::OpSchemaRegistry::Schema(opType.str(), domain.str());
}

/// Attributes are those of the schema and required ones are there; types obey
/// the operator's own inference function.
LogicalResult verifyNode(Operation *op) {
  auto layout = cast<NodeInterface>(op).getNodeLayout();
  const OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(layout.name, layout.domain);
  if (!schema)
    return op->emitOpError("no schema for this operator");
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    // Attributes of other dialects have a prefix; a plain name is meant for the
    // operator.
    if (!attribute.getName().strref().contains('.'))
      return op->emitOpError("operator has no attribute of this name: ")
             << attribute.getName();
  }
  State state;
  state.refine = false;
  std::string error;
  if (failed(inferNode(op, state, error)))
    return op->emitOpError(error);
  return success();
}

} // namespace hethub::ox
