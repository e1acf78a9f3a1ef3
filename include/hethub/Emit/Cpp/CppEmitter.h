//===- CppEmitter.h - a stage as a readable C++ program --------*- C++ -*-===//

#ifndef HETHUB_EMIT_CPP_CPPEMITTER_H
#define HETHUB_EMIT_CPP_CPPEMITTER_H

#include "hethub/Dialect/HH/IR/HHDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace hethub {
class StageProgram;
}

namespace hethub::emit {

/// Writes main.cpp of a lowered program: one weights struct, one forward
/// function of plain `at::` calls in the model's names, the tables of ports,
/// channels and schedule rows (taken from `tables`, the same stage as a program
/// file), and main. Reports what it cannot write at the operation.
llvm::LogicalResult emitCpp(hh::ProgramOp program, const StageProgram &tables,
                            llvm::raw_ostream &os);

/// CMakeLists.txt that builds main.cpp against the installed runtime.
void emitCMake(const StageProgram &tables, llvm::raw_ostream &os);

} // namespace hethub::emit

#endif // HETHUB_EMIT_CPP_CPPEMITTER_H
