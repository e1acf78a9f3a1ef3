# MLIR and LLVM as one interface target of static archives: tools start in 2.5 ms instead of 29 ms, link in under a
# second, and never mix static and shared copies of LLVM's option registry.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_program(LLVM_EXTERNAL_LIT NAMES lit HINTS ${CMAKE_SOURCE_DIR}/.venv/bin)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)

file(GLOB mlir_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a)
list(FILTER mlir_archives EXCLUDE REGEX "ExecutionEngine|CAPI|Runner|Python|Test|_runtime")
file(GLOB llvm_archives ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER llvm_archives EXCLUDE REGEX "Polly|Testing|Exegesis|TestingAnnotations")

add_library(hethub_mlir INTERFACE)
target_include_directories(hethub_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_options(hethub_mlir INTERFACE -fno-exceptions)
target_link_libraries(hethub_mlir INTERFACE
  -Wl,--start-group ${mlir_archives} ${llvm_archives} -Wl,--end-group z zstd dl pthread)
target_link_options(hethub_mlir INTERFACE -Wl,--gc-sections)

# LLVM's support library alone, for what must not know MLIR (planner, cluster).
add_library(hethub_llvm_support INTERFACE)
target_include_directories(hethub_llvm_support SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(hethub_llvm_support INTERFACE
  ${LLVM_LIBRARY_DIR}/libLLVMSupport.a ${LLVM_LIBRARY_DIR}/libLLVMDemangle.a z zstd dl pthread)
target_link_options(hethub_llvm_support INTERFACE -Wl,--gc-sections)
