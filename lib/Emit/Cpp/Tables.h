//===- Tables.h - ports, channels and rows of an emitted stage -*- C++ -*-===//

#ifndef HETHUB_LIB_EMIT_CPP_TABLES_H
#define HETHUB_LIB_EMIT_CPP_TABLES_H

#include "llvm/Support/raw_ostream.h"

namespace hethub {
class StageProgram;
}

namespace hethub::emit {

/// Writes `static const rt::StageSpec spec = {...};`.
void emitTables(const StageProgram &tables, llvm::raw_ostream &os);

} // namespace hethub::emit

#endif // HETHUB_LIB_EMIT_CPP_TABLES_H
