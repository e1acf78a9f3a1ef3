//===- Diagnostics.cpp - messages in the model's own names ----------------===//

#include "hethub/Support/Diagnostics.h"
#include "hethub/Support/Names.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace hethub {

/// "node 'fc1' (m.h.0.mlp): ", "cluster.yaml:3:7: ", or nothing.
static std::string place(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    std::string text = file.getFilename().str();
    if (file.getLine())
      text += ":" + std::to_string(file.getLine()) + ":" +
              std::to_string(file.getColumn());
    return text + ": ";
  }
  StringRef name = nodeName(loc), scope = scopeOf(loc);
  if (name.empty())
    return "";
  std::string text = ("node '" + name + "'").str();
  if (!scope.empty())
    text += (" (" + scope + ")").str();
  return text + ": ";
}

static StringRef severity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Note:
    return "note: ";
  case DiagnosticSeverity::Remark:
    return "remark: ";
  }
  return "";
}

ModelDiagnostics::ModelDiagnostics(MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  context->printOpOnDiagnostic(false);
  setHandler([](Diagnostic &diagnostic) {
    auto print = [](Diagnostic &entry) {
      llvm::errs() << severity(entry.getSeverity())
                   << place(entry.getLocation()) << entry << "\n";
    };
    print(diagnostic);
    for (Diagnostic &note : diagnostic.getNotes())
      print(note);
    return success();
  });
}

} // namespace hethub
