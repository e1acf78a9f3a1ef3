//===- Views.cpp - rules of views and data movement -----------------------===//

#include "../Derivation.h"

using namespace mlir;

namespace hethub::differentiate {

namespace {

Value passed(Derivation &d) { return d.grad(); }

Value reshaped(Derivation &d) { return d.reshape(d.grad(), d.dims(d.self())); }

Value selfType(Derivation &d, StringRef name, ArrayRef<NamedArg> args) {
  return d.call(name, {d.grad()}, args,
                d.tensor(d.dims(d.self()), d.element(d.grad())));
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Value permute(Derivation &d) {
  Dims order = d.ints("dims"), inverse(order.size());
  int64_t rank = order.size();
  for (auto [to, from] : llvm::enumerate(order))
    inverse[from < 0 ? from + rank : from] = to;
  return d.permute(d.grad(), inverse);
}

Value transpose(Derivation &d) {
  int64_t rank = d.rank(d.self());
  if (rank == 0)
    return d.grad();
  return d.transpose(d.grad(), d.axis("dim0", rank), d.axis("dim1", rank));
}

Value transposeMatrix(Derivation &d) {
  return d.rank(d.self()) < 2 ? d.grad() : d.transpose(d.grad(), 0, 1);
}

//===----------------------------------------------------------------------===//
// Parts of a tensor
//===----------------------------------------------------------------------===//

Value narrow(Derivation &d) {
  Value x = d.self();
  int64_t axis = d.axis("dim", d.rank(x)), size = d.dims(x)[axis];
  int64_t start = d.integer("start");
  start += start < 0 ? size : 0;
  return selfType(d, "slice_backward",
                  {d.arg("input_sizes", d.dims(x)), d.arg("dim", axis),
                   d.arg("start", start),
                   d.arg("end", start + d.integer("length")),
                   d.arg("step", 1)});
}

Value slice(Derivation &d) {
  Value x = d.self();
  int64_t axis = d.axis("dim", d.rank(x)), size = d.dims(x)[axis];
  int64_t start = d.attribute("start") ? d.integer("start") : 0;
  int64_t end = d.attribute("end") ? d.integer("end") : size;
  return selfType(d, "slice_backward",
                  {d.arg("input_sizes", d.dims(x)), d.arg("dim", axis),
                   d.arg("start", start), d.arg("end", end), d.same("step")});
}

Value select(Derivation &d) {
  return selfType(
      d, "select_backward",
      {d.arg("input_sizes", d.dims(d.self())), d.same("dim"), d.same("index")});
}

Value diagonal(Derivation &d) {
  return selfType(d, "diagonal_backward",
                  {d.arg("input_sizes", d.dims(d.self())), d.same("offset"),
                   d.same("dim1"), d.same("dim2")});
}

Value triangle(Derivation &d, StringRef name) {
  return d.unary(name, d.grad(), {d.same("diagonal")});
}
Value tril(Derivation &d) { return triangle(d, "tril"); }
Value triu(Derivation &d) { return triangle(d, "triu"); }

//===----------------------------------------------------------------------===//
// Several tensors to one
//===----------------------------------------------------------------------===//

LogicalResult cat(Derivation &d) {
  int64_t rank = d.rank(d.out()), axis = d.axis("dim", rank), start = 0;
  for (Value part : d.list("tensors")) {
    // Empty vectors stand beside tensors of any rank.
    if (d.rank(part) != rank)
      continue;
    int64_t end = start + d.dims(part)[axis];
    if (d.wants(part))
      d.give(part, d.slice(d.grad(), axis, start, end));
    start = end;
  }
  return success();
}

LogicalResult stack(Derivation &d) {
  int64_t axis = d.axis("dim", d.rank(d.out()));
  for (auto [i, part] : llvm::enumerate(d.list("tensors")))
    if (d.wants(part))
      d.give(part, d.select(d.grad(), axis, i));
  return success();
}

//===----------------------------------------------------------------------===//
// Order and repetition
//===----------------------------------------------------------------------===//

Value flip(Derivation &d) {
  return d.unary("flip", d.grad(), {d.same("dims")});
}

Value roll(Derivation &d) {
  Dims shifts = d.ints("shifts"), dims = d.ints("dims");
  for (int64_t &shift : shifts)
    shift = -shift;
  std::reverse(shifts.begin(), shifts.end());
  std::reverse(dims.begin(), dims.end());
  return d.unary("roll", d.grad(),
                 {d.arg("shifts", shifts), d.arg("dims", dims)});
}

/// Sums over the copies: give() sums over added axes, here over those in front
/// of each axis too.
Value repeat(Derivation &d) {
  Dims repeats = d.ints("repeats"), shape, copies;
  int64_t rank = d.rank(d.self()), added = repeats.size() - rank;
  for (auto [axis, count] : llvm::enumerate(repeats)) {
    copies.push_back(shape.size());
    shape.push_back(count);
    if (static_cast<int64_t>(axis) >= added)
      shape.push_back(d.dims(d.self())[axis - added]);
  }
  return copies.empty() ? d.grad()
                        : d.reduce("sum.dim_IntList",
                                   d.reshape(d.grad(), shape), copies, false);
}

Value pixelShuffle(Derivation &d) {
  return selfType(d, "pixel_unshuffle",
                  {d.arg("downscale_factor", d.attribute("upscale_factor"))});
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// Crops what was added, and adds zeros where it cropped.
Value constantPad(Derivation &d) {
  Dims pads = d.ints("pad");
  for (int64_t &pad : pads)
    pad = -pad;
  return selfType(d, "constant_pad_nd",
                  {d.arg("pad", pads), d.arg("value", d.real(0.0))});
}

/// Edge and reflect padding of the last axes.
LogicalResult pad(Derivation &d) {
  StringRef mode = cast<StringAttr>(d.attribute("mode")).getValue();
  if (mode == "constant") {
    if (d.wants("self"))
      d.give(d.self(), constantPad(d));
    return success();
  }
  Dims pads = d.ints("pad");
  size_t axes = pads.size() / 2;
  if ((mode != "reflect" && mode != "replicate") || axes < 1 || axes > 3)
    return d.refuse("padding of " + Twine(axes) + " axes by mode '" + mode +
                    "' has no gradient");
  StringRef stem = mode == "reflect" ? "reflection" : "replication";
  std::string name = (stem + "_pad" + Twine(axes) + "d_backward").str();
  d.give("self", [&] {
    return d.call(name, {d.grad(), d.self()}, {d.arg("padding", pads)},
                  d.typeOf(d.self()));
  });
  return success();
}

} // namespace

void addViewRules(RuleTable &table) {
  table["aten::alias"] = ofSelf<passed>;
  table["aten::cat"] = cat;
  table["aten::clone"] = ofSelf<passed>;
  table["aten::constant_pad_nd"] = ofSelf<constantPad>;
  table["aten::contiguous"] = ofSelf<passed>;
  table["aten::diagonal"] = ofSelf<diagonal>;
  table["aten::expand"] = ofSelf<passed>; // give() sums
  table["aten::flip"] = ofSelf<flip>;
  table["aten::narrow"] = ofSelf<narrow>;
  table["aten::pad"] = pad;
  table["aten::permute"] = ofSelf<permute>;
  table["aten::pixel_shuffle"] = ofSelf<pixelShuffle>;
  table["aten::repeat"] = ofSelf<repeat>;
  table["aten::reshape"] = ofSelf<reshaped>;
  table["aten::roll"] = ofSelf<roll>;
  table["aten::select.int"] = ofSelf<select>;
  table["aten::slice.Tensor"] = ofSelf<slice>;
  table["aten::squeeze.dims"] = ofSelf<reshaped>;
  table["aten::stack"] = stack;
  table["aten::t"] = ofSelf<transposeMatrix>;
  table["aten::transpose.int"] = ofSelf<transpose>;
  table["aten::tril"] = ofSelf<tril>;
  table["aten::triu"] = ofSelf<triu>;
  table["aten::unsqueeze"] = ofSelf<reshaped>;
}

} // namespace hethub::differentiate
