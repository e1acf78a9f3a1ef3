//===- TrainingMode.cpp - operators that act differently in training ------===//

#include "RaisePatterns/Match.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/Training.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_TRAININGMODE
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

namespace {

/// The parameter that a value is; null where it is computed.
hh::GetParameterOp parameterOf(Value value) {
  return value ? value.getDefiningOp<hh::GetParameterOp>() : nullptr;
}

/// Inline booleans say whether a Dropout trains.
bool isTrue(Value value) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constantValue(value));
  return dense && dense.getElementType().isInteger(1) &&
         dense.getNumElements() == 1 && *dense.value_begin<bool>();
}

struct TrainingMode : impl::TrainingModeBase<TrainingMode> {
  using TrainingModeBase::TrainingModeBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
  LogicalResult trainBatchNorm(Operation *op);
  void trainDropout(Operation *op);
  LogicalResult addUpdate(Operation *norm, unsigned output, Location loc);

  func::FuncOp main;
  llvm::StringSet<> updated;
};

} // namespace

/// The new value of a running statistic becomes a result of the model, which
/// the runtime stores in the parameter.
LogicalResult TrainingMode::addUpdate(Operation *norm, unsigned output,
                                      Location loc) {
  hh::GetParameterOp parameter = parameterOf(Node(norm).input(2 + output));
  if (!parameter) {
    emitWarning(loc, "running statistics must be parameters to be updated, "
                     "got a computed value: they keep their values");
    return success();
  }
  StringRef name = parameter.getParameter();
  if (!updated.insert(name).second)
    return emitError(loc, "a running statistic must have one batch "
                          "normalisation that updates it, got two for '")
           << name << "'";
  Value value = norm->getResult(output);
  Builder builder(main.getContext());
  NamedAttrList attributes;
  attributes.set("onnx.name", builder.getStringAttr(valueName(value)));
  attributes.set(hh::updateAttrName,
                 FlatSymbolRefAttr::get(builder.getContext(), name));
  Operation *terminator = main.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), {value});
  return main.insertResult(main.getNumResults(), value.getType(),
                           attributes.getDictionary(main.getContext()));
}

/// With the running statistics as further outputs, which ONNX wants of the
/// training form.
LogicalResult TrainingMode::trainBatchNorm(Operation *op) {
  Node node(op);
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < node.inputCount(); ++i)
    inputs.push_back(node.input(i));
  if (inputs.size() != 5)
    return success(); // The verifier's business.
  OpBuilder builder(op);
  NamedAttrList attributes(op->getAttrs());
  attributes.erase("operandSegmentSizes");
  attributes.erase("resultSegmentSizes");
  attributes.set("training_mode",
                 builder.getIntegerAttr(builder.getI64Type(), 1));
  attributes.set(trainingAttrName, builder.getUnitAttr());
  std::string name = valueName(node.output(0)), mean = name + "/running_mean",
              variance = name + "/running_var";
  StringRef names[] = {name, mean, variance};
  Location loc =
      makeNodeLoc(op->getContext(), nodeName(op), names, scopeOf(op->getLoc()));
  Operation *norm = raise::createNode(
      builder, loc, "BatchNormalization", inputs, attributes,
      {node.output(0).getType(), inputs[3].getType(), inputs[4].getType()});
  for (unsigned i = 0; i < 3; ++i)
    if (Value output = node.output(i))
      output.replaceAllUsesWith(norm->getResult(i));
  Location model = op->getLoc();
  op->erase();
  if (failed(addUpdate(norm, 1, model)) || failed(addUpdate(norm, 2, model)))
    return failure();
  return success();
}

void TrainingMode::trainDropout(Operation *op) {
  Node node(op);
  OpBuilder builder(op);
  auto scalar = RankedTensorType::get({}, builder.getI1Type());
  NamedAttribute value =
      builder.getNamedAttr("value", DenseElementsAttr::get(scalar, true));
  Value training =
      raise::createNode(builder, raise::helperLoc(op, "training_mode"),
                        "Constant", {}, {value}, {scalar})
          ->getResult(0);
  NamedAttrList attributes(op->getAttrs());
  attributes.erase("operandSegmentSizes");
  attributes.erase("resultSegmentSizes");
  attributes.set(trainingAttrName, builder.getUnitAttr());
  SmallVector<Type> types(op->getResultTypes());
  Operation *dropout = raise::createNode(
      builder, op->getLoc(), "Dropout",
      {node.input(0), node.input(1), training}, attributes, types);
  op->replaceAllUsesWith(dropout->getResults());
  op->erase();
}

LogicalResult TrainingMode::run() {
  main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return getOperation().emitError(
        "module must have a function @main of one block");
  llvm::StringSet<> wanted;
  for (StringRef name : operators) {
    if (name != "batch-norm" && name != "dropout")
      return main.emitError("operators in training form must be batch-norm or "
                            "dropout, got: ")
             << name;
    wanted.insert(name);
  }
  SmallVector<Operation *> norms, dropouts;
  main.walk([&](Operation *op) {
    if (!isNode(op) || !Node(op).domain().empty())
      return;
    StringRef type = Node(op).opType();
    if (type == "BatchNormalization" &&
        (wanted.contains("batch-norm") || Node(op).integer("training_mode", 0)))
      norms.push_back(op);
    if (type == "Dropout" &&
        (wanted.contains("dropout") || isTrue(Node(op).input(2))))
      dropouts.push_back(op);
  });
  for (Operation *op : norms) {
    if (op->getParentOp() != main) {
      op->emitWarning("batch normalisation in a sub-graph keeps its form");
      continue;
    }
    if (failed(trainBatchNorm(op)))
      return failure();
  }
  for (Operation *op : dropouts)
    trainDropout(op);
  return success();
}

} // namespace hethub::ox
