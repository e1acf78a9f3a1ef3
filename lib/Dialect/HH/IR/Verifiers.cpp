//===- Verifiers.cpp - what must hold of hh operations --------------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hethub::hh;

/// Each device type has a forward and a backward time, in seconds, and may have
/// that of the backward pass which gradients of parameters take; none is
/// negative.
LogicalResult CostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t flops, int64_t moved, int64_t kept,
                               int64_t parameters, DictionaryAttr seconds) {
  if (flops < 0 || moved < 0 || kept < 0 || parameters < 0)
    return emitError() << "cost figures must not be negative";
  for (NamedAttribute entry : seconds) {
    auto times = dyn_cast<DenseF64ArrayAttr>(entry.getValue());
    if (!times || times.size() < 2 || times.size() > 3)
      return emitError() << "seconds of a device type must be array<f64: "
                            "forward, backward> or <forward, backward, "
                            "weight>, got: "
                         << entry.getValue();
    for (double time : times.asArrayRef())
      if (!(time >= 0))
        return emitError() << "seconds must not be negative, got: " << time
                           << " for " << entry.getName();
  }
  return success();
}

LogicalResult DeviceTypeOp::verify() {
  auto count = static_cast<int64_t>(getCount());
  auto memory = static_cast<int64_t>(getMemory());
  if (count < 1)
    return emitOpError("count must be at least 1, got: ") << count;
  if (memory < 1)
    return emitOpError("memory must be at least 1 byte, got: ") << memory;
  return success();
}

LogicalResult LinkOp::verify() {
  if (!(getBandwidth().convertToDouble() > 0))
    return emitOpError("bandwidth must be above 0, got: ")
           << getBandwidth().convertToDouble();
  if (!(getLatency().convertToDouble() >= 0))
    return emitOpError("latency must not be negative, got: ")
           << getLatency().convertToDouble();
  for (FlatSymbolRefAttr end : {getFromAttr(), getToAttr()})
    if (!SymbolTable::lookupNearestSymbolFrom<DeviceTypeOp>(*this, end))
      return emitOpError("ends must be device types, got: ") << end;
  ArrayAttr routes = getRoutesAttr();
  for (Attribute route : routes ? routes.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(route);
    auto bandwidth = fields ? fields.getAs<FloatAttr>("bandwidth") : nullptr;
    auto latency = fields ? fields.getAs<FloatAttr>("latency") : nullptr;
    if (!bandwidth || !(bandwidth.getValueAsDouble() > 0) || !latency ||
        !(latency.getValueAsDouble() >= 0))
      return emitOpError("routes must have a bandwidth above 0 and a latency "
                         "that is not negative, got: ")
             << route;
  }
  return success();
}

/// A parameter points at exactly one source, and a slice holds exactly the
/// bytes of the type.
LogicalResult ParameterOp::verify() {
  if (getOffset().has_value() != getLength().has_value() ||
      getOffset().has_value() == getTensor().has_value())
    return emitOpError("source must be an offset and a length, or a tensor");
  if (getFile().empty())
    return emitOpError("file must not be empty");
  if (!getOffset())
    return success();
  if (static_cast<int64_t>(*getOffset()) < 0)
    return emitOpError("offset must not be negative, got: ")
           << static_cast<int64_t>(*getOffset());
  return success();
}

LogicalResult
GetParameterOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto parameter = symbolTable.lookupNearestSymbolFrom<ParameterOp>(
      *this, getParameterAttr());
  if (!parameter)
    return emitOpError("no parameter of this name: ") << getParameterAttr();
  if (parameter.getType() != getType())
    return emitOpError("type must be that of the parameter, ")
           << parameter.getType() << ", got: " << getType();
  return success();
}

/// Device type exists, at least one replica, arguments and results match the
/// region.
LogicalResult StageOp::verify() {
  auto replicas = static_cast<int64_t>(getReplicas());
  if (replicas < 1)
    return emitOpError("replicas must be at least 1, got: ") << replicas;
  auto index = static_cast<int64_t>(getIndex());
  if (index < 0)
    return emitOpError("index must not be negative, got: ") << index;
  if (!SymbolTable::lookupNearestSymbolFrom<DeviceTypeOp>(*this,
                                                          getDeviceAttr()))
    return emitOpError("no device type of this name: ") << getDeviceAttr();
  if (TypeRange(getInputs()) != TypeRange(getBody().getArguments()))
    return emitOpError("types of region arguments must be those of the inputs");
  Operation *yield = getBody().front().getTerminator();
  if (TypeRange(yield->getOperands()) != TypeRange(getResultTypes()))
    return emitOpError("types of yielded values must be those of the results");
  return success();
}

/// Channels are used once, and never lead to the stage itself.
LogicalResult ProgramOp::verify() {
  auto replicas = static_cast<int64_t>(getReplicas());
  if (replicas < 1)
    return emitOpError("replicas must be at least 1, got: ") << replicas;
  if (!SymbolTable::lookupNearestSymbolFrom<DeviceTypeOp>(*this,
                                                          getDeviceAttr()))
    return emitOpError("no device type of this name: ") << getDeviceAttr();
  if (auto part = getPart(); part && *part != "backward" && *part != "weight")
    return emitOpError("part must be \"backward\" or \"weight\", got: ")
           << getPartAttr();
  if (getBody().empty())
    return emitOpError("body must not be empty");
  llvm::SmallDenseSet<int64_t> channels;
  for (Operation &op : getBody().front()) {
    int64_t channel, peer;
    if (auto send = dyn_cast<SendOp>(op)) {
      channel = send.getChannel();
      peer = send.getTo();
    } else if (auto recv = dyn_cast<RecvOp>(op)) {
      channel = recv.getChannel();
      peer = recv.getFrom();
    } else {
      continue;
    }
    if (peer == static_cast<int64_t>(getStage()))
      return op.emitOpError("peer must be another stage, got: ") << peer;
    if (!channels.insert(channel).second)
      return op.emitOpError("channel must be used once in a program, got: ")
             << channel;
  }
  return success();
}

LogicalResult ReturnOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  if (TypeRange(getValues()) !=
      TypeRange(program.getFunctionType().getResults()))
    return emitOpError("types must be those of the program's results");
  return success();
}

static LogicalResult verifyYield(Operation *op, Region &region) {
  if (TypeRange(region.front().getTerminator()->getOperands()) !=
      TypeRange(op->getResultTypes()))
    return op->emitOpError(
        "types of yielded values must be those of the results");
  return success();
}

LogicalResult StartUpOp::verify() { return verifyYield(*this, getBody()); }

LogicalResult IfOp::verify() {
  auto type = cast<RankedTensorType>(getCondition().getType());
  if (!type.getElementType().isInteger(1))
    return emitOpError("condition must be a tensor of i1, got: ") << type;
  return failure(failed(verifyYield(*this, getThenBody())) ||
                 failed(verifyYield(*this, getElseBody())));
}

/// Carried values keep their types; each other result is one more axis in front
/// of what an iteration yields.
LogicalResult LoopOp::verify() {
  Block &block = getBody().front();
  size_t carried = getInitial().size();
  Operation *yield = block.getTerminator();
  if (block.getNumArguments() != carried + 2)
    return emitOpError("body must have ")
           << carried + 2 << " arguments, got: " << block.getNumArguments();
  if (getNumResults() < carried ||
      yield->getNumOperands() != getNumResults() + 1)
    return emitOpError("body must yield a condition and ")
           << getNumResults() << " values, got: " << yield->getNumOperands();
  for (size_t i = 0; i < carried; ++i) {
    Type type = getInitial()[i].getType();
    if (block.getArgument(i + 2).getType() != type ||
        yield->getOperand(i + 1).getType() != type ||
        getResult(i).getType() != type)
      return emitOpError("carried value ")
             << i << " must keep its type " << type;
  }
  for (size_t i = carried; i < getNumResults(); ++i) {
    auto whole = dyn_cast<RankedTensorType>(getResult(i).getType());
    auto part = dyn_cast<RankedTensorType>(yield->getOperand(i + 1).getType());
    if (!whole || !part || whole.getRank() != part.getRank() + 1)
      return emitOpError("result ")
             << i << " must be a tensor with one axis more than what an "
             << "iteration yields";
  }
  return success();
}

static LogicalResult verifyChannel(Operation *op, int64_t channel,
                                   int64_t peer) {
  if (channel < 0)
    return op->emitOpError("channel must not be negative, got: ") << channel;
  if (peer < 0)
    return op->emitOpError("peer stage must not be negative, got: ") << peer;
  return success();
}

LogicalResult SendOp::verify() {
  return verifyChannel(*this, getChannel(), getTo());
}

LogicalResult RecvOp::verify() {
  return verifyChannel(*this, getChannel(), getFrom());
}

LogicalResult AllReduceOp::verify() {
  if (getStages().empty())
    return emitOpError("stages must not be empty");
  return success();
}
