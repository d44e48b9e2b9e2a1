# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0

# Finds what the Python module is built with: Python_EXECUTABLE (TensoaOptions.cmake), and there nanobind and NumPy's headers. Sets
#   TensoaPython_NUMPY_INCLUDE   the folder of numpy/arrayobject.h
# and defines nanobind_add_module().

set(TensoaPython_PACKAGES FALSE)
if(EXISTS "${Python_EXECUTABLE}")
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module QUIET)
  if(Python_FOUND)
    # nanobind requires this target where it is to build for the stable ABI, Python 3.12 and later; CMake has it from 3.26 on.
    if(NOT TARGET Python::SABIModule)
      add_library(Python::SABIModule INTERFACE IMPORTED)
    endif()
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -c "import nanobind, numpy; print(nanobind.cmake_dir(), numpy.get_include(), sep=';')"
      OUTPUT_VARIABLE tensoa_python_packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE tensoa_python_failed)
    if(NOT tensoa_python_failed)
      list(GET tensoa_python_packages 0 nanobind_DIR)
      list(GET tensoa_python_packages 1 TensoaPython_NUMPY_INCLUDE)
      find_package(nanobind CONFIG QUIET)
      set(TensoaPython_PACKAGES ${nanobind_FOUND})
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensoaPython
  REQUIRED_VARS TensoaPython_PACKAGES
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, which installs nanobind and NumPy in TENSOA_VENV")
