//===- Layout.cpp - the same bits wherever a model is cut -----------------===//
//
// A value that travels between stages arrives contiguous, while inside of one
// program it may be a view with other strides. Most kernels give the same bits
// for both, but not all: reductions add in the order of memory, convolutions
// choose an algorithm by layout, exp and its like are computed by vector code
// only where elements lie side by side. Such calls get a contiguous operand, so
// that a model cut in k stages computes exactly what the whole model does.
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hethub {

namespace {

/// Strides of a value, in elements; unknown where nothing is recorded.
struct Layout {
  std::optional<Dims> strides;

  static Layout contiguous(ArrayRef<int64_t> dims) {
    Dims strides(dims.size());
    int64_t step = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      strides[i] = step;
      step *= std::max<int64_t>(dims[i], 1);
    }
    return {strides};
  }
  /// Elements in row-major order without gaps; strides of axes of size 1 mean
  /// nothing.
  bool isContiguous(ArrayRef<int64_t> dims) const {
    if (!strides)
      return false;
    int64_t step = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i] != 1 && (*strides)[i] != step)
        return false;
      step *= std::max<int64_t>(dims[i], 1);
    }
    return true;
  }
  /// Elements without gaps, in some order of the axes.
  bool isDense(ArrayRef<int64_t> dims) const {
    if (!strides)
      return false;
    Dims order = iota(dims.size()), sorted, sortedStrides;
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      return (*strides)[a] > (*strides)[b];
    });
    for (int64_t axis : order) {
      sorted.push_back(dims[axis]);
      sortedStrides.push_back((*strides)[axis]);
    }
    return Layout{sortedStrides}.isContiguous(sorted);
  }
};

/// Exact in any layout: one rounding an element, or none.
const llvm::StringSet<> &exactOperators() {
  static const llvm::StringSet<> names{"abs",
                                       "add",
                                       "amax",
                                       "amin",
                                       "any",
                                       "argmax",
                                       "argmin",
                                       "bitwise_and",
                                       "bitwise_not",
                                       "bitwise_or",
                                       "bitwise_xor",
                                       "bitwise_left_shift",
                                       "bitwise_right_shift",
                                       "ceil",
                                       "clamp",
                                       "div",
                                       "eq",
                                       "flip",
                                       "floor",
                                       "ge",
                                       "gt",
                                       "isinf",
                                       "isnan",
                                       "le",
                                       "leaky_relu",
                                       "logical_and",
                                       "logical_not",
                                       "logical_or",
                                       "logical_xor",
                                       "lt",
                                       "masked_fill",
                                       "maximum",
                                       "minimum",
                                       "mul",
                                       "ne",
                                       "neg",
                                       "reciprocal",
                                       "relu",
                                       "round",
                                       "rsub",
                                       "sign",
                                       "sqrt",
                                       "sub",
                                       "threshold",
                                       "to",
                                       "tril",
                                       "triu",
                                       "where"};
  return names;
}

/// The order of additions or the algorithm depends on the layout.
const llvm::StringSet<> &layoutSensitive() {
  static const llvm::StringSet<> names{"addmm",
                                       "avg_pool1d",
                                       "avg_pool2d",
                                       "avg_pool3d",
                                       "batch_norm",
                                       "bmm",
                                       "col2im",
                                       "convolution",
                                       "cumprod",
                                       "cumulative",
                                       "cumsum",
                                       "det",
                                       "dynamic_quantize_lstm",
                                       "fmod",
                                       "remainder",
                                       "einsum",
                                       "grid_sampler",
                                       "group_norm",
                                       "gru",
                                       "instance_norm",
                                       "layer_norm",
                                       "linalg_vector_norm",
                                       "linear",
                                       "linear_attention",
                                       "log_softmax",
                                       "logsumexp",
                                       "lstm",
                                       "matmul",
                                       "max_pool1d",
                                       "max_pool1d_with_indices",
                                       "max_pool2d",
                                       "max_pool2d_with_indices",
                                       "max_pool3d",
                                       "max_pool3d_with_indices",
                                       "mean",
                                       "mm",
                                       "native_layer_norm",
                                       "nll_loss_nd",
                                       "pow",
                                       "prod",
                                       "reduce_by",
                                       "resize",
                                       "resize_by",
                                       "rms_norm",
                                       "rnn",
                                       "rnn_relu",
                                       "rnn_tanh",
                                       "scaled_dot_product_attention",
                                       "softmax",
                                       "sum",
                                       "upsample_nearest1d",
                                       "upsample_nearest2d",
                                       "upsample_nearest3d",
                                       "var"};
  return names;
}

/// Give fresh contiguous tensors whatever they are given.
const llvm::StringSet<> &freshOperators() {
  static const llvm::StringSet<> names{"addmm",        "affine_grid_generator",
                                       "arange",       "contiguous",
                                       "embedding",    "eye",
                                       "full",         "gather",
                                       "index_select", "linear",
                                       "mm",           "repeat",
                                       "wrap_index"};
  return names;
}

/// Give another look at the same elements.
const llvm::StringSet<> &viewOperators() {
  static const llvm::StringSet<> names{
      "expand", "permute",   "reshape", "select",    "slice", "squeeze",
      "t",      "transpose", "unfold",  "unsqueeze", "view"};
  return names;
}

class LayoutPass {
public:
  explicit LayoutPass(MLIRContext *context) : builder(context) {}
  void run(Region &region);

private:
  /// Calls made for one node, in order.
  using Group = ArrayRef<Operation *>;
  void visit(Group group);
  void record(aten::CallView call);
  Layout layoutOf(Value value) const;
  /// The layout of a view's result; nothing where the operator is no view.
  std::optional<Layout> viewLayout(aten::CallView call) const;
  Layout elementwiseLayout(Operation *op) const;
  bool isContiguous(Value value) const {
    // A sequence has no layout, nor is that of an unknown rank looked at.
    return !isa<RankedTensorType>(value.getType()) ||
           layoutOf(value).isContiguous(Lowering::dims(value));
  }
  bool dependsOnParametersAlone(Value value) const {
    Operation *producer = value.getDefiningOp();
    return producer && (isa<hh::GetParameterOp, hh::ConstantOp>(producer) ||
                        constant.contains(producer));
  }
  void makeContiguous(OpOperand &operand);

  OpBuilder builder;
  llvm::DenseMap<Value, Layout> layouts;
  llvm::DenseMap<Value, Value> copies;
  llvm::DenseSet<Operation *> constant;
};

/// Arguments, parameters, constants and what was received are contiguous;
/// results of branches are not known.
Layout LayoutPass::layoutOf(Value value) const {
  auto it = layouts.find(value);
  if (it != layouts.end())
    return it->second;
  Operation *producer = value.getDefiningOp();
  if (producer && producer->getNumRegions() != 0)
    return {};
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || isa_and_nonnull<hh::CastOp>(producer))
    return {};
  // Carried from one iteration of a loop to the next.
  if (!producer && isa<hh::LoopOp>(value.getParentBlock()->getParentOp()))
    return {};
  return Layout::contiguous(Lowering::dims(value));
}

static int64_t intArgument(aten::CallView call, StringRef name) {
  auto attribute = dyn_cast_or_null<IntegerAttr>(call.argument(name).attribute);
  return attribute ? attribute.getInt() : 0;
}

std::optional<Layout> LayoutPass::viewLayout(aten::CallView call) const {
  StringRef name = call.layout().name;
  if (!viewOperators().contains(name))
    return std::nullopt;
  Operation *op = call.operation();
  Value x = op->getOperand(0);
  ArrayRef<int64_t> in = Lowering::dims(x);
  ArrayRef<int64_t> out = Lowering::dims(op->getResult(0));
  Layout layout = layoutOf(x);
  if (!layout.strides)
    return Layout{};
  Dims strides = *layout.strides;
  if (name == "view") // the same bits under another type
    return layout;
  if (name == "transpose" || name == "t") {
    int64_t a = name == "t" ? 0 : intArgument(call, "dim0");
    int64_t b = name == "t" ? 1 : intArgument(call, "dim1");
    std::swap(strides[a], strides[b]);
  } else if (name == "permute") {
    auto order =
        cast<DenseI64ArrayAttr>(call.argument("dims").attribute).asArrayRef();
    for (auto [to, from] : llvm::enumerate(order))
      strides[to] = (*layout.strides)[from];
  } else if (name == "select") {
    strides.erase(strides.begin() + intArgument(call, "dim"));
  } else if (name == "slice") {
    strides[intArgument(call, "dim")] *= intArgument(call, "step");
  } else if (name == "unfold") { // windows: a new last axis
    int64_t dim = intArgument(call, "dimension");
    strides.push_back(strides[dim]);
    strides[dim] *= intArgument(call, "step");
  } else if (name == "unsqueeze") {
    strides.insert(strides.begin() + intArgument(call, "dim"), 1);
  } else if (name == "expand") {
    strides.assign(out.size(), 0);
    size_t offset = out.size() - in.size();
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i] == out[i + offset])
        strides[i + offset] = (*layout.strides)[i];
  } else if (layout.isContiguous(in)) { // reshape, squeeze
    return Layout::contiguous(out);
  } else {
    return Layout{};
  }
  return Layout{strides};
}

/// LibTorch gives the result of an elementwise operator the strides that its
/// dense operands share.
Layout LayoutPass::elementwiseLayout(Operation *op) const {
  ArrayRef<int64_t> out = Lowering::dims(op->getResult(0));
  std::optional<Layout> shared;
  for (Value operand : op->getOperands()) {
    if (Lowering::dims(operand) != out) {
      if (!isContiguous(operand))
        return {};
      continue;
    }
    Layout layout = layoutOf(operand);
    if (!layout.isDense(out) || (shared && shared->strides != layout.strides))
      return {};
    shared = layout;
  }
  return shared ? *shared : Layout::contiguous(out);
}

void LayoutPass::makeContiguous(OpOperand &operand) {
  Value &copy = copies[operand.get()];
  if (!copy) {
    builder.setInsertionPoint(operand.getOwner());
    OperationState state(operand.getOwner()->getLoc(), "aten.contiguous");
    state.addOperands(operand.get());
    state.addTypes(operand.get().getType());
    copy = builder.create(state)->getResult(0);
  }
  operand.set(copy);
}

/// Whether the bits of a call's result depend on the strides of its operands.
/// Functions of one number do: the elements that no vector holds are computed
/// by other code, and the order of memory decides which ones these are.
static bool dependsOnLayout(aten::CallView call) {
  StringRef name = call.layout().name;
  if (layoutSensitive().contains(name))
    return true;
  Operation *op = call.operation();
  return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         !exactOperators().contains(name) && !viewOperators().contains(name) &&
         !freshOperators().contains(name);
}

/// Makes what comes from other nodes contiguous, where the node's calls need
/// that.
void LayoutPass::visit(Group group) {
  bool need = llvm::any_of(
      group, [](Operation *op) { return dependsOnLayout(aten::CallView(op)); });
  for (Operation *op : group) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      bool own = producer && llvm::is_contained(group, producer);
      if (need && !own && !dependsOnParametersAlone(operand.get()) &&
          !isContiguous(operand.get()))
        makeContiguous(operand);
    }
    record(aten::CallView(op));
    if (llvm::all_of(op->getOperands(),
                     [&](Value v) { return dependsOnParametersAlone(v); }))
      constant.insert(op);
  }
}

/// Notes the layout of a call's results where it is not contiguous.
void LayoutPass::record(aten::CallView call) {
  Operation *op = call.operation();
  StringRef name = call.layout().name;
  if (std::optional<Layout> layout = viewLayout(call)) {
    layouts[op->getResult(0)] = *layout;
    return;
  }
  if (freshOperators().contains(name))
    return;
  bool sameShape =
      op->getNumOperands() > 0 && op->getNumResults() == 1 &&
      Lowering::rank(op->getResult(0)) >= Lowering::rank(op->getOperand(0));
  if (sameShape &&
      (exactOperators().contains(name) ||
       (dependsOnLayout(call) && !layoutSensitive().contains(name)))) {
    layouts[op->getResult(0)] = elementwiseLayout(op);
    return;
  }
  // The rest keeps to row-major order when its operands do, with a few
  // exceptions that give views.
  static const llvm::StringSet<> unknown{"affine_grid_of",
                                         "center_crop_pad_by",
                                         "concat_from_sequence",
                                         "cumulative",
                                         "einsum",
                                         "element_of",
                                         "expand_to",
                                         "flatten_at",
                                         "index",
                                         "optional_get_element",
                                         "pad_by",
                                         "reduce_by",
                                         "reshape_to",
                                         "reverse_sequence",
                                         "scaled_dot_product_attention",
                                         "sequence_at",
                                         "slice_by",
                                         "sort",
                                         "split_part",
                                         "squeeze_by",
                                         "top_k_of",
                                         "triangle_of",
                                         "unsqueeze_by"};
  bool folds = name == "matmul" && Lowering::rank(op->getOperand(0)) <
                                       Lowering::rank(op->getOperand(1));
  bool plain =
      llvm::all_of(op->getOperands(), [&](Value v) { return isContiguous(v); });
  bool known = name == "matmul" ? !folds : plain && !unknown.contains(name);
  if (!known)
    for (Value result : op->getResults())
      layouts[result] = {};
}

void LayoutPass::run(Region &region) {
  for (Block &block : region) {
    SmallVector<Operation *> group;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      bool isCall = bool(aten::CallView(&op));
      if (!group.empty() &&
          (!isCall || op.getLoc() != group.back()->getLoc())) {
        visit(group);
        group.clear();
      }
      if (isCall)
        group.push_back(&op);
      for (Region &inner : op.getRegions()) {
        // A copy made inside of a region is not seen outside.
        llvm::DenseMap<Value, Value> outer = copies;
        run(inner);
        copies = std::move(outer);
      }
    }
    visit(group);
  }
}

} // namespace

void makeLayoutIndependent(Region &region) {
  LayoutPass(region.getContext()).run(region);
}

} // namespace hethub
