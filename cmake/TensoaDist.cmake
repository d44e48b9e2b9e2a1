# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# A tarball, and a package of Debian: `make dist`.

# The CUDA runtime that the libraries were built with, so that programs link where there is no other one.
if(tensoa_device STREQUAL "cuda")
  install(FILES "${TensoaCuda_LIBRARY}" DESTINATION "${tensoa_private_dir}")
  get_filename_component(tensoa_cudart "${TensoaCuda_LIBRARY}" NAME)
  set(TENSOA_CONFIG_OF_CUDA "if(NOT TARGET TensoaCuda::cudart)
  add_library(TensoaCuda::cudart STATIC IMPORTED)
  set_target_properties(TensoaCuda::cudart PROPERTIES
    IMPORTED_LOCATION \"\${PACKAGE_PREFIX_DIR}/${tensoa_private_dir}/${tensoa_cudart}\"
    INTERFACE_LINK_LIBRARIES \"dl;pthread;rt\")
endif()
")
endif()

# Files have the time of the commit where `make release` says it, so that the same commit gives the same bytes.
file(WRITE "${PROJECT_BINARY_DIR}/set_times.cmake" [[
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find "${CPACK_TEMPORARY_INSTALL_DIRECTORY}" -exec touch --no-dereference "--date=@$ENV{SOURCE_DATE_EPOCH}" "{}" +
    COMMAND_ERROR_IS_FATAL ANY)
endif()
]])
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/set_times.cmake")

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR "The tensoa authors")
set(CPACK_PACKAGE_CONTACT "The tensoa authors")
set(CPACK_PACKAGE_FILE_NAME "tensoa-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# The dependencies of dpkg-shlibdeps, without Arrow, which is a package of Python here. The libraries below gRPC are needed for models of servers.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libgcc-s1 (>= 12), libstdc++6 (>= 12)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libabsl20220623, libc-ares2, libre2-9, libssl3")
include(CPack)
