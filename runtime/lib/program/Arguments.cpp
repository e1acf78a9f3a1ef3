// Arguments of a call against the schema of its operator, once, when the
// program is loaded.
#include "Code.h"
#include "Specification.h"
#include "hethub/runtime/Error.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

using namespace hethub;
using namespace hethub::runtime;

std::string hethub::runtime::labelOf(const Call &call,
                                     const StageProgram &program) {
  std::string label = call.op();
  if (call.origin() >= 0 && call.origin() < program.origins_size()) {
    const Origin &origin = program.origins(call.origin());
    label += " (" + origin.op() + " '" + origin.name() + "')";
  }
  return label;
}

namespace {
/// The type inside Optional, and the element type of lists.
struct Expected {
  c10::TypeKind kind;
  bool optional = false;
  bool list = false;
  bool optionalElements = false;
};

Expected expectedOf(const c10::Argument &argument) {
  Expected expected{};
  // real_type keeps ScalarType, Device and so on apart from int.
  c10::TypePtr type = argument.real_type();
  if (auto optional = type->cast<c10::OptionalType>()) {
    expected.optional = true;
    type = optional->getElementType();
  }
  if (auto list = type->cast<c10::ListType>()) {
    expected.list = true;
    type = list->getElementType();
    if (auto optional = type->cast<c10::OptionalType>()) {
      expected.optionalElements = true;
      type = optional->getElementType();
    }
  }
  expected.kind = type->kind();
  return expected;
}

bool isInteger(c10::TypeKind kind) {
  return kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType;
}
bool isNumber(c10::TypeKind kind) { return kind == c10::TypeKind::NumberType; }

/// One value for several (int[2] stride=1): schemas let a single int stand for
/// the list.
std::optional<CodeArgument> compileArgument(const Argument &argument,
                                            const Expected &expected) {
  using Kind = Argument::KindCase;
  using Type = c10::TypeKind;
  CodeArgument result;
  auto fixed = [&](c10::IValue value) {
    result.fixed = std::move(value);
    return result;
  };
  switch (argument.kind_case()) {
  case Kind::KIND_NOT_SET:
  case Kind::kNone:
    if (expected.kind == Type::DeviceObjType) {
      // Operators that make tensors make them where the stage computes.
      result.kind = CodeArgument::StageDevice;
      return result;
    }
    if (expected.optional)
      return fixed({});
    return std::nullopt;
  case Kind::kValue:
    if (expected.kind != Type::TensorType || expected.list)
      return std::nullopt;
    result.kind = CodeArgument::Value;
    result.value = argument.value();
    return result;
  case Kind::kValues:
    if (expected.kind != Type::TensorType || !expected.list)
      return std::nullopt;
    result.kind = expected.optionalElements ? CodeArgument::OptionalTensorList
                                            : CodeArgument::TensorList;
    result.values.assign(argument.values().value().begin(),
                         argument.values().value().end());
    return result;
  case Kind::kInt:
    if (expected.list)
      return isInteger(expected.kind)
                 ? std::optional(fixed(c10::List<int64_t>({argument.int_()})))
                 : std::nullopt;
    if (isInteger(expected.kind) || isNumber(expected.kind))
      return fixed(argument.int_());
    if (expected.kind == Type::FloatType)
      return fixed(static_cast<double>(argument.int_()));
    return std::nullopt;
  case Kind::kFloat:
    if (!expected.list &&
        (expected.kind == Type::FloatType || isNumber(expected.kind)))
      return fixed(argument.float_());
    return std::nullopt;
  case Kind::kBoolean:
    if (!expected.list &&
        (expected.kind == Type::BoolType || isNumber(expected.kind)))
      return fixed(argument.boolean());
    return std::nullopt;
  case Kind::kStr:
    if (!expected.list && expected.kind == Type::StringType)
      return fixed(argument.str());
    return std::nullopt;
  case Kind::kInts: {
    if (!expected.list)
      return std::nullopt;
    if (isInteger(expected.kind)) {
      c10::List<int64_t> list;
      for (int64_t value : argument.ints().value())
        list.push_back(value);
      return fixed(std::move(list));
    }
    if (expected.kind == Type::FloatType) {
      c10::List<double> list;
      for (int64_t value : argument.ints().value())
        list.push_back(static_cast<double>(value));
      return fixed(std::move(list));
    }
    return std::nullopt;
  }
  case Kind::kFloats: {
    if (!expected.list || expected.kind != Type::FloatType)
      return std::nullopt;
    c10::List<double> list;
    for (double value : argument.floats().value())
      list.push_back(value);
    return fixed(std::move(list));
  }
  case Kind::kBools: {
    if (!expected.list || expected.kind != Type::BoolType)
      return std::nullopt;
    c10::List<bool> list;
    for (bool value : argument.bools().value())
      list.push_back(value);
    return fixed(std::move(list));
  }
  case Kind::kDtype:
    if (expected.list || (expected.kind != Type::ScalarTypeType &&
                          expected.kind != Type::IntType))
      return std::nullopt;
    return fixed(static_cast<int64_t>(scalarTypeOf(argument.dtype())));
  case Kind::kMemoryFormat:
    if (expected.list || (expected.kind != Type::MemoryFormatType &&
                          expected.kind != Type::IntType))
      return std::nullopt;
    return fixed(argument.memory_format());
  }
  return std::nullopt;
}

void splitName(const std::string &op, std::string &name,
               std::string &overload) {
  size_t colons = op.find("::");
  size_t dot = op.find('.', colons == std::string::npos ? 0 : colons);
  name = op.substr(0, dot);
  overload = dot == std::string::npos ? "" : op.substr(dot + 1);
}
} // namespace

void hethub::runtime::compileCall(const Call &call, const StageProgram &program,
                                  CodeInstruction &code,
                                  std::vector<std::string> &problems) {
  auto problem = [&](const std::string &what) {
    problems.push_back(labelOf(call, program) + ": " + what);
  };
  std::string name, overload;
  splitName(call.op(), name, overload);
  code.op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!code.op)
    return problem("unknown operator");
  const c10::FunctionSchema &schema = code.op->schema();
  size_t needed = schema.arguments().size();
  if (static_cast<size_t>(call.arguments_size()) != needed)
    return problem("needs " + std::to_string(needed) +
                   " arguments, got: " + std::to_string(call.arguments_size()));
  for (size_t i = 0; i < needed; ++i) {
    const c10::Argument &expected = schema.arguments()[i];
    try {
      auto argument = compileArgument(call.arguments(static_cast<int>(i)),
                                      expectedOf(expected));
      if (argument)
        code.arguments.push_back(std::move(*argument));
      else
        problem("argument '" + expected.name() + "' must be " +
                expected.real_type()->str() + ", got: " +
                call.arguments(static_cast<int>(i)).ShortDebugString());
    } catch (const Error &error) {
      problem("argument '" + expected.name() + "': " + error.what());
    }
  }
  code.results.assign(call.results().begin(), call.results().end());
  code.origin = call.origin();
  const auto &returns = schema.returns();
  code.returnsList = returns.size() == 1 &&
                     returns[0].type()->kind() == c10::TypeKind::ListType;
  if (!code.returnsList && code.results.size() != returns.size())
    problem("gives " + std::to_string(returns.size()) +
            " results, got: " + std::to_string(code.results.size()));
}
