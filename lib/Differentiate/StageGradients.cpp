//===- StageGradients.cpp - the backward pass of one stage ----------------===//

#include "StageGradients.h"

#include "ReachedValues.h"
#include "hethub/Dialect/HH/IR/Dependence.h"
#include "hethub/Dialect/HH/Transforms/CloneRules.h"
#include "hethub/Support/Names.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace hethub::differentiate {

bool isRandom(Operation *op) {
  return aten::CallView(op) && !isMemoryEffectFree(op);
}

void addValuesOfParameters(Block &block, llvm::DenseSet<Value> &values) {
  hh::addComputedFrom(
      block,
      [](Operation *op) {
        return isa<hh::GetParameterOp, hh::ConstantOp, hh::StartUpOp>(op);
      },
      [](Operation *op) { return bool(aten::CallView(op)); }, values);
}

StageGradients::StageGradients(hh::ProgramOp forward, Gradients &gradients)
    : forward(forward), gradients(&gradients), builder(forward.getContext()) {
  builder.setInsertionPointAfter(forward);
  backward = hh::ProgramOp::create(
      builder, forward.getLoc(), (forward.getSymName() + "_backward").str(),
      builder.getFunctionType({}, {}), forward.getStage(), forward.getDevice(),
      forward.getReplicas(), builder.getStringAttr("backward"), nullptr,
      nullptr);
  builder.setInsertionPointToStart(&backward.getBody().emplaceBlock());
}

void StageGradients::add(Value value, Value gradient, Location loc) {
  Value &sum = gradients->of[value];
  sum = sum ? CallBuilder(loc, builder).binary("add.Tensor", sum, gradient)
            : gradient;
}

/// "grad NAME": under this name the gradient travels.
static Location gradientLoc(Value value) {
  std::string name = valueName(value);
  return name.empty() ? value.getLoc()
                      : NameLoc::get(StringAttr::get(value.getContext(),
                                                     "grad " + name));
}

/// Gradients that readers in later stages send back.
void StageGradients::receive(GradientChannels &channels) {
  SmallVector<std::pair<hh::SendOp, hh::RecvOp>> received;
  for (auto send : forward.getBody().front().getOps<hh::SendOp>()) {
    auto channel = channels.find(send.getChannel());
    if (channel == channels.end())
      continue;
    Location loc = channel->second.send.getLoc();
    // The number is known when all gradient channels are.
    channel->second.recv =
        hh::RecvOp::create(builder, loc, send.getValue().getType(),
                           send.getChannel(), send.getTo());
    received.emplace_back(send, channel->second.recv);
  }
  for (auto [send, recv] : received)
    add(send.getValue(), recv.getResult(), send.getValue().getLoc());
}

void StageGradients::refuse(Operation *op, const Twine &reason) {
  refusals.push_back(
      {op->getLoc(), op->getName().getStringRef().str(), reason.str()});
  // Any gradient does to find what else has no rule: the work is thrown away.
  CallBuilder zeros(op->getLoc(), builder);
  for (Value value : hh::readValues(op))
    if (gradients->wanted.contains(value) && !gradients->of.contains(value))
      gradients->of[value] = zeros.fullReal(CallBuilder::dims(value), 0,
                                            CallBuilder::element(value));
}

void StageGradients::visit(Operation *op) {
  bool passes = llvm::any_of(op->getResults(), [&](Value result) {
    return gradients->of.lookup(result) != nullptr;
  });
  if (!passes || isa<hh::RecvOp, hh::GetParameterOp>(op))
    return;
  ++calls;
  if (isa<hh::StartUpOp>(op))
    return refuse(op, "what is computed once, when a program is loaded, must "
                      "not depend on trained parameters");
  if (auto branch = dyn_cast<hh::IfOp>(op))
    return visitBranch(branch);
  aten::CallView call(op);
  auto rule = call ? rules().find(call.schema()) : rules().end();
  if (rule == rules().end())
    return refuse(op, "this operator has no rule");

  Derivation derivation(op, *gradients, builder);
  if (failed(rule->second(derivation)))
    return refuse(op, derivation.reason());
  if (derivation.isReplaced())
    op->erase();
}

/// What the backward pass is made for: gradients of parameters, and of values
/// from earlier stages, which are sent back there.
void StageGradients::collect(GradientChannels &channels) {
  llvm::DenseSet<Value> ofParametersAlone;
  addValuesOfParameters(forward.getBody().front(), ofParametersAlone);
  for (Operation &op : forward.getBody().front()) {
    for (Value result : op.getResults())
      if (Value gradient = gradients->of.lookup(result);
          gradient && !ofParametersAlone.contains(result))
        ofActivations.insert(gradient);
    if (auto get = dyn_cast<hh::GetParameterOp>(op)) {
      Value gradient = gradients->of.lookup(get.getResult());
      if (!gradient)
        continue;
      Value &sum = ofParameters[get.getParameterAttr().getAttr()];
      sum = sum ? CallBuilder(get.getLoc(), builder)
                      .binary("add.Tensor", sum, gradient)
                : gradient;
    }
    if (auto recv = dyn_cast<hh::RecvOp>(op)) {
      Value gradient = gradients->of.lookup(recv.getResult());
      if (!gradient)
        continue;
      auto send =
          hh::SendOp::create(builder, gradientLoc(recv.getResult()), gradient,
                             recv.getChannel(), recv.getFrom(), /*pack=*/true);
      channels[recv.getChannel()] = {send};
    }
  }
}

void StageGradients::run(double seed, GradientChannels &channels) {
  receive(channels);
  Operation *terminator = forward.getBody().front().getTerminator();
  for (OpOperand &output : terminator->getOpOperands())
    if (forward.getResultAttr(output.getOperandNumber(), hh::lossAttrName) &&
        gradients->wanted.contains(output.get())) {
      CallBuilder make(output.get().getLoc(), builder);
      Value loss = output.get();
      SmallVector<double> values(CallBuilder::typeOf(loss).getNumElements(),
                                 seed);
      add(loss,
          make.constantReals(values, CallBuilder::dims(loss),
                             CallBuilder::element(loss)),
          loss.getLoc());
    }
  // Rules insert calls of the forward pass: those are not visited by
  // themselves.
  SmallVector<Operation *> operations;
  for (Operation &op : forward.getBody().front().without_terminator())
    operations.push_back(&op);
  for (Operation *op : llvm::reverse(operations))
    visit(op);
  collect(channels);
}

} // namespace hethub::differentiate
