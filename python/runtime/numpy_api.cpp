// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#define TENSOA_NUMPY_TABLE
#include "numpy_api.hpp"

namespace tensoa::python {

void need_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nanobind::python_error();
}

}  // namespace tensoa::python
