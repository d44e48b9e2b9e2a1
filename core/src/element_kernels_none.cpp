// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::detail {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw ConfigError(
      what +
      " on a GPU takes a kernel, which this build was made without; build with a CUDA "
      "compiler");
}

}  // namespace

bool gpu_has_kernels() noexcept { return false; }

void gpu_write(int /*device*/, void* /*stream*/, std::span<const StridedCopy> /*copies*/) {
  refuse("strided_copy: converting or broadcasting");
}
void gpu_write(int /*device*/, void* /*stream*/, const PaddedRows& /*rows*/) {
  refuse("pad_rows: padding rows");
}
void gpu_write(int /*device*/, void* /*stream*/, const GroupMask& /*mask*/) {
  refuse("write_mask: a mask");
}
void gpu_write(int /*device*/, void* /*stream*/, const GroupSegments& /*segments*/) {
  refuse("write_segments: numbers of groups");
}

}  // namespace tensoa::detail
