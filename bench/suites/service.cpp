// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/models/mlp_columns.hpp"
#include "bench/service/plain_client.hpp"
#include "bench/suites/suites.hpp"
#include "kserve/messages.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/shared_memory.hpp"
#include "tensoa/remote/statistics.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa::bench {

std::unique_ptr<PlainClient> make_plain_client(const std::string& server) {
  std::string why;
  void* const make =
      find_in_own_library("libtensoa_bench_grpc.so", "tensoa_make_plain_client", why);
  if (make == nullptr) {
    throw LoadError("service: libtensoa_bench_grpc.so is expected next to the program: " + why);
  }
  return std::unique_ptr<PlainClient>(
      reinterpret_cast<PlainClient* (*)(const char*)>(make)(server.c_str()));
}

namespace {

template <template <class> class F>
struct Column {
  F<float> x;
};
template <template <class> class F>
struct Columns15 {
  F<float> a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14;
};

/// Microseconds of a batch.
struct Times {
  double wall = 0;
  double processor = 0;
};

/// One way to make calls.
struct Way {
  std::string variant;
  std::function<Times(std::size_t calls)> run;
  std::string baseline = {};
  std::vector<double> wall = {};
  std::vector<double> processor = {};
};

/// Calls that this process makes.
std::function<Times(std::size_t)> here(std::function<void(std::size_t calls)> run) {
  return [run = std::move(run)](std::size_t calls) {
    const double processor = process_clock();
    const double wall = wall_clock();
    run(calls);
    return Times{wall_clock() - wall, process_clock() - processor};
  };
}

std::function<Times(std::size_t)> one_by_one(std::function<void()> call) {
  return here([call = std::move(call)](std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) call();
  });
}

struct Place {
  std::string model;
  std::size_t n;
  std::size_t columns;
  std::string stage;  ///< what comes before "latency" and "cpu"
  std::size_t in_flight = 1;
};

/// As run_in_turns, with the wall time and the processor time of the same calls.
void measure(std::vector<ResultRow>& rows, const Place& place, std::vector<Way> ways, int turns) {
  const std::size_t first = rows.size();
  // The same number of calls for all, and several times those in flight: starting and ending count little.
  constexpr double kShortest = 150'000;  // us, of a batch
  std::size_t calls = place.in_flight == 1 ? 1 : 4 * place.in_flight;
  for (const Way& way : ways) {
    way.run(calls);
    while (way.run(calls).wall < kShortest) calls *= 2;
  }
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Way& way = ways[turn % 2 == 0 ? i : ways.size() - 1 - i];
      const Times times = way.run(calls);
      way.wall.push_back(times.wall / static_cast<double>(calls));
      way.processor.push_back(times.processor / static_cast<double>(calls));
    }
  }
  for (const bool is_processor : {false, true}) {
    for (Way& way : ways) {
      ResultRow& row = rows.emplace_back();
      row.model = place.model;
      row.variant = way.variant;
      row.stage = place.stage + (is_processor ? "cpu" : "wall");
      row.device = "cpu";
      row.n = place.n;
      row.columns = place.columns;
      row.timing = summarize(is_processor ? way.processor : way.wall);
      row.baseline = way.baseline;
      row.more["calls_per_batch"] = calls;
    }
  }
  set_ratios(rows, first);
}

/// Columns of a call, and the plan over them.
template <template <template <class> class> class In, template <template <class> class> class Out>
class Call {
 public:
  Call(const Model<>& model, std::size_t n, std::size_t answers,
       std::pmr::memory_resource& memory = *std::pmr::new_delete_resource())
      : in_(n, Device::cpu(), memory),
        out_(answers, Device::cpu(), memory),
        plan_(model.plan(metadata())) {}

  PortableCollection<In>& in() { return in_; }
  PortableCollection<Out>& out() { return out_; }
  const auto& plan() const { return plan_; }

 private:
  ModelMetadata<In, Out> metadata() {
    return ModelMetadata(bind("x", in_.const_view()), bind("y", out_.view()));
  }

  PortableCollection<In> in_;
  PortableCollection<Out> out_;
  Plan<In, Out> plan_;
};

using ColumnCall = Call<Column, Column>;

template <class C>
std::vector<std::unique_ptr<C>> calls_of(const Model<>& model, std::size_t count, std::size_t n,
                                         std::size_t answers) {
  std::vector<std::unique_ptr<C>> calls(count);
  for (auto& call : calls) call = std::make_unique<C>(model, n, answers);
  return calls;
}

/// Submits `calls` calls; each uses the columns of a separate slot.
template <class Slots>
void keep_in_flight(const Model<>& model, const Queue& queue, const Slots& slots,
                    std::size_t calls) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::size_t> free;
  std::string failure;
  for (std::size_t i = 0; i < slots.size(); ++i) free.push_back(i);
  for (std::size_t call = 0; call < calls; ++call) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !free.empty(); });
    const std::size_t slot = free.back();
    free.pop_back();
    lock.unlock();
    model.submit(queue, slots[slot]->plan(), [&, slot](const Result<CopyReport>& result) {
      const std::lock_guard guard(mutex);
      if (!result) failure = result.message();
      free.push_back(slot);
      changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return free.size() == slots.size(); });
  if (!failure.empty()) throw EngineError(failure);
}

/// bench/service/python_client.py as a process.
class PythonClient {
 public:
  PythonClient(const std::string& python, const std::string& script, const std::string& server) {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (pipe(to.data()) != 0 || pipe(from.data()) != 0) throw ConfigError("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    for (const int end : {to[0], to[1], from[0], from[1]}) {
      posix_spawn_file_actions_addclose(&actions, end);
    }
    std::array<std::string, 3> words{python, script, server};
    std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    const int error =
        posix_spawn(&process_, python.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    commands_ = fdopen(to[1], "w");
    answers_ = fdopen(from[0], "r");
    if (error != 0) throw ConfigError("service: " + python + " does not start");
  }
  ~PythonClient() {
    std::fclose(commands_);
    std::fclose(answers_);
    waitpid(process_, nullptr, 0);
  }
  PythonClient(const PythonClient&) = delete;
  PythonClient& operator=(const PythonClient&) = delete;

  Times run(const std::string& model, std::size_t n, std::size_t calls, std::size_t in_flight) {
    std::fputs(fmt::format("{} {} {} {}\n", model, n, calls, in_flight).c_str(), commands_);
    std::fflush(commands_);
    Times times;
    if (std::fscanf(answers_, "%lf %lf", &times.wall, &times.processor) != 2) {
      throw ConfigError("service: bench/service/python_client.py has failed");
    }
    return times;
  }

 private:
  pid_t process_ = 0;
  std::FILE* commands_ = nullptr;
  std::FILE* answers_ = nullptr;
};

/// A ModelInfer request up to its raw contents.
std::string header_of(const std::string& model, std::vector<std::int64_t> sizes,
                      std::size_t bytes) {
  const remote::InferHeader header{
      .model = model, .version = {}, .inputs = {{"x", "FP32", std::move(sizes)}}, .outputs = {"y"}};
  return encode(header) + remote::raw_prefix(bytes);
}

class Bench {
 public:
  Bench(const BenchOptions& options, std::string servers)
      : repeats_(options.repeats),
        servers_(std::move(servers)),
        first_(servers_.substr(0, servers_.find(','))),
        plain_(make_plain_client(first_)) {
    if (std::filesystem::exists(options.python)) {
      python_ = std::make_unique<PythonClient>(options.python, options.python_client, first_);
    } else {
      fmt::print("left out: tritonclient, because there is no {}\n", options.python);
    }
  }

  std::vector<ResultRow> run() {
    for (const std::size_t n : {64 * kKiB, kMiB, 16 * kMiB}) {
      shared("head", n / sizeof(float), 1);
      shared("identity", n / sizeof(float), n / sizeof(float));
    }
    for (const std::size_t n : {kMiB, 16 * kMiB}) {
      large("head", n / sizeof(float), 1);
      large("identity", n / sizeof(float), n / sizeof(float));
    }
    small();
    many();
    balance();
    if (load(first_, "of_tensoa") && load(first_, "of_python")) {
      for (const std::size_t n : {16U, 16'000U}) {
        for (const std::size_t in_flight : {1U, 64U}) backends(n, in_flight);
      }
    }
    return std::move(rows_);
  }

 private:
  static constexpr std::size_t kKiB = std::size_t{1} << 10;
  static constexpr std::size_t kMiB = std::size_t{1} << 20;

  /// nullopt where the servers do not have the model.
  std::optional<Model<>> load(const std::string& servers, const std::string& name) {
    std::optional<Model<>> model(std::in_place, "grpc://" + servers + '/' + name);
    try {
      model->deploy(Device::cpu());
    } catch (const LoadError& error) {
      fmt::print("skipped: {}: {}\n", name, error.what());
      model.reset();
    }
    return model;
  }

  /// One column.
  void large(const std::string& name, std::size_t n, std::size_t answers) {
    const std::optional<Model<>> model = load(first_, name);
    if (!model) return;
    ColumnCall call(*model, n, answers);
    for (std::size_t i = 0; i < n; ++i) call.in().view().x[i] = static_cast<float>(i % 1000);
    std::vector<float> answer(answers);
    const std::string header = header_of(name, {static_cast<std::int64_t>(n)}, n * sizeof(float));
    const auto forward = [&] { model->forward(queue_, call.plan()); };
    const auto stub = [&] { plain_->infer(header, {call.in().view().x.data(), n}, answer); };
    stub();
    forward();
    for (std::size_t i = 0; i < answers; ++i) {
      if (call.out().view().x[i] != call.in().view().x[i] || answer[i] != call.in().view().x[i]) {
        throw EngineError("service: an answer of " + name + " is wrong");
      }
    }
    measure(rows_, {name, n, 1, ""},
            {{"generated_stub", one_by_one(stub)},
             {"remote_wire", one_by_one(forward), "generated_stub"}},
            repeats_);
    if (python_ == nullptr) return;
    const auto slots = calls_of<ColumnCall>(*model, 4, n, answers);
    const auto python = [&](std::size_t in_flight) {
      return [&, in_flight](std::size_t calls) { return python_->run(name, n, calls, in_flight); };
    };
    measure(rows_, {name, n, 1, "python_"},
            {{"tritonclient", python(1)}, {"remote_wire", one_by_one(forward), "tritonclient"}},
            repeats_);
    measure(rows_, {name, n, 1, "python_4_", 4},
            {{"tritonclient", python(4)},
             {"remote_wire",
              here([&](std::size_t calls) { keep_in_flight(*model, queue_, slots, calls); }),
              "tritonclient"}},
            repeats_);
  }

  /// One column, in ordinary memory and in memory that the server shares.
  void shared(const std::string& name, std::size_t n, std::size_t answers) {
    const std::optional<Model<>> model = load(first_, name);
    if (!model) return;
    remote::SharedMemory memory(64 * kMiB);
    ColumnCall by_wire(*model, n, answers);
    ColumnCall by_region(*model, n, answers, memory);
    for (ColumnCall* call : {&by_wire, &by_region}) {
      for (std::size_t i = 0; i < n; ++i) call->in().view().x[i] = static_cast<float>(i % 1000);
      model->forward(queue_, call->plan());
      for (std::size_t i = 0; i < answers; ++i) {
        if (call->out().view().x[i] != static_cast<float>(i % 1000)) {
          throw EngineError("service: an answer of " + name + " is wrong");
        }
      }
    }
    const CopyReport copies = model->forward(queue_, by_region.plan());
    const std::size_t first = rows_.size();
    measure(rows_, {name, n, 1, "shared_"},
            {{"remote_wire", one_by_one([&] { model->forward(queue_, by_wire.plan()); })},
             {"remote_shared", one_by_one([&] { model->forward(queue_, by_region.plan()); }),
              "remote_wire"}},
            repeats_);
    for (std::size_t i = first; i < rows_.size(); ++i) {
      if (rows_[i].variant == "remote_shared") {
        rows_[i].more["bytes_copied"] = copies.bytes_in + copies.bytes_out;
      }
    }
  }

  void small() {
    const std::optional<Model<>> model = load(first_, "mlp");
    if (!model) return;
    constexpr std::size_t kRows = 16;
    Call<Points, Answers> call(*model, kRows, kRows);
    zero_bytes(queue_, call.in().data(), call.in().bytes());
    plain_->prepare(header_of("mlp", {kRows, 3}, kRows * 12) + std::string(kRows * 12, '\0'));
    const auto forward = one_by_one([&] { model->forward(queue_, call.plan()); });
    measure(rows_, {"mlp", kRows, 3, "queue_"},
            {{"echo", one_by_one([&] { plain_->echo(); })}, {"remote_wire", forward, "echo"}},
            2 * repeats_);
    measure(
        rows_, {"mlp", kRows, 3, "thread_"},
        {{"echo", one_by_one([&] { plain_->echo_by_thread(); })}, {"remote_wire", forward, "echo"}},
        2 * repeats_);
    const auto slots = calls_of<Call<Points, Answers>>(*model, 64, kRows, kRows);
    measure(
        rows_, {"mlp", kRows, 3, "64_", 64},
        {{"echo", here([&](std::size_t calls) { plain_->saturate(calls, 64); })},
         {"remote_wire",
          here([&](std::size_t calls) { keep_in_flight(*model, queue_, slots, calls); }), "echo"}},
        2 * repeats_);
  }

  /// One network of 15 columns in two back-ends (bench/service/triton_backend.py), the same prebuilt bytes.
  void backends(std::size_t n, std::size_t in_flight) {
    const std::size_t bytes = n * 15 * sizeof(float);
    const auto saturate = [&](const std::string& model) {
      return here([&, message = header_of(model, {1, 15, static_cast<std::int64_t>(n)}, bytes) +
                                std::string(bytes, '\0')](std::size_t calls) {
        plain_->prepare(message);
        plain_->saturate(calls, in_flight);
      });
    };
    measure(
        rows_, {"backends", n, 15, std::to_string(in_flight) + "_", in_flight},
        {{"of_python", saturate("of_python")}, {"of_tensoa", saturate("of_tensoa"), "of_python"}},
        2 * repeats_);
  }

  void many() {
    const std::optional<Model<>> model = load(first_, "energy");
    if (!model) return;
    constexpr std::size_t kRows = 16'000;
    constexpr std::size_t kInFlight = 64;
    constexpr std::size_t kBytes = kRows * 15 * sizeof(float);
    const auto slots = calls_of<Call<Columns15, Column>>(*model, kInFlight, kRows, kRows);
    for (const auto& slot : slots) zero_bytes(queue_, slot->in().data(), slot->in().bytes());
    plain_->prepare(header_of("energy", {kRows, 15}, kBytes) + std::string(kBytes, '\0'));
    measure(
        rows_, {"energy", kRows, 15, "64_", kInFlight},
        {{"echo", here([&](std::size_t calls) { plain_->saturate(calls, kInFlight); })},
         {"remote_wire",
          here([&](std::size_t calls) { keep_in_flight(*model, queue_, slots, calls); }), "echo"}},
        repeats_);
  }

  /// The share of each server, 1 where all have the same, and the median time of a call: a slow server gets less.
  void balance() {
    if (servers_ == first_) return;
    const std::optional<Model<>> model = load(servers_, "mlp");
    if (!model) return;
    const auto slots = calls_of<Call<Points, Answers>>(*model, 16, 16, 16);
    constexpr std::size_t kCalls = 6000;
    keep_in_flight(*model, queue_, slots, kCalls);
    std::vector<remote::ServerStatistics> all = remote::statistics();
    std::erase_if(
        all, [&](const auto& server) { return server.model.find(servers_) == std::string::npos; });
    double sum = 0;
    for (const auto& server : all) sum += static_cast<double>(server.requests);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ResultRow& row = rows_.emplace_back();
      row.model = "mlp";
      row.variant = "remote_wire";
      row.stage = "server_" + std::to_string(i);
      row.device = "cpu";
      row.n = 16;
      row.columns = 3;
      row.more["requests"] = all[i].requests;
      row.more["median_us"] =
          std::chrono::duration<double, std::micro>(all[i].latency.percentile(0.5)).count();
      row.more["of_equal_share"] =
          static_cast<double>(all[i].requests) * static_cast<double>(all.size()) / sum;
    }
  }

  int repeats_;
  std::string servers_, first_;
  std::unique_ptr<PlainClient> plain_;
  std::unique_ptr<PythonClient> python_;
  Queue queue_{Device::cpu()};
  std::vector<ResultRow> rows_;
};

}  // namespace

std::vector<ResultRow> bench_service(const BenchOptions& options) {
  std::string servers = options.server;
  if (const char* const given = std::getenv("TENSOA_TEST_TRITON");
      servers.empty() && given != nullptr) {
    servers = given;
  }
  if (servers.empty()) {
    throw ConfigError(
        "service: no server; give --server HOST:PORT, or run the command in "
        "tests/service/run.py --triton mlp energy identity head -- COMMAND");
  }
  remote::register_engines();
  return Bench(options, servers).run();
}

}  // namespace tensoa::bench
