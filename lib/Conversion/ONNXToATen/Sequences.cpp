//===- Sequences.cpp - sequences and optionals ----------------------------===//
//
// One value each at run time (runtime/include/hethub/runtime/DynamicOps.h). An
// optional that holds something is that something.
//===----------------------------------------------------------------------===//

#include "OpenHandlers.h"

using namespace mlir;

namespace hethub {

namespace {

Type outputType(Lowering &l) { return l.node.output(0).getType(); }

LogicalResult lowerConstruct(Lowering &l) {
  Values elements;
  for (unsigned i = 0; i < l.node.inputCount(); ++i)
    elements.push_back(l.in(i));
  return l.done(
      l.call("hethub.sequence_construct", {elements}, {}, outputType(l)));
}

LogicalResult lowerEmpty(Lowering &l) {
  return l.done(
      l.call("hethub.sequence_construct", {Values()}, {}, outputType(l)));
}

LogicalResult lowerAt(Lowering &l) {
  return l.done(
      l.call("hethub.sequence_at", {l.in(0), l.in(1)}, {}, outputType(l)));
}

LogicalResult lowerInsert(Lowering &l) {
  return l.done(l.call("hethub.sequence_insert", {l.in(0), l.in(1), l.in(2)},
                       {}, outputType(l)));
}

LogicalResult lowerErase(Lowering &l) {
  return l.done(
      l.call("hethub.sequence_erase", {l.in(0), l.in(1)}, {}, outputType(l)));
}

LogicalResult lowerLength(Lowering &l) {
  return l.done(l.call("hethub.sequence_length", {l.in(0)}, {}, outputType(l)));
}

LogicalResult lowerSplitToSequence(Lowering &l) {
  return l.done(l.call("hethub.split_to_sequence", {l.in(0), l.in(1)},
                       {l.arg("axis", l.node.integer("axis", 0)),
                        l.arg("keep", bool(l.node.integer("keepdims", 1)))},
                       outputType(l)));
}

LogicalResult lowerConcatFromSequence(Lowering &l) {
  return l.done(l.call("hethub.concat_from_sequence", {l.in(0)},
                       {l.arg("axis", l.node.integer("axis", 0)),
                        l.arg("new_axis", bool(l.node.integer("new_axis", 0)))},
                       outputType(l)));
}

LogicalResult lowerOptional(Lowering &l) {
  if (l.has(0))
    return l.done(l.in(0));
  return l.done(l.call("hethub.optional_none", {}, {}, outputType(l)));
}

LogicalResult lowerHasElement(Lowering &l) {
  bool known = !l.has(0) || !isa<ox::OptType>(l.in(0).getType());
  if (known)
    return l.done(l.constant(
        DenseElementsAttr::get(Lowering::tensor({}, l.boolean()), l.has(0))));
  return l.done(
      l.call("hethub.optional_has_element", {l.in(0)}, {}, outputType(l)));
}

LogicalResult lowerGetElement(Lowering &l) {
  if (!isa<ox::OptType>(l.in(0).getType()))
    return l.done(l.in(0));
  return l.done(
      l.call("hethub.optional_get_element", {l.in(0)}, {}, outputType(l)));
}

} // namespace

void addSequenceHandlers(OpenHandlerTable &table) {
  for (auto [name, handler] :
       std::initializer_list<std::pair<const char *, Handler>>{
           {"SequenceConstruct", lowerConstruct},
           {"SequenceEmpty", lowerEmpty},
           {"SequenceAt", lowerAt},
           {"SequenceInsert", lowerInsert},
           {"SequenceErase", lowerErase},
           {"SequenceLength", lowerLength},
           {"SplitToSequence", lowerSplitToSequence},
           {"ConcatFromSequence", lowerConcatFromSequence},
           {"Optional", lowerOptional},
           {"OptionalHasElement", lowerHasElement},
           {"OptionalGetElement", lowerGetElement}})
    table[name] = {handler, Known::Nothing};
}

} // namespace hethub
