// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/gpu_probe.hpp"
#include "bench/harness.hpp"
#include "bench/suites/suites.hpp"
#include "bench/workloads.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::bench {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kMostQueues = 32;  // on one GPU
constexpr std::size_t kNumbersOfGpus[] = {1, 2, 4, 8};
constexpr std::size_t kQueuesPerGpu[] = {1, 2, 4};  // where there are several
constexpr int kShortest = 4;                        // calls of each thread in one measurement
constexpr Seconds kWindow = 30ms;                   // of one measurement
constexpr std::size_t kEvents = 10'000;             // of a check that memory is flat
constexpr std::size_t kForwards = 1'000;            // behind a blocked queue
constexpr std::size_t kLaunchesHeld = 512;    // the driver keeps about 1000 for a blocked queue
constexpr std::size_t kMostRows = 2'000'000;  // of a call that fills a GPU
constexpr std::size_t kCallsOfQueue = 4;      // in a graph of the calls of all queues
constexpr double kFaster = 1.03;              // than a smaller call: it was not full yet

/// The work of one host thread: one call on its own queue, repeated.
struct Lane {
  Queue queue;
  std::function<void()> call;
};
using Lanes = std::vector<const Lane*>;

/// A lane with its own columns. @param what the columns are made of, but for the queue
/// @param keep as long as the lane
template <class Case, class... What>
Lane lane_of(const Model<>& model, const Queue& on, std::shared_ptr<const void> keep,
             const What&... what) {
  struct State {
    State(const Model<>& model, const Queue& own, std::shared_ptr<const void> kept,
          const What&... of)
        : keep(std::move(kept)),
          queue(own),
          work(of..., queue),
          plan(model.plan(work.metadata())) {}
    std::shared_ptr<const void> keep;
    Queue queue;
    Case work;
    decltype(std::declval<const Model<>&>().plan(std::declval<Case&>().metadata())) plan;
  };
  return {on, [model, state = std::make_shared<State>(model, on, std::move(keep), what...)] {
            state->work.rebind(state->plan);
            model.forward(state->queue, state->plan);
          }};
}

/// A model on columns of one size, or of `parts` times that size: `parts` inputs, one after another.
struct Subject {
  std::string model;
  std::size_t n;
  std::function<Lane(const Model<>& model, const Queue& queue, std::size_t parts)> make_lane;
};

/// The inputs of the graph network for one event, `parts` times. No edge leads from one copy to another.
struct Graph {
  Graph(const PortableCollection<track::Hit>& from_hits,
        const PortableCollection<track::Edge>& from_edges, std::size_t parts)
      : hits(parts * from_hits.size(), Device::cpu()),
        edges(parts * from_edges.size(), Device::cpu()) {
    const auto from_hit = from_hits.const_view();
    const auto from = from_edges.const_view();
    const View<track::Hit> hit = hits.view();
    const View<track::Edge> edge = edges.view();
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t first_hit = part * from_hit.size();
      const std::size_t first = part * from.size();
      const auto put = [](const auto& column, const auto& to, std::size_t at, std::size_t n) {
        std::copy_n(column.data(), n, to.data() + at);
      };
      put(from_hit.r_scaled, hit.r_scaled, first_hit, from_hit.size());
      put(from_hit.phi_scaled, hit.phi_scaled, first_hit, from_hit.size());
      put(from_hit.z_scaled, hit.z_scaled, first_hit, from_hit.size());
      put(from.dr, edge.dr, first, from.size());
      put(from.dphi, edge.dphi, first, from.size());
      put(from.dz, edge.dz, first, from.size());
      put(from.dR, edge.dR, first, from.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        edge.source[first + i] = from.source[i] + static_cast<std::int64_t>(first_hit);
        edge.target[first + i] = from.target[i] + static_cast<std::int64_t>(first_hit);
      }
    }
  }

  PortableCollection<track::Hit> hits;
  PortableCollection<track::Edge> edges;
};

/// Calls per second of all lanes together, each in a separate thread: from a common start until
/// the queues are empty again. The device of its queue is current in each thread.
double rate_of(const Lanes& lanes, Seconds window) {
  std::atomic<bool> is_over{false};
  std::barrier start(static_cast<std::ptrdiff_t>(lanes.size()) + 1);
  const auto work = [&](const Lane* lane) {
    const DeviceGuard current(lane->queue.device());
    try {
      lane->call();  // the first of its thread
      lane->queue.wait();
    } catch (...) {
      start.arrive_and_drop();
      throw;
    }
    start.arrive_and_wait();
    std::size_t calls = 0;
    for (; calls == 0 || !is_over.load(std::memory_order_relaxed); ++calls) lane->call();
    lane->queue.wait();
    return calls;
  };
  std::vector<std::future<std::size_t>> threads;
  for (const Lane* lane : lanes) threads.push_back(std::async(std::launch::async, work, lane));
  start.arrive_and_wait();
  Stopwatch watch;
  std::this_thread::sleep_for(window);
  is_over = true;
  for (const auto& thread : threads) thread.wait();
  const double seconds = watch.lap() / 1e6;
  std::size_t calls = 0;
  for (auto& thread : threads) calls += thread.get();
  return static_cast<double>(calls) / seconds;
}

double median(std::vector<double> numbers) { return summarize(std::move(numbers)).median_us; }

double median_rate_of(const Lane& lane, int repeats) {
  std::vector<double> rates(static_cast<std::size_t>(repeats));
  std::ranges::generate(rates, [&] { return rate_of({&lane}, kWindow); });
  return median(std::move(rates));
}

/// The limits of calls on one GPU, whatever the threads and queues do.
struct OfGpu {
  std::vector<GpuLaunch> launches;  ///< of a call
  std::size_t full_parts = 1;       ///< inputs in a call that fills the GPU
  double full_rate = 0;             ///< inputs per second in such calls
  double graph_rate = 0;            ///< calls per second, all in one graph
};

/// Calls on one queue with more and more inputs each, until the time per input falls no longer.
void fill_gpu(OfGpu& gpu, const Subject& subject, const Model<>& model, const Queue& queue,
              int repeats) {
  for (std::size_t parts = 1; parts == 1 || parts * subject.n <= kMostRows; parts *= 4) {
    const Lane lane = subject.make_lane(model, queue, parts);
    const double rate = static_cast<double>(parts) * median_rate_of(lane, repeats);
    const bool is_full = rate < kFaster * gpu.full_rate;
    if (rate > gpu.full_rate) {
      gpu.full_rate = rate;
      gpu.full_parts = parts;
    }
    if (is_full) break;
  }
}

/// The calls of the largest number of queues, side by side in one graph that one thread enqueues: the
/// GPU at the same work without the host.
double graph_rate_of(const Subject& subject, const Model<>& model, Device device, int repeats) {
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < kMostQueues; ++i) {
    lanes.push_back(subject.make_lane(model, Queue(device), 1));
    lanes.back().call();
    lanes.back().queue.wait();
  }
  const Queue& first = lanes.front().queue;
  std::vector<Event> events;
  const auto fork_and_join = [&] {
    events.emplace_back(first);
    for (const Lane& lane : lanes) {
      if (&lane != &lanes.front()) lane.queue.wait_for(events.front());
      for (std::size_t i = 0; i < kCallsOfQueue; ++i) lane.call();
    }
    for (const Lane& lane : lanes) {
      if (&lane != &lanes.front()) first.wait_for(events.emplace_back(lane.queue));
    }
  };
  const Lane all{first, in_one_graph(first, fork_and_join)};
  return static_cast<double>(kMostQueues * kCallsOfQueue) * median_rate_of(all, repeats);
}

/// With a separate model, which is freed with the memory that its largest call took.
OfGpu gpu_without_host(const Subject& subject, const std::filesystem::path& file, Device device,
                       int repeats) {
  const Model<> model(file);
  const Queue queue(device);
  OfGpu gpu;
  fill_gpu(gpu, subject, model, queue, repeats);
  gpu.launches = gpu_launches_of(queue, subject.make_lane(model, queue, 1).call);
  gpu.graph_rate = graph_rate_of(subject, model, device, repeats);
  return gpu;
}

/// Bytes of the device's memory that are taken, by anybody.
std::size_t memory_used(Device device) {
  const DeviceMemory memory = device_memory(device);
  return memory.total - memory.free;
}

/// Memory of the process and of GPUs.
class MemoryInUse {
 public:
  explicit MemoryInUse(std::size_t gpus) : gpus_(gpus) {}

  /// Allocates nothing. @param devices all GPUs, or the CPU
  void read(const std::vector<Device>& devices) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) gpus_[i] = memory_used(devices[i]);
    std::size_t all = 0;
    std::ifstream("/proc/self/statm") >> all >> resident_;
    resident_ *= static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    // Last: the first run of the queries above allocates.
    const struct mallinfo2 heap = mallinfo2();
    heap_ = heap.uordblks + heap.hblkhd;
  }

  static nlohmann::ordered_json growth(const MemoryInUse& before, const MemoryInUse& after) {
    const auto more = [](std::size_t first, std::size_t last) {
      return static_cast<std::ptrdiff_t>(last) - static_cast<std::ptrdiff_t>(first);
    };
    nlohmann::ordered_json growth{
        {"heap_growth_bytes", more(before.heap_, after.heap_)},
        {"resident_growth_bytes", more(before.resident_, after.resident_)}};
    for (std::size_t i = 0; i < after.gpus_.size(); ++i) {
      growth["gpu_growth_bytes"].push_back(more(before.gpus_[i], after.gpus_[i]));
    }
    return growth;
  }

 private:
  std::size_t heap_ = 0;
  std::size_t resident_ = 0;
  std::vector<std::size_t> gpus_;
};

/// Powers of two up to `most`, and `most`.
std::vector<std::size_t> numbers_up_to(std::size_t most) {
  std::vector<std::size_t> numbers;
  for (std::size_t number = 1; number < most; number *= 2) numbers.push_back(number);
  numbers.push_back(most);
  return numbers;
}

std::string names_of(const std::vector<Device>& devices, std::size_t count) {
  const std::string first = to_string(devices.front());
  return count == 1 ? first : first + ".." + std::to_string(devices[count - 1].index);
}

/// One model on one size of columns, on the CPU or on GPUs.
class Scaling {
 public:
  /// @param devices the CPU alone, or GPUs
  Scaling(const Subject& subject, const Model<>& model, std::string variant,
          const std::vector<Device>& devices)
      : subject_(subject),
        model_(model),
        variant_(std::move(variant)),
        devices_(devices),
        lanes_(devices.size()),
        empties_(devices.size()) {
    add_lanes(0, 1);
    used_by_one_ = on_gpus() ? memory_used(devices[0]) : 0;
    add_lanes(0, on_gpus() ? kMostQueues : std::max(1U, std::thread::hardware_concurrency()));
    used_by_all_ = on_gpus() ? memory_used(devices[0]) : 0;
    for (std::size_t device = 1; device < devices.size(); ++device) {
      add_lanes(device, std::ranges::max(kQueuesPerGpu));
    }
    Stopwatch watch;
    lanes_[0][0].call();
    lanes_[0][0].queue.wait();
    window_ = std::max(kWindow, kShortest * Seconds(1e-6 * watch.lap()));
  }

  /// On GPUs, before anything is measured: what bounds the calls, and empty kernels on the same queues.
  void compare_with(OfGpu gpu) {
    gpu_ = std::move(gpu);
    const EmptyKernels kernels(gpu_.launches);
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      for (const Lane& lane : lanes_[device]) {
        std::function<void()> call = kernels.call(lane.queue);
        if (variant_ == "aot_graph") call = in_one_graph(lane.queue, call);
        empties_[device].push_back({lane.queue, std::move(call)});
      }
    }
  }

  /// Calls per second of 1, 2, 4, … queues on the first device, and of several GPUs.
  void measure(std::vector<ResultRow>& rows, int repeats) const {
    for (const std::size_t queues : numbers_up_to(lanes_[0].size())) {
      rows.push_back(race_of("queues", 1, queues, 1, repeats));
    }
    for (const std::size_t gpus : kNumbersOfGpus) {
      if (gpus == 1 || gpus > devices_.size()) continue;
      for (const std::size_t queues : kQueuesPerGpu) {
        rows.push_back(race_of("gpus", gpus, queues, queues, repeats));
      }
    }
  }

  /// GPU memory that a further queue takes: stream, workspace, and its columns.
  void measure_memory(std::vector<ResultRow>& rows) const {
    ResultRow row = row_of("memory", 1, lanes_[0].size());
    row.more["gpu_bytes_per_further_queue"] =
        (used_by_all_ - std::min(used_by_all_, used_by_one_)) / (lanes_[0].size() - 1);
    rows.push_back(row);
  }

  /// The memory of kEvents calls on each device, after the same threads have made the same number before; on GPUs
  /// a multiple of it, so that the driver, too, has its one-time memory.
  void measure_growth(std::vector<ResultRow>& rows) const {
    const std::size_t queues = std::min(lanes_[0].size(), std::ranges::max(kQueuesPerGpu));
    const Lanes lanes = first(lanes_, devices_.size(), queues);
    const std::size_t calls = (kEvents + queues - 1) / queues;
    const std::size_t rounds = on_gpus() ? 4 : 2;
    std::vector<MemoryInUse> memory(rounds, MemoryInUse(on_gpus() ? devices_.size() : 0));
    std::barrier step(static_cast<std::ptrdiff_t>(lanes.size()) + 1);
    std::vector<std::future<void>> threads;
    for (const Lane* lane : lanes) {
      threads.push_back(std::async(std::launch::async, [&step, rounds, calls, lane] {
        std::exception_ptr failure;
        for (std::size_t round = 0; round < rounds; ++round) {
          try {
            for (std::size_t i = 0; i < calls && !failure; ++i) lane->call();
            lane->queue.wait();
          } catch (...) {
            failure = std::current_exception();
          }
          step.arrive_and_wait();  // memory is measured between these two
          step.arrive_and_wait();
        }
        if (failure) std::rethrow_exception(failure);
      }));
    }
    for (std::size_t round = 0; round < rounds; ++round) {
      step.arrive_and_wait();
      memory[round].read(devices_);
      step.arrive_and_wait();
    }
    for (auto& thread : threads) thread.get();
    ResultRow row = row_of("growth", devices_.size(), lanes.size());
    row.more["calls_per_device"] = calls * queues;
    row.more.update(MemoryInUse::growth(memory[rounds - 2], memory[rounds - 1]));
    rows.push_back(row);
  }

  /// How many calls return while nothing that they enqueue may start. In parts that the driver keeps
  /// for a queue that does not move: a call that finds it full waits in the driver, from any thread.
  void measure_blocked(std::vector<ResultRow>& rows) const {
    const Lane& lane = lanes_[0][0];
    const std::size_t part = std::max<std::size_t>(1, kLaunchesHeld / gpu_.launches.size());
    std::size_t asked = 0;
    std::size_t returned = 0;
    double us = 0;
    while (asked < kForwards && returned == asked) {
      const std::size_t more = std::min(part, kForwards - asked);
      std::atomic<std::size_t> back{0};
      std::future<void> thread;  // joins when the queue is released
      const BlockedQueue blocked(lane.queue);
      Stopwatch watch;
      thread = std::async(std::launch::async, [&] {
        for (std::size_t i = 0; i < more; ++i, ++back) lane.call();
      });
      thread.wait_for(2s);
      us += watch.lap();
      asked += more;
      returned += back;
    }
    lane.queue.wait();
    ResultRow row = row_of("blocked", 1, 1);
    row.more["calls"] = kForwards;
    row.more["calls_returned_while_blocked"] = returned;
    row.more["calls_held_at_a_time"] = part;
    row.more["us_per_call"] = us / static_cast<double>(std::max<std::size_t>(returned, 1));
    rows.push_back(row);
  }

 private:
  bool on_gpus() const { return !devices_.front().is_cpu(); }

  void add_lanes(std::size_t device, std::size_t up_to) {
    while (lanes_[device].size() < up_to) {
      lanes_[device].push_back(subject_.make_lane(model_, Queue(devices_[device]), 1));
      const Lane& lane = lanes_[device].back();
      for (int i = 0; i < 2; ++i) lane.call();
      lane.queue.wait();
    }
  }

  /// The first `count` lanes of the first devices.
  static Lanes first(const std::vector<std::vector<Lane>>& lanes, std::size_t devices,
                     std::size_t count) {
    Lanes some;
    for (std::size_t device = 0; device < devices; ++device) {
      for (std::size_t i = 0; i < count; ++i) some.push_back(&lanes[device][i]);
    }
    return some;
  }

  ResultRow row_of(const std::string& stage, std::size_t devices, std::size_t threads) const {
    ResultRow row;
    row.model = subject_.model;
    row.variant = variant_;
    row.stage = stage;
    row.device = names_of(devices_, devices);
    row.n = subject_.n;
    row.threads = static_cast<int>(threads);
    return row;
  }

  /// Of `queues` queues on each of `devices` devices. `fewest_queues` on the first device, which linear
  /// is reckoned from, and the empty kernels run in turns with it.
  ResultRow race_of(const std::string& stage, std::size_t devices, std::size_t queues,
                    std::size_t fewest_queues, int repeats) const {
    const Lanes some = first(lanes_, devices, queues);
    const Lanes fewest = first(lanes_, 1, fewest_queues);
    const double parts = static_cast<double>(some.size()) / static_cast<double>(fewest.size());
    std::vector<double> ours;
    std::vector<double> linear;
    std::vector<double> empty;
    for (int i = 0; i < repeats; ++i) {
      linear.push_back(parts * rate_of(fewest, window_));
      ours.push_back(some.size() == fewest.size() ? linear.back() : rate_of(some, window_));
      if (on_gpus()) empty.push_back(rate_of(first(empties_, devices, queues), window_));
    }
    const double rate = median(ours);
    const double linear_rate = median(linear);
    ResultRow row = row_of(stage, devices, some.size());
    if (on_gpus()) row.more["gpus"] = devices;
    row.more["calls_per_s"] = std::llround(rate);
    row.more["linear_calls_per_s"] = std::llround(linear_rate);
    row.baseline = "linear";
    double ceiling = linear_rate;
    if (on_gpus()) {
      const double empty_rate = median(empty);
      const double full_rate = static_cast<double>(devices) * gpu_.full_rate;
      const double graph_rate = static_cast<double>(devices) * gpu_.graph_rate;
      row.more["empty_kernels_calls_per_s"] = std::llround(empty_rate);
      row.more["launches_per_call"] = gpu_.launches.size();
      row.more["full_gpu_calls_per_s"] = std::llround(full_rate);
      row.more["full_gpu_inputs_per_call"] = gpu_.full_parts;
      row.more["one_graph_calls_per_s"] = std::llround(graph_rate);
      if (empty_rate < ceiling) {
        row.baseline = "empty_kernels";
        ceiling = empty_rate;
      }
      row.more["ratio_full"] = rate / std::min({ceiling, full_rate, graph_rate});
    }
    row.ratio = rate / ceiling;
    for (double& number : ours) number = 1e6 / number;
    row.timing = summarize(std::move(ours));
    return row;
  }

  const Subject& subject_;
  const Model<>& model_;
  std::string variant_;
  const std::vector<Device>& devices_;
  OfGpu gpu_;
  std::vector<std::vector<Lane>> lanes_;    ///< by device
  std::vector<std::vector<Lane>> empties_;  ///< the same with empty kernels
  std::size_t used_by_one_ = 0;             ///< bytes of the first GPU
  std::size_t used_by_all_ = 0;
  Seconds window_{};
};

std::vector<ResultRow> measure_on(const std::vector<Device>& devices,
                                  const std::vector<Subject>& subjects,
                                  const BenchOptions& options) {
  const bool on_gpus = !devices.front().is_cpu();
  std::vector<ResultRow> rows;
  std::string last;
  for (const Subject& subject : subjects) {
    const bool is_first = std::exchange(last, subject.model) != subject.model;
    const auto file = fused_package(options.packages, subject.model, devices.front());
    OfGpu gpu;
    for (const bool in_graph : {false, true}) {
      if (in_graph && !on_gpus) continue;
      const Model<> model(file, package::Options{.cuda_graphs = in_graph});
      Scaling scaling(subject, model, in_graph ? "aot_graph" : "aot_fused", devices);
      if (on_gpus) {
        // After the scaling has asked what its queues take: the driver keeps what queues leave.
        if (!in_graph) gpu = gpu_without_host(subject, file, devices.front(), options.repeats);
        scaling.compare_with(gpu);
      }
      scaling.measure(rows, options.repeats);
      if (on_gpus) scaling.measure_memory(rows);
      if (!is_first) continue;
      scaling.measure_growth(rows);
      if (on_gpus) scaling.measure_blocked(rows);
    }
  }
  return rows;
}

/// Numbers of GPUs that the machine lacks.
void add_not_measured(std::vector<ResultRow>& rows, const std::vector<Device>& gpus) {
  for (const std::size_t count : kNumbersOfGpus) {
    if (count <= gpus.size()) continue;
    ResultRow row;
    row.variant = "not_measured";
    row.stage = "gpus";
    row.device = "cuda";
    row.more["gpus"] = count;
    row.more["not_measured"] = "GPUs there: " + std::to_string(gpus.size());
    rows.push_back(row);
  }
}

}  // namespace

std::vector<ResultRow> bench_scaling(const BenchOptions& options) {
  const Device device = parse_device(options.device);
  std::vector<Device> gpus;
  if (!device.is_cpu()) {
    for (int i = device.index; i < device_count(DeviceKind::kCuda); ++i) {
      gpus.push_back(Device::cuda(i));
    }
  }
  std::vector<Subject> subjects;
  for (const std::size_t n : options.rows) {
    if (n == 0) continue;  // nothing would run
    subjects.push_back(
        {MlpCase::kModel, n, [n](const Model<>& model, const Queue& queue, std::size_t parts) {
           return lane_of<MlpCase>(model, queue, nullptr, parts * n);
         }});
  }
  for (const track::EventSource& source : track::find_events(options.inputs)) {
    track::Event event = source.read();
    track::GraphBuilder builder;
    const PortableCollection<track::Edge>& edges = builder.build(event.hits.view());
    if (edges.size() == 0) continue;
    subjects.push_back({kGraphModels[0].name, edges.size(),
                        [graph = std::make_shared<const Graph>(event.hits, edges, 1)](
                            const Model<>& model, const Queue& queue, std::size_t parts) {
                          const auto repeated = parts == 1 ? graph
                                                           : std::make_shared<const Graph>(
                                                                 graph->hits, graph->edges, parts);
                          return lane_of<GraphCase>(model, queue, repeated, kGraphModels[0],
                                                    repeated->hits, repeated->edges);
                        }});
  }
  if (subjects.empty()) {
    throw InputError("scaling: no rows and no event with candidate edges; nothing to measure");
  }
  std::vector<ResultRow> rows;
  if (device.is_cpu() || options.device == "auto") {
    rows = measure_on({Device::cpu()}, subjects, options);
  }
  if (!gpus.empty()) {
    for (ResultRow& row : measure_on(gpus, subjects, options)) rows.push_back(std::move(row));
  }
  add_not_measured(rows, gpus);
  return rows;
}

}  // namespace tensoa::bench
