// What hh-verify-plan must notice, and how it says so.
#include "Loopback.h"
#include "RandomModel.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace hethub;
using namespace hethub::test;

namespace {

const std::string cost = "hh.cost = #hh.cost<flops = 1, moved = 1, kept = 0, "
                         "parameters = 0, seconds = {d = array<f64: 1.0e-3, "
                         "1.0e-3>}>";

/// Six operations on three stages, and a view that two of them read.
std::string model() {
  std::string t = "tensor<4x4xf32>";
  auto op = [&](std::string name, std::string op, std::string operands,
                std::string attributes = "") {
    bool two = operands.find(',') != std::string::npos;
    return "  %" + name + " = onnx." + op + "(" + operands + ") {" + cost +
           attributes + "} : (" + t + (two ? ", " + t : "") + ") -> (" + t +
           ") loc(\"" + name + "\")\n";
  };
  return "hh.device_type @d kind \"cpu\" count 3 memory 100000\n"
         "hh.link @d to @d bandwidth 1.0e9 latency 1.0e-6\n"
         "func.func @main(%x: " +
         t + " {onnx.name = \"x\"}, %y: " + t + " {onnx.name = \"y\"}) -> (" +
         t + ", " + t + ") {\n" + op("a", "Relu", "%x") +
         op("v", "Transpose", "%a", ", perm = array<i64: 1, 0>") +
         op("b", "Sub", "%a, %y") + op("c", "MatMul", "%b, %v") +
         op("d", "Sub", "%c, %a") + op("e", "MatMul", "%d, %v") +
         op("f", "Exp", "%e") + "  return %f, %c : " + t + ", " + t + "\n}\n";
}

class VerifyPlan : public testing::TestWithParam<bool> {
protected:
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = parse(*context, model());

  /// Runs hh-verify-plan on stages, or on programs made from them.
  void SetUp() override {
    ASSERT_EQ("", runPasses(*module, "hh-partition{stages=3 microbatches=100},"
                                     "hh-verify-plan"));
    if (GetParam())
      ASSERT_EQ("", runPasses(*module, "hh-insert-communication"));
    ASSERT_EQ("", verify());
  }
  std::string verify() { return runPasses(*module, "hh-verify-plan"); }

  Operation *find(StringRef name, bool clone = false) {
    Operation *found = nullptr;
    module->walk([&](Operation *op) {
      if (op->getName().getDialectNamespace() == "onnx" &&
          nodeName(op) == name && op->hasAttr(hh::cloneAttrName) == clone)
        found = op;
    });
    EXPECT_TRUE(found) << name.str();
    return found;
  }
  void expect(const std::string &part) {
    std::string message = verify();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
};

TEST_P(VerifyPlan, LostOperation) {
  Operation *op = find("d");
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  expect("lost: 'd'");
}

TEST_P(VerifyPlan, DoubledOperation) {
  Operation *op = find("e");
  OpBuilder builder(op);
  builder.clone(*op);
  expect("doubled: 'e' is in stage 2 and in stage 2");
}

TEST_P(VerifyPlan, SwappedOperands) {
  Operation *op = find("b");
  Value first = op->getOperand(0), second = op->getOperand(1);
  op->setOperands({second, first});
  std::string message = verify();
  EXPECT_NE(message.find("got others: 'b'"), std::string::npos) << message;
  EXPECT_NE(message.find("4 operations that depend on it"), std::string::npos)
      << message;
}

TEST_P(VerifyPlan, ChangedAttribute) {
  Operation *op = find("v");
  op->setAttr("perm", DenseI64ArrayAttr::get(context.get(), {0, 1}));
  expect("changed: 'v'");
}

TEST_P(VerifyPlan, CloneOfNothing) {
  // The view is made in the stage of its first reader and again in that of "e".
  Operation *op = find("v", /*clone=*/true);
  op->setAttr("perm", DenseI64ArrayAttr::get(context.get(), {0, 1}));
  std::string message = verify();
  EXPECT_NE(message, "");
}

TEST_P(VerifyPlan, CloneMarkLost) {
  find("v", /*clone=*/true)->removeAttr(hh::cloneAttrName);
  expect("doubled: 'v'");
}

TEST_P(VerifyPlan, AddedOperation) {
  Operation *op = find("f");
  OpBuilder builder(op);
  OperationState state(op->getLoc(), "onnx.Tanh", op->getOperands(),
                       op->getResultTypes());
  builder.create(state);
  expect("added: 'f'");
}

TEST_P(VerifyPlan, NoFingerprint) {
  for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
    if (isa<hh::FingerprintOp>(op))
      op.erase();
  expect("module must hold an hh.fingerprint");
}

INSTANTIATE_TEST_SUITE_P(Stages, VerifyPlan, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Programs, VerifyPlan, testing::Values(true));

TEST(VerifyPlan, SwappedOutputs) {
  auto context = makeContext();
  auto module = parse(*context, model());
  ASSERT_EQ("", runPasses(*module, "hh-partition{stages=3 microbatches=100}"));
  Operation *end = module->lookupSymbol<func::FuncOp>("main")
                       .getBody()
                       .front()
                       .getTerminator();
  Value first = end->getOperand(0), second = end->getOperand(1);
  end->setOperands({second, first});
  EXPECT_NE(runPasses(*module, "hh-verify-plan").find("output 0"),
            std::string::npos);
}

TEST(VerifyPlan, ReceivedBeforeItIsSent) {
  auto context = makeContext();
  auto module = parse(*context, model());
  ASSERT_EQ(
      "",
      runPasses(
          *module,
          "hh-partition{stages=3 microbatches=100},hh-insert-communication"));
  for (auto program : module->getOps<hh::ProgramOp>())
    program.setStage(2 - program.getStage());
  EXPECT_NE(runPasses(*module, "hh-verify-plan")
                .find("a value must be sent by an earlier stage"),
            std::string::npos);
}

/// Whatever original operation is dropped from whatever model: it is named. Of
/// a chain like Exp(Exp(x)) any link may be called the lost one.
TEST(VerifyPlan, AnyLostOperationIsNoticed) {
  auto context = makeContext();
  int dropped = 0, named = 0;
  for (int seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    auto module = parse(*context, randomModel(random));
    ASSERT_EQ("", runPasses(*module, "hh-partition"));
    std::vector<std::pair<Operation *, Value>> candidates;
    module->walk([&](Operation *op) {
      if (!isa_and_nonnull<hh::StageOp>(op->getParentOp()) ||
          hh::isConstantLike(op) ||
          op->getName().getDialectNamespace() != "onnx" ||
          op->hasAttr(hh::cloneAttrName) || op->getNumResults() != 1)
        return;
      for (Value operand : op->getOperands())
        if (operand.getType() == op->getResult(0).getType())
          candidates.push_back({op, operand});
    });
    if (candidates.empty())
      continue;
    auto [op, operand] = candidates[random() % candidates.size()];
    std::string name = nodeName(op).str();
    op->getResult(0).replaceAllUsesWith(operand);
    op->erase();
    std::string message = runPasses(*module, "hh-verify-plan");
    EXPECT_NE(message.find("lost: '"), std::string::npos)
        << "seed " << seed << ", " << name << ": " << message;
    named += message.find("lost: '" + name + "'") != std::string::npos;
    ++dropped;
  }
  EXPECT_GT(dropped, 120);
  EXPECT_GT(named, dropped * 0.95);
}

} // namespace
