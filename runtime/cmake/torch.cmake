# d9d::torch: LibTorch, headers and libraries. D9D_TORCH (a key, or a variable of the environment) chooses it:
#   a version: 2.15.0   its wheel, which `D9D_TORCH=2.15.0 bash .ci/deps` installs
#   a path              a venv or a conda environment that has torch, its site-packages, or an unpacked LibTorch
# `cmake -P` on this file only prints what it would take.
#
# The wheel's own find_package(Torch) demands a CUDA toolkit, so a CPU host could not configure.
set(torch_default 2.15.0)  # .ci/deps reads it here
set(torch_least 2.11)
set(torch_newest 2.15)     # the newest that this tree was built and tested with

if(DEFINED ENV{XDG_CACHE_HOME})
  set(torch_cache "$ENV{XDG_CACHE_HOME}/d9d")
else()
  set(torch_cache "$ENV{HOME}/.cache/d9d")
endif()
set(D9D_TORCH "$ENV{D9D_TORCH}" CACHE STRING "LibTorch: a version, or the path of one")
set(D9D_TORCH_VENV "$ENV{D9D_TORCH_VENV}" CACHE PATH "venv where .ci/deps puts the wheel")

# Where to look, and what to do if nothing is there.
set(torch_choice "choose one with -DD9D_TORCH=VERSION or -DD9D_TORCH=PATH")
set(torch_wanted "${D9D_TORCH}")
if("${D9D_TORCH}" STREQUAL "")
  set(torch_wanted ${torch_default})
endif()
if(torch_wanted MATCHES "^[0-9]+[.][0-9.]+$")
  string(REGEX REPLACE "^([0-9]+[.][0-9]+)$" "\\1.0" torch_wanted "${torch_wanted}")
  if(torch_wanted VERSION_LESS torch_least)
    message(FATAL_ERROR "D9D_TORCH is ${torch_wanted}, d9d needs LibTorch ${torch_least} or newer; ${torch_choice}")
  endif()
  set(torch_place "${D9D_TORCH_VENV}")
  if(NOT torch_place)
    set(torch_place "${torch_cache}/torch-${torch_wanted}")
  endif()
  set(torch_remedy "run `D9D_TORCH=${torch_wanted} bash .ci/deps`, which installs it, or ${torch_choice}")
else()
  set(torch_place "${torch_wanted}")
  set(torch_wanted "")
  set(torch_remedy "give D9D_TORCH a venv or conda environment that has torch, an unpacked LibTorch, or a version")
endif()
if(NOT IS_ABSOLUTE "${torch_place}" OR NOT IS_DIRECTORY "${torch_place}")
  message(FATAL_ERROR "no LibTorch: ${torch_place} is not the full path of a folder; ${torch_remedy}")
endif()

set(D9D_TORCH_ROOT "")
file(GLOB torch_roots "${torch_place}/lib/python3.*/site-packages/torch")
foreach(root "${torch_place}" "${torch_place}/torch" "${torch_place}/libtorch" ${torch_roots})
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(NOT D9D_TORCH_ROOT AND EXISTS "${root}/lib/libtorch_cpu.so" AND EXISTS "${root}/include/${header}")
      get_filename_component(D9D_TORCH_ROOT "${root}" ABSOLUTE)
      file(STRINGS "${root}/include/${header}" torch_version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    endif()
  endforeach()
endforeach()
if(NOT D9D_TORCH_ROOT)
  message(FATAL_ERROR "no LibTorch in ${torch_place}: neither there nor in its torch, libtorch or "
                      "lib/python3.*/site-packages/torch are lib/libtorch_cpu.so and its headers; ${torch_remedy}")
endif()

string(REGEX MATCHALL "[0-9]+" torch_version "${torch_version}")
list(JOIN torch_version "." D9D_TORCH_VERSION)
string(REGEX MATCH "^[0-9]+[.][0-9]+" D9D_TORCH_MINOR "${D9D_TORCH_VERSION}")
if(D9D_TORCH_VERSION VERSION_LESS torch_least)
  message(FATAL_ERROR "the LibTorch in ${D9D_TORCH_ROOT} is ${D9D_TORCH_VERSION}, d9d needs ${torch_least} or newer; "
                      "${torch_choice}")
endif()
if(NOT "${D9D_TORCH}" STREQUAL "" AND torch_wanted AND NOT torch_wanted VERSION_EQUAL D9D_TORCH_VERSION)
  message(FATAL_ERROR "D9D_TORCH asks for LibTorch ${torch_wanted}, D9D_TORCH_VENV holds ${D9D_TORCH_VERSION} "
                      "(${torch_place}); leave out one of them (-UD9D_TORCH_VENV), or build in another folder")
endif()
if(D9D_TORCH_MINOR VERSION_GREATER torch_newest)
  message(WARNING "LibTorch ${D9D_TORCH_VERSION} is newer than ${torch_newest}, the newest that d9d was tested with")
endif()
# "13.0", or empty where it was built without CUDA. A wheel and an archive have it in different files.
set(D9D_TORCH_CUDA "")
if(EXISTS "${D9D_TORCH_ROOT}/version.py")
  file(STRINGS "${D9D_TORCH_ROOT}/version.py" torch_cuda REGEX "^cuda")
  string(REGEX MATCH "[0-9]+[.][0-9]+" D9D_TORCH_CUDA "${torch_cuda}")
elseif(EXISTS "${D9D_TORCH_ROOT}/build-version")
  file(STRINGS "${D9D_TORCH_ROOT}/build-version" torch_cuda REGEX "[+]cu[0-9]+")
  string(REGEX REPLACE ".*[+]cu([0-9]+)([0-9])$" "\\1.\\2" D9D_TORCH_CUDA "${torch_cuda}")
endif()
set(torch_kind "built without CUDA")
if(D9D_TORCH_CUDA)
  set(torch_kind "built for CUDA ${D9D_TORCH_CUDA}")
endif()
if(D9D_CUDA AND NOT D9D_TORCH_CUDA MATCHES "^13[.]")
  message(FATAL_ERROR "D9D_CUDA is ON, but the LibTorch in ${D9D_TORCH_ROOT} is ${torch_kind} and the CUDA plugin needs "
                      "CUDA 13; set -DD9D_CUDA=OFF, or ${torch_choice}")
endif()
message(STATUS "LibTorch ${D9D_TORCH_VERSION} (${torch_kind}) in ${D9D_TORCH_ROOT}")
if(CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# Headers come as -idirafter: LibTorch carries fmt 12, spdlog of the system needs the system's fmt.
add_library(d9d_torch INTERFACE)
add_library(d9d::torch ALIAS d9d_torch)
target_compile_options(d9d_torch INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${D9D_TORCH_ROOT}/include>"
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${D9D_TORCH_ROOT}/include/torch/csrc/api/include>")
target_compile_definitions(d9d_torch INTERFACE AT_PER_OPERATOR_HEADERS)  # else headers of two operators include all
target_link_options(d9d_torch INTERFACE "LINKER:-rpath,${D9D_TORCH_ROOT}/lib" "LINKER:--disable-new-dtags")
target_link_libraries(d9d_torch INTERFACE "${D9D_TORCH_ROOT}/lib/libtorch_cpu.so" "${D9D_TORCH_ROOT}/lib/libc10.so")

# Only the CUDA plugin links these.
add_library(d9d_torch_cuda INTERFACE)
add_library(d9d::torch_cuda ALIAS d9d_torch_cuda)
target_link_libraries(d9d_torch_cuda INTERFACE d9d::torch
  "${D9D_TORCH_ROOT}/lib/libtorch_cuda.so" "${D9D_TORCH_ROOT}/lib/libc10_cuda.so")
target_link_options(d9d_torch_cuda INTERFACE "LINKER:--allow-shlib-undefined")
