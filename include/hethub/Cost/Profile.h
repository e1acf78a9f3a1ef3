//===- Profile.h - measured times of operations ----------------*- C++ -*-===//
//
// profile.json, which `hethub profile` writes and a device type of the cluster
// file names: seconds by signature,
//
//   {"MatMul(...) -> (...)": {"forward_s": 1.2e-4, "backward_s": 2.5e-4,
//   "count": 12}}
//
// or the same under "ops", beside notes on what was measured: {"device": "cpu",
// "machine": "...", "ops": {...}}. `backward_s` is that of one backward
// program, `input_gradient_s` and `weight_gradient_s` those of one in two
// parts. They and `count` may be left out; other fields are ignored.
//===----------------------------------------------------------------------===//

#ifndef HETHUB_COST_PROFILE_H
#define HETHUB_COST_PROFILE_H

#include "hethub/Cost/Roofline.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace hethub::cost {

struct ProfileEntry {
  double forward = 0; ///< seconds
  std::optional<double> backward;
  /// Of a backward pass in two parts.
  std::optional<double> inputGradient, weightGradient;
};

struct Profile {
  llvm::StringMap<ProfileEntry> operations; ///< by signature

  const ProfileEntry *find(llvm::StringRef signature) const;
};

/// Reads the text of a profile. An error is one line "FILE: rule, got: value".
llvm::Expected<Profile> parseProfile(llvm::StringRef text,
                                     llvm::StringRef fileName);
llvm::Expected<Profile> readProfile(llvm::StringRef path);

} // namespace hethub::cost

#endif // HETHUB_COST_PROFILE_H
