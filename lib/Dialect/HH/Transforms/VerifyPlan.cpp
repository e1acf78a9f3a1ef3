//===- VerifyPlan.cpp - nothing lost, doubled or reordered ----------------===//

#include "hethub/Dialect/HH/Transforms/Fingerprint.h"
#include "hethub/Dialect/HH/Transforms/Passes.h"
#include "hethub/Support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/StringMap.h"

namespace hethub::hh {
#define GEN_PASS_DEF_VERIFYPLAN
#include "hethub/Dialect/HH/Transforms/Passes.h.inc"
} // namespace hethub::hh

using namespace mlir;
using namespace hethub;
using namespace hethub::hh;

namespace {

std::string placeOf(const OperationRecord &record) {
  return record.stage < 0 ? "no stage"
                          : "stage " + std::to_string(record.stage);
}

/// The comparison of a module with what it was.
class Comparison {
public:
  Comparison(ModuleOp module, FingerprintOp before, const Fingerprint &now)
      : module(module), before(before), now(now) {
    for (const OperationRecord &record : now.operations)
      if (!record.clone)
        originals[record.hash].push_back(&record);
    for (int64_t hash : before.getHashes())
      ++wanted[static_cast<uint64_t>(hash)];
  }

  LogicalResult run() {
    findLost();
    findAdded();
    findOutputs();
    return success(errors == 0);
  }

private:
  using Records = std::vector<const OperationRecord *>;

  InFlightDiagnostic error(Operation *op) {
    ++errors;
    return op->emitError();
  }

  /// Operations of the model that no stage computes. A changed operand changes
  /// all that follows, so the first one that reads other values is told and the
  /// rest counted.
  void findLost() {
    // By name and own hash: what stands in the place of an operation that is
    // missing.
    llvm::StringMap<Records> added;
    for (auto &[hash, records] : originals)
      if (!wanted.count(hash))
        for (const OperationRecord *record : records)
          added[nodeName(record->op)].push_back(record);
    std::vector<bool> found = findKept();
    unsigned followers = 0;
    const OperationRecord *firstChanged = nullptr;
    for (auto [index, nameAndOwn] : llvm::enumerate(
             llvm::zip_equal(before.getNames().getAsValueRange<StringAttr>(),
                             before.getOwn()))) {
      if (found[index])
        continue;
      auto [name, own] = nameAndOwn;
      Records &candidates = added[name];
      auto same = llvm::find_if(
          candidates, [own = static_cast<uint64_t>(own)](
                          const OperationRecord *r) { return r->own == own; });
      if (candidates.empty()) {
        error(module) << "each operation of the model must be in a stage, "
                         "lost: '"
                      << name << "'";
        continue;
      }
      if (same == candidates.end()) {
        explained.insert(candidates.front());
        error(candidates.front()->op)
            << "operations must stay as they are in the model, changed: '"
            << name << "'";
        candidates.erase(candidates.begin());
        continue;
      }
      explained.insert(*same);
      if (firstChanged)
        ++followers;
      else
        firstChanged = *same;
      candidates.erase(same);
    }
    if (!firstChanged)
      return;
    // An operation that is lost or changed is told already; its readers follow
    // from it.
    if (errors > 0)
      return;
    InFlightDiagnostic diagnostic = error(firstChanged->op);
    diagnostic << "operations must read the values that they read in the "
                  "model, got others: '"
               << nodeName(firstChanged->op) << "'";
    if (followers)
      diagnostic.attachNote()
          << followers << " operations that depend on it differ as well";
  }

  /// Which operations of the model are there still. Of two that compute the
  /// same, the one whose name is there is found first.
  std::vector<bool> findKept() {
    std::map<uint64_t, std::vector<StringRef>> left;
    for (auto &[hash, records] : originals)
      for (const OperationRecord *record : records)
        left[hash].push_back(nodeName(record->op));
    std::vector<bool> found(before.getHashes().size());
    for (bool byName : {true, false})
      for (auto [index, nameAndHash] : llvm::enumerate(
               llvm::zip_equal(before.getNames().getAsValueRange<StringAttr>(),
                               before.getHashes()))) {
        auto [name, hash] = nameAndHash;
        std::vector<StringRef> &names = left[static_cast<uint64_t>(hash)];
        auto match = byName ? llvm::find(names, name) : names.begin();
        if (found[index] || match == names.end())
          continue;
        names.erase(match);
        found[index] = true;
      }
    return found;
  }

  /// Operations that the model has fewer times, and clones of nothing.
  void findAdded() {
    for (const OperationRecord &record : now.operations) {
      auto found = wanted.find(record.hash);
      if (record.clone) {
        if (found == wanted.end() && errors == 0)
          error(record.op) << "a clone must compute what an operation of the "
                              "model computes, got another: '"
                           << nodeName(record.op) << "'";
        continue;
      }
      if (found == wanted.end()) {
        if (!explained.contains(&record) && errors == 0)
          error(record.op) << "stages must hold operations of the model only, "
                              "added: '"
                           << nodeName(record.op) << "'";
        continue;
      }
      Records &records = originals[record.hash];
      if (records.size() <= found->second || records[found->second] != &record)
        continue;
      error(record.op) << "each operation of the model must be in one stage, "
                          "doubled: '"
                       << nodeName(record.op) << "' is in "
                       << placeOf(*records.front()) << " and in "
                       << placeOf(record);
    }
  }

  void findOutputs() {
    ArrayRef<int64_t> outputs = before.getOutputs();
    if (outputs.size() != now.outputs.size()) {
      error(module) << "the model must keep its outputs, " << outputs.size()
                    << ", got: " << now.outputs.size();
      return;
    }
    if (errors > 0)
      return;
    for (auto [index, pair] : llvm::enumerate(llvm::zip(outputs, now.outputs)))
      if (static_cast<uint64_t>(std::get<0>(pair)) != std::get<1>(pair))
        error(module) << "outputs must be the values that they are in the "
                         "model, got another for output "
                      << index;
  }

  ModuleOp module;
  FingerprintOp before;
  const Fingerprint &now;
  std::map<uint64_t, Records> originals;
  std::map<uint64_t, size_t> wanted;
  llvm::DenseSet<const OperationRecord *> explained;
  unsigned errors = 0;
};

struct VerifyPlan : hh::impl::VerifyPlanBase<VerifyPlan> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyPlan(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult hh::verifyPlan(ModuleOp module) {
  auto recorded = module.getOps<FingerprintOp>();
  if (recorded.empty())
    return module.emitError("module must hold an hh.fingerprint "
                            "(hh-partition leaves one)");
  FailureOr<Fingerprint> now = takeFingerprint(module);
  if (failed(now))
    return failure();
  return Comparison(module, *recorded.begin(), *now).run();
}
