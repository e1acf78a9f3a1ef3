//===- AttentionParts.h - what attention operators share -------*- C++ -*-===//

#ifndef HETHUB_LIB_CONVERSION_ONNXTOATEN_ATTENTIONPARTS_H
#define HETHUB_LIB_CONVERSION_ONNXTOATEN_ATTENTIONPARTS_H

#include "Lowering.h"

namespace hethub {

/// [B, L, H * E] -> [B, H, L, E]; rank 4 stays.
Value splitHeads(Lowering &l, Value x, int64_t heads);

/// Key or value heads repeated for the query heads that share them.
Value repeatHeads(Lowering &l, Value x, int64_t heads);

/// Rows [positions..., width] of a table [rows, width].
Value rowsAt(Lowering &l, Value table, Value positions);

/// The first `count` elements (0: all) of heads x [.., .., .., E] turned by
/// angles whose cosines and sines broadcast to half of them.
Value rotated(Lowering &l, Value x, Value cosine, Value sine, int64_t count,
              bool interleaved);

} // namespace hethub

#endif // HETHUB_LIB_CONVERSION_ONNXTOATEN_ATTENTIONPARTS_H
