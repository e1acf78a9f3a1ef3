// A YAML file as a tree that can be walked more than once, with the line of
// each value. LLVM's parser streams.
#ifndef HETHUB_LIB_CLUSTER_YAMLTREE_H
#define HETHUB_LIB_CLUSTER_YAMLTREE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace hethub::cluster {

struct YamlValue {
  enum Kind { Null, Scalar, Sequence, Mapping } kind = Null;
  unsigned line = 0; ///< From 1.
  std::string scalar;
  std::vector<YamlValue> items; ///< of a sequence
  std::vector<std::pair<std::string, YamlValue>>
      fields; ///< of a mapping; keys are unique

  const YamlValue *field(llvm::StringRef name) const;
};

/// One document. An error is "FILE:LINE: what".
llvm::Expected<YamlValue> parseYaml(llvm::StringRef text,
                                    llvm::StringRef fileName);

} // namespace hethub::cluster

#endif
