// Program files (.pb): reading with digest and version checked, and writing.
#pragma once

#include "hethub.pb.h"

#include <string>

namespace hethub::runtime {

/// Throws Error: missing, not a program file, changed since it was written, or
/// of another version.
StageProgram readProgramFile(const std::string &path);

void writeProgramFile(const std::string &path, const StageProgram &program);

} // namespace hethub::runtime
