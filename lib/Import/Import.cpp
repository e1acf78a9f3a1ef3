//===- Import.cpp - from an ONNX file to the onnx dialect -----------------===//

#include "hethub/Import/Import.h"
#include "ImportDetail.h"

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "hethub/Dialect/Microsoft/IR/MicrosoftDialect.h"
#include "hethub/Dialect/ONNX/IR/Inference.h"
#include "hethub/Dialect/ONNX/IR/ONNXDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::ValueInfoProto;

namespace hethub::import {

/// Names of sub-graphs do not hide those of the main graph.
static Declared collectDeclared(ModelProto &model) {
  Declared declared;
  forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
    for (auto *list : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const ValueInfoProto &info : *list)
        declared.types.try_emplace(info.name(), info.type());
    for (const ValueInfoProto &info : graph.value_info())
      declared.listed.insert(info.name());
  });
  for (const auto &import : model.opset_import())
    if (import.domain().empty())
      declared.opset = import.version();
  return declared;
}

/// Operators that neither the library nor the model describes have results of
/// unknown type: refuse them all at once.
static void checkOperators(ModelProto &model) {
  std::string unknown;
  forEachGraph(*model.mutable_graph(), [&](GraphProto &graph) {
    for (const NodeProto &node : graph.node())
      if (!ox::isKnownOperator(node.domain(), node.op_type()))
        unknown += (unknown.empty() ? "" : ", ") + describe(node);
  });
  if (!unknown.empty())
    fail("nobody describes these operators, so the types of their results are "
         "not known: " +
         unknown);
}

static OwningOpRef<ModuleOp> import(StringRef path, MLIRContext *context) {
  ModelFile file = openModel(path);
  ModelProto model;
  parseModel(file, model);
  normalise(model);
  checkTensors(model, file);
  sortGraphs(model);
  checkModel(model);
  inlineFunctions(model);
  checkOperators(model);
  Declared declared = collectDeclared(model);
  densify(model);
  convertVersion(model);
  return buildModule(model, declared, file, context);
}

OwningOpRef<ModuleOp> importModel(StringRef path, MLIRContext *context) {
  context->loadDialect<func::FuncDialect, hh::HHDialect, ms::MicrosoftDialect,
                       ox::ONNXDialect>();
  std::string message;
  try {
    OwningOpRef<ModuleOp> module = import(path, context);
    // Verification is the last gate; its messages name the node but not the
    // file.
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      llvm::raw_string_ostream stream(message);
      if (!message.empty())
        stream << "; ";
      stream << diagnostic.getLocation() << ": " << diagnostic;
      return success();
    });
    if (succeeded(verify(*module)))
      return module;
  } catch (const std::exception &error) {
    message = error.what();
  }
  emitError(UnknownLoc::get(context)) << path << ": " << message;
  return nullptr;
}

llvm::Expected<std::string> readParameterBytes(hh::ParameterOp parameter) {
  auto problem = [&](const llvm::Twine &text) {
    return llvm::createStringError("parameter '" + parameter.getSymName() +
                                   "': " + text);
  };
  auto file = llvm::MemoryBuffer::getFile(parameter.getFile(), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return problem("cannot read '" + parameter.getFile() +
                   "': " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  auto slice = [&](uint64_t offset, uint64_t length) {
    return offset <= bytes.size() && length <= bytes.size() - offset;
  };
  if (parameter.getOffset()) {
    if (!slice(*parameter.getOffset(), *parameter.getLength()))
      return problem("offset and length must lie within '" +
                     parameter.getFile() + "'");
    return bytes.substr(*parameter.getOffset(), *parameter.getLength()).str();
  }
  auto message = parameter->getAttrOfType<DenseI64ArrayAttr>("message");
  if (!message || message.size() != 2 || !slice(message[0], message[1]))
    return problem("no tensor of this name in '" + parameter.getFile() + "'");
  try {
    onnx::TensorProto tensor;
    if (!parseTensor(bytes.substr(message[0], message[1]), tensor))
      return problem("no tensor at its place in '" + parameter.getFile() + "'");
    std::string raw = ox::rawBytes(tensor);
    if (static_cast<int64_t>(raw.size()) !=
        ox::rawByteCount(tensor).value_or(-1))
      return problem("data do not fit type and dims");
    return raw;
  } catch (const std::exception &error) {
    return problem(error.what());
  }
}

llvm::Error copyParameterBytes(hh::ParameterOp parameter, raw_ostream &os) {
  if (!parameter.getOffset()) {
    llvm::Expected<std::string> bytes = readParameterBytes(parameter);
    if (!bytes)
      return bytes.takeError();
    os << *bytes;
    return llvm::Error::success();
  }
  auto slice = llvm::MemoryBuffer::getFileSlice(
      parameter.getFile(), *parameter.getLength(), *parameter.getOffset());
  if (!slice)
    return llvm::createStringError("cannot read " + parameter.getFile() + ": " +
                                   slice.getError().message());
  os << (*slice)->getBuffer();
  return llvm::Error::success();
}

} // namespace hethub::import
