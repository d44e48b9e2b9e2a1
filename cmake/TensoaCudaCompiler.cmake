# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Sources of CUDA are compiled where the build is for CUDA and has a CUDA compiler of the runtime's major
# version, 12.8 or later, which has sm_100. Then there is
#   tensoa_cuda                                   what they are compiled and linked with
#   tensoa_cuda_sources(VARIABLE file...)         C++ files as CUDA ones, in the build folder: CMake gives a file one language

if(NOT tensoa_device STREQUAL "cuda")
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  return()
endif()
set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;100" CACHE STRING "GPUs to compile for; the last one also as PTX")
enable_language(CUDA)
string(REGEX MATCH "^[0-9]+" tensoa_cuda_major "${TensoaCuda_VERSION}")
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8 OR NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^${tensoa_cuda_major}\\.")
  message(STATUS "CUDA sources are left out: compiler ${CMAKE_CUDA_COMPILER_VERSION}, runtime ${TensoaCuda_VERSION}")
  return()
endif()

set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # the runtime is the one that core links
add_library(tensoa_cuda INTERFACE)
# As an option: CMake 3.25 has no cuda_std_20 for nvcc 13. Compressed for size: half as large in a wheel. Temporary files next to the object:
# elsewhere their names have the number of the process, and an object has them.
target_compile_options(tensoa_cuda INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--compress-mode=size;--objdir-as-tempdir;--expt-relaxed-constexpr;--extended-lambda>")
target_link_libraries(tensoa_cuda INTERFACE $<LINK_ONLY:TensoaCuda::cudart>)

function(tensoa_cuda_sources variable)
  set(sources "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE source)
    cmake_path(GET file STEM name)
    file(CONFIGURE OUTPUT "${name}.cu" CONTENT "#include \"${source}\"\n" @ONLY)
    list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/${name}.cu")
  endforeach()
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()
