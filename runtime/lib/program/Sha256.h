// SHA-256 (FIPS 180-4), for the digest of program files.
#pragma once

#include <string>
#include <string_view>

namespace hethub::runtime {

/// The 32 bytes of the digest.
std::string sha256(std::string_view data);

} // namespace hethub::runtime
