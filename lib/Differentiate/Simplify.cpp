//===- Simplify.cpp - what is seen over several rules only ----------------===//

#include "Simplify.h"

#include "hethub/Dialect/ATen/Utils/CallBuilder.h"

#include <map>

using namespace mlir;

namespace hethub::differentiate {

static bool isCall(Operation *op, StringRef schema) {
  aten::CallView call(op);
  return call && call.schema() == schema;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

namespace {
/// The gradient of a slice, and where it lies in that of the whole.
struct Piece {
  Value gradient;
  int64_t axis, start, end;
};
} // namespace

static std::optional<Piece> readPiece(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || !isCall(op, "aten::slice_backward"))
    return std::nullopt;
  aten::CallView call(op);
  auto number = [&](StringRef name) {
    return cast<IntegerAttr>(call.argument(name).attribute).getInt();
  };
  if (number("step") != 1)
    return std::nullopt;
  Piece piece{op->getOperand(0), number("dim"), number("start"), 0};
  piece.end = piece.start + CallBuilder::dims(piece.gradient)[piece.axis];
  return piece;
}

/// The values that a tree of additions adds up; inner ones have no other
/// reader.
static void addTerms(Value value, bool isRoot, SmallVectorImpl<Value> &terms) {
  Operation *op = value.getDefiningOp();
  if (op && isCall(op, "aten::add.Tensor") && (isRoot || value.hasOneUse()) &&
      !op->hasAttr("alpha") &&
      llvm::all_of(op->getOperandTypes(),
                   [&](Type type) { return type == value.getType(); })) {
    addTerms(op->getOperand(0), false, terms);
    addTerms(op->getOperand(1), false, terms);
    return;
  }
  terms.push_back(value);
}

/// True where the pieces, sorted, cover one axis from end to end.
static bool coverWhole(ArrayRef<Piece> pieces, Value whole) {
  int64_t next = 0;
  for (const Piece &piece : pieces) {
    if (piece.axis != pieces.front().axis || piece.start != next)
      return false;
    next = piece.end;
  }
  return next == CallBuilder::dims(whole)[pieces.front().axis];
}

static void joinPieces(Operation *sum) {
  Value result = sum->getResult(0);
  SmallVector<Value> terms, rest;
  addTerms(result, /*isRoot=*/true, terms);
  SmallVector<Piece> pieces;
  for (Value term : terms) {
    if (auto piece = readPiece(term))
      pieces.push_back(*piece);
    else
      rest.push_back(term);
  }
  llvm::stable_sort(
      pieces, [](const Piece &a, const Piece &b) { return a.start < b.start; });
  if (pieces.size() < 2 || !coverWhole(pieces, result))
    return;
  OpBuilder builder(sum);
  CallBuilder make(sum->getLoc(), builder);
  Values gradients;
  for (const Piece &piece : pieces)
    gradients.push_back(piece.gradient);
  Value joined = make.cat(gradients, pieces.front().axis);
  for (Value term : rest)
    joined = make.binary("add.Tensor", term, joined);
  result.replaceAllUsesWith(joined);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The matrix of which the value is the transposed; null where it is none.
static Value transposedMatrix(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || CallBuilder::rank(value) != 2)
    return nullptr;
  bool swaps = isCall(op, "aten::t");
  if (isCall(op, "aten::transpose.int")) {
    aten::CallView call(op);
    swaps = call.argument("dim0").attribute != call.argument("dim1").attribute;
  }
  if (auto order = op->getAttrOfType<DenseI64ArrayAttr>("dims"))
    swaps |= isCall(op, "aten::permute") && order.asArrayRef()[0] == 1;
  return swaps ? op->getOperand(0) : Value();
}

/// (a^T)^T = a and (a b)^T = b^T a^T
static void turnProduct(Operation *op) {
  Value product = transposedMatrix(op->getResult(0));
  if (!product)
    return;
  if (Value original = transposedMatrix(product))
    return op->getResult(0).replaceAllUsesWith(original);
  Operation *mm = product.getDefiningOp();
  if (!mm || !product.hasOneUse() || !isCall(mm, "aten::mm"))
    return;
  OpBuilder builder(op);
  CallBuilder make(product.getLoc(), builder);
  auto turned = [&](Value matrix) {
    Value original = transposedMatrix(matrix);
    return original ? original : make.transpose(matrix, 0, 1);
  };
  Value first = turned(mm->getOperand(1)), second = turned(mm->getOperand(0));
  op->getResult(0).replaceAllUsesWith(
      make.call("mm", {first, second}, {}, op->getResult(0).getType()));
}

void simplifyGradients(Block &block) {
  // Roots of sums come behind their terms, transposed values behind products.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isCall(&op, "aten::add.Tensor"))
      joinPieces(&op);
    else if (op.getNumOperands() == 1 && op.getNumResults() == 1)
      turnProduct(&op);
  }
}

//===----------------------------------------------------------------------===//
// Output masks
//===----------------------------------------------------------------------===//

void mergeMaskedCalls(Block &block) {
  constexpr StringRef maskName = "output_mask";
  // The first call of those that are equal but for the mask, by what is equal.
  std::map<std::vector<const void *>, Operation *> first;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto mask = op.getAttrOfType<DenseBoolArrayAttr>(maskName);
    if (!mask || !aten::CallView(&op))
      continue;
    NamedAttrList others(op.getAttrs());
    others.erase(maskName);
    std::vector<const void *> key{
        op.getName().getAsOpaquePointer(),
        others.getDictionary(op.getContext()).getAsOpaquePointer()};
    for (Value operand : op.getOperands())
      key.push_back(operand.getAsOpaquePointer());
    auto [found, isNew] = first.try_emplace(key, &op);
    if (isNew)
      continue;
    Operation *kept = found->second;
    auto keptMask = kept->getAttrOfType<DenseBoolArrayAttr>(maskName);
    SmallVector<bool> both(keptMask.asArrayRef());
    for (auto [i, wanted] : llvm::enumerate(mask.asArrayRef())) {
      if (!wanted)
        continue;
      // A result that is left out has no type of its own.
      kept->getResult(i).setType(op.getResult(i).getType());
      op.getResult(i).replaceAllUsesWith(kept->getResult(i));
      both[i] = true;
    }
    kept->setAttr(maskName, DenseBoolArrayAttr::get(op.getContext(), both));
    op.erase();
  }
}

} // namespace hethub::differentiate
