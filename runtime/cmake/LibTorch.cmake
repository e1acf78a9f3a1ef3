# Imported targets for the torch wheel, linked in place:
#   LibTorch::torch_cpu   headers, libtorch_cpu and libc10
#   LibTorch::torch_cuda  additionally libtorch_cuda, libc10_cuda and the CUDA runtime (only where the wheel has them)
#   LibTorch::nccl        NCCL of the sibling wheel
# torch's own TorchConfig.cmake is not used: for a CUDA wheel it demands a whole CUDA toolkit.
# HETHUB_TORCH_ROOT: folder of the torch package; asked from HETHUB_PYTHON when not given.
if(NOT HETHUB_TORCH_ROOT)
  execute_process(
    COMMAND ${HETHUB_PYTHON} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE torch_status ERROR_QUIET)
  if(NOT torch_status EQUAL 0)
    message(FATAL_ERROR "no torch package in ${HETHUB_PYTHON}: run `make setup`, or give -DHETHUB_TORCH_ROOT=")
  endif()
  set(HETHUB_TORCH_ROOT ${torch_root} CACHE PATH "Folder of the torch package")
endif()
if(NOT EXISTS ${HETHUB_TORCH_ROOT}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no libtorch_cpu.so under ${HETHUB_TORCH_ROOT}/lib: HETHUB_TORCH_ROOT must name the torch package")
endif()
get_filename_component(HETHUB_WHEELS ${HETHUB_TORCH_ROOT} DIRECTORY)

# hethub_import_library(target file dependencies...)
function(hethub_import_library target file)
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${file})
  # Libraries of the wheels name their files, not paths, in DT_NEEDED; without a soname CMake would record the path.
  get_filename_component(soname ${file} NAME)
  set_target_properties(${target} PROPERTIES IMPORTED_SONAME ${soname})
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

hethub_import_library(LibTorch::c10 ${HETHUB_TORCH_ROOT}/lib/libc10.so)
target_include_directories(LibTorch::c10 SYSTEM INTERFACE ${HETHUB_TORCH_ROOT}/include)
target_compile_features(LibTorch::c10 INTERFACE cxx_std_20)
hethub_import_library(LibTorch::torch_cpu ${HETHUB_TORCH_ROOT}/lib/libtorch_cpu.so LibTorch::c10)

file(GLOB cudart ${HETHUB_WHEELS}/nvidia/cu*/lib/libcudart.so.* ${HETHUB_WHEELS}/nvidia/cuda_runtime/lib/libcudart.so.*)
file(GLOB nccl ${HETHUB_WHEELS}/nvidia/nccl/lib/libnccl.so.*)
if(EXISTS ${HETHUB_TORCH_ROOT}/lib/libtorch_cuda.so AND cudart AND nccl)
  list(GET cudart 0 cudart)
  list(GET nccl 0 nccl)
  get_filename_component(cuda_lib ${cudart} DIRECTORY)
  get_filename_component(cuda_root ${cuda_lib} DIRECTORY)
  get_filename_component(nccl_lib ${nccl} DIRECTORY)
  get_filename_component(nccl_root ${nccl_lib} DIRECTORY)
  hethub_import_library(LibTorch::cudart ${cudart})
  target_include_directories(LibTorch::cudart SYSTEM INTERFACE ${cuda_root}/include)
  hethub_import_library(LibTorch::nccl ${nccl} LibTorch::cudart)
  target_include_directories(LibTorch::nccl SYSTEM INTERFACE ${nccl_root}/include)
  hethub_import_library(LibTorch::c10_cuda ${HETHUB_TORCH_ROOT}/lib/libc10_cuda.so LibTorch::c10 LibTorch::cudart)
  hethub_import_library(LibTorch::torch_cuda ${HETHUB_TORCH_ROOT}/lib/libtorch_cuda.so
                        LibTorch::torch_cpu LibTorch::c10_cuda)
endif()
