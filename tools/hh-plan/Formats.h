// The formats that hh-plan reads. A format reads its text, plans, and words the
// answer: formats differ in what they plan, not in how they are called.
//
// To add one: write `solveXxx` in a file of its own and give it a line in the
// table of Formats.cpp.
#ifndef HETHUB_TOOLS_HHPLAN_FORMATS_H
#define HETHUB_TOOLS_HHPLAN_FORMATS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <limits>
#include <optional>
#include <string>

namespace hethub::plan {

/// What the command line asks for. An empty option means: as the file says.
struct Request {
  std::optional<unsigned> accelerators, cpus;
  std::optional<unsigned> devices, microbatches;
  std::optional<double> memoryBytes;    ///< Of one device.
  std::optional<double> bandwidth;      ///< Bytes per second.
  std::string mode = "contiguous";      ///< Or "free".
  std::string objective = "throughput"; ///< Or "latency".
  double timeLimitSeconds = std::numeric_limits<double>::infinity();
  unsigned seed = 0;
};

struct Answer {
  llvm::json::Object json; ///< Printed with --json; `seconds` (of planning) is
                           ///< added by the tool.
  std::string table;       ///< Printed without.
  /// Not empty: there is no plan. Printed as an error; exit code 1.
  std::string failure;
};

struct Format {
  llvm::StringRef name, description;
  /// Names of the command line's options, among those that not all formats
  /// take.
  llvm::ArrayRef<llvm::StringRef> options;
  /// Errors: the text is not of this format, or the request does not suit it
  /// (each one message that names file, field, rule and value).
  llvm::Expected<Answer> (*solve)(llvm::StringRef text,
                                  llvm::StringRef fileName,
                                  const Request &request);
};

llvm::ArrayRef<Format> formats();

llvm::Expected<Answer> solveDnnPartitioning(llvm::StringRef text,
                                            llvm::StringRef fileName,
                                            const Request &request);

llvm::Expected<Answer> solvePiper(llvm::StringRef text,
                                  llvm::StringRef fileName,
                                  const Request &request);

} // namespace hethub::plan

#endif
