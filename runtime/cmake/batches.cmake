# Sources of a target are compiled in batches of eighteen, because most of a source's time goes to the same headers. In a
# batch, names in anonymous namespaces have to differ. A batch has neighbours of the list, so sources that share a header
# which costs seconds stand together there.
# A batch includes its sources by paths that are the same in every clone, so that ccache serves all clones.
# -DD9D_BATCHED=OFF (default in the dev profile) compiles each source alone.

# d9d_batches(TARGET OUT SOURCES ...): OUT is the list to give to add_library or add_executable for SOURCES.
function(d9d_batches target out)
  if(NOT D9D_BATCHED OR NOT ARGN)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(lines)
  foreach(source ${ARGN})
    get_filename_component(source "${source}" ABSOLUTE)
    file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${source}")
    list(APPEND lines "#include \"${path}\"\n")
  endforeach()
  list(LENGTH lines count)
  math(EXPR batches "(${count} + 17) / 18")
  math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
  math(EXPR last "${batches} - 1")
  set(files)
  foreach(batch RANGE ${last})
    math(EXPR begin "${batch} * ${size}")
    list(SUBLIST lines ${begin} ${size} part)
    list(JOIN part "" content)
    set(file "${CMAKE_BINARY_DIR}/batches/${target}_${batch}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${content}" @ONLY)
    list(APPEND files "${file}")
  endforeach()
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  set(${out} ${files} ${ARGN} PARENT_SCOPE)
endfunction()
