# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Every option of the build, with its documentation. `make options` prints them with their values.

option(TENSOA_PYTORCH "Build pytorch/: TorchScript models and TorchInductor's packages, through libtorch; fused packages need none" ON)
option(TENSOA_SCHED "Build sched/: events on the threads of oneTBB" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_COLUMNAR "Build columnar/: Parquet, Arrow and CSV files in chunks (needs Arrow)" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_REMOTE "Build remote/: models of servers, by KServe v2 over gRPC (needs gRPC)" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_TRACK "Build track/, merge/ and events/, and columnar/ for them: the applications (needs Arrow)" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_TRITON "Build triton/: the back-end of Triton servers that runs packages, without torch" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_TOOLS "Build tools/: the program tensoa (needs TENSOA_SCHED, TENSOA_COLUMNAR and TENSOA_TRACK)" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_PYTHON "Build python/runtime: tensoa.Model, for the Python of TENSOA_VENV (needs nanobind and NumPy there)" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_BUILD_TESTS "Build tests/ and examples/" ${PROJECT_IS_TOP_LEVEL})
set(TENSOA_TESTS all CACHE STRING "Which test programs: all, or torch (those that link torch; the preset asan has the others)")
set_property(CACHE TENSOA_TESTS PROPERTY STRINGS all torch)
option(TENSOA_BENCH "Build the program tensoa-bench (needs what TENSOA_TOOLS needs, and that)" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_BUILD_BENCHMARKS "Build the programs of bench/ over Google Benchmark" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_FUZZ "Build tests/fuzz; needs clang and its flags, as the preset fuzz has them" OFF)
option(TENSOA_INSTALL "Make the install rules" ${PROJECT_IS_TOP_LEVEL})
option(TENSOA_WERROR "Compiler warnings are errors" OFF)

set(TENSOA_DEVICE auto CACHE STRING "The device seam: cuda, hip, none, or auto (cuda where its runtime is found)")
set_property(CACHE TENSOA_DEVICE PROPERTY STRINGS auto cuda hip none)

set(TENSOA_VENV "${PROJECT_SOURCE_DIR}/.venv" CACHE PATH "Python environment that holds the wheels and runs the Python tests")
set(TENSOA_SERVICE_VENV "${PROJECT_SOURCE_DIR}/.venv-service" CACHE PATH "Python environment with Triton and Envoy, for tests; tests skip without it")
set(TENSOA_TORCH_ROOT "" CACHE PATH "A libtorch or torch Python package (include/, lib/); empty: the one in TENSOA_VENV")
set(TENSOA_ARROW_ROOT "" CACHE PATH "A pyarrow Python package; empty: the one in TENSOA_VENV. Arrow_DIR goes before it")
set(TENSOA_CUDA_ROOT "" CACHE PATH "A CUDA runtime (include/, lib/); empty: the one next to torch, else a toolkit")
option(TENSOA_WHEEL "For the wheel of pyproject.toml, whose Python builds it: one folder in site-packages" OFF)
option(TENSOA_RELOCATABLE "What is installed runs where it is put: run paths are relative, oneTBB and the CUDA runtime are inside. For `make dist`" OFF)
option(TENSOA_CUDA_STATIC "Link the CUDA runtime into programs and modules, which then start without it" OFF)
set(TENSOA_ALPAKA_INCLUDE "" CACHE PATH "A folder with alpaka/alpaka.hpp, for the tests of accel/; empty: that of find_package(alpaka)")
set(TENSOA_SHARED_DATA "${PROJECT_SOURCE_DIR}/../shared/data" CACHE PATH "Real events for the tests; tests skip without them")
set(TENSOA_TEST_SEED 1 CACHE STRING "A whole number: the seed of the layouts and choices of the property tests")

if(NOT TENSOA_DEVICE MATCHES "^(auto|cuda|hip|none)$")
  message(FATAL_ERROR "TENSOA_DEVICE is ${TENSOA_DEVICE}, expected auto, cuda, hip or none")
endif()

if(NOT TENSOA_TESTS MATCHES "^(all|torch)$")
  message(FATAL_ERROR "TENSOA_TESTS is ${TENSOA_TESTS}, expected all or torch")
endif()

if(TENSOA_WHEEL)
  set(TENSOA_RELOCATABLE ON)
endif()
if(TENSOA_RELOCATABLE)
  set(TENSOA_CUDA_STATIC ON)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include \"${PROJECT_SOURCE_DIR}/cmake/libstdcxx_11.hpp\">")
endif()

if(TENSOA_WHEEL)
  # pip builds the wheel with a Python that finds the packages of pyproject.toml, wherever it has put them.
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "import sys; print(*filter(None, sys.path), sep=';')"
    OUTPUT_VARIABLE TENSOA_VENV_PACKAGES OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  if(EXISTS "${TENSOA_VENV}/bin/python")
    set(Python_EXECUTABLE "${TENSOA_VENV}/bin/python")
  endif()
  file(GLOB TENSOA_VENV_PACKAGES "${TENSOA_VENV}/lib/python3*/site-packages")
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(TENSOA_CCACHE ccache DOC "Compiler cache; used when found")
  mark_as_advanced(TENSOA_CCACHE)
  if(TENSOA_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${TENSOA_CCACHE}")
  endif()
endif()
