//===- EraseDead.h - drops what nobody reads -------------------*- C++ -*-===//

#ifndef HETHUB_SUPPORT_ERASEDEAD_H
#define HETHUB_SUPPORT_ERASEDEAD_H

#include "mlir/IR/Region.h"

namespace hethub {

/// Erases operations without a use that nothing observes, last ones first, in
/// nested regions too.
void eraseDead(mlir::Region &region);

} // namespace hethub

#endif // HETHUB_SUPPORT_ERASEDEAD_H
