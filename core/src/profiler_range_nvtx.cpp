// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include "tensoa/core/profiler_range.hpp"

namespace tensoa {

ProfilerRange::ProfilerRange(const char* name) noexcept { nvtxRangePushA(name); }
ProfilerRange::~ProfilerRange() { nvtxRangePop(); }

}  // namespace tensoa
