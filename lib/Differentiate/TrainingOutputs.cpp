//===- TrainingOutputs.cpp - what a forward program still gives -----------===//

#include "TrainingOutputs.h"

#include "ReachedValues.h"
#include "hethub/Support/EraseDead.h"

#include <map>

using namespace mlir;

namespace hethub::differentiate {

/// Exactly one result of all programs is the loss, a float of one element.
static LogicalResult checkLoss(ModuleOp module,
                               ArrayRef<hh::ProgramOp> stages) {
  bool found = false;
  for (hh::ProgramOp program : stages)
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      if (!program.getResultAttr(i, hh::lossAttrName))
        continue;
      if (found)
        return program.emitError("one result must be the loss, got a second "
                                 "one in stage ")
               << program.getStage();
      found = true;
      Type type = program.getResultTypes()[i];
      if (!isFloatTensor(type) ||
          cast<RankedTensorType>(type).getNumElements() != 1)
        return program.emitError("the loss must be a scalar float, got: ")
               << type;
    }
  if (!found)
    return emitError(module.getLoc(),
                     "one result must be the loss (hh.loss), got none");
  return success();
}

static void keepResults(hh::ProgramOp program) {
  Operation *terminator = program.getBody().front().getTerminator();
  SmallVector<Value> kept;
  SmallVector<Attribute> attributes;
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    if (program.getResultAttr(i, hh::lossAttrName) ||
        program.getResultAttr(i, hh::updateAttrName)) {
      kept.push_back(terminator->getOperand(i));
      attributes.push_back(
          DictionaryAttr::get(program.getContext(), program.getResultAttrs(i)));
    } else {
      auto name = program.getResultAttrOfType<StringAttr>(i, "onnx.name");
      emitRemark(program.getLoc())
          << "an output is left out of the training programs: "
          << (name ? name.getValue() : std::to_string(i));
    }
  }
  terminator->setOperands(kept);
  Builder builder(program.getContext());
  program.setFunctionType(builder.getFunctionType(program.getArgumentTypes(),
                                                  ValueRange(kept).getTypes()));
  program.setResAttrsAttr(
      attributes.empty() ? nullptr : builder.getArrayAttr(attributes));
}

LogicalResult keepTrainingOutputs(ModuleOp module,
                                  ArrayRef<hh::ProgramOp> stages) {
  if (failed(checkLoss(module, stages)))
    return failure();
  std::map<int64_t, std::pair<hh::SendOp, hh::RecvOp>> channels;
  for (hh::ProgramOp program : stages) {
    keepResults(program);
    for (auto send : program.getOps<hh::SendOp>())
      channels[send.getChannel()].first = send;
    for (auto recv : program.getOps<hh::RecvOp>())
      channels[recv.getChannel()].second = recv;
  }
  for (auto &[channel, ends] : channels)
    if (!ends.first || !ends.second)
      return emitError(module.getLoc(),
                       "a channel must have a sender and a receiver, "
                       "got one end of channel ")
             << channel;
  // Receivers are later stages than senders.
  for (hh::ProgramOp program : llvm::reverse(stages)) {
    eraseDead(program.getBody());
    for (auto recv : llvm::make_early_inc_range(program.getOps<hh::RecvOp>()))
      if (recv.use_empty()) {
        auto channel = channels.find(recv.getChannel());
        channel->second.first.erase();
        recv.erase();
        channels.erase(channel);
      }
  }
  int64_t number = 0;
  for (auto &[channel, ends] : channels) {
    ends.first.setChannel(number);
    ends.second.setChannel(number);
    ++number;
  }
  return success();
}

} // namespace hethub::differentiate
