// Tables of configurations as CSV.
#include "hethub/Predictor/TrainingRun.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <climits>

using namespace llvm;

namespace hethub::predictor {

namespace {

struct Column {
  StringRef name;
  int TrainingRun::*member;
};

constexpr Column columns[] = {
    {"gpus", &TrainingRun::gpus},
    {"global_batch", &TrainingRun::globalBatch},
    {"micro_batch", &TrainingRun::microBatch},
    {"hidden", &TrainingRun::hidden},
    {"heads", &TrainingRun::heads},
    {"layers", &TrainingRun::layers},
    {"seq", &TrainingRun::sequence},
    {"tp", &TrainingRun::tensorParallel},
    {"dp", &TrainingRun::dataParallel},
    {"pp", &TrainingRun::pipelineParallel},
};

/// Larger figures are typing errors, and their products would overflow.
constexpr int largest = 1 << 24;

Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

SmallVector<StringRef> fields(StringRef line) {
  SmallVector<StringRef> parts;
  line.split(parts, ',');
  for (StringRef &part : parts)
    part = part.trim();
  return parts;
}

} // namespace

Error check(const TrainingRun &run) {
  for (const Column &column : columns)
    if (run.*column.member < 1 || run.*column.member > largest)
      return fail(column.name + " must be between 1 and " + Twine(largest) +
                  ", got: " + Twine(run.*column.member));
  const int64_t ranks = int64_t(run.tensorParallel) * run.dataParallel;
  if (ranks > largest || ranks * run.pipelineParallel != run.gpus)
    return fail(
        "gpus must be tp x dp x pp = " + Twine(ranks * run.pipelineParallel) +
        ", got: " + Twine(run.gpus));
  const int64_t sequences = int64_t(run.dataParallel) * run.microBatch;
  if (run.globalBatch % sequences != 0)
    return fail("global_batch must be a multiple of dp x micro_batch = " +
                Twine(sequences) + ", got: " + Twine(run.globalBatch));
  if (run.layers % run.pipelineParallel != 0)
    return fail("layers must be a multiple of pp = " +
                Twine(run.pipelineParallel) + ", got: " + Twine(run.layers));
  const int64_t visits = int64_t(run.microbatches()) * run.pipelineParallel;
  if (visits > largest)
    return fail("microbatches x pp must be at most " + Twine(largest) +
                ", got: " + Twine(visits));
  for (auto [name, value] :
       {std::pair<StringRef, int>{"hidden", run.hidden}, {"heads", run.heads}})
    if (value % run.tensorParallel != 0)
      return fail(name + " must be a multiple of tp = " +
                  Twine(run.tensorParallel) + ", got: " + Twine(value));
  if (run.hidden % run.heads != 0)
    return fail("hidden must be a multiple of heads = " + Twine(run.heads) +
                ", got: " + Twine(run.hidden));
  return Error::success();
}

Expected<std::vector<TrainingRun>> parseTrainingRuns(StringRef text,
                                                     StringRef file) {
  auto at = [&](size_t line, const Twine &message) {
    return fail(file + ": line " + Twine(line) + ": " + message);
  };
  text.consume_front("\xef\xbb\xbf"); // byte order mark of spreadsheets
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  SmallVector<StringRef> header = fields(lines[0]);
  auto position = [&](StringRef name) {
    return size_t(find(header, name) - header.begin());
  };
  if (position("id") == header.size())
    return at(1, "column 'id' must be present, got: " + lines[0].trim());
  for (const Column &column : columns)
    if (position(column.name) == header.size())
      return at(1, "column '" + column.name +
                       "' must be present, got: " + lines[0].trim());

  std::vector<TrainingRun> runs;
  StringSet<> seen;
  for (size_t index = 1; index < lines.size(); ++index) {
    if (lines[index].trim().empty())
      continue;
    const size_t line = index + 1;
    SmallVector<StringRef> values = fields(lines[index]);
    if (values.size() != header.size())
      return at(line, "a row must have " + Twine(header.size()) +
                          " fields, got: " + Twine(values.size()));
    TrainingRun run;
    run.id = values[position("id")].str();
    if (run.id.empty())
      return at(line, "id must not be empty");
    if (!seen.insert(run.id).second)
      return at(line, "id must occur once, got: " + run.id + " again");
    for (const Column &column : columns) {
      StringRef value = values[position(column.name)];
      if (value.getAsInteger(10, run.*column.member))
        return at(line, column.name + " must be a whole number of at most " +
                            Twine(largest) + ", got: " + value);
    }
    if (Error error = check(run))
      return at(line, toString(std::move(error)));
    runs.push_back(std::move(run));
  }
  if (runs.empty())
    return fail(file + ": a table must have at least one row, got: none");
  return runs;
}

} // namespace hethub::predictor
