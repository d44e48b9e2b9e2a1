# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# alpaka for the tests and examples of accel/: an interface target for each back-end that can be built here,
#   tensoa_alpaka_serial, tensoa_alpaka_tbb     the CPU
#   tensoa_alpaka_cuda                          NVIDIA GPUs; the sources are CUDA ones (TensoaCudaCompiler.cmake)
# Nothing is downloaded. TENSOA_ALPAKA_MISSING says in one line why there are none; it is empty otherwise.

function(tensoa_find_alpaka include)
  set(${include} "${TENSOA_ALPAKA_INCLUDE}" PARENT_SCOPE)
  if(NOT TENSOA_ALPAKA_INCLUDE)
    find_package(alpaka QUIET CONFIG)
    if(TARGET alpaka::alpaka)
      get_target_property(directories alpaka::alpaka INTERFACE_INCLUDE_DIRECTORIES)
      set(${include} "${directories}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

tensoa_find_alpaka(tensoa_alpaka_include)
find_path(TENSOA_BOOST_INCLUDE boost/predef.h DOC "Boost's headers, which alpaka needs")
mark_as_advanced(TENSOA_BOOST_INCLUDE)

set(TENSOA_ALPAKA_MISSING "")
if(NOT tensoa_alpaka_include)
  set(TENSOA_ALPAKA_MISSING "no alpaka: install it where find_package(alpaka) looks, or set TENSOA_ALPAKA_INCLUDE")
elseif(NOT TENSOA_BOOST_INCLUDE)
  set(TENSOA_ALPAKA_MISSING "no Boost headers, which alpaka needs: install libboost-dev, or set TENSOA_BOOST_INCLUDE")
endif()
if(TENSOA_ALPAKA_MISSING)
  message(STATUS "Tests of accel/ with alpaka are left out: ${TENSOA_ALPAKA_MISSING}")
  return()
endif()

# tensoa_alpaka_backend(NAME ACC target...): ACC as in ALPAKA_ACC_…_ENABLED.
function(tensoa_alpaka_backend name acc)
  add_library(tensoa_alpaka_${name} INTERFACE)
  target_include_directories(tensoa_alpaka_${name} SYSTEM INTERFACE ${tensoa_alpaka_include} ${TENSOA_BOOST_INCLUDE})
  target_compile_definitions(tensoa_alpaka_${name} INTERFACE ALPAKA_ACC_${acc}_ENABLED)
  target_link_libraries(tensoa_alpaka_${name} INTERFACE tensoa::accel ${ARGN})
endfunction()

set(tensoa_alpaka_backends serial)
tensoa_alpaka_backend(serial CPU_B_SEQ_T_SEQ)
if(TARGET TBB::tbb)
  list(APPEND tensoa_alpaka_backends tbb)
  tensoa_alpaka_backend(tbb CPU_B_TBB_T_SEQ TBB::tbb)
endif()
if(TARGET tensoa_cuda)
  list(APPEND tensoa_alpaka_backends cuda)
  tensoa_alpaka_backend(cuda GPU_CUDA tensoa_cuda)
endif()
list(JOIN tensoa_alpaka_backends ", " tensoa_alpaka_text)
message(STATUS "alpaka: ${tensoa_alpaka_include}, back-ends: ${tensoa_alpaka_text}")
