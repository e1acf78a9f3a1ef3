//===- Work.cpp - the work of one execution, by operator class ------------===//
//
// One row an operator in Work.def; here the rules that rows name: how units are
// counted, which bytes move, and which values the backward pass reads.
//===----------------------------------------------------------------------===//

#include "hethub/Dialect/ONNX/IR/Work.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace hethub;
using namespace hethub::ox;
using hh::OpClass;
using hh::OpWork;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static int64_t extent(int64_t dim) {
  return ShapedType::isDynamic(dim) ? 1 : dim;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : nullptr;
  return type ? type.getShape() : ArrayRef<int64_t>();
}

static double product(ArrayRef<int64_t> shape) {
  double result = 1;
  for (int64_t dim : shape)
    result *= extent(dim);
  return result;
}

static double elements(Value value) {
  return value ? elementsOf(value.getType()) : 0;
}

double ox::elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? product(tensor.getShape()) : 0;
}

int64_t ox::bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  Type element = tensor.getElementType();
  int64_t lanes = 1, bits = 128; // strings: a pointer and a length
  if (auto complex = dyn_cast<ComplexType>(element)) {
    lanes = 2;
    element = complex.getElementType();
  }
  if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  return static_cast<int64_t>(elementsOf(type)) * lanes * ((bits + 7) / 8);
}

static int64_t bytes(Value value) {
  return value ? bytesOf(value.getType()) : 0;
}

static bool isFloat(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && isa<FloatType, ComplexType>(type.getElementType());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static bool named(Operation *op, StringRef type) {
  StringRef name = op->getName().getStringRef();
  return name.consume_front("onnx.") && name == type;
}

/// Slices that go backwards are copies.
static bool forwardSlice(const Node &node) {
  ElementsAttr steps = constantValue(node.input(4));
  if (!steps || !isa<IntegerType>(steps.getElementType()))
    return true;
  return llvm::none_of(steps.getValues<APInt>(),
                       [](const APInt &step) { return step.isNegative(); });
}

/// A Reshape of what a Transpose, Expand or Slice made has to copy in general;
/// one of a contiguous value does not.
static bool contiguous(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (named(op, "Transpose") || named(op, "Expand") || named(op, "Slice") ||
        named(op, "Split"))
      return false;
    if (!named(op, "Reshape") && !named(op, "Squeeze") &&
        !named(op, "Unsqueeze") && !named(op, "Identity"))
      return true;
    value = op->getOperand(0);
  }
  return true;
}

bool ox::isView(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front("onnx.") || op->getNumOperands() == 0)
    return false;
  if (name == "Reshape" || name == "Flatten")
    return contiguous(op->getOperand(0));
  if (name == "Slice")
    return forwardSlice(Node(op));
  return llvm::StringSwitch<bool>(name)
      .Cases(
          {"Identity", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Split"},
          true)
      .Default(false);
}

Value ox::storageOf(Value value) {
  for (Operation *op = value.getDefiningOp(); op && isView(op);
       op = value.getDefiningOp())
    value = op->getOperand(0);
  return value;
}

bool ox::isParameter(Value value) {
  Operation *op = storageOf(value).getDefiningOp();
  return op && op->getName().getStringRef() == "hh.get_parameter";
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Multiply-adds of a (broadcast) matrix product: elements of the result times
/// the common dimension.
static double matMulUnits(const Node &node) {
  ArrayRef<int64_t> left = shapeOf(node.input(0));
  return elements(node.output(0)) * (left.empty() ? 1 : extent(left.back()));
}

static double gemmUnits(const Node &node) {
  ArrayRef<int64_t> left = shapeOf(node.input(0));
  if (left.size() != 2)
    return elements(node.output(0));
  int64_t common = left[node.integer("transA", 0) ? 0 : 1];
  return elements(node.output(0)) * extent(common);
}

/// Each result element sums over one filter: input channels of its group times
/// kernel elements.
static double convUnits(const Node &node, Value weight) {
  ArrayRef<int64_t> shape = shapeOf(weight);
  return elements(node.output(0)) *
         (shape.empty() ? 1 : product(shape.drop_front()));
}

/// A filter over few channels leaves nothing for matrix units to do: it runs at
/// the speed of vector code.
static bool isDepthwise(const Node &node) {
  ArrayRef<int64_t> filter = shapeOf(node.input(1));
  return node.opType() == "Conv" && node.integer("group", 1) > 1 &&
         filter.size() > 2 && extent(filter[1]) <= 4;
}

static double convTransposeUnits(const Node &node) {
  ArrayRef<int64_t> shape = shapeOf(node.input(1));
  return elements(node.input(0)) *
         (shape.empty() ? 1 : product(shape.drop_front()));
}

/// Each time step and sample multiplies by the input and the recurrent weights
/// of every direction.
static double recurrentUnits(const Node &node) {
  ArrayRef<int64_t> input = shapeOf(node.input(0));
  if (input.size() != 3)
    return elements(node.output(0));
  return product(input.take_front(2)) *
         (elements(node.input(1)) + elements(node.input(2)));
}

/// FLOPs of the contraction as one nest of loops over all labels; an ellipsis
/// stands for the widest operand's extra dimensions.
static double einsumFlops(const Node &node) {
  StringRef equation = node.string("equation", "");
  auto [left, right] = equation.split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  llvm::StringMap<int64_t> extents;
  double ellipsis = 1;
  for (auto [index, term] : llvm::enumerate(terms)) {
    ArrayRef<int64_t> shape = shapeOf(node.input(index));
    std::string labels;
    for (char c : term)
      if (c != ' ')
        labels += c;
    size_t dots = labels.find("...");
    size_t letters = labels.size() - (dots == std::string::npos ? 0 : 3);
    size_t extra = shape.size() >= letters ? shape.size() - letters : 0,
           position = 0;
    for (size_t i = 0; i < labels.size() && position <= shape.size();) {
      if (i == dots) {
        if (position + extra <= shape.size())
          ellipsis = std::max(ellipsis, product(shape.slice(position, extra)));
        position += extra;
        i += 3;
        continue;
      }
      if (position < shape.size()) {
        int64_t &size = extents[StringRef(&labels[i], 1)];
        size = std::max(size, extent(shape[position]));
      }
      ++position;
      ++i;
    }
  }
  double loops = ellipsis;
  for (const auto &entry : extents)
    loops *= entry.second;
  return loops * std::max<size_t>(terms.size(), 1);
}

struct AttentionShape {
  double batchHeads, queries, keys, headSize, valueSize;
};

/// 4-D operands are [batch, heads, sequence, size]; 3-D ones [batch, sequence,
/// heads * size].
static std::optional<AttentionShape> attentionShape(const Node &node) {
  ArrayRef<int64_t> q = shapeOf(node.input(0)), k = shapeOf(node.input(1)),
                    v = shapeOf(node.input(2));
  AttentionShape shape;
  if (q.size() == 4 && k.size() == 4 && v.size() == 4) {
    shape = {double(extent(q[0]) * extent(q[1])), double(extent(q[2])),
             double(extent(k[2])), double(extent(q[3])), double(extent(v[3]))};
  } else if (q.size() == 3 && k.size() == 3 && v.size() == 3) {
    double heads = std::max<int64_t>(1, node.integer("q_num_heads", 1));
    double valueHeads = std::max<int64_t>(1, node.integer("kv_num_heads", 1));
    shape = {extent(q[0]) * heads, double(extent(q[1])), double(extent(k[1])),
             extent(q[2]) / heads, extent(v[2]) / valueHeads};
  } else {
    return std::nullopt;
  }
  ArrayRef<int64_t> past = shapeOf(node.input(4));
  if (past.size() == 4)
    shape.keys += extent(past[2]);
  return shape;
}

/// Both products and the softmax between them. A causal mask is counted in
/// full: kernels that skip are the profile's matter.
static double attentionFlops(const Node &node) {
  auto shape = attentionShape(node);
  if (!shape)
    return elements(node.output(0));
  double scores = shape->batchHeads * shape->queries * shape->keys;
  return scores * (2 * shape->headSize + 2 * shape->valueSize + 15);
}

static double poolUnits(const Node &node) {
  return elements(node.output(0)) * product(node.integers("kernel_shape"));
}

/// Reads and weights of the interpolation for each result element, by mode and
/// number of resized dimensions.
static double resizeFlops(const Node &node) {
  StringRef mode = node.string("mode", "nearest");
  double perDimension = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  ArrayRef<int64_t> from = shapeOf(node.input(0)), to = shapeOf(node.output(0));
  double perElement = 1;
  for (auto [a, b] : llvm::zip(from, to))
    if (a != b)
      perElement *= perDimension;
  return elements(node.output(0)) * perElement * (mode == "nearest" ? 1 : 2);
}

static double sortUnits(const Node &node) {
  double count = elements(node.input(0));
  return count * std::log2(std::max(2.0, count));
}

static double fourierUnits(const Node &node) {
  ArrayRef<int64_t> shape = shapeOf(node.output(0));
  double length = shape.size() >= 2 ? extent(shape[shape.size() - 2]) : 2;
  return elements(node.output(0)) * std::log2(std::max(2.0, length));
}

static double determinantUnits(const Node &node) {
  ArrayRef<int64_t> shape = shapeOf(node.input(0));
  return elements(node.input(0)) * (shape.empty() ? 1 : extent(shape.back()));
}

/// Every box is compared with every other one of its batch entry.
static double pairUnits(const Node &node) {
  ArrayRef<int64_t> boxes = shapeOf(node.input(0));
  return boxes.size() == 3
             ? double(extent(boxes[0])) * extent(boxes[1]) * extent(boxes[1])
             : 1;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
enum class Measure {
  None,
  Out,
  In,
  MatMul,
  Gemm,
  Einsum,
  Determinant,
  Attention,
  Conv,
  QLinearConv,
  ConvTranspose,
  Recurrent,
  Pool,
  Resize,
  Sort,
  Fourier,
  Pairs,
  Subgraph,
};
enum class Kept {
  None,
  Input,
  Output,
  Inputs,
  Mask,
  Indices,
  Tables,
  Recurrent
};

struct Rule {
  OpClass opClass = OpClass::Other;
  Measure measure = Measure::Out;
  double flopsPerUnit = 1;
  double backwardRatio = 1;
  Kept kept = Kept::Inputs;
};
} // namespace

static const Rule &ruleOf(const Node &node) {
  static const llvm::StringMap<Rule> rules = [] {
    llvm::StringMap<Rule> table;
#define WORK(name, opClass, measure, flops, backward, kept)                    \
  table[#name] =                                                               \
      Rule{OpClass::opClass, Measure::measure, flops, backward, Kept::kept};
#include "Work.def"
    return table;
  }();
  static const Rule unlisted;
  if (!isa<NodeInterface>(node.operation()))
    return unlisted;
  auto found = rules.find(node.opType());
  return found == rules.end() ? unlisted : found->second;
}

static double unitsOf(const Node &node, Measure measure) {
  switch (measure) {
  case Measure::None:
  case Measure::Subgraph:
    return 0;
  case Measure::Out:
    return elements(node.output(0));
  case Measure::In:
    return elements(node.input(0));
  case Measure::MatMul:
    return matMulUnits(node);
  case Measure::Gemm:
    return gemmUnits(node);
  case Measure::Einsum:
    return einsumFlops(node);
  case Measure::Determinant:
    return determinantUnits(node);
  case Measure::Attention:
    return attentionFlops(node);
  case Measure::Conv:
    return convUnits(node, node.input(1));
  case Measure::QLinearConv:
    return convUnits(node, node.input(3));
  case Measure::ConvTranspose:
    return convTransposeUnits(node);
  case Measure::Recurrent:
    return recurrentUnits(node);
  case Measure::Pool:
    return poolUnits(node);
  case Measure::Resize:
    return resizeFlops(node);
  case Measure::Sort:
    return sortUnits(node);
  case Measure::Fourier:
    return fourierUnits(node);
  case Measure::Pairs:
    return pairUnits(node);
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Reads of all operands and writes of all results; look-ups touch only what
/// they pick.
static int64_t movedBytes(const Node &node) {
  StringRef type = node.opType();
  int64_t outputs = 0, inputs = 0;
  for (Value result : node.operation()->getResults())
    outputs += bytes(result);
  if (type == "Gather" || type == "GatherElements" || type == "GatherND")
    return 2 * outputs + bytes(node.input(1));
  if (type == "Compress")
    return 2 * outputs + bytes(node.input(1));
  for (Value operand : node.operation()->getOperands())
    inputs += bytes(operand);
  return inputs + outputs;
}

SmallVector<Value> ox::keptValues(Operation *op) {
  SmallVector<Value> kept;
  if (!isNode(op) || op->getNumResults() == 0 || !isFloat(op->getResult(0)))
    return kept;
  Node node(op);
  auto add = [&](Value value, bool anyType = false) {
    if (value && (anyType || isFloat(value)) && !isParameter(value) &&
        !constantValue(value) && !llvm::is_contained(kept, value))
      kept.push_back(value);
  };
  switch (ruleOf(node).kept) {
  case Kept::None:
    break;
  case Kept::Input:
    add(node.input(0));
    break;
  case Kept::Output:
    add(node.output(0));
    break;
  case Kept::Recurrent: // with `keptInside`
    add(node.input(0));
    break;
  case Kept::Inputs:
    for (Value operand : op->getOperands())
      add(operand);
    if (node.opType() == "Attention") // kept with the statistics of its softmax
      add(node.output(0));
    break;
  case Kept::Mask:
    add(node.opType() == "Where" ? node.input(0) : node.output(1),
        /*anyType=*/true);
    break;
  case Kept::Indices:
    add(node.opType().starts_with("Scatter") ||
                node.opType().starts_with("Gather") ||
                node.opType() == "Compress"
            ? node.input(1)
            : node.input(2),
        /*anyType=*/true);
    break;
  case Kept::Tables:
    add(node.input(1));
    add(node.input(2));
    break;
  }
  return kept;
}

/// Values of the size of a state that a step of lib/Differentiate's cells
/// keeps.
static int64_t keptStates(StringRef cell) {
  return llvm::StringSwitch<int64_t>(cell)
      .Case("LSTM", 7) // three gates, candidate, cell, its tanh, output
      .Case("GRU", 6) // two gates, one less the update, candidate, its share of
                      // the state, output
      .Default(1);    // output
}

int64_t ox::keptInside(Operation *op) {
  if (!isNode(op))
    return 0;
  Node node(op);
  ArrayRef<int64_t> input = shapeOf(node.input(0)),
                    again = shapeOf(node.input(2)); // directions, gates, hidden
  if (ruleOf(node).kept != Kept::Recurrent || input.size() != 3 ||
      again.size() != 3)
    return 0;
  const int64_t directions = extent(again[0]), hidden = extent(again[2]),
                steps = extent(input[0]) * extent(input[1]);
  auto element = cast<ShapedType>(node.input(0).getType()).getElementType();
  int64_t bytesOfOne =
      element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 0;
  // A direction that starts at the end keeps its input turned round.
  int64_t inputs = (directions - 1) * extent(input[2]);
  return steps * bytesOfOne *
         (inputs + directions * hidden * keptStates(node.opType()));
}

//===----------------------------------------------------------------------===//
// Sub-graphs
//===----------------------------------------------------------------------===//

static OpWork &operator+=(OpWork &sum, const OpWork &work) {
  sum.forwardFlops += work.forwardFlops;
  sum.backwardFlops += work.backwardFlops;
  sum.movedBytes += work.movedBytes;
  sum.keptBytes += work.keptBytes;
  sum.parameterBytes += work.parameterBytes;
  return sum;
}

static OpWork workOf(Region &region) {
  OpWork sum;
  for (Operation &op : region.getOps())
    if (isNode(&op))
      sum += ox::workOf(&op);
  return sum;
}

/// Iterations of a Loop or Scan where they are constant, else 1: what is
/// printed is then the cost of one iteration.
double ox::tripCount(Operation *op) {
  Node node(op);
  if (node.opType() == "Loop") {
    ElementsAttr count = constantValue(node.input(0));
    if (count && count.getNumElements() == 1 &&
        count.getElementType().isInteger(64))
      return std::max<int64_t>(0, count.getSplatValue<APInt>().getSExtValue());
    return 1;
  }
  if (node.opType() == "Scan") {
    int64_t scanned = node.integer("num_scan_inputs", 0);
    int64_t first = static_cast<int64_t>(node.inputCount()) - scanned;
    SmallVector<int64_t> axes = node.integers("scan_input_axes");
    ArrayRef<int64_t> shape =
        first >= 0 ? shapeOf(node.input(first)) : ArrayRef<int64_t>();
    int64_t axis = axes.empty() ? 0 : axes.front();
    axis += axis < 0 ? shape.size() : 0;
    return axis >= 0 && axis < static_cast<int64_t>(shape.size())
               ? extent(shape[axis])
               : 1;
  }
  return 1;
}

static OpWork subgraphWork(const Node &node) {
  if (node.opType() == "If") {
    OpWork dearest;
    for (Region &region : node.operation()->getRegions()) {
      OpWork branch = ::workOf(region);
      if (branch.forwardFlops + branch.movedBytes >=
          dearest.forwardFlops + dearest.movedBytes)
        dearest = branch;
    }
    return dearest;
  }
  OpWork sum;
  for (Region &region : node.operation()->getRegions())
    sum += ::workOf(region);
  double trips = tripCount(node.operation());
  sum.forwardFlops *= trips;
  sum.backwardFlops *= trips;
  sum.movedBytes = static_cast<int64_t>(sum.movedBytes * trips);
  sum.keptBytes = static_cast<int64_t>(sum.keptBytes * trips);
  return sum;
}

OpWork ox::workOf(Operation *op) {
  Node node(op);
  const Rule &rule = ruleOf(node);
  if (rule.measure == Measure::Subgraph)
    return subgraphWork(node);
  OpWork work;
  work.opClass = rule.opClass;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        source && source->getName().getStringRef() == "hh.get_parameter")
      work.parameterBytes += bytes(operand);
  if (rule.opClass == OpClass::View) {
    if (isView(op) || op->getNumOperands() == 0 ||
        !isa<RankedTensorType>(op->getResult(0).getType()) ||
        !llvm::is_contained({"Reshape", "Flatten", "Slice"}, node.opType()))
      return work;
    work.opClass = OpClass::Elementwise; // a copy after all
    work.movedBytes = 2 * bytes(op->getResult(0));
    return work;
  }
  if (isDepthwise(node))
    work.opClass = OpClass::Elementwise;
  work.movedBytes = movedBytes(node);
  work.forwardFlops = unitsOf(node, rule.measure) * rule.flopsPerUnit;
  if (op->getNumResults() > 0 && isFloat(op->getResult(0)))
    work.backwardFlops = work.forwardFlops * rule.backwardRatio;
  for (Value value : keptValues(op))
    work.keptBytes += bytes(value);
  work.keptBytes += keptInside(op);
  return work;
}
