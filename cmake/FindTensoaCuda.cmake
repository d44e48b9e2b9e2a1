# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Finds the CUDA runtime, headers and library; no toolkit is needed. In this order: TENSOA_CUDA_ROOT, the NVIDIA wheels next to
# torch, a toolkit. Makes
#   TensoaCuda::cudart       headers (SYSTEM) and libcudart
#   TensoaCuda_VERSION       for example 13.0
#   TensoaCuda_RUNPATH       the folder in which programs find libcudart when they start; empty with TENSOA_CUDA_STATIC

if(TENSOA_CUDA_ROOT)
  set(tensoa_cuda_roots "${TENSOA_CUDA_ROOT}")
else()
  set(tensoa_cuda_roots "")
  foreach(packages ${TENSOA_TORCH_ROOT}/.. ${TENSOA_VENV_PACKAGES})
    list(APPEND tensoa_cuda_roots "${packages}/nvidia/cu13" "${packages}/nvidia/cuda_runtime")
  endforeach()
  list(APPEND tensoa_cuda_roots $ENV{CUDA_HOME} /usr/local/cuda /usr)
endif()

find_path(TensoaCuda_INCLUDE_DIR cuda_runtime_api.h NO_CACHE
  PATHS ${tensoa_cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
if(TensoaCuda_INCLUDE_DIR)
  # The library of the same root: headers and library must match.
  get_filename_component(tensoa_cuda_root "${TensoaCuda_INCLUDE_DIR}/.." ABSOLUTE)
  set(tensoa_cuda_names libcudart.so.13 libcudart.so.12)
  if(TENSOA_CUDA_STATIC)
    set(tensoa_cuda_names libcudart_static.a)
  endif()
  find_library(TensoaCuda_LIBRARY NAMES ${tensoa_cuda_names} NO_CACHE
    PATHS "${tensoa_cuda_root}" PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
  file(STRINGS "${TensoaCuda_INCLUDE_DIR}/cuda_runtime_api.h" text REGEX "#define CUDART_VERSION ")
  if(text MATCHES "([0-9]+)")
    math(EXPR tensoa_cuda_major "${CMAKE_MATCH_1} / 1000")
    math(EXPR tensoa_cuda_minor "${CMAKE_MATCH_1} % 1000 / 10")
    set(TensoaCuda_VERSION ${tensoa_cuda_major}.${tensoa_cuda_minor})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensoaCuda
  REQUIRED_VARS TensoaCuda_LIBRARY TensoaCuda_INCLUDE_DIR
  VERSION_VAR TensoaCuda_VERSION
  REASON_FAILURE_MESSAGE "a CUDA toolkit, pip install nvidia-cuda-runtime or scripts/setup.sh brings it, or set TENSOA_CUDA_ROOT")

set(TensoaCuda_RUNPATH "")
if(TensoaCuda_FOUND AND NOT TENSOA_CUDA_STATIC)
  get_filename_component(TensoaCuda_RUNPATH "${TensoaCuda_LIBRARY}" DIRECTORY)
endif()

if(TensoaCuda_FOUND AND NOT TARGET TensoaCuda::cudart)
  if(TENSOA_CUDA_STATIC)
    add_library(TensoaCuda::cudart STATIC IMPORTED)
    target_link_libraries(TensoaCuda::cudart INTERFACE dl pthread rt)
  else()
    add_library(TensoaCuda::cudart SHARED IMPORTED)
  endif()
  set_target_properties(TensoaCuda::cudart PROPERTIES IMPORTED_LOCATION "${TensoaCuda_LIBRARY}")
  target_include_directories(TensoaCuda::cudart INTERFACE "${TensoaCuda_INCLUDE_DIR}")
endif()
