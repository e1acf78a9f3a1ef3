//===- ControlFlow.cpp - If, Loop, Scan, SequenceMap ----------------------===//
//
// Sub-graphs become regions of hh.if and hh.loop; they read outer values as
// before. Both hold types to what they promise, so that values are cast where
// inference knows more on one side.
//===----------------------------------------------------------------------===//

#include "OpenHandlers.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace hethub {

namespace {

using LowerBlock = llvm::function_ref<void(Block &)>;

Value castTo(Lowering &l, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return hh::CastOp::create(l.builder, l.loc, type, value);
}

/// Ends a region whose onnx.Yield gives `values` by a yield of those types.
void yieldAs(Lowering &l, Operation *terminator, ArrayRef<Value> values,
             ArrayRef<Type> types) {
  l.builder.setInsertionPoint(terminator);
  Values yielded;
  for (auto [value, type] : llvm::zip_equal(values, types))
    yielded.push_back(castTo(l, value, type));
  hh::YieldOp::create(l.builder, terminator->getLoc(), yielded);
  terminator->erase();
}

LogicalResult lowerIf(Lowering &l, LowerBlock lowerBlock) {
  Operation *op = l.node.operation();
  Value condition = l.in(0);
  auto type = dyn_cast<RankedTensorType>(condition.getType());
  if (type && type.hasStaticShape() && type.getNumElements() != 1)
    return l.refuse("the condition must have one element");
  if (!type)
    condition = castTo(l, condition, Lowering::tensor({1}, l.boolean()));
  condition = l.reshape(condition, {});
  auto choice =
      hh::IfOp::create(l.builder, l.loc, op->getResultTypes(), condition);
  for (auto [name, body] : {std::pair("then_branch", &choice.getThenBody()),
                            std::pair("else_branch", &choice.getElseBody())}) {
    body->takeBody(*l.node.subgraph(name));
    Block &block = body->front();
    lowerBlock(block);
    Values yielded(block.getTerminator()->getOperands());
    if (yielded.size() != op->getNumResults())
      return l.refuse("both branches must give as many values as the node");
    yieldAs(l, block.getTerminator(), yielded,
            SmallVector<Type>(op->getResultTypes()));
  }
  l.builder.setInsertionPointAfter(choice);
  for (auto [index, result] : llvm::enumerate(choice.getResults()))
    op->getResult(index).replaceAllUsesWith(result);
  return success();
}

Value scalarOf(Lowering &l, int64_t value) {
  return l.constantInts({value}, {});
}

Value trueValue(Lowering &l) {
  return l.constant(
      DenseElementsAttr::get(Lowering::tensor({}, l.boolean()), true));
}

/// Types of the stacked results, which need a rank.
LogicalResult stackedTypes(Lowering &l, ArrayRef<Value> parts,
                           Type (*wrap)(Lowering &, RankedTensorType),
                           SmallVectorImpl<Type> &types) {
  for (Value part : parts) {
    auto type = dyn_cast<RankedTensorType>(part.getType());
    if (!type)
      return l.refuse("rank of what an iteration gives is not known when "
                      "compiling");
    types.push_back(wrap(l, type));
  }
  return success();
}

Type stacked(Lowering &, RankedTensorType part) {
  Dims dims{ShapedType::kDynamic};
  llvm::append_range(dims, part.getShape());
  return Lowering::tensor(dims, part.getElementType());
}

LogicalResult lowerLoop(Lowering &l, LowerBlock lowerBlock) {
  Operation *op = l.node.operation();
  Block &body = l.node.subgraph("body")->front();
  size_t carried = body.getNumArguments() - 2;
  Value count =
      l.has(0) ? l.in(0) : scalarOf(l, std::numeric_limits<int64_t>::max());
  Value condition = l.has(1) ? l.in(1) : trueValue(l);
  SmallVector<Type> types, resultTypes;
  Values initial;
  for (size_t i = 0; i < carried; ++i) {
    types.push_back(body.getArgument(i + 2).getType());
    if (!l.has(i + 2))
      return l.refuse("every carried value must be given");
    initial.push_back(castTo(l, l.in(i + 2), types.back()));
  }
  resultTypes = types;
  Values ends(body.getTerminator()->getOperands().drop_front(carried + 1));
  if (failed(stackedTypes(l, ends, stacked, resultTypes)))
    return failure();
  auto loop = hh::LoopOp::create(l.builder, l.loc, resultTypes, count,
                                 condition, initial);
  loop.getBody().takeBody(*l.node.subgraph("body"));
  lowerBlock(body);
  // Lowering has replaced what the body gives.
  Values yielded(body.getTerminator()->getOperands());
  SmallVector<Type> yieldTypes{yielded.front().getType()};
  yieldTypes.append(types);
  for (Value value : ArrayRef(yielded).drop_front(carried + 1))
    yieldTypes.push_back(value.getType());
  yieldAs(l, body.getTerminator(), yielded, yieldTypes);
  l.builder.setInsertionPointAfter(loop);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    l.replace(i, loop.getResult(i));
  return success();
}

/// A loop over an axis of the scanned inputs, of which the body gets one
/// element each.
LogicalResult lowerScan(Lowering &l, LowerBlock lowerBlock) {
  Block &body = l.node.subgraph("body")->front();
  auto scanned = static_cast<size_t>(l.node.integer("num_scan_inputs", 0));
  if (scanned == 0 || scanned > body.getNumArguments())
    return l.refuse("num_scan_inputs must be from 1 to the number of inputs");
  size_t carried = body.getNumArguments() - scanned;
  Dims axes = l.node.integers("scan_input_axes");
  Dims directions = l.node.integers("scan_input_directions");
  axes.resize(scanned, 0);
  directions.resize(scanned, 0);
  for (size_t i = 0; i < scanned; ++i) {
    int64_t rank = Lowering::rank(l.in(carried + i));
    if (rank < 0)
      return l.refuse("rank of an input is not known when compiling");
    axes[i] += axes[i] < 0 ? rank : 0;
  }
  Value first = l.in(carried);
  int64_t size = Lowering::dims(first)[axes[0]];
  Value count =
      ShapedType::isDynamic(size)
          ? l.call("hethub.shape_of", {first},
                   {l.arg("start", axes[0]), l.arg("end", axes[0] + 1)},
                   Lowering::tensor({1}, l.i64()))
          : scalarOf(l, size);
  SmallVector<Type> types, resultTypes;
  Values initial;
  for (size_t i = 0; i < carried; ++i) {
    types.push_back(body.getArgument(i).getType());
    initial.push_back(castTo(l, l.in(i), types.back()));
  }
  resultTypes = types;
  Values ends(body.getTerminator()->getOperands().drop_front(carried));
  if (failed(stackedTypes(l, ends, stacked, resultTypes)))
    return failure();
  auto loop = hh::LoopOp::create(l.builder, l.loc, resultTypes, count,
                                 trueValue(l), initial);
  loop.getBody().takeBody(*l.node.subgraph("body"));
  // Arguments as hh.loop has them: iteration, condition, carried values.
  l.builder.setInsertionPointToStart(&body);
  BlockArgument iteration =
      body.insertArgument(0u, Lowering::tensor({}, l.i64()), l.loc);
  BlockArgument condition =
      body.insertArgument(1u, Lowering::tensor({}, l.boolean()), l.loc);
  for (size_t i = 0; i < scanned; ++i) {
    BlockArgument argument = body.getArgument(carried + 2 + i);
    Value element =
        l.call("hethub.element_of", {l.in(carried + i), iteration},
               {l.arg("axis", axes[i]), l.arg("reverse", directions[i] != 0)},
               argument.getType());
    argument.replaceAllUsesWith(element);
  }
  body.eraseArguments(carried + 2, scanned);
  lowerBlock(body);
  Values yielded{condition};
  llvm::append_range(yielded, body.getTerminator()->getOperands());
  SmallVector<Type> yieldTypes{condition.getType()};
  yieldTypes.append(types);
  for (Value value : ArrayRef(yielded).drop_front(carried + 1))
    yieldTypes.push_back(value.getType());
  yieldAs(l, body.getTerminator(), yielded, yieldTypes);
  l.builder.setInsertionPointAfter(loop);

  Dims outAxes = l.node.integers("scan_output_axes");
  Dims outDirections = l.node.integers("scan_output_directions");
  size_t outputs = loop.getNumResults() - carried;
  outAxes.resize(outputs, 0);
  outDirections.resize(outputs, 0);
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    Value value = loop.getResult(i);
    if (i >= carried) {
      int64_t rank = Lowering::rank(value), axis = outAxes[i - carried];
      if (outDirections[i - carried])
        value = l.flip(value, {0});
      Dims order = iota(rank);
      order.erase(order.begin());
      order.insert(order.begin() + (axis < 0 ? axis + rank : axis), 0);
      value = l.permute(value, order);
    }
    if (l.node.output(i))
      l.replace(i, value);
  }
  return success();
}

/// A loop over the elements of the first sequence; other inputs that are no
/// sequences are given to each iteration.
LogicalResult lowerSequenceMap(Lowering &l, LowerBlock lowerBlock) {
  Operation *op = l.node.operation();
  Block &body = l.node.subgraph("body")->front();
  Value count = l.call("hethub.sequence_length", {l.in(0)}, {},
                       Lowering::tensor({}, l.i64()));
  SmallVector<Type> types(op->getResultTypes());
  Values initial;
  for (Type type : types)
    initial.push_back(
        l.call("hethub.sequence_construct", {Values()}, {}, type));
  auto loop =
      hh::LoopOp::create(l.builder, l.loc, types, count, trueValue(l), initial);
  loop.getBody().takeBody(*l.node.subgraph("body"));
  l.builder.setInsertionPointToStart(&body);
  unsigned inputs = body.getNumArguments();
  BlockArgument iteration =
      body.insertArgument(0u, Lowering::tensor({}, l.i64()), l.loc);
  BlockArgument condition =
      body.insertArgument(1u, Lowering::tensor({}, l.boolean()), l.loc);
  for (unsigned i = 0; i < inputs; ++i) {
    BlockArgument argument = body.getArgument(i + 2);
    Value input = l.in(i);
    bool isSequence = isa<ox::SeqType>(input.getType());
    argument.replaceAllUsesWith(
        isSequence ? l.call("hethub.sequence_at", {input, iteration}, {},
                            argument.getType())
                   : castTo(l, input, argument.getType()));
  }
  body.eraseArguments(2, inputs);
  Values before;
  for (Type type : types)
    before.push_back(body.addArgument(type, l.loc));
  lowerBlock(body);
  Operation *terminator = body.getTerminator();
  l.builder.setInsertionPoint(terminator);
  Values yielded{condition};
  SmallVector<Type> yieldTypes{condition.getType()};
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    yielded.push_back(l.call("hethub.sequence_insert",
                             {before[index], value, Value()}, {},
                             types[index]));
    yieldTypes.push_back(types[index]);
  }
  yieldAs(l, terminator, yielded, yieldTypes);
  l.builder.setInsertionPointAfter(loop);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    op->getResult(i).replaceAllUsesWith(loop.getResult(i));
  return success();
}

} // namespace

bool isControlFlow(StringRef opType) {
  return llvm::is_contained({"If", "Loop", "Scan", "SequenceMap"}, opType);
}

LogicalResult lowerControlFlow(Lowering &l, LowerBlock lowerBlock) {
  StringRef type = l.node.opType();
  if (type == "If")
    return lowerIf(l, lowerBlock);
  if (type == "Loop")
    return lowerLoop(l, lowerBlock);
  return type == "Scan" ? lowerScan(l, lowerBlock)
                        : lowerSequenceMap(l, lowerBlock);
}

} // namespace hethub
