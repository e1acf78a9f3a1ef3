//===- CppEmitter.h - a stage as a readable C++ program --------*- C++ -*-===//

#ifndef HETHUB_EMIT_CPP_CPPEMITTER_H
#define HETHUB_EMIT_CPP_CPPEMITTER_H

#include "hethub/Dialect/HH/Transforms/StageParts.h"
#include "llvm/Support/raw_ostream.h"

namespace hethub {
class StageProgram;
}

namespace hethub::emit {

/// The stages that the rank of this one runs, in order: itself, and others
/// where stages are interleaved.
llvm::SmallVector<int> stagesOfRank(const StageProgram &tables);

/// "main.cpp". Where stages are interleaved, that of a rank's first stage;
/// those of the others are "stage.cpp", which the first one's program links.
llvm::StringRef cppFileName(const StageProgram &tables);

/// Writes the C++ of a lowered stage: one weights struct, a function of plain
/// `at::` calls in the model's names for each of its programs, the tables of
/// ports, channels and schedule rows (taken from `tables`, the same stage as a
/// program file), and main. Reports what it cannot write at the operation.
llvm::LogicalResult emitCpp(const hh::StageParts &stage,
                            const StageProgram &tables, llvm::raw_ostream &os);

/// CMakeLists.txt that builds a rank's program against the installed runtime:
/// beside main.cpp.
void emitCMake(const StageProgram &tables, llvm::raw_ostream &os);

} // namespace hethub::emit

#endif // HETHUB_EMIT_CPP_CPPEMITTER_H
