# How every target of d9d is made, so that a folder's CMakeLists.txt is a list of sources and its arrows.

# d9d_library(NAME [APART] [COLD] [TORCH] SOURCES ... [ALONE ...] [ORDER ...] [DEPS ...])
# A static library d9d_<NAME>. All of them together become libd9d.so, except those that are APART: d9d_loaded_library().
# COLD: nothing of it is called in a step (D9D_COLD_FLAGS). TORCH: most of it reads tensors (torch_headers.cmake).
# ALONE are sources that no batch takes (batches.cmake): they have flags of their own, or a comment says why.
# DEPS are its arrows: what it may include. ORDER are the arrows inside: its sub-folders, `.` for the files beside
# them, and single files (without ending) that stand elsewhere; each may include itself and those before it.
# tests/tidy reads both and compares them with the includes and the READMEs.
function(d9d_library name)
  cmake_parse_arguments(ARG "APART;COLD;TORCH" "" "SOURCES;ALONE;ORDER;DEPS" ${ARGN})
  set(target d9d_${name})
  if(ARG_SOURCES OR ARG_ALONE)
    d9d_batches(${target} files ${ARG_SOURCES})
    add_library(${target} STATIC ${files} ${ARG_ALONE})
    target_compile_options(${target} PRIVATE ${D9D_WARNINGS} $<$<BOOL:${ARG_COLD}>:${D9D_COLD_FLAGS}>)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                                $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
    target_link_libraries(${target} PUBLIC ${ARG_DEPS})
    if(ARG_TORCH)
      d9d_reads_torch(${target} library ${ARG_ALONE})
    endif()
    if(NOT ARG_APART)
      set_property(GLOBAL APPEND PROPERTY D9D_LIBRARIES ${target})
    endif()
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# Where users' binaries look for libraries, the same in the build folder as installed: CMake would otherwise leave room in
# the path of the build folder for the installed one, and the loader reads that room as the working directory.
function(d9d_looks_in target)
  list(JOIN ARGN ":" path)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${path}" BUILD_WITH_INSTALL_RPATH ON
                                             INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

# d9d_loaded_library(NAME LIBRARIES ...): libd9d_<NAME>.so of the objects of these libraries. libd9d.so finds it beside
# itself and loads it when it is asked for.
function(d9d_loaded_library name)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(d9d_${name} SHARED ${objects})
  target_link_libraries(d9d_${name} PRIVATE d9d)
  set_target_properties(d9d_${name} PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  d9d_looks_in(d9d_${name} "$ORIGIN")
  set_property(GLOBAL APPEND PROPERTY D9D_LOADED_LIBRARIES d9d_${name})
endfunction()

# d9d_tests(NAME TIER tier [TORCH] [SOURCES ...] [ALONE ...] [DEPS ...] [LABELS ...] [TIMEOUT seconds]
#           [APART suites ...])
# One test binary test_<NAME>, whose suites are ctests, some together (list_tests.cmake). Of those that match APART each
# test is a ctest of its own, in a process of its own: suites that some machine skips, that take long, or that measure,
# fork or change their process. In the tier e2e all are. ALONE, TORCH: as for d9d_library().
function(d9d_tests name)
  cmake_parse_arguments(ARG "TORCH" "TIER;TIMEOUT" "SOURCES;ALONE;DEPS;LABELS;APART" ${ARGN})
  set(target test_${name})
  d9d_batches(${target} files ${ARG_SOURCES})
  add_executable(${target} ${files} ${ARG_ALONE} $<$<BOOL:${D9D_LEAVES_AT_ONCE}>:$<TARGET_OBJECTS:d9d_leave_at_once>>)
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${D9D_COLD_FLAGS}")  # ALONE may be product code
  target_compile_options(${target} PRIVATE ${D9D_WARNINGS})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_compile_definitions(${target} PRIVATE D9D_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                               D9D_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(ARG_TORCH)
    d9d_reads_torch(${target} tests ${ARG_ALONE})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(ARG_TIER STREQUAL "e2e")
    set(ARG_APART .*)
  endif()
  set(environment OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0)
  if(D9D_PROFILE STREQUAL "tsan")
    # One thread a team, because OpenMP's order is unknown to it; tests fork processes that have threads.
    list(APPEND environment OMP_NUM_THREADS=1
         TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/support/tsan.supp:die_after_fork=0)
  endif()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_list.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D "BINARY=$<TARGET_FILE:${target}>" -D "ENVIRONMENT=${environment}"
            -D "APART=${ARG_APART}" -D "LABELS=${ARG_TIER};${ARG_LABELS}" -D TIMEOUT=${ARG_TIMEOUT} -D OUT=${list}
            -P ${CMAKE_SOURCE_DIR}/runtime/cmake/list_tests.cmake)
  set(ctests ${CMAKE_CURRENT_BINARY_DIR}/${target}_ctests.cmake)
  file(WRITE ${ctests} "if(EXISTS [==[${list}]==])\n  include([==[${list}]==])\nelse()\n"
                       "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${ctests})
endfunction()

# d9d_test_library(NAME [TORCH] SOURCES ... [DEPS ...]): a static library d9d_<NAME> of what test binaries share.
function(d9d_test_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS" ${ARGN})
  set(target d9d_${name})
  d9d_batches(${target} files ${ARG_SOURCES})
  add_library(${target} STATIC ${files})
  target_compile_options(${target} PRIVATE ${D9D_WARNINGS} ${D9D_COLD_FLAGS})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE D9D_SOURCE_DIR="${CMAKE_SOURCE_DIR}" D9D_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${target} PUBLIC ${ARG_DEPS})
  if(ARG_TORCH)
    d9d_reads_torch(${target} library)
  endif()
endfunction()

# d9d_schemas(TARGET FILES ...): Cap'n Proto schemas -> a static library of the generated code.
function(d9d_schemas target)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(out "${CMAKE_BINARY_DIR}/generated/messages")
  file(MAKE_DIRECTORY "${out}")
  set(generated)
  foreach(file ${ARG_FILES})
    set(base "${out}/${file}")
    add_custom_command(
      OUTPUT "${base}.h" "${base}.c++"
      COMMAND ${CAPNP_EXECUTABLE} compile -o "${CAPNPC_CXX_EXECUTABLE}:${CMAKE_BINARY_DIR}/generated"
              --src-prefix=${CMAKE_SOURCE_DIR} -I ${CAPNP_INCLUDE_DIRECTORY} -I ${CMAKE_SOURCE_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/${file}
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" VERBATIM)
    list(APPEND generated "${base}.c++" "${base}.h")
  endforeach()
  add_library(${target} STATIC ${generated})
  target_compile_options(${target} PRIVATE -w)
  target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
  target_link_libraries(${target} PUBLIC CapnProto::capnp)
  set_property(GLOBAL APPEND PROPERTY D9D_LIBRARIES ${target})
endfunction()
