// JSON files that people write: what a lenient reader would drop is an error.
#ifndef HETHUB_SUPPORT_STRICTJSON_H
#define HETHUB_SUPPORT_STRICTJSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace hethub {

/// `llvm::json::parse`, which keeps the last of several fields of one name,
/// but with an error that names such a field.
llvm::Expected<llvm::json::Value> parseStrictJson(llvm::StringRef text);

} // namespace hethub

#endif
