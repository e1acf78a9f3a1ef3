//===- CppEmitter.cpp - a stage as a readable C++ program -----------------===//

#include "hethub/Emit/Cpp/CppEmitter.h"

#include "Identifiers.h"
#include "Literals.h"
#include "Tables.h"

#include "hethub.pb.h"
#include "hethub/Dialect/ATen/IR/Call.h"
#include "hethub/Support/Names.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;

namespace hethub::emit {

namespace {

/// Tensors below this size are left to die at the end of the function:
/// releasing them early gains nothing and costs a line each.
constexpr int64_t releaseBytes = 64 * 1024;

class Emitter {
public:
  Emitter(const hh::StageParts &stage, const StageProgram &tables,
          llvm::raw_ostream &os)
      : parts(stage), tables(tables), os(os) {}
  LogicalResult emit();

private:
  LogicalResult statements(Block &block, StringRef indent, raw_ostream &out);
  LogicalResult call(aten::CallView view, StringRef indent, raw_ostream &out);
  LogicalResult branch(hh::IfOp op, StringRef indent, raw_ostream &out);
  LogicalResult loop(hh::LoopOp op, StringRef indent, raw_ostream &out);
  LogicalResult argument(const aten::Argument &argument, Operation *at,
                         std::string &text);
  LogicalResult weights(raw_ostream &out);
  LogicalResult startUp(hh::StartUpOp op, raw_ostream &declare,
                        raw_ostream &compute);
  LogicalResult function(hh::ProgramOp program, StringRef name,
                         raw_ostream &out);
  void release(Operation &op, StringRef indent, raw_ostream &out);
  void findEarly(hh::ProgramOp program, ArrayRef<Value> outputs);
  void emitInterleaved(StringRef code, StringRef load);

  /// How an expression refers to a value; members of the weights struct are
  /// qualified outside of it.
  std::string use(Value value) {
    const std::string &name = names[value];
    return !inWeights && members.contains(value) ? "w." + name : name;
  }
  std::string define(Value value) {
    return names[value] = identifiers.unique(prefix + valueName(value));
  }

  hh::StageParts parts;
  const StageProgram &tables;
  raw_ostream &os;
  Identifiers identifiers;
  DenseMap<Value, std::string> names;
  llvm::DenseSet<Value> members;
  std::set<std::string> headers;
  bool usesOwnOps = false;
  bool inWeights = false;
  /// Of what a function computes: gradients have the names of the calls that
  /// they belong to.
  std::string prefix;
  /// Values that a function returns or sends: alive to its end.
  llvm::DenseSet<Value> results;
  /// Gradients that several ranks sum, and their positions among the outputs:
  /// given away where they are computed.
  DenseMap<Value, unsigned> early;
};

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult Emitter::argument(const aten::Argument &argument, Operation *at,
                                std::string &text) {
  using aten::Kind;
  Attribute attribute = argument.attribute;
  if (argument.layout->kind == Kind::TensorList) {
    SmallVector<std::string> elements;
    for (Value value : argument.values)
      elements.push_back(value ? use(value) : "std::nullopt");
    text = "{" + llvm::join(elements, ", ") + "}";
    return success();
  }
  if (argument.isNone()) {
    text = argument.layout->kind == Kind::Tensor ? "{}" : "std::nullopt";
    return success();
  }
  switch (argument.layout->kind) {
  case Kind::Tensor:
    text = use(argument.values.front());
    return success();
  case Kind::Int:
  case Kind::Float:
  case Kind::Bool:
  case Kind::Scalar:
    if (auto boolean = dyn_cast<BoolAttr>(attribute))
      text = boolean.getValue() ? "true" : "false";
    else if (auto integer = dyn_cast<IntegerAttr>(attribute))
      text = literal(integer.getInt());
    else
      text = literal(cast<FloatAttr>(attribute).getValueAsDouble());
    return success();
  case Kind::Ints:
    text = literal(cast<DenseI64ArrayAttr>(attribute).asArrayRef());
    // An optional list would take braces for the optional itself.
    if (argument.layout->optional)
      text = "at::IntArrayRef(" + text + ")";
    return success();
  case Kind::Floats:
    text = literal(cast<DenseF64ArrayAttr>(attribute).asArrayRef());
    if (argument.layout->optional)
      text = "at::ArrayRef<double>(" + text + ")";
    return success();
  case Kind::Bools:
    text = literal(cast<DenseBoolArrayAttr>(attribute).asArrayRef());
    return success();
  case Kind::Str:
    text = stringLiteral(cast<StringAttr>(attribute).getValue());
    return success();
  case Kind::ScalarType: {
    StringRef type = scalarType(cast<TypeAttr>(attribute).getValue());
    if (type.empty())
      return at->emitError("element type must be one that LibTorch has, got: ")
             << attribute;
    text = type.str();
    return success();
  }
  case Kind::MemoryFormat:
    text = "static_cast<at::MemoryFormat>(" +
           literal(cast<IntegerAttr>(attribute).getInt()) + ")";
    return success();
  default:
    return at->emitError("argument must not be set: ") << argument.layout->name;
  }
}

/// The four arguments dtype, layout, device, pin_memory of a schema are one
/// at::TensorOptions in C++.
static bool startsTensorOptions(const aten::CallLayout &layout, unsigned i) {
  return i + 3 < layout.argumentCount &&
         layout.arguments[i].kind == aten::Kind::ScalarType &&
         StringRef(layout.arguments[i].name) == "dtype" &&
         StringRef(layout.arguments[i + 1].name) == "layout" &&
         StringRef(layout.arguments[i + 2].name) == "device" &&
         StringRef(layout.arguments[i + 3].name) == "pin_memory";
}

LogicalResult Emitter::call(aten::CallView view, StringRef indent,
                            raw_ostream &out) {
  const aten::CallLayout &layout = view.layout();
  Operation *op = view.operation();
  bool own = StringRef(layout.library) == "hethub";
  SmallVector<std::string> arguments;
  size_t needed = 0; // arguments after the last one that is not a default
  for (unsigned i = 0; i < view.size(); ++i) {
    aten::Argument argument = view.argument(i);
    std::string text;
    if (failed(this->argument(argument, op, text)))
      return failure();
    if (!own && startsTensorOptions(layout, i)) {
      // In C++ these come right where they stand; what follows has no defaults
      // of its own.
      text = "at::TensorOptions(" + (argument.isNone() ? "at::kFloat" : text) +
             ").device(" + (inWeights ? "file.device()" : "w.device") + ")";
      i += 3;
      arguments.push_back(text);
      needed = arguments.size();
      continue;
    }
    arguments.push_back(text);
    if (!argument.isDefault)
      needed = arguments.size();
  }
  if (!own)
    arguments.resize(needed);
  std::string callee;
  if (own) {
    usesOwnOps = true;
    callee = std::string("hethub::ops::") + layout.name;
  } else if (layout.methodOnly) {
    callee = arguments.front() + "." + layout.name;
    arguments.erase(arguments.begin());
  } else {
    headers.insert(layout.name);
    callee = std::string("at::") + layout.name;
  }

  out << indent;
  if (op->getNumResults() == 1) {
    Value result = op->getResult(0);
    out << (members.contains(result) ? names[result] : "auto " + define(result))
        << " = ";
  } else if (llvm::any_of(op->getResults(), [&](Value value) {
               return members.contains(value);
             })) {
    // Members are declared already; the others are not.
    for (Value value : op->getResults())
      if (!members.contains(value))
        out << "at::Tensor " << define(value) << ";\n" << indent;
    out << "std::tie(";
    llvm::interleaveComma(op->getResults(), out,
                          [&](Value value) { out << names[value]; });
    out << ") = ";
  } else {
    out << "auto [";
    llvm::interleaveComma(op->getResults(), out,
                          [&](Value value) { out << define(value); });
    out << "] = ";
  }
  out << callee << "(" << llvm::join(arguments, ", ") << ");\n";
  return success();
}

LogicalResult Emitter::branch(hh::IfOp op, StringRef indent, raw_ostream &out) {
  out << indent << "at::Tensor ";
  llvm::interleaveComma(op.getResults(), out,
                        [&](Value value) { out << define(value); });
  out << ";\n";
  std::string inner = (indent + "  ").str();
  auto body = [&](Region &region) -> LogicalResult {
    if (failed(statements(region.front(), inner, out)))
      return failure();
    for (auto [result, value] : llvm::zip(
             op.getResults(), region.front().getTerminator()->getOperands()))
      out << inner << names[result] << " = " << use(value) << ";\n";
    return success();
  };
  out << indent << "if (" << use(op.getCondition()) << ".item<bool>()) {\n";
  if (failed(body(op.getThenBody())))
    return failure();
  out << indent << "} else {\n";
  if (failed(body(op.getElseBody())))
    return failure();
  out << indent << "}\n";
  return success();
}

/// A `for` over the iterations; what they give is stacked from a vector.
LogicalResult Emitter::loop(hh::LoopOp op, StringRef indent, raw_ostream &out) {
  usesOwnOps = true;
  Block &block = op.getBody().front();
  std::string inner = (indent + "  ").str();
  size_t carried = op.getInitial().size();
  OperandRange yielded = block.getTerminator()->getOperands();
  // The carried values of an iteration are the results of the loop at its end.
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    if (index < carried) {
      out << indent << "at::Tensor " << define(result) << " = "
          << use(op.getInitial()[index]) << ";\n";
      names[block.getArgument(index + 2)] = names[result];
      continue;
    }
    out << indent << "std::vector<at::Tensor> " << define(result) << "_all;\n";
  }
  std::string count = identifiers.unique("trip_count");
  std::string step = identifiers.unique("iteration");
  BlockArgument condition = block.getArgument(1);
  out << indent << "at::Tensor " << define(condition) << " = "
      << use(op.getCondition()) << ";\n"
      << indent << "const int64_t " << count << " = " << use(op.getTripCount())
      << ".item().toLong();\n"
      << indent << "for (int64_t " << step << " = 0; " << step << " < " << count
      << " && " << names[condition] << ".item<bool>(); ++" << step << ") {\n";
  out << inner << "auto " << define(block.getArgument(0)) << " = at::full({}, "
      << step << ", at::TensorOptions(at::kLong).device(w.device));\n";
  headers.insert("full");
  if (failed(statements(block, inner, out)))
    return failure();
  // All are read before one is written: an iteration may swap two of them.
  SmallVector<std::string> next;
  for (size_t index = 0; index < carried; ++index) {
    next.push_back(identifiers.unique("next"));
    out << inner << "at::Tensor " << next.back() << " = "
        << use(yielded[index + 1]) << ";\n";
  }
  for (size_t index = carried; index < op.getNumResults(); ++index)
    out << inner << names[op.getResult(index)] << "_all.push_back("
        << use(yielded[index + 1]) << ");\n";
  if (yielded[0] != condition)
    out << inner << names[condition] << " = " << use(yielded[0]) << ";\n";
  for (size_t index = 0; index < carried; ++index)
    out << inner << names[op.getResult(index)] << " = std::move(" << next[index]
        << ");\n";
  out << indent << "}\n";
  for (size_t index = carried; index < op.getNumResults(); ++index) {
    auto type = cast<RankedTensorType>(op.getResult(index).getType());
    SmallVector<int64_t> empty;
    for (int64_t size : type.getShape().drop_front())
      empty.push_back(ShapedType::isDynamic(size) ? 0 : size);
    out << indent << "auto " << names[op.getResult(index)]
        << " = hethub::ops::stack_iterations(" << names[op.getResult(index)]
        << "_all, " << literal(empty) << ", "
        << scalarType(type.getElementType()) << ");\n";
  }
  return success();
}

/// Lets go of large tensors after their last use, so that memory is that of the
/// live values and LibTorch's allocator hands the same warm pages out again.
void Emitter::release(Operation &op, StringRef indent, raw_ostream &out) {
  SmallVector<std::string> dead;
  llvm::SmallDenseSet<Value> seen;
  auto consider = [&](Value value) {
    if (members.contains(value) || results.contains(value) ||
        value.getParentBlock() != op.getBlock() || !names.contains(value) ||
        hh::byteSize(value.getType()) < releaseBytes ||
        !seen.insert(value).second)
      return;
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = op.getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || (ancestor != &op && op.isBeforeInBlock(ancestor)))
        return;
    }
    dead.push_back(names[value]);
  };
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      consider(operand);
  });
  for (Value result : op.getResults())
    if (result.use_empty())
      consider(result);
  for (const std::string &name : dead)
    out << indent << name << ".reset();\n";
}

LogicalResult Emitter::statements(Block &block, StringRef indent,
                                  raw_ostream &out) {
  for (Operation &op : block) {
    if (isa<hh::GetParameterOp, hh::ConstantOp, hh::StartUpOp, hh::SendOp,
            hh::RecvOp>(op) ||
        op.hasTrait<OpTrait::IsTerminator>())
      continue;
    LogicalResult written =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case([&](hh::IfOp branch) {
              return this->branch(branch, indent, out);
            })
            .Case(
                [&](hh::LoopOp loop) { return this->loop(loop, indent, out); })
            .Case([&](hh::CastOp cast) {
              out << indent << "auto " << define(cast.getResult()) << " = "
                  << use(cast.getValue()) << ";\n";
              return success();
            })
            .Default([&](Operation *other) -> LogicalResult {
              if (aten::CallView view{other})
                return call(view, indent, out);
              return other->emitError("operation of a program must be lowered "
                                      "to aten, got: ")
                     << other->getName();
            });
    if (failed(written))
      return failure();
    for (Value result : op.getResults())
      if (auto found = early.find(result); found != early.end())
        out << indent << "early(" << found->second << ", "
            << (result.hasOneUse() ? "std::move(" + names[result] + ")"
                                   : names[result])
            << ");\n";
    if (!inWeights)
      release(op, indent, out);
  }
  return success();
}

/// Gradients are given away where they are computed, unless a value is two
/// outputs at once.
void Emitter::findEarly(hh::ProgramOp program, ArrayRef<Value> outputs) {
  early.clear();
  Operation *terminator = program.getBody().front().getTerminator();
  unsigned sent = outputs.size() - terminator->getNumOperands();
  for (auto [position, value] : llvm::enumerate(outputs)) {
    if (position < sent || llvm::count(outputs, value) > 1 ||
        members.contains(value))
      continue;
    if (program.getResultAttr(position - sent, hh::gradientAttrName) &&
        value.getDefiningOp() && aten::CallView(value.getDefiningOp()))
      early[value] = position;
  }
}

//===----------------------------------------------------------------------===//
// The parts with code: weights and functions
//===----------------------------------------------------------------------===//

/// A name for what start-up makes of a parameter: the parameter's and the
/// call's ("h_0_mlp_weight_transpose").
static std::string startUpName(Value value) {
  Operation *op = value.getDefiningOp();
  aten::CallView call(op);
  if (!call)
    return valueName(value);
  Value source = value;
  while (Operation *defining = source.getDefiningOp()) {
    if (isa<hh::GetParameterOp>(defining) || defining->getNumOperands() == 0)
      break;
    source = defining->getOperand(0);
  }
  return valueName(source) + "." + call.layout().name;
}

LogicalResult Emitter::startUp(hh::StartUpOp op, raw_ostream &declare,
                               raw_ostream &compute) {
  Block &block = op.getBody().front();
  ValueRange yielded = block.getTerminator()->getOperands();
  for (Value value : yielded)
    if (members.insert(value).second) {
      names[value] = identifiers.unique(startUpName(value));
      declare << "  at::Tensor " << names[value] << ";\n";
    }
  if (failed(statements(block, "    ", compute)))
    return failure();
  for (auto [result, value] : llvm::zip(op.getResults(), yielded)) {
    members.insert(result);
    names[result] = names[value];
  }
  return success();
}

/// One member a parameter and a constant, wherever they are read, and what
/// start-up makes of them.
LogicalResult Emitter::weights(raw_ostream &out) {
  inWeights = true;
  DenseMap<Attribute, std::string> known;
  std::string declarations, initialisers, body;
  llvm::raw_string_ostream declare(declarations), initialise(initialisers),
      compute(body);
  auto member = [&](Value value, Attribute key, StringRef hint,
                    const Twine &initial) {
    auto [it, isNew] = known.try_emplace(key);
    if (isNew) {
      it->second = identifiers.unique(hint);
      declare << "  at::Tensor " << it->second << ";\n";
      initialise << "    " << it->second << " = " << initial << ";\n";
    }
    members.insert(value);
    names[value] = it->second;
  };
  for (hh::ProgramOp program : parts.programs())
    program.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto get = dyn_cast<hh::GetParameterOp>(op)) {
        auto type = cast<RankedTensorType>(get.getType());
        member(get.getResult(), get.getParameterAttr(), get.getParameter(),
               "file.get(" + stringLiteral(get.getParameter()) + ", " +
                   scalarType(type.getElementType()).str() + ", " +
                   literal(type.getShape()) + ")");
      } else if (auto constant = dyn_cast<hh::ConstantOp>(op)) {
        auto value = cast<DenseElementsAttr>(constant.getValue());
        std::string hint = valueName(constant.getResult());
        member(constant.getResult(), value, hint.empty() ? "constant" : hint,
               emit::constant(value));
      }
    });
  for (hh::ProgramOp program : parts.programs())
    for (auto op : program.getOps<hh::StartUpOp>())
      if (failed(startUp(op, declare, compute)))
        return failure();
  inWeights = false;
  out << "struct Weights {\n"
      << "  at::Device device;\n"
      << declarations << "\n"
      << "  explicit Weights(rt::WeightsFile &file) : device(file.device()) {\n"
      << initialisers << body << "  }\n"
      << "};\n\n";
  return success();
}

LogicalResult Emitter::function(hh::ProgramOp program, StringRef name,
                                raw_ostream &out) {
  Block &block = program.getBody().front();
  SmallVector<Value> inputs(block.getArguments()), outputs;
  for (Operation &op : block) {
    if (auto recv = dyn_cast<hh::RecvOp>(op))
      inputs.push_back(recv.getResult());
    if (auto send = dyn_cast<hh::SendOp>(op))
      outputs.push_back(send.getValue());
  }
  llvm::append_range(outputs, block.getTerminator()->getOperands());
  results.insert(outputs.begin(), outputs.end());
  findEarly(program, outputs);

  // Each function has names of its own beside those of the members.
  Identifiers outer = identifiers;
  out << "static rt::Tensors " << name
      << "([[maybe_unused]] const Weights &w, "
         "[[maybe_unused]] rt::Tensors inputs"
      << (early.empty() ? "" : ", const rt::Early &early") << ") {\n";
  for (auto [position, input] : llvm::enumerate(inputs))
    out << "  auto " << define(input) << " = std::move(inputs[" << position
        << "]);\n";
  // With recomputation a backward pass has the forward pass in it.
  if (name != "forward" && !parts.forward->hasAttr(hh::recomputeAttrName))
    prefix = "grad_";
  if (failed(statements(block, "  ", out)))
    return failure();
  prefix.clear();
  out << "  return {";
  llvm::interleaveComma(outputs, out, [&](Value value) {
    out << (early.contains(value) ? "at::Tensor()" : use(value));
  });
  out << "};\n}\n\n";
  identifiers = outer;
  return success();
}

LogicalResult Emitter::emit() {
  std::string code;
  llvm::raw_string_ostream out(code);
  SmallVector<StringRef> functions;
  if (failed(weights(out)))
    return failure();
  for (auto [name, program] : {std::pair("forward", parts.forward),
                               std::pair("backward", parts.backward),
                               std::pair("weight", parts.weight)}) {
    if (!program)
      continue;
    functions.push_back(name);
    if (failed(function(program, name, out)))
      return failure();
  }
  const Stage &stage = tables.stages(tables.stage());
  os << "// Stage " << tables.stage() + 1 << " of " << tables.stages_size()
     << " of " << StringRef(tables.model()).split('\n').first
     << ", for device type " << stringLiteral(stage.device_type()) << " ("
     << stage.device_kind() << "). Written by hh-compile.\n\n"
     << "#include \"hethub/runtime/Stage.h\"\n"
     << "#include \"hethub/runtime/Weights.h\"\n";
  if (usesOwnOps)
    os << "#include \"hethub/runtime/DynamicOps.h\"\n"
       << "#include \"hethub/runtime/ops.h\"\n";
  os << "\n";
  for (const std::string &header : headers)
    os << "#include <ATen/ops/" << header << ".h>\n";
  os << "\n#include <limits>\n\nnamespace rt = hethub::runtime;\n\n";
  std::string load = "rt::bind<Weights>(" + llvm::join(functions, ", ") + ")";
  if (stagesOfRank(tables).size() > 1) {
    emitInterleaved(code, load);
    return success();
  }
  os << code;
  emitTables(tables, os);
  os << "int main(int argc, char **argv) {\n"
     << "  return rt::runStage(spec, " << load << ", argc, argv);\n"
     << "}\n";
  return success();
}

/// A rank's stages are one program: each in a namespace of its own, and a main
/// beside the first of them.
void Emitter::emitInterleaved(StringRef code, StringRef load) {
  SmallVector<int> stages = stagesOfRank(tables);
  auto name = [](int stage) { return "stage_" + std::to_string(stage); };
  os << "namespace " << name(tables.stage()) << " {\n\n" << code;
  emitTables(tables, os);
  os << "rt::EmittedStage emitted() { return {spec, " << load << "}; }\n\n"
     << "} // namespace " << name(tables.stage()) << "\n";
  if (stages.front() != tables.stage())
    return;
  os << "\n// What the rank runs beside it.\n";
  for (int stage : llvm::drop_begin(stages))
    os << "namespace " << name(stage) << " { // ../" << name(stage)
       << "/stage.cpp\n"
       << "rt::EmittedStage emitted();\n}\n";
  os << "\nint main(int argc, char **argv) {\n  return rt::runStages({";
  llvm::interleaveComma(stages, os,
                        [&](int stage) { os << name(stage) << "::emitted()"; });
  os << "}, argc, argv);\n}\n";
}

SmallVector<int> stagesOfRank(const StageProgram &tables) {
  const Stage &own = tables.stages(tables.stage());
  if (!own.has_first_rank())
    return {tables.stage()};
  SmallVector<int> stages;
  for (int stage = 0; stage < tables.stages_size(); ++stage)
    if (tables.stages(stage).first_rank() == own.first_rank())
      stages.push_back(stage);
  return stages;
}

StringRef cppFileName(const StageProgram &tables) {
  return stagesOfRank(tables).front() == tables.stage() ? "main.cpp"
                                                        : "stage.cpp";
}

LogicalResult emitCpp(const hh::StageParts &stage, const StageProgram &tables,
                      raw_ostream &os) {
  return Emitter(stage, tables, os).emit();
}

} // namespace hethub::emit
