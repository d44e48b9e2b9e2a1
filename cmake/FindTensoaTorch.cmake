# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Finds libtorch: the torch Python package in TENSOA_VENV, or the folder TENSOA_TORCH_ROOT. The package's own TorchConfig.cmake
# is not used: it stops without a CUDA toolkit. Makes
#   TensoaTorch::torch       headers (SYSTEM) and libraries; all libraries stay NEEDED, so CUDA works where it is there
#   TensoaTorch_VERSION      for example 2.11.0
#   TensoaTorch_CUDA         true if libtorch_cuda is there
#   TensoaTorch_HIP          true if libtorch_hip is there: a ROCm build

find_path(TensoaTorch_INCLUDE_DIR torch/script.h NO_CACHE
  PATHS ${TENSOA_TORCH_ROOT} PATH_SUFFIXES include NO_DEFAULT_PATH)
if(NOT TENSOA_TORCH_ROOT)
  find_path(TensoaTorch_INCLUDE_DIR torch/script.h NO_CACHE
    PATHS ${TENSOA_VENV_PACKAGES} PATH_SUFFIXES torch/include NO_DEFAULT_PATH)
endif()

if(TensoaTorch_INCLUDE_DIR)
  get_filename_component(TensoaTorch_ROOT "${TensoaTorch_INCLUDE_DIR}/.." ABSOLUTE)
  set(tensoa_api_dir "${TensoaTorch_INCLUDE_DIR}/torch/csrc/api/include")

  # The version header has moved between releases.
  foreach(header "${TensoaTorch_INCLUDE_DIR}/torch/headeronly/version.h" "${tensoa_api_dir}/torch/version.h")
    if(EXISTS "${header}")
      file(READ "${header}" text)
      if(text MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+)")
        set(TensoaTorch_VERSION ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3})
        # Another torch in the same place: configure again.
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
        break()
      endif()
    endif()
  endforeach()

  set(TensoaTorch_LIBRARIES "")
  foreach(library torch torch_cpu c10 torch_cuda c10_cuda torch_hip c10_hip)
    set(path "${TensoaTorch_ROOT}/lib/lib${library}.so")
    if(EXISTS "${path}")
      list(APPEND TensoaTorch_LIBRARIES "${path}")
    endif()
  endforeach()
  foreach(runtime cuda hip)
    string(TOUPPER ${runtime} name)
    set(TensoaTorch_${name} FALSE)
    if(TensoaTorch_LIBRARIES MATCHES "libtorch_${runtime}\\.so")
      set(TensoaTorch_${name} TRUE)
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensoaTorch
  REQUIRED_VARS TensoaTorch_ROOT TensoaTorch_LIBRARIES
  VERSION_VAR TensoaTorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or set TENSOA_TORCH_ROOT to a folder with include/ and lib/ of libtorch")

if(TensoaTorch_FOUND AND NOT TARGET TensoaTorch::torch)
  add_library(TensoaTorch::torch INTERFACE IMPORTED)
  target_include_directories(TensoaTorch::torch INTERFACE "${TensoaTorch_INCLUDE_DIR}" "${tensoa_api_dir}")
  target_link_options(TensoaTorch::torch INTERFACE LINKER:--no-as-needed)
  foreach(path ${TensoaTorch_LIBRARIES})
    cmake_path(GET path STEM library)
    add_library(TensoaTorch::${library} SHARED IMPORTED)
    set_target_properties(TensoaTorch::${library} PROPERTIES IMPORTED_LOCATION "${path}")
    target_link_libraries(TensoaTorch::torch INTERFACE TensoaTorch::${library})
  endforeach()
endif()
