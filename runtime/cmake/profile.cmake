# D9D_PROFILE = release | dev | asan | tsan | coverage sets the flags; the build folder is build/<profile>.
set(D9D_PROFILE "release" CACHE STRING "release, dev, asan, tsan or coverage")
set_property(CACHE D9D_PROFILE PROPERTY STRINGS release dev asan tsan coverage)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_BUILD_TYPE "None" CACHE STRING "flags come from D9D_PROFILE" FORCE)

# For libraries that work once a job, not once a step, and for tests: a fifth of the compiler's time less.
set(D9D_COLD_FLAGS)
set(D9D_LEAVES_AT_ONCE OFF)  # runtime/base/host/leave_at_once.hpp
if(D9D_PROFILE STREQUAL "release")
  add_compile_options(-O2 -g1)
  set(D9D_COLD_FLAGS -O1)
  set(D9D_LEAVES_AT_ONCE ON)
elseif(D9D_PROFILE STREQUAL "dev")
  add_compile_options(-O0 -g1)
elseif(D9D_PROFILE STREQUAL "asan")
  add_compile_options(-O1 -g1 -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(D9D_PROFILE STREQUAL "tsan")
  add_compile_options(-O1 -g1 -fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(D9D_PROFILE STREQUAL "coverage")  # tests/coverage.sh
  add_compile_options(-O0 -g1 --coverage -fprofile-update=atomic)
  add_link_options(--coverage)
else()
  message(FATAL_ERROR "D9D_PROFILE is \"${D9D_PROFILE}\"; choose release, dev, asan, tsan or coverage")
endif()

# Sources of a folder are compiled in batches, because most of a source's time goes to the same headers. The dev profile
# compiles each alone, which also proves that each includes what it needs.
if(D9D_PROFILE STREQUAL "dev")
  set(batched OFF)
else()
  set(batched ON)
endif()
option(D9D_BATCHED "compile several sources of a folder as one" ${batched})

# Two build folders share their objects: paths are relative to the source folder and the folder itself is not hashed.
# Which headers a source reads is taken from the compiler (DEPEND), because preprocessing all of LibTorch once more to
# find out makes a build without a cache an eighth longer.
# -Werror is not hashed either, so that CI takes objects of a build without it; warnings in them are printed again.
# Sloppiness is what it asks for where headers are parsed before (torch_headers.cmake); nothing here reads __TIME__.
find_program(D9D_CCACHE ccache)
if(D9D_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
               CCACHE_SLOPPINESS=pch_defines,time_macros
               CCACHE_IGNOREOPTIONS=-Werror ${D9D_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()
find_program(D9D_MOLD mold)
if(D9D_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Warnings are for our own targets only; see d9d_library(). They are errors where we develop: a compiler that is newer
# than this tree may find more. .ci/run sets the variable.
set(warnings_fail "$ENV{D9D_WERROR}")
if(D9D_PROFILE STREQUAL "dev")
  set(warnings_fail ON)
endif()
option(D9D_WERROR "warnings are errors (default: in CI and in the profile dev)" "${warnings_fail}")
set(werror)
if(D9D_WERROR)
  set(werror -Werror)
endif()
# nvcc does not know them.
foreach(warning -Wall -Wextra ${werror} -Wno-missing-field-initializers)
  list(APPEND D9D_WARNINGS "$<$<COMPILE_LANGUAGE:CXX>:${warning}>")
endforeach()
