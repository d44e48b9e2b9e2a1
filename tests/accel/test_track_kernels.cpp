// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <numeric>

#include "alpaka_fixture.hpp"
#include "tensoa/events/impl/serial_launcher.hpp"
#include "track/kernel_checks.hpp"

// The kernels of tracking, launched by alpaka on the CPU; alpaka has no sorts and sums.

namespace tensoa::track {
namespace {

using test::Acc;

// [launcher]
/// A team of one lane for each row.
template <class Functor>
struct OneLaneEach {
  Functor functor;

  TENSOA_HOST_DEVICE void operator()(std::size_t i) const { functor(events::OneLane(), i); }
};

/// Rows by alpaka; see hit_buckets.hpp.
struct AlpakaLauncher {
  test::AlpakaQueue& queue;

  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    accel::for_each_row<Acc>(queue, n, functor);
  }

  template <class Functor>
  void teams(std::size_t n, const Functor& functor) const {
    rows(n, OneLaneEach<Functor>{functor});
  }

  template <class T, class Less>
  void sort(const T* in, std::size_t n, T* out, Less less) const {
    alpaka::wait(queue);
    std::copy(in, in + n, out);
    std::sort(out, out + n, less);
  }

  template <class T>
  void running_sum(const T* in, std::size_t n, T* out) const {
    alpaka::wait(queue);
    std::inclusive_scan(in, in + n, out);
  }
};
// [/launcher]

class TrackKernels : public test::AlpakaTest {};

TEST_F(TrackKernels, GiveTheEdgesAndTracksOfTheHost) {
  if constexpr (!test::kOnCpu) {
    GTEST_SKIP() << "for CPUs; on a GPU CUDA launches them (tests/track)";
  } else {
    expect_results_of_the_host(
        AlpakaLauncher{queue()}, [this] { alpaka::wait(queue()); }, 10);
  }
}

}  // namespace
}  // namespace tensoa::track
