# Install rules, the CMake package `d9d`, and what is made of them: the wheel, the .deb.
#   cmake --install build/release --prefix P       then elsewhere, with -DCMAKE_PREFIX_PATH=P,
#   find_package(d9d)   target_link_libraries(mine PRIVATE d9d::d9d)
# Decision: headers keep their paths below include/d9d (runtime/task/task.hpp), because then an include reads the same
# inside and outside, instead of a second, public tree that would have to be kept in step.
# Decision: all libraries are in lib/d9d, because the wheel's others beside libd9d.so (libcrypto.so.3) must not be found
# by programs of the same prefix.
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests need not be built

# Which folders are new: target uninstall removes those, and no empty one of others.
install(CODE "set(build \"${CMAKE_BINARY_DIR}\")\ninclude(\"${CMAKE_SOURCE_DIR}/runtime/cmake/new_folders.cmake\")")
configure_file(runtime/cmake/uninstall.cmake ${CMAKE_BINARY_DIR}/uninstall.cmake COPYONLY)
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${CMAKE_BINARY_DIR}/uninstall.cmake
                  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)

get_property(loaded GLOBAL PROPERTY D9D_LOADED_LIBRARIES)
install(TARGETS d9d EXPORT d9dTargets LIBRARY DESTINATION lib/d9d INCLUDES DESTINATION include/d9d)
install(TARGETS ${loaded} LIBRARY DESTINATION lib/d9d OPTIONAL)
install(TARGETS d9d-node RUNTIME DESTINATION bin)
# Into a package (it is installed as a component): paths of this host lead nowhere on another, where d9d-node finds
# LibTorch when it starts.
install(CODE [[
  file(GLOB libraries "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/d9d/libd9d*.so")
  foreach(library IN LISTS libraries)
    if(CMAKE_INSTALL_COMPONENT)
      file(RPATH_SET FILE "${library}" NEW_RPATH "$ORIGIN")
    endif()
  endforeach()]])

# All that a task, a model or a message needs; none of what only one CPU's or one library's code includes.
foreach(folder messages kernels runtime actors/core)
  get_filename_component(parent include/d9d/${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${parent}
          FILES_MATCHING PATTERN "*.hpp" PATTERN "cmake" EXCLUDE PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE
          PATTERN "devices" EXCLUDE PATTERN "caf_*" EXCLUDE)
endforeach()
install(FILES actors/job/actor_registry.hpp actors/job/own_actor.hpp DESTINATION include/d9d/actors/job)
install(FILES actors/cli/own_program.hpp DESTINATION include/d9d/actors/cli)
install(FILES actors/step_actor.hpp DESTINATION include/d9d/actors)
install(FILES actors/notes/text_messages.hpp DESTINATION include/d9d/actors/notes)
include(runtime/cmake/moved_headers.cmake)
install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/messages DESTINATION include/d9d FILES_MATCHING PATTERN "*.h")

set(package_dir lib/cmake/d9d)
# What links d9d says which headers it was built against.
configure_file(runtime/cmake/plugin_build.cpp.in ${CMAKE_BINARY_DIR}/generated/plugin_build.cpp COPYONLY)
target_sources(d9d INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated/plugin_build.cpp>
                             $<INSTALL_INTERFACE:${package_dir}/plugin_build.cpp>)
target_include_directories(d9d INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
install(FILES ${CMAKE_BINARY_DIR}/generated/d9d_headers_id.h DESTINATION include/d9d)
install(EXPORT d9dTargets NAMESPACE d9d:: DESTINATION ${package_dir})
configure_package_config_file(runtime/cmake/d9dConfig.cmake.in ${CMAKE_BINARY_DIR}/d9dConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# A plugin and the program that loads it have to be of one version: no promise of more yet.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/d9dConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_BINARY_DIR}/d9dConfig.cmake ${CMAKE_BINARY_DIR}/d9dConfigVersion.cmake
              ${CMAKE_BINARY_DIR}/generated/plugin_build.cpp runtime/cmake/torch.cmake DESTINATION ${package_dir})

# The manual: what the program itself prints, the reference of the job file, and the examples.
set(manual ${CMAKE_BINARY_DIR}/manual)
install(CODE "file(MAKE_DIRECTORY \"${manual}\")
foreach(words \"d9d-node.1 man\" \"d9d-node completion bash\" \"_d9d-node completion zsh\" \"d9d-node.fish completion fish\")
  separate_arguments(words)
  list(POP_FRONT words file)
  execute_process(COMMAND \"${CMAKE_BINARY_DIR}/d9d-node\" \${words} OUTPUT_FILE \"${manual}/\${file}\"
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()")
install(FILES ${manual}/d9d-node.1 DESTINATION share/man/man1)
install(FILES ${manual}/d9d-node DESTINATION share/bash-completion/completions)
install(FILES ${manual}/_d9d-node DESTINATION share/zsh/site-functions)
install(FILES ${manual}/d9d-node.fish DESTINATION share/fish/vendor_completions.d)
install(FILES README.md DESTINATION share/doc/d9d-node)
install(DIRECTORY examples DESTINATION share/doc/d9d-node)

# The wheel: all but LibTorch is in it. One for each minor release of LibTorch.
add_custom_target(wheel
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/wheel
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --component Unspecified --strip
          --prefix ${CMAKE_BINARY_DIR}/wheel/prefix
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/runtime/cmake/make_wheel.py --prefix ${CMAKE_BINARY_DIR}/wheel/prefix
          --torch ${D9D_TORCH_ROOT} --minor ${D9D_TORCH_MINOR} "--arrow=${D9D_ARROW_ROOT}"
          --version ${PROJECT_VERSION} --compiler ${CMAKE_CXX_COMPILER}
          --summary ${PROJECT_DESCRIPTION} --readme ${CMAKE_SOURCE_DIR}/README.md --out ${CMAKE_BINARY_DIR}
  DEPENDS d9d-node USES_TERMINAL VERBATIM)

# The .deb: what Debian has is not in it. LibTorch is no package there; d9d-node says how to get it.
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};d9d;Unspecified;/")
set(CPACK_PACKAGE_NAME d9d-node)
set(CPACK_PACKAGE_CONTACT "d9d")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${D9D_TORCH_ROOT}/lib ${D9D_ARROW_ROOT})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-venv")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "g++, cmake, libcapnp-dev, libfmt-dev, nlohmann-json3-dev, libboost1.81-dev | libboost-dev, bible-kjv")
include(CPack)
add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} -G DEB WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
                  DEPENDS d9d-node USES_TERMINAL VERBATIM)
