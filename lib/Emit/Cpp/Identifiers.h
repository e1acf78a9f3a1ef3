//===- Identifiers.h - C++ names for the model's names ---------*- C++ -*-===//

#ifndef HETHUB_LIB_EMIT_CPP_IDENTIFIERS_H
#define HETHUB_LIB_EMIT_CPP_IDENTIFIERS_H

#include "llvm/ADT/StringSet.h"

#include <string>

namespace hethub::emit {

/// Hands out distinct C++ identifiers that stay as close to the model's names
/// as C++ allows.
class Identifiers {
public:
  /// "m.h.0/attn:weight" -> "m_h_0_attn_weight"; keywords, names that the
  /// emitted file uses and names already given get a number. Names over 60
  /// characters keep their end, which says most.
  std::string unique(llvm::StringRef name);

private:
  llvm::StringSet<> taken;
};

/// A C++ string literal with quotes and everything else escaped.
std::string stringLiteral(llvm::StringRef text);

} // namespace hethub::emit

#endif // HETHUB_LIB_EMIT_CPP_IDENTIFIERS_H
