// The tables of a StageProgram as the structures that emitted programs fill.
#pragma once

#include "hethub.pb.h"
#include "hethub/runtime/Stage.h"

namespace hethub::runtime {

/// Throws Error on an element type that no tensor has.
at::ScalarType scalarTypeOf(DType dtype);

StageSpec specificationOf(const StageProgram &program);

const Function *findFunction(const StageProgram &program,
                             const std::string &name);

} // namespace hethub::runtime
