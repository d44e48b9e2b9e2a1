// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa {

/// A named range of time on the calling thread that profilers of NVIDIA show (Nsight Systems): NVTX 3. Ranges of a thread nest;
/// sched::ModuleGraph makes one for each part of a module. Costs some nanoseconds where no profiler listens; nothing in a build
/// for other devices or without NVTX's header.
/// *Threads*: made and destroyed by the same one.
class ProfilerRange {
 public:
  /// @param name copied by the profiler, if there is one
  explicit ProfilerRange(const char* name) noexcept;
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace tensoa
