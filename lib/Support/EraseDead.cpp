//===- EraseDead.cpp - drops what nobody reads ----------------------------===//

#include "hethub/Support/EraseDead.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

void hethub::eraseDead(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &inner : op.getRegions())
        eraseDead(inner);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
}
