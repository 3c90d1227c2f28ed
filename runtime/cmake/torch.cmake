# d9d::torch from the PyPI wheel: the wheel's own find_package(Torch) demands a CUDA toolkit, so a CPU host could not
# configure. Headers come as -idirafter: the wheel carries fmt 12, Debian's spdlog needs fmt 9.
set(D9D_TORCH_VENV "$ENV{D9D_TORCH_VENV}" CACHE PATH "venv with the LibTorch wheel; made by .ci/deps")
if(NOT D9D_TORCH_VENV)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache "$ENV{XDG_CACHE_HOME}")
  else()
    set(cache "$ENV{HOME}/.cache")
  endif()
  set(D9D_TORCH_VENV "${cache}/d9d/torch-2.11.0" CACHE PATH "" FORCE)
endif()
file(GLOB D9D_TORCH_ROOT "${D9D_TORCH_VENV}/lib/python3.*/site-packages/torch")
if(NOT EXISTS "${D9D_TORCH_ROOT}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch in ${D9D_TORCH_VENV}: run `bash .ci/deps` (or give -DD9D_TORCH_VENV=...)")
endif()

add_library(d9d_torch INTERFACE)
add_library(d9d::torch ALIAS d9d_torch)
target_compile_options(d9d_torch INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${D9D_TORCH_ROOT}/include>"
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter ${D9D_TORCH_ROOT}/include/torch/csrc/api/include>")
target_link_options(d9d_torch INTERFACE "LINKER:-rpath,${D9D_TORCH_ROOT}/lib" "LINKER:--disable-new-dtags")
target_link_libraries(d9d_torch INTERFACE "${D9D_TORCH_ROOT}/lib/libtorch_cpu.so" "${D9D_TORCH_ROOT}/lib/libc10.so")

# Only the CUDA plugin links these.
add_library(d9d_torch_cuda INTERFACE)
add_library(d9d::torch_cuda ALIAS d9d_torch_cuda)
target_link_libraries(d9d_torch_cuda INTERFACE d9d::torch
  "${D9D_TORCH_ROOT}/lib/libtorch_cuda.so" "${D9D_TORCH_ROOT}/lib/libc10_cuda.so")
target_link_options(d9d_torch_cuda INTERFACE "LINKER:--allow-shlib-undefined")
