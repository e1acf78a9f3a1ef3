//===- CMakeFile.cpp - how an emitted stage is built ----------------------===//

#include "hethub/Emit/Cpp/CppEmitter.h"

#include "hethub.pb.h"

/// What the rank runs beside its first stage.
static std::string otherSources(const hethub::StageProgram &tables) {
  std::string sources;
  for (int stage : hethub::emit::stagesOfRank(tables))
    if (stage != tables.stage())
      sources += " ../stage_" + std::to_string(stage) + "/stage.cpp";
  return sources;
}

void hethub::emit::emitCMake(const StageProgram &tables,
                             llvm::raw_ostream &os) {
  os << R"(cmake_minimum_required(VERSION 3.20)
project(stage_)"
     << tables.stage() << R"( LANGUAGES CXX)

# Where `make setup` put the runtime; or give -DCMAKE_PREFIX_PATH=.
find_package(HetHubRuntime REQUIRED CONFIG)

add_executable(stage main.cpp)"
     << otherSources(tables)
     << R"()
target_link_libraries(stage PRIVATE )"
     // No symbol of the CUDA back end is named: it registers itself.
     << (tables.stages(tables.stage()).device_kind() == "cuda"
             ? "-Wl,--no-as-needed HetHub::runtime_cuda"
             : "HetHub::runtime")
     << R"()
# All it does is call LibTorch: optimising more takes build time and gains none.
target_compile_options(stage PRIVATE -O1)
)";
}
