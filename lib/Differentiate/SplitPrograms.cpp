//===- SplitPrograms.cpp - forward, backward and weight apart -------------===//
//
// What one program reads of another is one of three things:
//
//   computed again  parameters, constants and what pure calls make of them
//   alone
//                   (the same for every microbatch: to save them would keep as
//                   many copies as microbatches are in flight), and other looks
//                   at a value that is there anyway
//   recomputed      all of the forward pass but what the stage receives, in
//                   stages that ask for it
//   saved           the rest, in a slot: a result of the program that makes the
//                   value, an argument of each one that reads it. A piece is
//                   saved as a copy where the whole would else be kept alive
//                   for less than the whole
//===----------------------------------------------------------------------===//

#include "SplitPrograms.h"

#include "Simplify.h"
#include "Views.h"
#include "hethub/Support/EraseDead.h"
#include "hethub/Support/Names.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

using Operations = llvm::DenseSet<Operation *>;

/// Values that the operation reads and does not make itself, in its regions
/// too. They may belong to another program.
llvm::SetVector<Value> valuesReadBy(Operation *op) {
  llvm::SetVector<Value> values;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (inner == op ||
          !op->isAncestor(value.getParentRegion()->getParentOp()))
        values.insert(value);
  });
  return values;
}

/// The operations of the block that `roots` are computed from.
Operations sliceOf(Block &block, ArrayRef<Value> roots) {
  Operations slice;
  SmallVector<Value> work(roots);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == &block && slice.insert(op).second)
      llvm::append_range(work, valuesReadBy(op));
  }
  return slice;
}

/// One of the two programs behind the forward program.
struct Part {
  hh::ProgramOp program;
  IRMapping values; ///< of other programs, as they are called in this one
  SmallVector<Value> arguments; ///< values of other programs that it is given
  SmallVector<std::pair<StringAttr, Value>> gradients; ///< that it makes
  SmallVector<Value> saved; ///< that it makes for the other part

  Block &block() { return program.getBody().front(); }
};

class Splitter {
public:
  Splitter(StageGradients &stage, bool splitWeight)
      : stage(stage), splitWeight(splitWeight), builder(stage.forward),
        recompute(stage.forward->hasAttr(hh::recomputeAttrName)) {}
  void run();

private:
  Block &forwardBlock() { return stage.forward.getBody().front(); }
  void divide();
  llvm::SetVector<Value> valuesOfOthers(Part &part);
  Value source(Value value);
  void decideSaved();
  void copyPieces();
  bool isThere(Value value);
  bool isDerived(Value value);
  void recomputeForward();
  Value resolve(Part &part, Value value);
  void replaceUses(Part &part, Value value, Value replacement);
  Value argument(Part &part, Value value);
  llvm::SetVector<Value> readByOthers(Block &block);
  void end(Part &part);
  void describe(hh::ProgramOp program, ArrayRef<Value> arguments,
                ArrayRef<Value> saved, SmallVector<Attribute> results);
  void finish();
  void dropEmptyParts();

  StageGradients &stage;
  bool splitWeight;
  OpBuilder builder;
  bool recompute;
  SmallVector<Part, 2> parts;          ///< B, then W where there is one
  llvm::DenseSet<Value> ofParameters;  ///< of parameters alone
  llvm::DenseSet<Value> saved;         ///< that have a slot
  llvm::DenseMap<Value, Value> copies; ///< of pieces that are saved
  llvm::DenseMap<Value, int64_t> slots;
};

/// Drops what nothing needs and moves what only gradients of parameters need
/// into the weight program.
void Splitter::divide() {
  Block &block = stage.backward.getBody().front();
  SmallVector<Value> sent, all;
  for (auto send : block.getOps<hh::SendOp>())
    sent.push_back(send.getValue());
  all = sent;
  for (auto &[name, gradient] : stage.ofParameters)
    all.push_back(gradient);
  Operations live = sliceOf(block, all);
  SmallVector<Value> roots(sent);
  for (Value activation : stage.ofActivations)
    roots.push_back(activation);
  Operations ofBackward = sliceOf(block, roots);

  parts.push_back({stage.backward, {}, {}, {}, {}});
  if (splitWeight) {
    builder.setInsertionPointAfter(stage.backward);
    auto weight = cast<hh::ProgramOp>(
        builder.cloneWithoutRegions(*stage.backward.getOperation()));
    weight.setSymName((stage.forward.getSymName() + "_weight").str());
    weight.setPart("weight");
    weight.getBody().emplaceBlock();
    parts.push_back({weight, {}, {}, {}, {}});
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isa<hh::SendOp, hh::RecvOp>(op))
      continue;
    if (!live.contains(&op))
      op.erase();
    else if (splitWeight && !ofBackward.contains(&op))
      op.moveBefore(&parts[1].block(), parts[1].block().begin());
  }
  for (auto &[name, gradient] : stage.ofParameters) {
    bool inWeight =
        splitWeight && gradient.getParentBlock() == &parts[1].block();
    parts[inWeight].gradients.emplace_back(name, gradient);
  }
}

/// Values of other programs that the part reads.
llvm::SetVector<Value> Splitter::valuesOfOthers(Part &part) {
  llvm::SetVector<Value> values;
  for (Operation &op : part.block())
    values.insert_range(valuesReadBy(&op));
  for (auto &[name, gradient] : part.gradients)
    values.insert(gradient);
  values.remove_if(
      [&](Value value) { return value.getParentBlock() == &part.block(); });
  return values;
}

/// The value itself, or what an argument of the backward program stands for.
Value Splitter::source(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Part &backward = parts.front();
  return argument && argument.getOwner() == &backward.block()
             ? backward.arguments[argument.getArgNumber()]
             : value;
}

/// True for values that are saved, or looks at such.
bool Splitter::isThere(Value value) {
  if (saved.contains(source(value)) || ofParameters.contains(value))
    return true;
  Value whole = viewedValue(value);
  return whole && isThere(whole);
}

/// True for values that are computed again where they are read. A look at a
/// whole value needs no more memory than that; one at a piece of it is worth a
/// slot of its own, unless the whole is there anyway.
bool Splitter::isDerived(Value value) {
  if (ofParameters.contains(value))
    return true;
  Value whole = viewedValue(value);
  return whole && !saved.contains(value) &&
         (looksAtAll(value) || isThere(whole));
}

void Splitter::decideSaved() {
  for (Part &part : parts)
    for (Value value : valuesOfOthers(part)) {
      while (!ofParameters.contains(value) && looksAtAll(value))
        value = viewedValue(value);
      if (!ofParameters.contains(value))
        saved.insert(source(value));
    }
  SmallVector<Value> pieces;
  for (Value value : saved)
    if (Value whole = viewedValue(value); whole && isThere(whole))
      pieces.push_back(value);
  for (Value piece : pieces)
    saved.erase(piece);
}

/// A slot that holds a piece of a value holds the memory of all of it. Where
/// the saved pieces of a value are smaller together, copies of them are saved:
/// that costs their bytes once in each microbatch, and spares the rest in each
/// one in flight.
void Splitter::copyPieces() {
  // In the order of the program, so that it is always the same.
  llvm::MapVector<Value, SmallVector<Value>> piecesOf;
  for (Operation &op : forwardBlock())
    for (Value piece : op.getResults()) {
      Value whole = memoryOf(piece);
      if (saved.contains(piece) && whole != piece)
        piecesOf[whole].push_back(piece);
    }
  for (auto &[whole, pieces] : piecesOf) {
    int64_t bytes = 0;
    for (Value piece : pieces)
      bytes += hh::byteSize(piece.getType());
    if (bytes >= hh::byteSize(whole.getType()))
      continue;
    for (Value piece : pieces) {
      builder.setInsertionPointAfter(piece.getDefiningOp());
      copies[piece] =
          CallBuilder(piece.getLoc(), builder).unary("clone", piece);
    }
  }
}

/// Clones what of the forward program is read into the backward program, which
/// then stands for it. The generator starts as it did there: if one number is
/// drawn again all are, in the same order.
void Splitter::recomputeForward() {
  SmallVector<Value> roots;
  for (Part &part : parts)
    for (Value value : valuesOfOthers(part))
      if (!ofParameters.contains(value))
        roots.push_back(value);
  Operations needed = sliceOf(forwardBlock(), roots);
  if (llvm::any_of(forwardBlock(), [&](Operation &op) {
        return needed.contains(&op) && isRandom(&op);
      })) {
    for (Operation &op : forwardBlock())
      if (isRandom(&op))
        roots.push_back(op.getResult(0));
    needed = sliceOf(forwardBlock(), roots);
  }
  Part &backward = parts.front();
  OpBuilder clones(&backward.block(), backward.block().begin());
  for (Operation &op : forwardBlock()) {
    if (!needed.contains(&op) || isa<hh::RecvOp>(op))
      continue;
    for (Value value : valuesReadBy(&op))
      if (!backward.values.contains(value)) // received, or a model input
        backward.values.map(value, argument(backward, value));
    clones.clone(op, backward.values);
  }
  for (Part &part : parts)
    for (Value value : valuesOfOthers(part))
      if (Value again = backward.values.lookupOrNull(value);
          again && !isa<BlockArgument>(again))
        replaceUses(part, value, again);
}

void Splitter::replaceUses(Part &part, Value value, Value replacement) {
  value.replaceUsesWithIf(replacement, [&](OpOperand &use) {
    return part.block().findAncestorOpInBlock(*use.getOwner());
  });
  for (auto &[name, gradient] : part.gradients)
    if (gradient == value)
      gradient = replacement;
}

/// A new argument of the part: a value that another program makes.
Value Splitter::argument(Part &part, Value value) {
  part.arguments.push_back(value);
  std::string name = valueName(value);
  Location loc =
      name.empty() ? value.getLoc() : NameLoc::get(builder.getStringAttr(name));
  return part.block().addArgument(value.getType(), loc);
}

/// What a value of another program is called in the part; made in front of the
/// operation that reads it.
Value Splitter::resolve(Part &part, Value value) {
  value = source(value);
  if (value.getParentBlock() == &part.block())
    return value;
  if (Value known = part.values.lookupOrNull(value))
    return known;
  if (!isDerived(value)) {
    Value copy = copies.lookup(value);
    part.values.map(value, argument(part, copy ? copy : value));
  } else {
    Operation *op = value.getDefiningOp();
    for (Value read : valuesReadBy(op))
      part.values.map(read, resolve(part, read));
    builder.clone(*op, part.values);
  }
  return part.values.lookup(value);
}

/// Start-up computes only what is read of it: parts were given all of it.
static void pruneStartUp(Block &block) {
  for (auto startUp :
       llvm::make_early_inc_range(block.getOps<hh::StartUpOp>())) {
    SmallVector<Value> used, yielded;
    Operation *yield = startUp.getBody().front().getTerminator();
    for (OpResult output : startUp.getOutputs())
      if (!output.use_empty()) {
        used.push_back(output);
        yielded.push_back(yield->getOperand(output.getResultNumber()));
      }
    if (used.size() == startUp.getNumResults())
      continue;
    OpBuilder builder(startUp);
    if (!used.empty()) {
      auto pruned = hh::StartUpOp::create(builder, startUp.getLoc(),
                                          TypeRange(ValueRange(used)));
      yield->setOperands(yielded);
      pruned.getBody().takeBody(startUp.getBody());
      for (auto [old, output] : llvm::zip_equal(used, pruned.getOutputs()))
        old.replaceAllUsesWith(output);
    }
    startUp.erase();
  }
}

/// Values of the block that other programs are given.
llvm::SetVector<Value> Splitter::readByOthers(Block &block) {
  llvm::SetVector<Value> values;
  for (Part &part : parts)
    for (Value value : part.arguments)
      if (value.getParentBlock() == &block)
        values.insert(value);
  return values;
}

/// Returns gradients and what the other part reads, and drops what nothing
/// needs then, arguments included.
void Splitter::end(Part &part) {
  part.saved = readByOthers(part.block()).takeVector();
  SmallVector<Value> results;
  for (auto &[name, gradient] : part.gradients)
    results.push_back(gradient);
  results.append(part.saved);
  builder.setInsertionPointToEnd(&part.block());
  hh::ReturnOp::create(builder, part.program.getLoc(), results);
  mergeMaskedCalls(part.block());
  simplifyGradients(part.block());
  pruneStartUp(part.block());
  eraseDead(part.program.getBody());
  for (unsigned i = part.arguments.size(); i-- > 0;)
    if (part.block().getArgument(i).use_empty()) {
      part.block().eraseArgument(i);
      part.arguments.erase(part.arguments.begin() + i);
    }
}

/// Type and attributes of a program; `results` describes those in front of the
/// saved values.
void Splitter::describe(hh::ProgramOp program, ArrayRef<Value> arguments,
                        ArrayRef<Value> saved, SmallVector<Attribute> results) {
  auto slotOf = [&](Value value) -> Attribute {
    return builder.getDictionaryAttr(builder.getNamedAttr(
        hh::savedAttrName, builder.getI64IntegerAttr(slots.at(value))));
  };
  Block &block = program.getBody().front();
  program.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  if (!arguments.empty())
    program.setArgAttrsAttr(
        builder.getArrayAttr(llvm::map_to_vector(arguments, slotOf)));
  llvm::append_range(results, llvm::map_range(saved, slotOf));
  program.setResAttrsAttr(results.empty() ? nullptr
                                          : builder.getArrayAttr(results));
}

void Splitter::finish() {
  // Readers first: what they turn out not to read is not saved for them.
  for (Part &part : llvm::reverse(parts))
    end(part);
  for (Part &part : parts)
    for (Value value : part.arguments)
      slots.try_emplace(value, slots.size());

  Operation *terminator = forwardBlock().getTerminator();
  SmallVector<Attribute> results;
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    results.push_back(
        builder.getDictionaryAttr(stage.forward.getResultAttrs(i)));
  llvm::SetVector<Value> saved = readByOthers(forwardBlock());
  terminator->insertOperands(terminator->getNumOperands(), saved.getArrayRef());
  pruneStartUp(forwardBlock());
  eraseDead(stage.forward.getBody());
  describe(stage.forward, {}, saved.getArrayRef(), results);

  for (Part &part : parts) {
    results.clear();
    for (auto &[name, gradient] : part.gradients)
      results.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
          hh::gradientAttrName, FlatSymbolRefAttr::get(name))));
    describe(part.program, part.arguments, part.saved, results);
  }
  dropEmptyParts();
}

/// A stage in which nothing is trained has no such program; where there is no
/// way back the gradients of parameters are all there is to it.
void Splitter::dropEmptyParts() {
  llvm::erase_if(parts, [](Part &part) {
    bool empty = llvm::hasSingleElement(part.block()) &&
                 part.program.getNumResults() == 0;
    if (empty)
      part.program.erase();
    return empty;
  });
  if (parts.size() == 1) {
    parts.front().program.setPart("backward");
    parts.front().program.setSymName(
        (stage.forward.getSymName() + "_backward").str());
  }
}

void Splitter::run() {
  divide();
  addValuesOfParameters(forwardBlock(), ofParameters);
  if (recompute)
    recomputeForward();
  for (Part &part : parts)
    addValuesOfParameters(part.block(), ofParameters);
  decideSaved();
  copyPieces();
  for (Part &part : parts) {
    for (Operation &op : llvm::make_early_inc_range(part.block())) {
      builder.setInsertionPoint(&op);
      for (Value value : valuesReadBy(&op))
        if (Value own = resolve(part, value); own != value)
          op.walk(
              [&](Operation *inner) { inner->replaceUsesOfWith(value, own); });
    }
    builder.setInsertionPointToEnd(&part.block());
    for (auto &[name, gradient] : part.gradients)
      gradient = resolve(part, gradient);
  }
  finish();
}

} // namespace

void splitPrograms(StageGradients &stage, bool splitWeight) {
  Splitter(stage, splitWeight).run();
}

} // namespace hethub::differentiate
