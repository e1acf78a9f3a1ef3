//===- CppEmitter.h - a stage as a readable C++ program --------*- C++ -*-===//

#ifndef HETHUB_EMIT_CPP_CPPEMITTER_H
#define HETHUB_EMIT_CPP_CPPEMITTER_H

#include "hethub/Dialect/HH/Transforms/StageParts.h"
#include "llvm/Support/raw_ostream.h"

namespace hethub {
class StageProgram;
}

namespace hethub::emit {

/// Writes main.cpp of a lowered stage: one weights struct, a function of plain
/// `at::` calls in the model's names for each of its programs, the tables of
/// ports, channels and schedule rows (taken from `tables`, the same stage as a
/// program file), and main. Reports what it cannot write at the operation.
llvm::LogicalResult emitCpp(const hh::StageParts &stage,
                            const StageProgram &tables, llvm::raw_ostream &os);

/// CMakeLists.txt that builds main.cpp against the installed runtime.
void emitCMake(const StageProgram &tables, llvm::raw_ostream &os);

} // namespace hethub::emit

#endif // HETHUB_EMIT_CPP_CPPEMITTER_H
