// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/process_threads.hpp"
#include "tensoa/core/device.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/sched/event_pipeline.hpp"
#include "tensoa/sched/wait.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/pipeline.hpp"

// A long run that watches for growth:
//
//     tensoa_soak MODEL EVENTS [DEVICE]
//
// The same events over and over, two events in flight for each core, in kRounds rounds with a line
// of figures after each. Builders, pools and caches may grow in the first two; what has grown from
// then to the end is an error, exit status 1.

namespace {

using namespace tensoa;

constexpr std::size_t kRounds = 6;
constexpr std::size_t kWarmUp = 2;  // of them
constexpr unsigned kEventsPerThread = 2;
constexpr const char* kEvents = "generate:16:1:100";

struct Figure {
  const char* name;
  std::size_t value;
  std::size_t tolerance;
};

std::size_t resident_bytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// Tolerances: what is kept from event to event depends on which thread took which event, by some
/// blocks of the heap, and what lies in malloc's cache of each thread counts as taken. 16 bytes an event
/// are 64 kB after 4 000.
std::vector<Figure> figures(Device device) {
  const std::size_t threads = test::threads_of_this_process();
  const std::size_t files = open_files();
  const std::size_t resident = resident_bytes();
  const struct mallinfo2 heap = mallinfo2();
  std::vector<Figure> all{
      {"heap bytes", heap.uordblks + heap.hblkhd, std::max<std::size_t>(1U << 16U, threads << 13U)},
      {"resident bytes", resident, std::size_t{1} << 22U},
      {"files", files, 0},
      {"threads", threads, 0}};
  if (!device.is_cpu()) {
    const DeviceMemory memory = device_memory(device);
    all.push_back({"GPU bytes", memory.total - memory.free, 0});
  }
  return all;
}

/// @return whether nothing grew
bool soak(const std::string& file, std::size_t events, Device device) {
  const Model<> model(file);
  const auto sources = track::find_events(kEvents);
  const auto threads = std::max(2U, std::thread::hardware_concurrency());
  std::vector<std::unique_ptr<track::TrackPipeline>> pipelines;
  track::PipelineOptions options;
  if (track::TrackPipeline::stays_on(device, options)) options.wait = sched::wait_suspended;
  for (unsigned slot = 0; slot < kEventsPerThread * threads; ++slot) {
    pipelines.push_back(std::make_unique<track::TrackPipeline>(model, Queue(device), options));
  }
  std::printf("%zu events on %s, %u threads, %zu events in flight\n", events,
              to_string(device).c_str(), threads, pipelines.size());

  const tbb::global_control enough(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  std::vector<Figure> before;
  std::vector<Figure> now;
  for (std::size_t round = 0; round < kRounds; ++round) {
    arena.execute([&] {
      return sched::run_events(
          [&, next = std::size_t{0}]() mutable {
            return next <= events / kRounds ? std::optional(next++) : std::nullopt;
          },
          [&](std::size_t event, std::size_t slot) {
            return pipelines[slot]->process(sources[event % sources.size()]).tracks;
          },
          [](std::size_t, const Result<std::size_t>& tracks) {
            static_cast<void>(tracks.value());  // throws where an event failed
          },
          {.in_flight = pipelines.size()});
    });
    now = figures(device);
    if (round + 1 == kWarmUp) before = now;
    for (const Figure& figure : now) std::printf("%12zu %s", figure.value, figure.name);
    std::printf("\n");
    std::fflush(stdout);
  }
  bool is_flat = true;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].value <= before[i].value + now[i].tolerance) continue;
    is_flat = false;
    std::printf("soak: %s grew by %zu, at most %zu expected\n", now[i].name,
                now[i].value - before[i].value, now[i].tolerance);
  }
  if (is_flat) std::printf("soak: nothing grew over %zu events\n", events);
  return is_flat;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: tensoa_soak MODEL EVENTS [DEVICE]\n");
    return 2;
  }
  pytorch::register_engines();
  return soak(argv[1], std::stoul(argv[2]), parse_device(argc == 4 ? argv[3] : "auto")) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tensoa_soak: %s\n", error.what());
  return 2;
}
