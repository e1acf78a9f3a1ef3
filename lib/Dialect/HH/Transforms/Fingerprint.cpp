//===- Fingerprint.cpp - what a module computes, as hashes ----------------===//
//
// The hash of a value covers everything it is computed from, so equal hashes
// mean equal computations wherever they stand. Hashes are stable between
// processes: they are stored in the IR.
//===----------------------------------------------------------------------===//

#include "hethub/Dialect/HH/Transforms/Fingerprint.h"

#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

namespace {

uint64_t hashText(StringRef text) { return llvm::xxh3_64bits(text); }

template <typename... Parts>
uint64_t combine(Parts... parts) {
  uint64_t values[] = {static_cast<uint64_t>(parts)...};
  return llvm::xxh3_64bits(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(values), sizeof(values)));
}

class Hasher {
public:
  explicit Hasher(MLIRContext *context)
      // However the user wants constants printed, all of their elements count.
      : printing(context, OpPrintingFlags()
                              .elideLargeElementsAttrs(
                                  std::numeric_limits<int64_t>::max())
                              .elideLargeResourceString(
                                  std::numeric_limits<int64_t>::max())) {}

  void define(Value value, uint64_t hash) { values[value] = hash; }
  uint64_t lookup(Value value) const { return values.lookup(value); }

  static uint64_t input(uint64_t index, StringRef name) {
    return combine(hashText("input"), index, hashText(name));
  }

  /// Defines the operation's results.
  OperationRecord visit(Operation *op) {
    OperationRecord record;
    record.op = op;
    record.clone = op->hasAttr(cloneAttrName);
    record.own = hashText(op->getName().getStringRef());
    for (NamedAttribute attribute : op->getAttrDictionary())
      // What our passes note on operations is not part of the model.
      if (!attribute.getName().strref().starts_with("hh."))
        record.own = combine(record.own, hashText(attribute.getName()),
                             cached(attribute.getValue().getAsOpaquePointer(),
                                    attribute.getValue()));
    for (Type type : op->getResultTypes())
      record.own = combine(record.own, cached(type.getAsOpaquePointer(), type));
    record.hash = record.own;
    for (Value operand : op->getOperands())
      record.hash = combine(record.hash, lookup(operand));
    for (Region &region : op->getRegions())
      record.hash = combine(record.hash, visit(region));
    for (OpResult result : op->getResults())
      define(result, combine(record.hash, result.getResultNumber()));
    return record;
  }

private:
  uint64_t visit(Region &region) {
    ++depth;
    uint64_t hash = hashText("region");
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        define(argument,
               combine(hashText("argument"), depth, argument.getArgNumber()));
      for (Operation &op : block)
        hash = combine(hash, visit(&op).hash);
    }
    --depth;
    return hash;
  }

  template <typename T>
  uint64_t cached(const void *key, T printable) {
    auto [entry, isNew] = texts.try_emplace(key, 0);
    if (isNew) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      print(stream, printable);
      entry->second = hashText(text);
    }
    return entry->second;
  }
  void print(llvm::raw_ostream &stream, Attribute attribute) {
    attribute.print(stream, printing);
  }
  void print(llvm::raw_ostream &stream, Type type) {
    type.print(stream, printing);
  }

  AsmState printing;
  llvm::DenseMap<const void *, uint64_t> texts;
  llvm::DenseMap<Value, uint64_t> values;
  unsigned depth = 0;
};

/// Walks a module and fills its fingerprint.
class Reader {
public:
  explicit Reader(ModuleOp module)
      : module(module), hasher(module.getContext()) {}

  LogicalResult read(Fingerprint &fingerprint) {
    if (auto main = module.lookupSymbol<func::FuncOp>("main"))
      return readMain(main, fingerprint);
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    if (programs.empty())
      return module.emitError("module must hold @main or programs");
    llvm::stable_sort(programs, [](ProgramOp a, ProgramOp b) {
      return a.getStage() < b.getStage();
    });
    for (ProgramOp program : programs)
      if (failed(readProgram(program, fingerprint)))
        return failure();
    for (auto &[channel, sent] : channels)
      return sent.op->emitError("a value that is sent must be received, got: "
                                "nobody receives on channel ")
             << channel;
    return success();
  }

private:
  struct Sent {
    uint64_t hash;
    SendOp op;
  };

  void visit(Operation *op, int64_t stage, Fingerprint &fingerprint) {
    OperationRecord record = hasher.visit(op);
    record.stage = stage;
    if (!isConstantLike(op))
      fingerprint.operations.push_back(record);
  }

  LogicalResult readMain(func::FuncOp main, Fingerprint &fingerprint) {
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    "onnx.name");
      hasher.define(argument,
                    Hasher::input(argument.getArgNumber(),
                                  name ? name.getValue() : StringRef()));
    }
    int64_t previous = -1;
    for (Operation &op : main.getBody().front()) {
      if (op.hasTrait<OpTrait::IsTerminator>()) {
        for (Value output : op.getOperands())
          fingerprint.outputs.push_back(hasher.lookup(output));
        continue;
      }
      auto stage = dyn_cast<StageOp>(op);
      if (!stage) {
        visit(&op, -1, fingerprint);
        continue;
      }
      int64_t index = stage.getIndex();
      if (index <= previous)
        return stage.emitError("stages must stand in pipeline order, got: "
                               "stage ")
               << index << " after stage " << previous;
      previous = index;
      for (auto [argument, input] :
           llvm::zip(stage.getBody().getArguments(), stage.getInputs()))
        hasher.define(argument, hasher.lookup(input));
      for (Operation &inner : stage.getBody().front().without_terminator())
        visit(&inner, index, fingerprint);
      Operation *yield = stage.getBody().front().getTerminator();
      for (auto [result, value] :
           llvm::zip(stage.getOutputs(), yield->getOperands()))
        hasher.define(result, hasher.lookup(value));
    }
    return success();
  }

  LogicalResult readProgram(ProgramOp program, Fingerprint &fingerprint) {
    for (BlockArgument argument : program.getBody().getArguments()) {
      auto index = program.getArgAttrOfType<IntegerAttr>(
          argument.getArgNumber(), "onnx.index");
      auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       "onnx.name");
      if (!index)
        return program.emitError("arguments must have an onnx.index, got: ")
               << "none for argument " << argument.getArgNumber();
      hasher.define(
          argument,
          Hasher::input(index.getInt(), name ? name.getValue() : StringRef()));
    }
    for (Operation &op : program.getBody().front()) {
      if (auto send = dyn_cast<SendOp>(op)) {
        channels[send.getChannel()] = {hasher.lookup(send.getValue()), send};
      } else if (auto recv = dyn_cast<RecvOp>(op)) {
        if (failed(readRecv(recv, program)))
          return failure();
      } else if (isa<ReturnOp>(op)) {
        for (OpOperand &output : op.getOpOperands()) {
          auto index = dyn_cast_or_null<IntegerAttr>(
              program.getResultAttr(output.getOperandNumber(), "onnx.index"));
          if (!index || index.getInt() < 0)
            return program.emitError("results must have an onnx.index, got: ")
                   << "none for result " << output.getOperandNumber();
          if (fingerprint.outputs.size() <= index.getValue().getZExtValue())
            fingerprint.outputs.resize(index.getInt() + 1);
          fingerprint.outputs[index.getInt()] = hasher.lookup(output.get());
        }
      } else {
        visit(&op, program.getStage(), fingerprint);
      }
    }
    return success();
  }

  LogicalResult readRecv(RecvOp recv, ProgramOp program) {
    auto sent = channels.find(recv.getChannel());
    if (sent == channels.end())
      return recv.emitError("a value must be sent by an earlier stage, got: "
                            "no earlier stage sends on channel ")
             << recv.getChannel();
    SendOp send = sent->second.op;
    auto sender = send->getParentOfType<ProgramOp>();
    if (sender.getStage() != recv.getFrom() ||
        send.getTo() != program.getStage())
      return recv.emitError("both ends of a channel must name each other, "
                            "got: channel ")
             << recv.getChannel() << " from " << sender.getStage() << " to "
             << send.getTo() << ", received by " << program.getStage()
             << " from " << recv.getFrom();
    hasher.define(recv.getResult(), sent->second.hash);
    channels.erase(sent);
    return success();
  }

  ModuleOp module;
  Hasher hasher;
  std::map<int64_t, Sent> channels;
};

} // namespace

FailureOr<Fingerprint> hh::takeFingerprint(ModuleOp module) {
  Fingerprint fingerprint;
  if (failed(Reader(module).read(fingerprint)))
    return failure();
  return fingerprint;
}

void hh::recordFingerprint(ModuleOp module) {
  FailureOr<Fingerprint> fingerprint = takeFingerprint(module);
  if (failed(fingerprint))
    return;
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<FingerprintOp>(op))
      op.erase();
  SmallVector<StringRef> names;
  SmallVector<int64_t> own, hashes;
  for (const OperationRecord &record : fingerprint->operations) {
    StringRef name = nodeName(record.op);
    names.push_back(name.empty() ? record.op->getName().stripDialect() : name);
    own.push_back(static_cast<int64_t>(record.own));
    hashes.push_back(static_cast<int64_t>(record.hash));
  }
  SmallVector<int64_t> outputs(fingerprint->outputs.begin(),
                               fingerprint->outputs.end());
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  FingerprintOp::create(builder, module.getLoc(),
                        builder.getStrArrayAttr(names), own, hashes, outputs);
}
