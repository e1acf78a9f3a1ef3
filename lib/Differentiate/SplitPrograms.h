//===- SplitPrograms.h - forward, backward and weight apart ----*- C++ -*-===//

#ifndef HETHUB_LIB_DIFFERENTIATE_SPLITPROGRAMS_H
#define HETHUB_LIB_DIFFERENTIATE_SPLITPROGRAMS_H

#include "StageGradients.h"

namespace hethub::differentiate {

/// Cuts the backward pass off the forward program: what it reads there is saved
/// or, where that costs next to nothing, computed again. With `splitWeight`
/// what only gradients of parameters need becomes a program of its own. A stage
/// with `hh.recompute` saves only what it receives.
void splitPrograms(StageGradients &stage, bool splitWeight);

} // namespace hethub::differentiate

#endif // HETHUB_LIB_DIFFERENTIATE_SPLITPROGRAMS_H
