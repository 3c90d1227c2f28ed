# Optional: d9d::arrow, Arrow's and Parquet's libraries and headers from the wheel `pyarrow`, because Debian 12 has no
# package of them. Without it Parquet and Arrow files are refused by name. D9D_ARROW_ROOT is empty then.
set(arrow_version 26.0.1)  # .ci/deps reads it here
set(D9D_ARROW_VENV "$ENV{D9D_ARROW_VENV}" CACHE PATH "venv with the wheel pyarrow; made by .ci/deps")
if(NOT D9D_ARROW_VENV)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache "$ENV{XDG_CACHE_HOME}")
  else()
    set(cache "$ENV{HOME}/.cache")
  endif()
  set(D9D_ARROW_VENV "${cache}/d9d/pyarrow-${arrow_version}" CACHE PATH "" FORCE)
endif()
option(D9D_ARROW "read Parquet and Arrow files (default: where the wheel is found)" ON)
set(D9D_ARROW_ROOT)
if(D9D_ARROW)
  file(GLOB D9D_ARROW_ROOT "${D9D_ARROW_VENV}/lib/python3.*/site-packages/pyarrow")
endif()

add_library(d9d_arrow INTERFACE)
add_library(d9d::arrow ALIAS d9d_arrow)
if(D9D_ARROW_ROOT)
  # Their names end in the version: libarrow.so.2600.
  file(GLOB arrow_libraries "${D9D_ARROW_ROOT}/libarrow.so.*" "${D9D_ARROW_ROOT}/libparquet.so.*")
  target_include_directories(d9d_arrow SYSTEM INTERFACE $<BUILD_INTERFACE:${D9D_ARROW_ROOT}/include>)
  target_link_options(d9d_arrow INTERFACE "LINKER:-rpath,${D9D_ARROW_ROOT}" "LINKER:--disable-new-dtags")
  target_link_libraries(d9d_arrow INTERFACE ${arrow_libraries})
else()
  message(STATUS "no pyarrow wheel in ${D9D_ARROW_VENV}: building without Parquet and Arrow files")
endif()
