# Developer targets: format, lint.
find_program(D9D_CLANG_FORMAT clang-format)
if(D9D_CLANG_FORMAT)
  add_custom_target(format
    COMMAND sh -c "git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs ${D9D_CLANG_FORMAT} -i"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
endif()
find_program(D9D_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)
if(D9D_RUN_CLANG_TIDY AND NOT D9D_BATCHED)  # it looks at sources one by one and reads no headers that GCC has parsed
  add_custom_target(lint
    COMMAND ${D9D_RUN_CLANG_TIDY} -quiet -p ${CMAKE_BINARY_DIR} "${CMAKE_SOURCE_DIR}/(actors|messages|kernels|runtime)/"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
endif()
