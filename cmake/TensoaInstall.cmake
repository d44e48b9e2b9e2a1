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
  if(TARGET tensoa_torch)
    install(TARGETS tensoa_torch LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endif()

# The installed libraries use the wheels that they were linked with, unless the user says otherwise.
if(TensoaTorch_ROOT)
  set(TENSOA_TORCH_ROOT "${TensoaTorch_ROOT}")
endif()
configure_package_config_file(cmake/tensoa-config.cmake.in tensoa-config.cmake
  INSTALL_DESTINATION "${tensoa_cmake_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(tensoa-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tensoa-config.cmake"
  "${PROJECT_BINARY_DIR}/tensoa-config-version.cmake"
  cmake/FindTensoaTorch.cmake cmake/FindTensoaCuda.cmake cmake/FindTensoaArrow.cmake
  DESTINATION "${tensoa_cmake_dir}")
