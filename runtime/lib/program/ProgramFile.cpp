// The digest stands beside the serialized program, so that a changed file is
// refused before anything of it is used.
#include "ProgramFile.h"
#include "Sha256.h"
#include "hethub/runtime/Error.h"
#include "io/FileWriter.h"
#include "weights/Mapping.h"

using namespace hethub;
using namespace hethub::runtime;

namespace {
constexpr uint32_t formatVersion = 1;
}

StageProgram hethub::runtime::readProgramFile(const std::string &path) {
  int64_t size = fileSize(path);
  if (size == 0 || size > INT32_MAX)
    runtime::fail("not a program file: ", path);
  Mapping mapping(path, 0, size);
  ProgramFile file;
  if (!file.ParseFromArray(mapping.at(0), static_cast<int>(size)) ||
      file.program().empty())
    runtime::fail("not a program file: ", path);
  if (file.sha256() != sha256(file.program()))
    runtime::fail("program file was changed after it was written: ", path);
  StageProgram program;
  if (!program.ParseFromString(file.program()))
    runtime::fail("not a program file: ", path);
  if (program.version() != formatVersion)
    runtime::fail("program file must be of version ", formatVersion,
                  ", got: ", program.version(), " in ", path);
  return program;
}

void hethub::runtime::writeProgramFile(const std::string &path,
                                       const StageProgram &program) {
  ProgramFile file;
  file.set_program(program.SerializeAsString());
  file.set_sha256(sha256(file.program()));
  writeFile(path, file.SerializeAsString());
}
