// The table of values and the loop over instructions.
#include "Interpreter.h"
#include "Code.h"
#include "Specification.h"
#include "hethub/runtime/DTypes.h"
#include "hethub/runtime/DynamicOps.h"
#include "hethub/runtime/Error.h"
#include "hethub/runtime/Trace.h"

#include <ATen/core/List.h>
#include <ATen/ops/full.h>

using namespace hethub;
using namespace hethub::runtime;

namespace {
/// A function that runs again and again.
struct Compiled {
  const Function *function;
  CodeBlock code;
};
} // namespace

struct Interpreter::Impl {
  std::shared_ptr<const StageProgram> program;
  std::vector<c10::IValue> values;
  CodeBlock startUp;
  std::map<std::string, Compiled> functions;
  std::vector<bool> resident; ///< parameters, constants and start-up results
                              ///< that a function reads
  bool isRandom = false;
  at::Device device = at::kCPU;
  torch::jit::Stack stack;

  void growTo(int32_t value) {
    if (value >= 0 && static_cast<size_t>(value) >= values.size())
      values.resize(static_cast<size_t>(value) + 1);
  }
  void compile(const google::protobuf::RepeatedPtrField<Instruction> &body,
               CodeBlock &block, std::vector<std::string> &problems);
  std::vector<bool> ownValues(const Compiled &compiled) const;
  void findResident(std::vector<std::string> &problems);
  void run(const CodeBlock &block, const CallTimer *timer,
           const Early *early = nullptr);
  void compileLoop(const Loop &loop, CodeInstruction &code,
                   std::vector<std::string> &problems);
  void call(const CodeInstruction &code);
  void runLoop(const CodeInstruction &code, const CallTimer *timer);
  const c10::IValue &read(int32_t value) const {
    return values[static_cast<size_t>(value)];
  }
  at::Tensor tensor(int32_t value) const { return read(value).toTensor(); }
};

namespace {
/// Finds reads of values that nothing has defined: such a program is broken,
/// and would crash.
class DefinitionCheck {
public:
  DefinitionCheck(std::vector<bool> defined, std::vector<std::string> &problems)
      : defined_(std::move(defined)), problems_(problems) {}

  void define(int32_t value) {
    if (value >= 0)
      defined_[static_cast<size_t>(value)] = true;
  }
  void read(int32_t value, const char *what) {
    if (value < 0 || static_cast<size_t>(value) >= defined_.size() ||
        !defined_[static_cast<size_t>(value)])
      problems_.push_back(std::string(what) + " reads value " +
                          std::to_string(value) + ", which nothing defines");
  }
  void block(const CodeBlock &block) {
    for (const CodeInstruction &code : block.instructions) {
      for (const CodeArgument &argument : code.arguments) {
        if (argument.kind == CodeArgument::Value)
          read(argument.value, "a call");
        for (int32_t value : argument.values)
          if (value >= 0 || argument.kind == CodeArgument::TensorList)
            read(value, "a call");
      }
      if (code.loop) {
        loop(code);
      } else if (code.condition >= 0 || code.thenBlock) {
        read(code.condition, "a branch");
        inner(*code.thenBlock, code.thenResults);
        inner(*code.elseBlock, code.elseResults);
      }
      for (int32_t value : code.results)
        define(value);
    }
  }

private:
  void loop(const CodeInstruction &code) {
    const CodeLoop &loop = *code.loop;
    read(code.condition, "a loop");
    read(loop.tripCount, "a loop");
    for (int32_t value : loop.initial)
      read(value, "a loop");
    std::vector<bool> before = defined_;
    define(loop.iteration);
    define(loop.conditionIn);
    for (int32_t value : loop.carriedIn)
      define(value);
    block(*code.thenBlock);
    read(loop.conditionOut, "the end of a loop");
    for (int32_t value : loop.carriedOut)
      read(value, "the end of a loop");
    for (int32_t value : loop.stacked)
      read(value, "the end of a loop");
    defined_ = std::move(before);
  }
  void inner(const CodeBlock &body, const std::vector<int32_t> &results) {
    std::vector<bool> before = defined_;
    block(body);
    for (int32_t value : results)
      read(value, "the end of a branch");
    defined_ = std::move(before);
  }
  std::vector<bool> defined_;
  std::vector<std::string> &problems_;
};

std::string join(const std::vector<std::string> &problems) {
  constexpr size_t most = 50;
  std::string text;
  for (size_t i = 0; i < problems.size() && i < most; ++i)
    text += "\n  " + problems[i];
  if (problems.size() > most)
    text += "\n  and " + std::to_string(problems.size() - most) + " more";
  return text;
}
} // namespace

void Interpreter::Impl::compile(
    const google::protobuf::RepeatedPtrField<Instruction> &body,
    CodeBlock &block, std::vector<std::string> &problems) {
  for (const Instruction &instruction : body) {
    CodeInstruction code;
    if (instruction.has_call()) {
      const Call &call = instruction.call();
      compileCall(call, *program, code, problems);
      isRandom |= code.op && code.op->hasTag(at::Tag::nondeterministic_seeded);
    } else if (instruction.has_branch()) {
      const Branch &branch = instruction.branch();
      code.condition = branch.condition();
      code.thenBlock = std::make_shared<CodeBlock>();
      code.elseBlock = std::make_shared<CodeBlock>();
      compile(branch.then_body(), *code.thenBlock, problems);
      compile(branch.else_body(), *code.elseBlock, problems);
      code.thenResults.assign(branch.then_results().begin(),
                              branch.then_results().end());
      code.elseResults.assign(branch.else_results().begin(),
                              branch.else_results().end());
      code.results.assign(branch.results().begin(), branch.results().end());
      if (code.thenResults.size() != code.results.size() ||
          code.elseResults.size() != code.results.size())
        problems.push_back("both blocks of a branch must give " +
                           std::to_string(code.results.size()) + " results");
    } else if (instruction.has_loop()) {
      compileLoop(instruction.loop(), code, problems);
    } else {
      problems.push_back("an instruction is no call, branch or loop");
      continue;
    }
    for (int32_t value : code.results)
      growTo(value);
    block.instructions.push_back(std::move(code));
  }
}

void Interpreter::Impl::compileLoop(const Loop &loop, CodeInstruction &code,
                                    std::vector<std::string> &problems) {
  auto compiled = std::make_shared<CodeLoop>(
      CodeLoop{loop.trip_count(),
               loop.iteration(),
               loop.condition_in(),
               loop.condition_out(),
               {loop.initial().begin(), loop.initial().end()},
               {loop.carried_in().begin(), loop.carried_in().end()},
               {loop.carried_out().begin(), loop.carried_out().end()},
               {loop.stacked().begin(), loop.stacked().end()},
               {},
               {}});
  for (const TensorType &type : loop.stacked_types()) {
    compiled->stackedTypes.push_back(scalarTypeOf(type.dtype()));
    Shape shape;
    for (int axis = 1; axis < type.dims_size(); ++axis)
      shape.push_back(std::max<int64_t>(0, type.dims(axis)));
    compiled->emptyShapes.push_back(std::move(shape));
  }
  size_t carried = compiled->initial.size();
  size_t stacked = compiled->stacked.size();
  if (compiled->carriedIn.size() != carried ||
      compiled->carriedOut.size() != carried ||
      compiled->stackedTypes.size() != stacked ||
      static_cast<size_t>(loop.results_size()) != carried + stacked)
    problems.push_back("a loop must carry one number of values, got: " +
                       std::to_string(carried) + ", " +
                       std::to_string(compiled->carriedIn.size()) + ", " +
                       std::to_string(compiled->carriedOut.size()) +
                       " and with " + std::to_string(stacked) +
                       " stacked ones " + std::to_string(loop.results_size()) +
                       " results");
  std::vector<int32_t> given = compiled->carriedIn;
  given.push_back(compiled->iteration);
  given.push_back(compiled->conditionIn);
  for (int32_t value : given) {
    if (value < 0)
      problems.push_back("an iteration of a loop must be given values, got: " +
                         std::to_string(value));
    growTo(value);
  }
  code.condition = loop.condition();
  code.thenBlock = std::make_shared<CodeBlock>();
  compile(loop.body(), *code.thenBlock, problems);
  code.results.assign(loop.results().begin(), loop.results().end());
  code.loop = std::move(compiled);
}

/// What a function defines itself: its inputs and the results of its calls.
std::vector<bool> Interpreter::Impl::ownValues(const Compiled &compiled) const {
  std::vector<bool> own(values.size(), false);
  auto define = [&](auto &&self, const CodeBlock &block) -> void {
    for (const CodeInstruction &code : block.instructions) {
      for (int32_t value : code.results)
        if (value >= 0)
          own[static_cast<size_t>(value)] = true;
      if (code.loop) {
        own[static_cast<size_t>(code.loop->iteration)] = true;
        own[static_cast<size_t>(code.loop->conditionIn)] = true;
        for (int32_t value : code.loop->carriedIn)
          own[static_cast<size_t>(value)] = true;
      }
      for (const auto &inner : {code.thenBlock, code.elseBlock})
        if (inner)
          self(self, *inner);
    }
  };
  define(define, compiled.code);
  for (const Port &port : compiled.function->inputs())
    own[static_cast<size_t>(port.value())] = true;
  return own;
}

/// Resident: what a function reads and does not define itself. No function may
/// define what stays for another one.
void Interpreter::Impl::findResident(std::vector<std::string> &problems) {
  resident.assign(values.size(), false);
  for (const auto &[name, compiled] : functions) {
    std::vector<bool> reads(values.size(), false), own = ownValues(compiled);
    collectReads(compiled.code, reads);
    for (const Port &port : compiled.function->outputs())
      reads[static_cast<size_t>(port.value())] = true;
    for (size_t value = 0; value < values.size(); ++value)
      if (reads[value] && !own[value])
        resident[value] = true;
  }
  for (const auto &[name, compiled] : functions) {
    std::vector<bool> own = ownValues(compiled);
    for (size_t value = 0; value < values.size(); ++value)
      if (own[value] && resident[value])
        problems.push_back("function " + name + " defines value " +
                           std::to_string(value) +
                           ", which another function reads from start-up");
  }
}

Interpreter::Interpreter(std::shared_ptr<const StageProgram> shared)
    : impl_(std::make_unique<Impl>()) {
  Impl &impl = *impl_;
  impl.program = std::move(shared);
  const StageProgram &program = *impl.program;
  if (!findFunction(program, "forward"))
    runtime::fail("program of '", program.model(), "' has no function forward");
  const Function *startUp = findFunction(program, "start_up");

  std::vector<std::string> problems;
  std::vector<int32_t> atStart;
  for (const Parameter &parameter : program.parameters())
    atStart.push_back(parameter.value());
  for (const Constant &constant : program.constants())
    atStart.push_back(constant.value());
  for (int32_t value : atStart)
    impl.growTo(value);
  if (startUp)
    impl.compile(startUp->body(), impl.startUp, problems);
  for (const char *name : {"forward", "backward", "weight"}) {
    const Function *function = findFunction(program, name);
    if (!function)
      continue;
    for (const Port &port : function->inputs()) {
      if (port.value() < 0)
        problems.push_back("input '" + port.name() + "' has no value");
      impl.growTo(port.value());
    }
    Compiled &compiled = impl.functions[name];
    compiled.function = function;
    impl.compile(function->body(), compiled.code, problems);
  }
  if (problems.empty()) {
    DefinitionCheck check(std::vector<bool>(impl.values.size(), false),
                          problems);
    for (int32_t value : atStart)
      check.define(value);
    check.block(impl.startUp);
    for (const auto &[name, compiled] : impl.functions) {
      DefinitionCheck inside = check;
      for (const Port &port : compiled.function->inputs())
        inside.define(port.value());
      inside.block(compiled.code);
      for (const Port &port : compiled.function->outputs())
        inside.read(port.value(), "an output");
    }
  }
  if (problems.empty())
    impl.findResident(problems);
  if (!problems.empty())
    runtime::fail("stage ", program.stage(), " of '", program.model(),
                  "' can not run:", join(problems));

  markLastUses(impl.startUp, impl.resident);
  for (auto &[name, compiled] : impl.functions) {
    std::vector<bool> keep = impl.resident;
    for (const Port &port : compiled.function->outputs())
      keep[static_cast<size_t>(port.value())] = true;
    markLastUses(compiled.code, keep);
    std::vector<int32_t> gradients;
    for (const Port &port : compiled.function->outputs())
      gradients.push_back(port.gradient_of().empty() ? -1 : port.value());
    markEarlyOutputs(compiled.code, gradients);
  }
}

Interpreter::~Interpreter() = default;
const StageProgram &Interpreter::program() const { return *impl_->program; }
bool Interpreter::has(const std::string &name) const {
  return impl_->functions.count(name) != 0;
}
bool Interpreter::isRandom() const { return impl_->isRandom; }

void Interpreter::load(WeightsFile &weights) {
  Impl &impl = *impl_;
  impl.device = weights.device();
  for (const Parameter &parameter : impl.program->parameters()) {
    Shape shape(parameter.type().dims().begin(), parameter.type().dims().end());
    impl.values[static_cast<size_t>(parameter.value())] = weights.get(
        parameter.name(), scalarTypeOf(parameter.type().dtype()), shape);
  }
  for (const Constant &constant : impl.program->constants()) {
    Shape shape(constant.type().dims().begin(), constant.type().dims().end());
    if (constant.type().dtype() == STRING) {
      std::vector<std::string> texts(constant.strings().begin(),
                                     constant.strings().end());
      if (byteCount(at::kByte, shape) != constant.strings_size())
        runtime::fail(
            "a constant of ", typeName(at::kLong, shape),
            " must have as many strings, got: ", constant.strings_size());
      impl.values[static_cast<size_t>(constant.value())] =
          ops::strings(texts, shape);
      continue;
    }
    impl.values[static_cast<size_t>(constant.value())] =
        constantBytes(shape, scalarTypeOf(constant.type().dtype()),
                      constant.data(), weights.device());
  }
  impl.run(impl.startUp, nullptr);
  // What only start-up needed is let go of.
  for (size_t value = 0; value < impl.values.size(); ++value)
    if (!impl.resident[value])
      impl.values[value] = {};
}

void Interpreter::Impl::call(const CodeInstruction &code) {
  stack.clear();
  for (const CodeArgument &argument : code.arguments) {
    switch (argument.kind) {
    case CodeArgument::Fixed:
      stack.push_back(argument.fixed);
      break;
    case CodeArgument::StageDevice:
      stack.emplace_back(device);
      break;
    case CodeArgument::Value:
      if (argument.lastUse)
        stack.push_back(std::move(values[static_cast<size_t>(argument.value)]));
      else
        stack.push_back(read(argument.value));
      break;
    case CodeArgument::TensorList: {
      c10::List<at::Tensor> list;
      list.reserve(argument.values.size());
      for (int32_t value : argument.values)
        list.push_back(tensor(value));
      stack.emplace_back(std::move(list));
      break;
    }
    case CodeArgument::OptionalTensorList: {
      c10::List<std::optional<at::Tensor>> list;
      list.reserve(argument.values.size());
      for (int32_t value : argument.values)
        list.push_back(value < 0 ? std::optional<at::Tensor>() : tensor(value));
      stack.emplace_back(std::move(list));
      break;
    }
    }
  }
  code.op->callBoxed(&stack);
  if (code.returnsList) {
    std::vector<at::Tensor> list = stack.back().toTensorVector();
    if (list.size() != code.results.size())
      runtime::fail("gives ", list.size(),
                    " results, got: ", code.results.size());
    for (size_t i = 0; i < list.size(); ++i)
      if (code.results[i] >= 0)
        values[static_cast<size_t>(code.results[i])] = std::move(list[i]);
  } else {
    for (size_t i = 0; i < code.results.size(); ++i)
      if (code.results[i] >= 0)
        values[static_cast<size_t>(code.results[i])] = std::move(stack[i]);
  }
  stack.clear();
}

void Interpreter::Impl::runLoop(const CodeInstruction &code,
                                const CallTimer *timer) {
  const CodeLoop &loop = *code.loop;
  auto slot = [&](int32_t value) -> c10::IValue & {
    return values[static_cast<size_t>(value)];
  };
  int64_t count = tensor(loop.tripCount).item().toLong();
  slot(loop.conditionIn) = read(code.condition);
  for (size_t i = 0; i < loop.initial.size(); ++i)
    slot(loop.carriedIn[i]) = read(loop.initial[i]);
  std::vector<Tensors> stacked(loop.stacked.size());
  Tensors next(loop.carriedOut.size());
  for (int64_t step = 0; step < count; ++step) {
    if (!tensor(loop.conditionIn).item<bool>())
      break;
    slot(loop.iteration) =
        at::full({}, step, at::TensorOptions(at::kLong).device(device));
    run(*code.thenBlock, timer);
    // All are read before one is written: an iteration may swap two of them.
    for (size_t i = 0; i < next.size(); ++i)
      next[i] = tensor(loop.carriedOut[i]);
    for (size_t i = 0; i < stacked.size(); ++i)
      stacked[i].push_back(tensor(loop.stacked[i]));
    slot(loop.conditionIn) = read(loop.conditionOut);
    for (size_t i = 0; i < next.size(); ++i)
      slot(loop.carriedIn[i]) = std::move(next[i]);
  }
  for (size_t i = 0; i < code.results.size(); ++i) {
    if (code.results[i] < 0)
      continue;
    if (i < next.size())
      slot(code.results[i]) = read(loop.carriedIn[i]);
    else
      slot(code.results[i]) = ops::stack_iterations(
          stacked[i - next.size()], loop.emptyShapes[i - next.size()],
          loop.stackedTypes[i - next.size()]);
  }
  slot(loop.iteration) = {};
  slot(loop.conditionIn) = {};
  for (int32_t value : loop.carriedIn)
    slot(value) = {};
}

void Interpreter::Impl::run(const CodeBlock &block, const CallTimer *timer,
                            const Early *early) {
  for (const CodeInstruction &code : block.instructions) {
    if (code.op) {
      try {
        if (timer) {
          auto begin = Clock::now();
          call(code);
          (*timer)(code.origin, secondsBetween(begin, Clock::now()));
        } else {
          call(code);
        }
      } catch (const std::exception &error) {
        Call named;
        named.set_op(c10::toString(code.op->operator_name()));
        named.set_origin(code.origin);
        runtime::fail(labelOf(named, *program), ": ", messageOf(error));
      }
    } else if (code.loop) {
      runLoop(code, timer);
    } else {
      bool taken = tensor(code.condition).item<bool>();
      run(taken ? *code.thenBlock : *code.elseBlock, timer);
      const std::vector<int32_t> &from =
          taken ? code.thenResults : code.elseResults;
      for (size_t i = 0; i < from.size(); ++i)
        if (code.results[i] >= 0)
          values[static_cast<size_t>(code.results[i])] = read(from[i]);
    }
    for (const CodeInstruction::Output &output : code.outputs) {
      if (!early)
        break;
      c10::IValue &value = values[static_cast<size_t>(output.value)];
      (*early)(output.position,
               output.isLast ? std::move(value).toTensor() : value.toTensor());
    }
    for (int32_t value : code.release)
      values[static_cast<size_t>(value)] = {};
  }
}

Tensors Interpreter::run(const std::string &name, Tensors inputs,
                         const CallTimer *timer, const Early *early) {
  Impl &impl = *impl_;
  const Compiled &compiled = impl.functions.at(name);
  const Function &function = *compiled.function;
  if (inputs.size() != static_cast<size_t>(function.inputs_size()))
    runtime::fail(name, " needs ", function.inputs_size(),
                  " inputs, got: ", inputs.size());
  for (int i = 0; i < function.inputs_size(); ++i)
    impl.values[static_cast<size_t>(function.inputs(i).value())] =
        std::move(inputs[static_cast<size_t>(i)]);
  inputs.clear();
  std::vector<bool> given(static_cast<size_t>(function.outputs_size()), false);
  Early noting = [&](size_t position, at::Tensor value) {
    given[position] = true;
    (*early)(position, std::move(value));
  };
  impl.run(compiled.code, timer, early ? &noting : nullptr);
  Tensors outputs;
  for (const Port &port : function.outputs())
    outputs.push_back(given[outputs.size()] ? at::Tensor()
                                            : impl.tensor(port.value()));
  for (const Port &port : function.outputs())
    if (!impl.resident[static_cast<size_t>(port.value())])
      impl.values[static_cast<size_t>(port.value())] = {};
  for (const Port &port : function.inputs())
    impl.values[static_cast<size_t>(port.value())] = {};
  return outputs;
}

Load hethub::runtime::loaderOf(std::shared_ptr<const StageProgram> program) {
  return [program](WeightsFile &weights) -> Functions {
    auto interpreter = std::make_shared<Interpreter>(program);
    interpreter->load(weights);
    auto of = [&](const char *name) -> Forward {
      if (!interpreter->has(name))
        return {};
      return [interpreter, name](Tensors inputs) {
        return interpreter->run(name, std::move(inputs));
      };
    };
    auto earlyOf = [&](const char *name)
        -> std::function<Tensors(Tensors, const Early &)> {
      if (!interpreter->has(name))
        return {};
      return [interpreter, name](Tensors inputs, const Early &early) {
        return interpreter->run(name, std::move(inputs), nullptr, &early);
      };
    };
    return {of("forward"),           of("backward"),      of("weight"),
            interpreter->isRandom(), earlyOf("backward"), earlyOf("weight")};
  };
}
