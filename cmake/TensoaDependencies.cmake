# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# All packages that the build uses.

# tensoa_find_dependency(LAYER NAME [VERSION]): a package that tensoa-config.cmake finds again for those who use the installed LAYER.
macro(tensoa_find_dependency layer name)
  find_package(${name} ${ARGN} REQUIRED)
  list(APPEND TENSOA_DEPENDENCIES_${layer} ${name})
endmacro()

if(TENSOA_DEVICE STREQUAL "auto")
  find_package(TensoaCuda 12.8 QUIET)  # cudaLibraryLoadData
  set(tensoa_device none)
  if(TensoaCuda_FOUND)
    set(tensoa_device cuda)
  endif()
else()
  set(tensoa_device ${TENSOA_DEVICE})
endif()
if(tensoa_device STREQUAL "cuda" AND TENSOA_RELOCATABLE AND NOT TENSOA_WHEEL)
  find_package(TensoaCuda 12.8 REQUIRED)  # which TensoaDist.cmake installs
elseif(tensoa_device STREQUAL "cuda")
  tensoa_find_dependency(core TensoaCuda 12.8)
elseif(tensoa_device STREQUAL "hip")
  tensoa_find_dependency(core hip)
endif()
message(STATUS "Device seam: ${tensoa_device}")

# For the sources of interop/ only, so that users of an installed tensoa need nothing.
find_package(TensoaInterchange QUIET)
if(NOT TensoaInterchange_FOUND)
  message(STATUS "interop/ is left out: no pyarrow with the headers of DLPack 1 and the Arrow C device interface")
endif()

if(TENSOA_PYTHON AND TensoaInterchange_FOUND)
  find_package(TensoaPython QUIET)
endif()
if(TENSOA_WHEEL AND NOT TensoaPython_FOUND)
  message(FATAL_ERROR "The wheel needs the headers of ${Python_EXECUTABLE}, which are not there; Debian's are those of python3-dev")
endif()
if(TENSOA_PYTHON AND NOT TensoaPython_FOUND)
  message(STATUS "python/runtime is left out: ${TENSOA_VENV} has no nanobind, NumPy or pyarrow, or its Python no headers")
endif()

# Headers alone, of sources alone.
find_package(nlohmann_json REQUIRED)
if(TENSOA_PYTORCH)
  tensoa_find_dependency(pytorch TensoaTorch 2.11)
  # Both call their GPUs "cuda": a stream of one would reach the other unseen.
  if((tensoa_device STREQUAL "cuda" AND TensoaTorch_HIP) OR (tensoa_device STREQUAL "hip" AND TensoaTorch_CUDA))
    message(FATAL_ERROR "The device seam is ${tensoa_device}, but the torch in ${TensoaTorch_ROOT} is built for the other kind of GPU; "
      "set TENSOA_DEVICE to the kind that torch is for, or to none, or take a torch for the CPU")
  endif()
endif()
if(TENSOA_SCHED)
  tensoa_find_dependency(sched TBB)
endif()
if(TENSOA_COLUMNAR OR TENSOA_TRACK)
  find_package(TensoaArrow REQUIRED)  # inside libtensoa_arrow.so
endif()
if(TENSOA_REMOTE)
  find_package(TensoaGrpc 1.51 REQUIRED)  # inside libtensoa_grpc.so
endif()
if(TENSOA_TOOLS)
  find_package(CLI11 REQUIRED)
  find_package(fmt REQUIRED)
endif()
if(TENSOA_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(TENSOA_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
