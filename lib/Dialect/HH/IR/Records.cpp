//===- Records.cpp - assembly of hh.plan, hh.fingerprint, hh.schedule -----===//
//
// These hold tables, which people read: one line a fact instead of one long
// line.
//===----------------------------------------------------------------------===//

#include "hethub/Dialect/HH/IR/HHDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace hethub::hh;

//===----------------------------------------------------------------------===//
// hh.plan { key = value ... }
//===----------------------------------------------------------------------===//

static void printFigure(OpAsmPrinter &p, Attribute figure);

static void printFigures(OpAsmPrinter &p, DictionaryAttr figures) {
  p << "{";
  p.increaseIndent();
  for (auto [index, entry] : llvm::enumerate(figures)) {
    p.printNewline();
    p.printKeywordOrString(entry.getName());
    p << " = ";
    printFigure(p, entry.getValue());
  }
  p.decreaseIndent();
  p.printNewline();
  p << "}";
}

static void printFigure(OpAsmPrinter &p, Attribute figure) {
  if (auto figures = dyn_cast<DictionaryAttr>(figure)) {
    printFigures(p, figures);
  } else if (auto list = dyn_cast<ArrayAttr>(figure)) {
    p << '[';
    llvm::interleaveComma(list, p, [&](Attribute e) { printFigure(p, e); });
    p << ']';
  } else {
    p.printAttributeWithoutType(figure);
  }
}

static ParseResult parseFigure(OpAsmParser &p, Attribute &figure);

static ParseResult parseFigures(OpAsmParser &p, Attribute &figures) {
  NamedAttrList entries;
  while (failed(p.parseOptionalRBrace())) {
    std::string key;
    Attribute value;
    if (p.parseKeywordOrString(&key) || p.parseEqual() || parseFigure(p, value))
      return failure();
    entries.append(key, value);
  }
  figures = entries.getDictionary(p.getContext());
  return success();
}

static ParseResult parseFigure(OpAsmParser &p, Attribute &figure) {
  if (succeeded(p.parseOptionalLBrace()))
    return parseFigures(p, figure);
  if (failed(p.parseOptionalLSquare()))
    return p.parseAttribute(figure);
  SmallVector<Attribute> list;
  if (failed(p.parseOptionalRSquare()) && (p.parseCommaSeparatedList([&] {
        return parseFigure(p, list.emplace_back());
      }) || p.parseRSquare()))
    return failure();
  figure = p.getBuilder().getArrayAttr(list);
  return success();
}

void PlanOp::print(OpAsmPrinter &p) {
  p << ' ';
  printFigures(p, getFigures());
}

ParseResult PlanOp::parse(OpAsmParser &p, OperationState &result) {
  Attribute figures;
  if (p.parseLBrace() || parseFigures(p, figures))
    return failure();
  result.addAttribute("figures", figures);
  return success();
}

//===----------------------------------------------------------------------===//
// hh.fingerprint outputs [hash, ...] { "name" own, hash ... }
//===----------------------------------------------------------------------===//

void FingerprintOp::print(OpAsmPrinter &p) {
  p << " outputs [";
  llvm::interleaveComma(getOutputs(), p);
  p << "] {";
  p.increaseIndent();
  for (auto [name, own, hash] :
       llvm::zip_equal(getNames(), getOwn(), getHashes())) {
    p.printNewline();
    p.printAttribute(name);
    p << ' ' << own << ", " << hash;
  }
  p.decreaseIndent();
  p.printNewline();
  p << "}";
}

static ParseResult parseIntegers(OpAsmParser &p,
                                 SmallVectorImpl<int64_t> &integers) {
  return p.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
    return p.parseInteger(integers.emplace_back());
  });
}

ParseResult FingerprintOp::parse(OpAsmParser &p, OperationState &result) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> own, hashes, outputs;
  if (p.parseKeyword("outputs") || parseIntegers(p, outputs) || p.parseLBrace())
    return failure();
  while (failed(p.parseOptionalRBrace())) {
    StringAttr name;
    if (p.parseAttribute(name) || p.parseInteger(own.emplace_back()) ||
        p.parseComma() || p.parseInteger(hashes.emplace_back()))
      return failure();
    names.push_back(name);
  }
  Builder &builder = p.getBuilder();
  result.addAttribute("names", builder.getArrayAttr(names));
  result.addAttribute("own", builder.getDenseI64ArrayAttr(own));
  result.addAttribute("hashes", builder.getDenseI64ArrayAttr(hashes));
  result.addAttribute("outputs", builder.getDenseI64ArrayAttr(outputs));
  return success();
}

LogicalResult FingerprintOp::verify() {
  if (getNames().size() != getOwn().size() ||
      getNames().size() != getHashes().size())
    return emitOpError("must have two hashes for each name");
  return success();
}

//===----------------------------------------------------------------------===//
// hh.schedule microbatches n { stage s replica r { action ... } ... }
//===----------------------------------------------------------------------===//

/// Names of actions, at the number of hethub.Action in proto/hethub.proto.
/// Those of the second column have a peer.
static constexpr struct {
  StringLiteral name;
  StringLiteral direction;
} actions[] = {{"", ""},           {"recv", "from"}, {"forward", ""},
               {"send", "to"},     {"backward", ""}, {"weight", ""},
               {"all_reduce", ""}, {"step", ""}};

void ScheduleOp::print(OpAsmPrinter &p) {
  if (getMicrobatches())
    p << " microbatches " << *getMicrobatches();
  p << " {";
  p.increaseIndent();
  int64_t stage = -1, replica = -1;
  auto close = [&] {
    p.decreaseIndent();
    p.printNewline();
    p << "}";
  };
  for (ArrayRef<int64_t> rest = getRows(); !rest.empty();
       rest = rest.drop_front(columns)) {
    if (rest[0] != stage || rest[1] != replica) {
      if (stage >= 0)
        close();
      stage = rest[0];
      replica = rest[1];
      p.printNewline();
      p << "stage " << stage << " replica " << replica << " {";
      p.increaseIndent();
    }
    auto action = actions[rest[2]];
    p.printNewline();
    p << action.name << ' ' << rest[3];
    if (rest[6] >= 0)
      p << " on " << rest[6];
    if (!action.direction.empty())
      p << ' ' << action.direction << ' ' << rest[4] << " replica " << rest[5];
    if (rest[7])
      p << " bytes " << rest[7];
  }
  if (stage >= 0)
    close();
  close();
}

/// One row without its stage and replica.
static ParseResult parseRow(OpAsmParser &p, SmallVectorImpl<int64_t> &rows) {
  StringRef name;
  SMLoc loc = p.getCurrentLocation();
  if (p.parseKeyword(&name))
    return failure();
  size_t action = 1;
  while (action < std::size(actions) && actions[action].name != name)
    ++action;
  if (action == std::size(actions))
    return p.emitError(loc, "no action of this name: ") << name;
  int64_t microbatch, peer = -1, peerReplica = -1, channel = -1, bytes = 0;
  if (p.parseInteger(microbatch))
    return failure();
  if (succeeded(p.parseOptionalKeyword("on")) && p.parseInteger(channel))
    return failure();
  if (!actions[action].direction.empty() &&
      (p.parseKeyword(actions[action].direction) || p.parseInteger(peer) ||
       p.parseKeyword("replica") || p.parseInteger(peerReplica)))
    return failure();
  if (succeeded(p.parseOptionalKeyword("bytes")) && p.parseInteger(bytes))
    return failure();
  rows.append({static_cast<int64_t>(action), microbatch, peer, peerReplica,
               channel, bytes});
  return success();
}

ParseResult ScheduleOp::parse(OpAsmParser &p, OperationState &result) {
  Builder &builder = p.getBuilder();
  if (succeeded(p.parseOptionalKeyword("microbatches"))) {
    int64_t microbatches;
    if (p.parseInteger(microbatches))
      return failure();
    result.addAttribute("microbatches",
                        builder.getI64IntegerAttr(microbatches));
  }
  if (p.parseLBrace())
    return failure();
  SmallVector<int64_t> rows;
  while (failed(p.parseOptionalRBrace())) {
    int64_t stage, replica;
    if (p.parseKeyword("stage") || p.parseInteger(stage) ||
        p.parseKeyword("replica") || p.parseInteger(replica) || p.parseLBrace())
      return failure();
    while (failed(p.parseOptionalRBrace())) {
      rows.append({stage, replica});
      if (parseRow(p, rows))
        return failure();
    }
  }
  result.addAttribute("rows", builder.getDenseI64ArrayAttr(rows));
  return success();
}

LogicalResult ScheduleOp::verify() {
  if (getMicrobatches() && static_cast<int64_t>(*getMicrobatches()) < 1)
    return emitOpError("microbatches must be at least 1, got: ")
           << static_cast<int64_t>(*getMicrobatches());
  if (getRows().size() % columns)
    return emitOpError("rows must have ") << columns << " numbers each";
  for (size_t row = 0; row < getRows().size(); row += columns) {
    int64_t action = getRows()[row + 2];
    if (action < 1 || action >= static_cast<int64_t>(std::size(actions)))
      return emitOpError("action must be one of 1 to ")
             << std::size(actions) - 1 << ", got: " << action;
  }
  return success();
}
