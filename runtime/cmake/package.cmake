# Install rules and the CMake package `d9d`: cmake --install build/release --prefix P, then elsewhere
#   find_package(d9d)   target_link_libraries(mine PRIVATE d9d::d9d)   with -DCMAKE_PREFIX_PATH=P
# Decision: headers keep their paths below include/d9d (runtime/task/task.hpp), because then an include reads the same
# inside and outside, instead of a second, public tree that would have to be kept in step.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS d9d EXPORT d9dTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION include/d9d)
install(TARGETS d9d-node RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
get_property(loaded GLOBAL PROPERTY D9D_LOADED_LIBRARIES)
foreach(library ${loaded})
  install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endforeach()

# All that a task, a model or a message needs; none of what only one CPU's or one library's code includes.
foreach(folder messages kernels runtime actors/core)
  get_filename_component(parent include/d9d/${folder} DIRECTORY)
  install(DIRECTORY ${folder} DESTINATION ${parent}
          FILES_MATCHING PATTERN "*.hpp" PATTERN "cmake" EXCLUDE PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE
          PATTERN "devices" EXCLUDE PATTERN "caf_*" EXCLUDE)
endforeach()
install(FILES actors/job/actor_registry.hpp actors/job/own_actor.hpp DESTINATION include/d9d/actors/job)
install(FILES actors/step_actor.hpp DESTINATION include/d9d/actors)
install(FILES actors/notes/text_messages.hpp DESTINATION include/d9d/actors/notes)
include(runtime/cmake/moved_headers.cmake)
install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/messages DESTINATION include/d9d FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/d9d)
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
