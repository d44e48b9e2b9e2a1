# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# find_package(tensoa) for others: the targets, a component for each layer, the configuration file and the Find modules that it needs.

include(CMakePackageConfigHelpers)

set(tensoa_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tensoa")
get_property(tensoa_layers GLOBAL PROPERTY TENSOA_LAYERS)
set(TENSOA_COMPONENTS "")
foreach(layer ${tensoa_layers})
  install(EXPORT tensoa-${layer} NAMESPACE tensoa:: DESTINATION "${tensoa_cmake_dir}")
  get_property(uses GLOBAL PROPERTY TENSOA_LAYERS_OF_${layer})
  string(APPEND TENSOA_COMPONENTS "set(tensoa_layers_of_${layer} \"${uses}\")\n"
    "set(tensoa_dependencies_of_${layer} \"${TENSOA_DEPENDENCIES_${layer}}\")\n")
endforeach()
if(TARGET tensoa_program)
  install(TARGETS tensoa_program)
  if(TENSOA_RELOCATABLE)  # of the system that builds; no other has to have it
    install(FILES "$<TARGET_FILE:TBB::tbb>" DESTINATION "${tensoa_private_dir}" RENAME "$<TARGET_SONAME_FILE_NAME:TBB::tbb>")
  endif()
  if(TARGET tensoa_torch)
    install(TARGETS tensoa_torch LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  # The results of `make models` and `make demo`: `tensoa track` finds them, and the rules of its candidate edges next to its model.
  install(FILES "${PROJECT_BINARY_DIR}/models/tensoa.pt" "${PROJECT_BINARY_DIR}/models/tensoa.pt2" "${PROJECT_BINARY_DIR}/models/tensoa.graph.json"
    "${PROJECT_BINARY_DIR}/models/merge.pt" "${PROJECT_BINARY_DIR}/models/merge.pt2"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/tensoa/models" OPTIONAL)
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# `import tensoa`. A wheel has the rest of it, and is one folder with all that is installed; elsewhere that is a folder for PYTHONPATH.
set(tensoa_module_dir .)
if(NOT TENSOA_WHEEL)
  set(tensoa_module_dir "${CMAKE_INSTALL_DATADIR}/tensoa/python/tensoa")
  install(DIRECTORY python/tensoa/ DESTINATION "${tensoa_module_dir}"
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "*.hpp" PATTERN "*.cuh" PATTERN "*.json" PATTERN "__pycache__" EXCLUDE)
endif()
if(TARGET tensoa_python)
  install(TARGETS tensoa_python LIBRARY DESTINATION "${tensoa_module_dir}")
endif()
if(TENSOA_RELOCATABLE)
  include(TensoaParts)
  # `cmake --install --strip` leaves archives as they are.
  install(CODE "
    file(GLOB archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libtensoa_*.a\")
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded --enable-deterministic-archives \${archives} COMMAND_ERROR_IS_FATAL ANY)")
endif()

# All that is installed, without tests and benchmarks: `cmake --build build --target tensoa_installed`.
set(installed "")
foreach(target ${tensoa_layers})
  get_target_property(type tensoa_${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND installed tensoa_${target})
  endif()
endforeach()
foreach(target tensoa_arrow tensoa_c tensoa_grpc tensoa_program tensoa_python tensoa_torch tensoa_triton_backend)
  if(TARGET ${target})
    list(APPEND installed ${target})
  endif()
endforeach()
add_custom_target(tensoa_installed DEPENDS ${installed})
list(TRANSFORM installed REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/tensoa_built.cmake" CONTENT "foreach(file ${files})
  if(NOT EXISTS \"\${file}\")
    message(\"\${file} is not built; cmake --build ${PROJECT_BINARY_DIR} --target tensoa_installed builds all that is installed\")
    message(FATAL_ERROR \"Nothing was installed.\")
  endif()
endforeach()
")

# The installed libraries use the wheels that they were linked with, unless the user says otherwise.
if(TensoaTorch_ROOT)
  set(TENSOA_TORCH_ROOT "${TensoaTorch_ROOT}")
endif()
if(TENSOA_WHEEL)  # the packages next to this one, wherever the wheel is installed
  set(TENSOA_TORCH_ROOT "")
  set(TENSOA_VENV_PACKAGES "\${CMAKE_CURRENT_LIST_DIR}/../../../..")
elseif(TENSOA_RELOCATABLE)
  set(TENSOA_VENV_PACKAGES "")
endif()
if(TENSOA_RELOCATABLE AND NOT TENSOA_WHEEL)
  include(TensoaDist)
endif()
configure_package_config_file(cmake/tensoa-config.cmake.in tensoa-config.cmake
  INSTALL_DESTINATION "${tensoa_cmake_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(tensoa-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tensoa-config.cmake"
  "${PROJECT_BINARY_DIR}/tensoa-config-version.cmake"
  cmake/FindTensoaTorch.cmake cmake/FindTensoaCuda.cmake cmake/TensoaAtNeed.cmake
  DESTINATION "${tensoa_cmake_dir}")
