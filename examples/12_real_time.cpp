// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// One event after another, within a fixed time: a plan over fixed buffers, nothing allocated after the start. The network is that of
// 01_first_program.py.
//
//     cmake --build build --target example_12_real_time && cd build/examples && ./12_real_time
//
// Prints, and on stderr how long an event takes:
//
//     100000 events, 50000 selected, 0 allocations

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <new>
#include <tensoa/tensoa.hpp>
#include <vector>

namespace {
std::atomic<std::size_t> allocations = 0;
}

void* operator new(std::size_t bytes) {  // of the whole program: counts
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace tensoa;

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

template <template <class> class F>
struct Score {
  F<float> score;
};

int main(int argc, char** argv) try {
  constexpr std::size_t kEvents = 100'000, kRows = 16;
  using Clock = std::chrono::steady_clock;
  PortableCollection<Point> points(kRows, Device::cpu());
  PortableCollection<Score> scores(kRows, Device::cpu());
  std::fill_n(points.view().y.data(), kRows, 10.F);
  std::fill_n(points.view().z.data(), kRows, -1.F);
  std::vector<std::chrono::nanoseconds> times(kEvents);
  std::size_t selected = 0;

  // [loop]
  const Queue queue(Device::cpu());
  const Model<> model(argc > 1 ? argv[1] : "network.pt2");
  const auto point = points.view().records();
  const auto plan = model.plan(ModelMetadata(bind("input", point.x(), point.y(), point.z()),
                                             bind("score", scores.view().records().score())));
  model.warm_up(queue, plan, kRows, kRows);  // loads, and takes the memory of all calls

  const std::size_t before = allocations;
  for (std::size_t event = 0; event < kEvents; ++event) {
    const auto start = Clock::now();
    std::fill_n(points.view().x.data(), kRows, event % 2 == 0 ? 100.F : -100.F);  // the data arrive
    model.forward(queue, plan);
    selected += scores.view().score[0] > 50.F ? 1 : 0;  // the decision
    times[event] = Clock::now() - start;
  }
  const std::size_t allocated = allocations - before;
  // [/loop]

  std::cout << kEvents << " events, " << selected << " selected, " << allocated << " allocations\n";
  std::ranges::sort(times);
  std::cerr << "an event of " << kRows << " rows: median " << times[kEvents / 2].count()
            << " ns, p99.9 " << times[kEvents - kEvents / 1000].count() << " ns, longest "
            << times.back().count() << " ns\n";
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
