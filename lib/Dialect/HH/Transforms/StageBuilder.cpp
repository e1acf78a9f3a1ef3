//===- StageBuilder.cpp - moves operations into stage regions -------------===//

#include "hethub/Dialect/HH/Transforms/StageBuilder.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"
#include "hethub/Support/Names.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

using Kind = CloneRules::Kind;

//===----------------------------------------------------------------------===//
// What stands where
//===----------------------------------------------------------------------===//

StageBuilder::StageBuilder(func::FuncOp function, CloneRules &rules,
                           ArrayRef<Operation *> order,
                           ArrayRef<unsigned> stages, unsigned stageCount)
    : function(function), rules(rules), order(order),
      homeOf(stages.begin(), stages.end()) {
  for (auto [index, op] : llvm::enumerate(order))
    position[op] = index;
  do {
    contents.assign(stageCount, Contents());
    for (unsigned stage = 0; stage < stageCount; ++stage) {
      place(stage);
      while (cloneShrinkingViews(stage))
        place(stage);
    }
  } while (pinClonesOfEmptyStages());
  moveClonesToReaders();
}

/// Whether `stage` computes the operation for itself wherever its home is.
bool StageBuilder::isClone(Operation *op, unsigned stage) const {
  return (rules.kind(op) == Kind::Clone && !pinned.contains(op)) ||
         contents[stage].extraClones.contains(op);
}

static bool isModelOutput(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user);
  });
}

/// Collects the operations of a stage and what they read, clones as they are
/// needed.
void StageBuilder::place(unsigned stage) {
  contents[stage].local.clear();
  contents[stage].imports.clear();
  for (Operation *op : order)
    if (home(op) == stage &&
        (!isClone(op, stage) || isModelOutput(op) || op->use_empty()))
      add(op, stage);
}

void StageBuilder::add(Operation *op, unsigned stage) {
  if (contents[stage].local.contains(op))
    return;
  for (Value value : readValues(op)) {
    Operation *producer = value.getDefiningOp();
    if (!producer || isConstantLike(producer))
      continue;
    if (isClone(producer, stage))
      add(producer, stage);
    else if (home(producer) != stage)
      contents[stage].imports.insert(value);
  }
  contents[stage].local.insert(op);
}

/// A view of a part costs no message where the whole is received anyway. True
/// if one was found.
bool StageBuilder::cloneShrinkingViews(unsigned stage) {
  Contents &here = contents[stage];
  auto isThere = [&](Value source) {
    return !source.getDefiningOp() || here.imports.contains(source);
  };
  bool found = false;
  for (Value value : here.imports) {
    Operation *view = value.getDefiningOp();
    if (rules.kind(view) == Kind::Shrinking &&
        llvm::all_of(readValues(view), [&](Value read) {
          return llvm::all_of(rules.sources(read), isThere);
        }))
      found |= here.extraClones.insert(view).second;
  }
  return found;
}

/// A stage of clones alone, which a user may ask for, keeps them and sends what
/// they make. True if one was found.
bool StageBuilder::pinClonesOfEmptyStages() {
  bool found = false;
  for (Operation *op : order)
    if (contents[home(op)].local.empty() &&
        llvm::all_of(op->getResultTypes(), isSendable))
      found |= pinned.insert(op).second;
  return found;
}

std::optional<unsigned> StageBuilder::emptyStage() const {
  for (auto [stage, content] : llvm::enumerate(contents))
    if (content.local.empty())
      return stage;
  return std::nullopt;
}

void StageBuilder::moveClonesToReaders() {
  for (auto [index, op] : llvm::enumerate(order)) {
    if (contents[homeOf[index]].local.contains(op))
      continue;
    for (unsigned stage = 0; stage < contents.size(); ++stage)
      if (contents[stage].local.contains(op)) {
        homeOf[index] = stage;
        break;
      }
  }
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

void StageBuilder::build(ArrayRef<StageDescription> descriptions) {
  Operation *terminator = function.getBody().front().getTerminator();
  // Values that leave their stage: to later ones, and out of the model.
  // Constants have no stage: the first one makes those that are outputs of the
  // model.
  llvm::DenseSet<Value> leaving;
  SmallVector<SmallVector<Value>> exports(contents.size());
  for (Contents &stage : contents)
    leaving.insert(stage.imports.begin(), stage.imports.end());
  for (Value output : terminator->getOperands())
    if (Operation *producer = output.getDefiningOp())
      if (leaving.insert(output).second && isConstantLike(producer))
        exports[0].push_back(output);
  for (auto [stage, content] : llvm::enumerate(contents))
    for (Operation *op : content.local)
      if (home(op) == stage)
        for (Value result : op->getResults())
          if (leaving.contains(result))
            exports[stage].push_back(result);

  IRMapping outer;
  for (auto [stage, description] : llvm::enumerate(descriptions))
    buildStage(stage, description, exports[stage], outer);
  for (OpOperand &output : terminator->getOpOperands())
    output.set(outer.lookupOrDefault(output.get()));
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (!isa<StageOp>(op) && &op != terminator)
      op.erase();
}

void StageBuilder::buildStage(unsigned stage,
                              const StageDescription &description,
                              ArrayRef<Value> exports, IRMapping &outer) {
  MLIRContext *context = function.getContext();
  OpBuilder builder(function.getBody().front().getTerminator());
  SmallVector<std::string> names;
  for (Value value : exports)
    names.push_back(valueName(value));
  SmallVector<StringRef> nameRefs(names.begin(), names.end());
  Location loc =
      makeNodeLoc(context, "stage_" + std::to_string(stage), nameRefs);
  SmallVector<Type> types(ValueRange(exports).getTypes());
  auto stageOp = StageOp::create(builder, loc, types, stage, description.device,
                                 description.replicas, ValueRange());
  stageOp->setAttr(forwardSecondsAttrName,
                   builder.getF64FloatAttr(description.forwardSeconds));
  if (description.inFlight > 0) {
    stageOp->setAttr(backwardSecondsAttrName,
                     builder.getF64FloatAttr(description.backwardSeconds));
    stageOp->setAttr(weightSecondsAttrName,
                     builder.getF64FloatAttr(description.weightSeconds));
    stageOp->setAttr(inFlightAttrName,
                     builder.getI64IntegerAttr(description.inFlight));
    if (description.recompute)
      stageOp->setAttr(recomputeAttrName, builder.getUnitAttr());
    if (description.firstRank >= 0)
      stageOp->setAttr(firstRankAttrName,
                       builder.getI64IntegerAttr(description.firstRank));
  }
  Block *body = &stageOp.getBody().emplaceBlock();
  builder.setInsertionPointToStart(body);

  IRMapping inner;
  auto provide = [&](Value value) {
    if (inner.contains(value))
      return;
    Operation *producer = value.getDefiningOp();
    if (producer && isConstantLike(producer)) {
      builder.clone(*producer, inner);
      return;
    }
    stageOp.getInputsMutable().append(outer.lookupOrDefault(value));
    inner.map(value, body->addArgument(value.getType(),
                                       NameLoc::get(builder.getStringAttr(
                                           valueName(value)))));
  };
  for (Operation *op : contents[stage].local) {
    for (Value value : readValues(op))
      provide(value);
    Operation *copy = builder.clone(*op, inner);
    if (home(op) != stage)
      copy->setAttr(cloneAttrName, builder.getUnitAttr());
  }
  SmallVector<Value> yielded;
  for (auto [value, result] : llvm::zip_equal(exports, stageOp.getOutputs())) {
    provide(value);
    yielded.push_back(inner.lookup(value));
    outer.map(value, result);
  }
  YieldOp::create(builder, loc, yielded);
}
