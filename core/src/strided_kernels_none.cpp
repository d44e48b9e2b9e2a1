// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::detail {

void gpu_copy_strided(int /*device*/, void* /*stream*/, const StridedCopy& /*copy*/) {
  throw ConfigError(
      "strided_copy: converting, broadcasting or transposing on a GPU takes a kernel, which this "
      "build was made without; build with a CUDA compiler, or copy columns of one dtype");
}

}  // namespace tensoa::detail
