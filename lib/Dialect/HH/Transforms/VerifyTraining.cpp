//===- VerifyTraining.cpp - what holds of training programs ---------------===//

#include "VerifyTraining.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/HH/Transforms/StageParts.h"

#include <map>

using namespace mlir;
using namespace hethub::hh;

bool hethub::hh::isTraining(ModuleOp module) {
  return llvm::any_of(module.getOps<ProgramOp>(), [](ProgramOp program) {
    return program.getPart().has_value();
  });
}

LogicalResult hethub::hh::differentiated(ModuleOp module) {
  auto stages = readStages(module);
  if (failed(stages))
    return failure();
  bool any = false;
  for (StageParts &stage : *stages) {
    any |= static_cast<bool>(stage.backward);
    if (stage.weight && !stage.backward)
      return stage.weight.emitError("a stage with a weight program must have a "
                                    "backward program, got none for stage ")
             << stage.weight.getStage();
  }
  if (!any)
    return module.emitError("a stage must have a backward program "
                            "(hh-differentiate), got none");
  return success();
}

/// The marks of an argument or result that say what it is.
static std::string marksOf(DictionaryAttr attributes, ArrayRef<StringRef> all) {
  std::string found;
  for (StringRef name : all)
    if (attributes && attributes.contains(name))
      found += (found.empty() ? "" : " ") + name.str();
  return found;
}

static LogicalResult checkPorts(ProgramOp program) {
  bool forward = !program.getPart(), weight = program.getPart() == "weight";
  StringRef inputs[] = {"onnx.index", savedAttrName};
  StringRef wanted = inputs[forward ? 0 : 1];
  for (unsigned i = 0; i < program.getNumArguments(); ++i) {
    std::string marks = marksOf(program.getArgAttrDict(i), inputs);
    if (marks != wanted)
      return program.emitError("arguments of a ")
             << (forward ? "forward program must be inputs of the model"
                         : "backward or weight program must be saved values")
             << ", got '" << marks << "' for argument " << i;
  }
  StringRef outputs[] = {lossAttrName, updateAttrName, gradientAttrName,
                         savedAttrName};
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    std::string text = marksOf(program.getResultAttrDict(i), outputs);
    StringRef marks = text;
    bool allowed = forward ? marks == lossAttrName || marks == updateAttrName ||
                                 marks == savedAttrName
                           : marks == gradientAttrName ||
                                 (!weight && marks == savedAttrName);
    if (!allowed)
      return program.emitError("results of a ")
             << (forward  ? "forward program must be the loss, new values of "
                            "parameters or saved values"
                 : weight ? "weight program must be gradients"
                          : "backward program must be gradients or saved "
                            "values")
             << ", got '" << text << "' for result " << i;
  }
  return success();
}

LogicalResult hethub::hh::trainingPorts(ModuleOp module) {
  if (!isTraining(module))
    return success();
  unsigned losses = 0;
  for (auto program : module.getOps<ProgramOp>()) {
    if (failed(checkPorts(program)))
      return failure();
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      losses += static_cast<bool>(program.getResultAttr(i, lossAttrName));
  }
  if (losses != 1)
    return module.emitError("one result must be the loss, got: ") << losses;
  return success();
}

namespace {
struct Slot {
  Type type;
  bool isRead = false;
};
} // namespace

LogicalResult hethub::hh::savedSlots(ModuleOp module) {
  if (!isTraining(module))
    return success();
  auto stages = readStages(module);
  if (failed(stages))
    return failure();
  for (StageParts &stage : *stages) {
    std::map<int64_t, Slot> slots;
    // In the order in which they run: what is read must have been written.
    for (ProgramOp program : stage.programs()) {
      for (unsigned i = 0; i < program.getNumArguments(); ++i) {
        auto number = program.getArgAttrOfType<IntegerAttr>(i, savedAttrName);
        if (!number)
          continue;
        auto slot = slots.find(number.getInt());
        if (slot == slots.end())
          return program.emitError("a slot must be written before it is read, "
                                   "got: slot ")
                 << number.getInt();
        Type type = program.getArgumentTypes()[i];
        if (slot->second.type != type)
          return program.emitError("a slot must be read as what it was "
                                   "written, ")
                 << slot->second.type << ", got: slot " << number.getInt()
                 << " as " << type;
        slot->second.isRead = true;
      }
      for (unsigned i = 0; i < program.getNumResults(); ++i) {
        auto number =
            program.getResultAttrOfType<IntegerAttr>(i, savedAttrName);
        if (number && !slots
                           .try_emplace(number.getInt(),
                                        Slot{program.getResultTypes()[i]})
                           .second)
          return program.emitError("a slot must be written once, got a second "
                                   "time: slot ")
                 << number.getInt();
      }
    }
    for (auto &[number, slot] : slots)
      if (!slot.isRead)
        return stage.forward.emitError("a slot must be read, got nobody who "
                                       "reads slot ")
               << number;
  }
  return success();
}

LogicalResult hethub::hh::parameterResults(ModuleOp module) {
  if (!isTraining(module))
    return success();
  SymbolTable symbols(module);
  llvm::DenseSet<std::pair<int64_t, Attribute>> made; // by stage
  llvm::DenseSet<Attribute> trained, updated;
  for (auto program : module.getOps<ProgramOp>())
    for (unsigned i = 0; i < program.getNumResults(); ++i)
      for (StringRef mark : {gradientAttrName, updateAttrName}) {
        auto name = program.getResultAttrOfType<FlatSymbolRefAttr>(i, mark);
        if (!name)
          continue;
        auto parameter = symbols.lookup<ParameterOp>(name.getAttr());
        if (!parameter)
          return program.emitError("no parameter of this name: ") << name;
        if (program.getResultTypes()[i] != parameter.getType())
          return program.emitError("gradients and new values must have the "
                                   "type of their parameter, ")
                 << parameter.getType()
                 << ", got: " << program.getResultTypes()[i] << " for " << name;
        if (!made.insert({program.getStage(), name}).second)
          return program.emitError("a stage must make one gradient or new "
                                   "value of a parameter, got a second one of ")
                 << name;
        (mark == gradientAttrName ? trained : updated).insert(name);
        if (trained.contains(name) && updated.contains(name))
          return program.emitError("a parameter must not have both a gradient "
                                   "and new values, got: ")
                 << name;
      }
  return success();
}

LogicalResult hethub::hh::channelDirections(ModuleOp module) {
  // Channels of values that no gradient has taken yet, by what a channel is.
  std::map<std::tuple<int64_t, int64_t, const void *>, int64_t> values;
  auto key = [](int64_t from, int64_t to, SendOp send) {
    return std::tuple(from, to, send.getValue().getType().getAsOpaquePointer());
  };
  for (auto program : module.getOps<ProgramOp>()) {
    if (program.getPart())
      continue;
    auto stage = static_cast<int64_t>(program.getStage());
    for (auto send : program.getOps<SendOp>()) {
      auto to = static_cast<int64_t>(send.getTo());
      if (to <= stage)
        return send.emitError("stages must send to later ones, got: ")
               << stage << " to " << to;
      ++values[key(stage, to, send)];
    }
  }
  for (auto program : module.getOps<ProgramOp>()) {
    auto stage = static_cast<int64_t>(program.getStage());
    bool backward = program.getPart() == "backward";
    for (auto send : program.getOps<SendOp>()) {
      if (!program.getPart())
        continue;
      auto to = static_cast<int64_t>(send.getTo());
      if (!backward)
        return send.emitError("weight programs must not send, got channel ")
               << send.getChannel();
      if (values[key(to, stage, send)]-- == 0)
        return send.emitError("a gradient must go back on the way of a value "
                              "of its type, got: ")
               << send.getValue().getType() << " from stage " << stage << " to "
               << to;
    }
    for (auto recv : program.getOps<RecvOp>()) {
      auto from = static_cast<int64_t>(recv.getFrom());
      if (backward ? from < stage : from > stage || program.getPart())
        return recv.emitError("forward programs receive from earlier stages, "
                              "backward programs from later ones, got: stage ")
               << stage << " from " << from;
    }
  }
  return success();
}
