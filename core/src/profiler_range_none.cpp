// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/profiler_range.hpp"

namespace tensoa {

ProfilerRange::ProfilerRange(const char* /*name*/) noexcept {}
ProfilerRange::~ProfilerRange() = default;

}  // namespace tensoa
