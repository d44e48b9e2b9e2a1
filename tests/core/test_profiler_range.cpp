// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/profiler_range.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace tensoa {
namespace {

/// The records of the library that CTest names to NVTX (nvtx_recorder.cpp).
std::string recorded() {
  void* const library = dlopen(TENSOA_NVTX_RECORDER, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return "NVTX did not load " TENSOA_NVTX_RECORDER;
  const auto ranges = reinterpret_cast<const char* (*)()>(dlsym(library, "recorded_ranges"));
  std::string result = ranges();
  dlclose(library);
  return result;
}

TEST(ProfilerRange, IsSeenByAProfilerAndNestsOnEachThread) {
  {
    const ProfilerRange outer("event");
    { const ProfilerRange inner("read"); }
    std::thread([] { const ProfilerRange other("elsewhere"); }).join();
    const ProfilerRange inner("track");
  }
  const ProfilerRange next("next");
  EXPECT_EQ(recorded(), "0event\n1read\n0elsewhere\n1track\n0next\n");
}

}  // namespace
}  // namespace tensoa
