// Evaluation on hashes; the ranks of a run take turns in one process.
#include "Loopback.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Dialect/HH/Transforms/ScheduleTable.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/Hashing.h"

#include <deque>

using namespace mlir;
using namespace hethub;

namespace {

using Environment = llvm::DenseMap<Value, uint64_t>;

uint64_t inputValue(int64_t index, int microbatch) {
  return llvm::hash_combine("input", index, microbatch);
}

void evaluate(Operation *op, Environment &values);

uint64_t evaluate(Region &region, Environment &values) {
  uint64_t hash = 1;
  for (Block &block : region)
    for (Operation &op : block) {
      evaluate(&op, values);
      if (op.hasTrait<OpTrait::IsTerminator>())
        for (Value value : op.getOperands())
          hash = llvm::hash_combine(hash, values.at(value));
    }
  return hash;
}

void evaluate(Operation *op, Environment &values) {
  uint64_t hash = llvm::hash_value(op->getName().getStringRef());
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (!attribute.getName().strref().starts_with("hh."))
      hash =
          llvm::hash_combine(hash, attribute.getName(), attribute.getValue());
  for (Value operand : op->getOperands())
    hash = llvm::hash_combine(hash, values.at(operand));
  for (Region &region : op->getRegions())
    hash = llvm::hash_combine(hash, evaluate(region, values));
  for (OpResult result : op->getResults())
    values[result] = llvm::hash_combine(hash, result.getResultNumber());
}

/// Everything that the ranks of a run share.
struct Machine {
  /// Channel, sending replica, receiving replica.
  using Wire = std::tuple<int, int, int>;
  std::map<Wire, std::deque<uint64_t>> wires;
  test::Outputs outputs;
};

/// One replica of one stage.
class Rank {
public:
  Rank(hh::ProgramOp program, int replica, std::vector<simulator::Row> rows)
      : program(program), replica(replica), rows(rows.begin(), rows.end()) {}

  bool done() const { return rows.empty(); }

  /// Does what the next row says; false where it has to wait.
  bool step(Machine &machine) {
    const simulator::Row &row = rows.front();
    auto &here = microbatches[row.microbatch];
    if (row.action == simulator::Action::Receive) {
      auto &wire = machine.wires[{row.channel, row.peerReplica, replica}];
      if (wire.empty())
        return false;
      here[row.channel] = wire.front();
      wire.pop_front();
    } else if (row.action == simulator::Action::Send) {
      machine.wires[{row.channel, replica, row.peerReplica}].push_back(
          here.at(row.channel));
    } else {
      forward(row.microbatch, here, machine);
    }
    rows.pop_front();
    return true;
  }

private:
  void forward(int microbatch, std::map<int64_t, uint64_t> &messages,
               Machine &machine) {
    Environment values;
    for (BlockArgument argument : program.getBody().getArguments())
      values[argument] =
          inputValue(program
                         .getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        "onnx.index")
                         .getInt(),
                     microbatch);
    for (Operation &op : program.getBody().front()) {
      if (auto recv = dyn_cast<hh::RecvOp>(op))
        values[recv.getResult()] = messages.at(recv.getChannel());
      else if (auto send = dyn_cast<hh::SendOp>(op))
        messages[send.getChannel()] = values.at(send.getValue());
      else if (isa<hh::ReturnOp>(op))
        for (OpOperand &output : op.getOpOperands()) {
          int64_t index =
              cast<IntegerAttr>(program.getResultAttr(output.getOperandNumber(),
                                                      "onnx.index"))
                  .getInt();
          machine.outputs[{microbatch, index}] = values.at(output.get());
        }
      else
        evaluate(&op, values);
    }
  }

  hh::ProgramOp program;
  int replica;
  std::deque<simulator::Row> rows;
  std::map<int, std::map<int64_t, uint64_t>> microbatches;
};

} // namespace

test::Outputs test::runModel(ModuleOp module, int microbatches) {
  test::Outputs outputs;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
    Environment values;
    for (BlockArgument argument : main.getArguments())
      values[argument] = inputValue(argument.getArgNumber(), microbatch);
    for (Operation &op : main.getBody().front()) {
      evaluate(&op, values);
      if (isa<func::ReturnOp>(op))
        for (OpOperand &output : op.getOpOperands())
          outputs[{microbatch, output.getOperandNumber()}] =
              values.at(output.get());
    }
  }
  return outputs;
}

test::Outputs test::runPrograms(ModuleOp module, int microbatches) {
  auto schedule = hh::readSchedule(module);
  auto pipeline = hh::readPipeline(module);
  if (!schedule || failed(pipeline))
    return {};
  if (schedule->perMicrobatch)
    schedule = simulator::expand(*schedule, *pipeline, microbatches);
  std::vector<Rank> ranks;
  for (auto program : module.getOps<hh::ProgramOp>())
    for (int replica = 0; replica < static_cast<int>(program.getReplicas());
         ++replica) {
      std::vector<simulator::Row> rows;
      for (const simulator::Row &row : schedule->rows)
        if (row.stage == static_cast<int>(program.getStage()) &&
            row.replica == replica)
          rows.push_back(row);
      ranks.emplace_back(program, replica, rows);
    }
  Machine machine;
  for (bool moved = true; moved;) {
    moved = false;
    for (Rank &rank : ranks)
      while (!rank.done() && rank.step(machine))
        moved = true;
  }
  return machine.outputs;
}

std::unique_ptr<MLIRContext> test::makeContext() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, hh::HHDialect, ox::ONNXDialect>();
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

OwningOpRef<ModuleOp> test::parse(MLIRContext &context,
                                  const std::string &text) {
  return parseSourceString<ModuleOp>(text, &context);
}

std::string test::runPasses(ModuleOp module, const std::string &pipeline) {
  static bool registered = (hh::registerHHPasses(), true);
  (void)registered;
  std::string messages;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        messages += diagnostic.str() + "\n";
        for (Diagnostic &note : diagnostic.getNotes())
          messages += note.str() + "\n";
        return success();
      });
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(pipeline, manager)))
    return "bad pipeline: " + pipeline;
  if (failed(manager.run(module)) && messages.empty())
    return "failed without a message";
  return messages;
}
