//===- InsertCommunication.cpp - stage regions into programs --------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace hethub::hh {
#define GEN_PASS_DEF_INSERTCOMMUNICATION
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

namespace {

/// A value on its way from one stage to another.
struct Edge {
  int64_t channel;
  OpResult value; ///< result of the sending hh.stage
  unsigned from, to;
};

class Inserter {
public:
  explicit Inserter(func::FuncOp main)
      : main(main), stages(main.getOps<StageOp>()) {}

  LogicalResult run() {
    if (failed(check()))
      return failure();
    numberChannels();
    OpBuilder builder(main);
    for (unsigned stage = 0; stage < stages.size(); ++stage)
      makeProgram(stage, builder);
    main.erase();
    return success();
  }

private:
  LogicalResult check();
  void numberChannels();
  void makeProgram(unsigned stage, OpBuilder &builder);
  DictionaryAttr describe(DictionaryAttr attributes, unsigned index);

  func::FuncOp main;
  SmallVector<StageOp> stages;
  SmallVector<Edge> edges; ///< By channel.
};

} // namespace

LogicalResult Inserter::check() {
  if (stages.empty())
    return main.emitError("function must be partitioned (hh-partition)");
  for (auto [index, stage] : llvm::enumerate(stages)) {
    if (stage.getIndex() != index)
      return stage.emitError("stages must be numbered in their order, ")
             << index << ", got: " << stage.getIndex();
    for (Value input : stage.getInputs())
      if (isa<OpResult>(input) && !isSendable(input.getType()))
        return stage.emitError("a value that crosses stages must be a tensor "
                               "of numbers and of known rank, got: ")
               << input.getType() << " '" << valueName(input) << "'";
  }
  for (Operation &op : main.getBody().front().without_terminator())
    if (!isa<StageOp>(op))
      return op.emitError("operations must be in stages, got: ")
             << op.getName() << " '" << nodeName(&op) << "'";
  return success();
}

void Inserter::numberChannels() {
  for (auto [from, stage] : llvm::enumerate(stages))
    for (OpResult value : stage->getResults()) {
      llvm::SmallSetVector<unsigned, 4> readers;
      for (Operation *user : value.getUsers())
        if (auto reader = dyn_cast<StageOp>(user))
          readers.insert(reader.getIndex());
      SmallVector<unsigned, 4> sorted = readers.takeVector();
      llvm::sort(sorted);
      for (unsigned to : sorted)
        edges.push_back({static_cast<int64_t>(edges.size()), value,
                         static_cast<unsigned>(from), to});
    }
}

/// What @main says of an input or output, and its position there.
DictionaryAttr Inserter::describe(DictionaryAttr attributes, unsigned index) {
  NamedAttrList list(attributes);
  list.set("onnx.index",
           IntegerAttr::get(IntegerType::get(main.getContext(), 64), index));
  return list.getDictionary(main.getContext());
}

void Inserter::makeProgram(unsigned index, OpBuilder &builder) {
  StageOp stage = stages[index];
  Operation *terminator = main.getBody().front().getTerminator();
  auto isRead = [&](BlockArgument input) {
    // An input that nobody reads stays known, with the first stage.
    if (input.use_empty())
      return index == 0;
    return llvm::is_contained(stage.getInputs(), Value(input)) ||
           // One that is an output of the model as it stands passes through the
           // first stage.
           (index == 0 &&
            llvm::is_contained(terminator->getOperands(), Value(input)));
  };
  SmallVector<BlockArgument> inputs(
      llvm::make_filter_range(main.getArguments(), isRead));
  SmallVector<OpOperand *> outputs;
  for (OpOperand &output : terminator->getOpOperands())
    if (output.get().getDefiningOp() == stage ||
        (index == 0 && isa<BlockArgument>(output.get())))
      outputs.push_back(&output);

  SmallVector<Type> inputTypes, outputTypes;
  SmallVector<DictionaryAttr> inputAttrs, outputAttrs;
  for (BlockArgument input : inputs) {
    inputTypes.push_back(input.getType());
    inputAttrs.push_back(describe(main.getArgAttrDict(input.getArgNumber()),
                                  input.getArgNumber()));
  }
  for (OpOperand *output : outputs) {
    outputTypes.push_back(output->get().getType());
    unsigned number = output->getOperandNumber();
    outputAttrs.push_back(describe(main.getResultAttrDict(number), number));
  }
  auto arrayOf = [&](ArrayRef<DictionaryAttr> list) -> ArrayAttr {
    if (list.empty())
      return nullptr;
    return builder.getArrayAttr(
        SmallVector<Attribute>(list.begin(), list.end()));
  };
  auto program = ProgramOp::create(
      builder, stage.getLoc(), "stage_" + std::to_string(index),
      builder.getFunctionType(inputTypes, outputTypes), index,
      stage.getDevice(), stage.getReplicas(), /*part=*/nullptr,
      arrayOf(inputAttrs), arrayOf(outputAttrs));
  for (NamedAttribute attribute : stage->getDiscardableAttrs())
    program->setAttr(attribute.getName(), attribute.getValue());

  OpBuilder::InsertionGuard guard(builder);
  Block *body = &program.getBody().emplaceBlock();
  builder.setInsertionPointToStart(body);
  IRMapping values; // of @main, for this stage
  for (BlockArgument input : inputs)
    values.map(input, body->addArgument(input.getType(), input.getLoc()));
  // The name of the value in its stage; that of the stage's result may be lost.
  auto named = [&](const Edge &edge) {
    Operation *yield = stages[edge.from].getBody().front().getTerminator();
    std::string name =
        valueName(yield->getOperand(edge.value.getResultNumber()));
    return NameLoc::get(
        builder.getStringAttr(name.empty() ? valueName(edge.value) : name));
  };
  for (const Edge &edge : edges)
    if (edge.to == index)
      values.map(edge.value,
                 RecvOp::create(builder, named(edge), edge.value.getType(),
                                edge.channel, edge.from)
                     .getResult());
  for (auto [argument, input] :
       llvm::zip(stage.getBody().getArguments(), stage.getInputs()))
    argument.replaceAllUsesWith(values.lookup(input));

  Operation *yield = stage.getBody().front().getTerminator();
  body->getOperations().splice(
      body->end(), stage.getBody().front().getOperations(),
      stage.getBody().front().begin(), Block::iterator(yield));
  body->walk([](Operation *op) { op->removeAttr(costAttrName); });

  // Sends of one operation stand behind it in the order of their channels.
  for (const Edge &edge : llvm::reverse(edges)) {
    if (edge.from != index)
      continue;
    Value value = yield->getOperand(edge.value.getResultNumber());
    Operation *producer = value.getDefiningOp();
    producer ? builder.setInsertionPointAfter(producer)
             : builder.setInsertionPointToStart(body);
    SendOp::create(builder, named(edge), value, edge.channel, edge.to,
                   /*pack=*/producer && isViewLike(producer));
  }
  SmallVector<Value> returned;
  for (OpOperand *output : outputs) {
    auto result = dyn_cast<OpResult>(output->get());
    returned.push_back(result ? yield->getOperand(result.getResultNumber())
                              : values.lookup(output->get()));
  }
  builder.setInsertionPointToEnd(body);
  ReturnOp::create(builder, program.getLoc(), returned);
}

namespace {
struct InsertCommunication
    : hh::impl::InsertCommunicationBase<InsertCommunication> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("module must have a function @main");
      return signalPassFailure();
    }
    if (failed(Inserter(main).run()))
      signalPassFailure();
  }
};
} // namespace
