# Headers of LibTorch are the larger part of what a batch reads: 4 of 14 s. They are parsed once for all targets that
# say TORCH (targets.cmake); a target of whose batches fewer than half read them is faster without.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON compiles without.
# Every source still includes what it needs, which the dev profile proves: it compiles without batches and without this.
set(torch_headers_read
  <ATen/core/Tensor.h> <ATen/core/grad_mode.h> <ATen/ops/add.h> <ATen/ops/addmm.h> <ATen/ops/arange.h>
  <ATen/ops/cat.h> <ATen/ops/empty.h> <ATen/ops/empty_like.h> <ATen/ops/eq.h> <ATen/ops/from_blob.h> <ATen/ops/full.h>
  <ATen/ops/index_select.h> <ATen/ops/mm.h> <ATen/ops/ones.h> <ATen/ops/stack.h> <ATen/ops/tensor.h>
  <ATen/ops/where.h> <ATen/ops/zeros.h> <boost/describe/members.hpp> <fmt/format.h> <nlohmann/json.hpp>
  <algorithm> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional> <ranges> <set> <span> <string>
  <thread> <unordered_map> <variant> <vector>)

# d9d_torch_headers(KIND OPTION [HEADERS ...] [DEPS ...]): what targets of this kind read, compiled with OPTION, because
# a compiler takes no headers that were parsed for another kind of code.
function(d9d_torch_headers kind option)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS" ${ARGN})
  if(NOT D9D_BATCHED)
    return()
  endif()
  set(target d9d_torch_headers_${kind})
  set(file "${CMAKE_BINARY_DIR}/batches/${target}.cpp")
  file(CONFIGURE OUTPUT "${file}" CONTENT "" @ONLY)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${file}")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE ${option})
  target_link_libraries(${target} PRIVATE d9d::torch fmt::fmt nlohmann_json::nlohmann_json Boost::headers ${ARG_DEPS})
  target_precompile_headers(${target} PRIVATE ${torch_headers_read} ${ARG_HEADERS})
endfunction()

# d9d_reads_torch(TARGET KIND [SOURCES ...]): compiles TARGET with them, but not SOURCES, which have flags of their own.
function(d9d_reads_torch target kind)
  if(NOT D9D_BATCHED)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM d9d_torch_headers_${kind})
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

d9d_torch_headers(library -fPIC)
d9d_torch_headers(tests -fPIE HEADERS <gmock/gmock.h> <gtest/gtest.h> DEPS GTest::gmock)
