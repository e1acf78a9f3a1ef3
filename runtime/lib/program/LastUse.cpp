// Where values are used for the last time: there they leave the table, so that
// memory is that of the live values.
#include "Code.h"

#include <map>
#include <set>

using namespace hethub::runtime;

namespace {
/// What is read at the ends of the blocks of a branch or loop.
std::vector<std::vector<int32_t>> endsOf(const CodeInstruction &code) {
  if (!code.loop)
    return {code.thenResults, code.elseResults};
  std::vector<int32_t> end = code.loop->carriedOut;
  end.insert(end.end(), code.loop->stacked.begin(), code.loop->stacked.end());
  end.push_back(code.loop->conditionOut);
  return {end};
}

template <typename Visit>
void eachRead(const CodeInstruction &code, Visit visit) {
  for (const CodeArgument &argument : code.arguments) {
    if (argument.kind == CodeArgument::Value)
      visit(argument.value);
    for (int32_t value : argument.values)
      visit(value);
  }
  if (code.condition < 0)
    return;
  visit(code.condition);
  for (const std::vector<int32_t> &results : endsOf(code))
    for (int32_t value : results)
      visit(value);
  if (code.loop) {
    visit(code.loop->tripCount);
    for (int32_t value : code.loop->initial)
      visit(value);
  }
  for (const auto &block : {code.thenBlock, code.elseBlock})
    if (block)
      for (const CodeInstruction &inner : block->instructions)
        eachRead(inner, visit);
}
} // namespace

void hethub::runtime::collectReads(const CodeBlock &block,
                                   std::vector<bool> &reads) {
  for (const CodeInstruction &code : block.instructions)
    eachRead(code, [&](int32_t value) {
      if (value >= 0)
        reads[static_cast<size_t>(value)] = true;
    });
}

void hethub::runtime::markEarlyOutputs(CodeBlock &block,
                                       const std::vector<int32_t> &values) {
  std::map<int32_t, size_t> left;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] >= 0 && !left.emplace(values[i], i).second)
      return; // one value twice: both at the end
  std::set<int32_t> readLater;
  for (auto code = block.instructions.rbegin();
       code != block.instructions.rend(); ++code) {
    for (int32_t result : code->results)
      if (auto found = left.find(result); found != left.end()) {
        code->outputs.push_back(
            {result, found->second, !readLater.count(result)});
        left.erase(found);
      }
    eachRead(*code, [&](int32_t value) { readLater.insert(value); });
  }
}

void hethub::runtime::markLastUses(CodeBlock &block,
                                   const std::vector<bool> &keep) {
  // Walks backwards: a value not seen yet is used for the last time here.
  std::vector<bool> later = keep;
  for (auto code = block.instructions.rbegin();
       code != block.instructions.rend(); ++code) {
    auto last = [&](int32_t value) {
      if (value < 0 || later[static_cast<size_t>(value)])
        return false;
      later[static_cast<size_t>(value)] = true;
      return true;
    };
    // A result that nobody reads goes at once.
    for (int32_t value : code->results)
      if (last(value))
        code->release.push_back(value);
    if (code->condition >= 0) {
      // Inside the blocks only their own values may go: those read after the
      // branch or before it stay until its end.
      std::vector<bool> readInside(later.size(), false);
      auto mark = [&](int32_t value) {
        if (value >= 0)
          readInside[static_cast<size_t>(value)] = true;
      };
      eachRead(*code, mark);
      std::vector<std::vector<int32_t>> ends = endsOf(*code);
      CodeBlock *blocks[] = {code->thenBlock.get(), code->elseBlock.get()};
      for (size_t side = 0; side < ends.size(); ++side) {
        CodeBlock *inner = blocks[side];
        std::vector<bool> keepInside(later.size(), true);
        // Values defined inside the block and not among its results may leave
        // the table inside it.
        auto defined = [&](auto &&self, const CodeBlock &of) -> void {
          for (const CodeInstruction &instruction : of.instructions) {
            for (int32_t value : instruction.results)
              if (value >= 0)
                keepInside[static_cast<size_t>(value)] = false;
            for (const auto &block :
                 {instruction.thenBlock, instruction.elseBlock})
              if (block)
                self(self, *block);
          }
        };
        defined(defined, *inner);
        for (int32_t value : ends[side])
          if (value >= 0)
            keepInside[static_cast<size_t>(value)] = true;
        markLastUses(*inner, keepInside);
      }
      for (size_t value = 0; value < readInside.size(); ++value)
        if (readInside[value] && last(static_cast<int32_t>(value)))
          code->release.push_back(static_cast<int32_t>(value));
      continue;
    }
    // An argument may move out only where the same call does not read the value
    // a second time.
    for (auto argument = code->arguments.rbegin();
         argument != code->arguments.rend(); ++argument) {
      for (int32_t value : argument->values)
        if (last(value))
          code->release.push_back(value);
      if (argument->kind == CodeArgument::Value)
        argument->lastUse = last(argument->value);
    }
  }
}
