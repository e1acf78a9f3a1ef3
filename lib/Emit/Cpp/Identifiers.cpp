//===- Identifiers.cpp - C++ names for the model's names ------------------===//

#include "Identifiers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace hethub::emit {

/// Keywords, alternative tokens, common macros, and what the emitted file
/// itself declares.
static const StringSet<> &reserved() {
  static const StringSet<> names = {"alignas",
                                    "alignof",
                                    "and",
                                    "and_eq",
                                    "asm",
                                    "at",
                                    "auto",
                                    "bitand",
                                    "bitor",
                                    "bool",
                                    "break",
                                    "case",
                                    "catch",
                                    "char",
                                    "char16_t",
                                    "char32_t",
                                    "char8_t",
                                    "class",
                                    "co_await",
                                    "co_return",
                                    "co_yield",
                                    "compl",
                                    "concept",
                                    "const",
                                    "const_cast",
                                    "consteval",
                                    "constexpr",
                                    "constinit",
                                    "continue",
                                    "decltype",
                                    "default",
                                    "delete",
                                    "do",
                                    "double",
                                    "dynamic_cast",
                                    "else",
                                    "enum",
                                    "explicit",
                                    "export",
                                    "extern",
                                    "false",
                                    "float",
                                    "for",
                                    "friend",
                                    "goto",
                                    "if",
                                    "inline",
                                    "int",
                                    "long",
                                    "mutable",
                                    "namespace",
                                    "new",
                                    "noexcept",
                                    "not",
                                    "not_eq",
                                    "nullptr",
                                    "operator",
                                    "or",
                                    "or_eq",
                                    "private",
                                    "protected",
                                    "public",
                                    "register",
                                    "reinterpret_cast",
                                    "requires",
                                    "return",
                                    "short",
                                    "signed",
                                    "sizeof",
                                    "static",
                                    "static_assert",
                                    "static_cast",
                                    "struct",
                                    "switch",
                                    "template",
                                    "this",
                                    "thread_local",
                                    "throw",
                                    "true",
                                    "try",
                                    "typedef",
                                    "typeid",
                                    "typename",
                                    "union",
                                    "unsigned",
                                    "using",
                                    "virtual",
                                    "void",
                                    "volatile",
                                    "wchar_t",
                                    "while",
                                    "xor",
                                    "xor_eq",
                                    "std",
                                    "rt",
                                    "c10",
                                    "torch",
                                    "hethub",
                                    "main",
                                    "w",
                                    "file",
                                    "inputs",
                                    "early",
                                    "forward",
                                    "Weights",
                                    "spec",
                                    "argc",
                                    "argv",
                                    "NULL",
                                    "EOF",
                                    "INFINITY",
                                    "NAN",
                                    "errno",
                                    "assert",
                                    "stdin",
                                    "stdout",
                                    "stderr",
                                    "linux",
                                    "unix",
                                    "I",
                                    "_"};
  return names;
}

std::string Identifiers::unique(StringRef name) {
  std::string result;
  for (char c : name)
    if (isAlnum(c))
      result += c;
    else if (!result.empty() && result.back() != '_')
      result += '_';
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  constexpr size_t longest = 60;
  if (result.size() > longest)
    result = result.substr(result.size() - longest);
  while (!result.empty() && result.front() == '_')
    result.erase(result.begin());
  if (result.empty() || isDigit(result.front()))
    result = "v" + (result.empty() ? "" : "_" + result);
  std::string candidate = result;
  for (unsigned i = 2;
       reserved().contains(candidate) || !taken.insert(candidate).second; ++i)
    candidate = result + "_" + std::to_string(i);
  return candidate;
}

std::string stringLiteral(StringRef text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += static_cast<char>(c);
    } else if (c >= 32 && c != 127 && c < 128) {
      // Two question marks would start a trigraph in old modes.
      result += static_cast<char>(c);
    } else {
      // Three octal digits end by themselves; a hex escape would swallow what
      // follows.
      result += '\\';
      result += static_cast<char>('0' + (c >> 6));
      result += static_cast<char>('0' + ((c >> 3) & 7));
      result += static_cast<char>('0' + (c & 7));
    }
  }
  return result + "\"";
}

} // namespace hethub::emit
