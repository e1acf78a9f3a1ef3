# Compiler cache and linker: both optional, both make the edit-build-test loop short.
find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers need the two sloppiness settings; without hash_dir, build folders share one cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_program(LLD NAMES ld.lld-22 ld.lld HINTS /usr/lib/llvm-22/bin)
if(LLD)
  get_filename_component(lld_directory ${LLD} DIRECTORY)
  add_link_options(-fuse-ld=lld)
  if(EXISTS /usr/lib/llvm-22/bin/ld.lld)
    add_link_options(-B/usr/lib/llvm-22/bin)
  endif()
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-comment -fdiagnostics-color=always)
add_compile_options(-ffunction-sections -fdata-sections)
# -O3 costs compile time and gains these tools nothing.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
