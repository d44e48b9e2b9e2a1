// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

// NumPy's C API: its table of functions is shared by the sources of the module, and filled at the first use, so that
// importing tensoa does not import NumPy.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tensoa_numpy_api
#ifndef TENSOA_NUMPY_TABLE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace tensoa::python {

/// Imports NumPy unless it is. @throws nanobind::python_error
void need_numpy();

}  // namespace tensoa::python
