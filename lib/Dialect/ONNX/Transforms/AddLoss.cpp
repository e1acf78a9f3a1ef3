//===- AddLoss.cpp - the number that training makes small -----------------===//

#include "RaisePatterns/Match.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/ONNX/IR/Training.h"
#include "hethub/Dialect/ONNX/Transforms/Passes.h"
#include "hethub/Support/EraseDead.h"
#include "hethub/Support/Names.h"
#include "hethub/Support/OpenDims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hethub::ox {

#define GEN_PASS_DEF_ADDLOSS
#include "hethub/Dialect/ONNX/Transforms/Passes.h.inc"

namespace {

constexpr StringLiteral labelsName = "labels";

/// Labels that count for nothing, as in torch.nn.CrossEntropyLoss.
constexpr int64_t ignoredLabel = -100;

bool isFloat(RankedTensorType type) {
  return type && isa<FloatType>(type.getElementType());
}

/// Builds the operators of a loss in front of the function's return.
class LossBuilder {
public:
  LossBuilder(func::FuncOp main, Operation *terminator, StringRef scope)
      : main(main), builder(terminator), scope(scope) {}

  /// Softmax and the negative logarithm of the label's share, mean over all
  /// labels. ONNX wants classes on axis 1: all other axes become rows.
  Value crossEntropy(Value scores) {
    auto type = cast<RankedTensorType>(scores.getType());
    RankedTensorType labelType = RankedTensorType::get(
        type.getShape().drop_back(), builder.getI64Type());
    Value labels = addLabels(labelType);
    int64_t classes = type.getShape().back(), rows = labelType.getNumElements();
    scores = raise::createReshape(builder, named("loss/scores"),
                                  inFullPrecision(scores),
                                  wide(type).clone({rows, classes}));
    labels = raise::createReshape(builder, named("loss/labels"), labels,
                                  labelType.clone({rows}));
    return node(
        "loss", "SoftmaxCrossEntropyLoss", {scores, labels},
        {builder.getNamedAttr("ignore_index",
                              builder.getI64IntegerAttr(ignoredLabel)),
         builder.getNamedAttr("reduction", builder.getStringAttr("mean"))},
        {}, wide(type).getElementType());
  }

  /// The mean of (output - labels)^2.
  Value meanSquaredError(Value output) {
    auto type = cast<RankedTensorType>(output.getType());
    Value labels = addLabels(type);
    Type element = wide(type).getElementType();
    Value difference = node("loss/difference", "Sub",
                            {inFullPrecision(output), inFullPrecision(labels)},
                            {}, type.getShape(), element);
    Value square = node("loss/square", "Mul", {difference, difference}, {},
                        type.getShape(), element);
    return node(
        "loss", "ReduceMean", {square},
        {builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0))}, {},
        element);
  }

private:
  Location named(StringRef name) {
    return makeNodeLoc(main.getContext(), name, {name}, scope);
  }

  Value node(StringRef name, StringRef opType, ArrayRef<Value> inputs,
             ArrayRef<NamedAttribute> attributes, ArrayRef<int64_t> dims,
             Type element) {
    return raise::createNode(builder, named(name), opType, inputs, attributes,
                             {RankedTensorType::get(dims, element)})
        ->getResult(0);
  }

  /// 16-bit floats lose the small differences that a loss consists of.
  RankedTensorType wide(RankedTensorType type) {
    return type.getElementTypeBitWidth() < 32 ? type.clone(builder.getF32Type())
                                              : type;
  }
  Value inFullPrecision(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (wide(type) == type)
      return value;
    // FLOAT of onnx.TensorProto.DataType.
    return node(valueName(value) + "/float", "Cast", {value},
                {builder.getNamedAttr("to", builder.getI64IntegerAttr(1))},
                type.getShape(), builder.getF32Type());
  }

  Value addLabels(RankedTensorType type) {
    auto name = builder.getStringAttr(labelsName);
    unsigned last = main.getNumArguments();
    (void)main.insertArgument(
        last, type,
        builder.getDictionaryAttr(
            {builder.getNamedAttr(labelsAttrName, builder.getUnitAttr()),
             builder.getNamedAttr("onnx.name", name)}),
        NameLoc::get(name));
    return main.getArgument(last);
  }

  func::FuncOp main;
  OpBuilder builder;
  StringRef scope;
};

struct AddLoss : impl::AddLossBase<AddLoss> {
  using AddLossBase::AddLossBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run();
  FailureOr<std::optional<unsigned>> chooseOutput();
  LogicalResult checkType(RankedTensorType type, StringRef name);
  void keepOnly(unsigned output, Value loss);

  /// Results that are outputs of the model: new values of parameters are none.
  SmallVector<unsigned> modelOutputs() {
    SmallVector<unsigned> outputs;
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      if (!main.getResultAttr(i, hh::updateAttrName))
        outputs.push_back(i);
    return outputs;
  }
  std::string outputName(unsigned output) {
    auto name = main.getResultAttrOfType<StringAttr>(output, "onnx.name");
    return name ? name.str() : "output " + std::to_string(output);
  }
  std::string names(ArrayRef<unsigned> outputs) {
    return llvm::join(llvm::map_range(outputs,
                                      [&](unsigned output) {
                                        return "'" + outputName(output) + "'";
                                      }),
                      ", ");
  }
  RankedTensorType outputType(unsigned output) {
    return dyn_cast<RankedTensorType>(main.getResultTypes()[output]);
  }

  func::FuncOp main;
};

} // namespace

/// The named output; else the only one that can be meant. None where a model
/// that says nothing of a loss may do without.
FailureOr<std::optional<unsigned>> AddLoss::chooseOutput() {
  SmallVector<unsigned> outputs = modelOutputs();
  if (!lossOutput.empty()) {
    for (unsigned output : outputs)
      if (outputName(output) == lossOutput)
        return std::optional(output);
    return main.emitError("the loss must come from an output of the model, "
                          "there are: ")
           << names(outputs) << "; got: '" << lossOutput << "'";
  }
  SmallVector<unsigned> possible = outputs;
  if (loss.empty())
    llvm::erase_if(possible, [&](unsigned output) {
      RankedTensorType type = outputType(output);
      return !isFloat(type) || type.getRank() != 0;
    });
  if (possible.size() == 1)
    return std::optional(possible.front());
  if (!required && loss.empty())
    return std::optional<unsigned>();
  if (possible.empty())
    return main.emitError("training needs a loss: an output that is a float "
                          "scalar, or cross-entropy or mse of one (--loss), "
                          "got outputs: ")
           << names(outputs);
  return main.emitError("the output that makes the loss must be named "
                        "(--loss-output), got: ")
         << names(possible);
}

LogicalResult AddLoss::checkType(RankedTensorType type, StringRef name) {
  if (loss.empty()) {
    if (isFloat(type) && type.getRank() == 0)
      return success();
    return main.emitError("the loss must be a float scalar, or be made of an "
                          "output with cross-entropy or mse (--loss), got: '")
           << name << "' of type " << type;
  }
  // Most open shapes come from the inputs, where a user can close them.
  if (type && !type.hasStaticShape() && failed(requireFixedDims(main)))
    return failure();
  if (!isFloat(type) || !type.hasStaticShape())
    return main.emitError() << loss << " must be given floats of known shape, "
                            << "got: '" << name << "' of type " << type;
  if (loss == "cross-entropy" && type.getRank() == 0)
    return main.emitError("cross-entropy must be given scores with an axis of "
                          "classes, the last one, got: '")
           << name << "' of type " << type;
  for (BlockArgument input : main.getArguments())
    if (valueName(input) == labelsName)
      return main.emitError("the name 'labels' must be free for the labels of "
                            "the loss, got: an input of the model that has it");
  return success();
}

/// The loss becomes the model's first output; new values of parameters stay
/// behind it, all others go.
void AddLoss::keepOnly(unsigned output, Value loss) {
  Operation *terminator = main.getBody().front().getTerminator();
  SmallVector<unsigned> dropped = modelOutputs();
  llvm::erase(dropped, output);
  if (!dropped.empty())
    main.emitRemark("outputs that are not the loss are left out of the "
                    "training step: ")
        << names(dropped);
  SmallVector<Value> values{loss};
  SmallVector<Attribute> attributes;
  Builder builder(main.getContext());
  NamedAttrList attribute;
  attribute.set("onnx.name", builder.getStringAttr(this->loss.empty()
                                                       ? outputName(output)
                                                       : std::string("loss")));
  attribute.set(hh::lossAttrName, builder.getUnitAttr());
  attributes.push_back(attribute.getDictionary(main.getContext()));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (main.getResultAttr(i, hh::updateAttrName)) {
      values.push_back(terminator->getOperand(i));
      attributes.push_back(main.getResultAttrDict(i));
    }
  terminator->setOperands(values);
  main.setType(builder.getFunctionType(
      main.getBody().front().getArgumentTypes(), ValueRange(values)));
  main.setResAttrsAttr(builder.getArrayAttr(attributes));
  eraseDead(main.getBody());
}

LogicalResult AddLoss::run() {
  main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return getOperation().emitError(
        "module must have a function @main of one block");
  if (!loss.empty() && loss != "cross-entropy" && loss != "mse")
    return main.emitError("loss must be cross-entropy or mse, got: ") << loss;
  FailureOr<std::optional<unsigned>> chosen = chooseOutput();
  if (failed(chosen))
    return failure();
  std::optional<unsigned> output = *chosen;
  if (!output)
    return success();
  if (failed(checkType(outputType(*output), outputName(*output))))
    return failure();
  Operation *terminator = main.getBody().front().getTerminator();
  Value value = terminator->getOperand(*output);
  LossBuilder builder(main, terminator,
                      value.getDefiningOp()
                          ? scopeOf(value.getDefiningOp()->getLoc())
                          : StringRef());
  if (loss == "cross-entropy")
    value = builder.crossEntropy(value);
  else if (loss == "mse")
    value = builder.meanSquaredError(value);
  keepOnly(*output, value);
  return success();
}

} // namespace hethub::ox
