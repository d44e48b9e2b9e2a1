// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/suites/suites.hpp"
#include "cli/demo_models.hpp"
#include "cli/engines.hpp"
#include "cli/program.hpp"
#include "tensoa/core/output_file.hpp"

// The program tensoa-bench.

namespace tensoa::bench {
namespace {

using cli::Action;
using cli::default_model;
using cli::kSuccess;

using Suite = std::vector<ResultRow> (*)(const BenchOptions& options);

struct Call {
  BenchOptions options;
  std::string json;
};

/// Adds a benchmark with the options that all have.
/// @return the subcommand and its options, so that the caller can add some
std::pair<CLI::App&, BenchOptions&> add_bench(CLI::App& program, Action& action,
                                              const std::string& command_line,
                                              const std::string& name, const std::string& help,
                                              Suite suite) {
  CLI::App* sub = program.add_subcommand(name, help);
  auto call = std::make_shared<Call>();
  sub->add_option(
         "--device", call->options.device,
         "cpu, cuda:N (`scaling`, `track`: and the GPUs after it), or auto: the first GPU, if "
         "any; `forward` and `scaling` then measure the CPU too")
      ->capture_default_str();
  sub->add_option("--repeats", call->options.repeats,
                  "Timed runs of each variant, after those that warm up")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  cli::add_path_option(*sub, "--json", call->json, "Write the figures to this file");
  sub->callback([=, &action] {
    action = [=] {
      std::optional<OutputFile> file;
      if (!call->json.empty()) file.emplace(call->json);
      if (!call->options.model.empty()) cli::require_model(call->options.model);
      for (const std::string& model : call->options.models) cli::require_model(model);
      const std::vector<ResultRow> rows = suite(call->options);
      fmt::print("{}", table_of(rows));
      if (file) {
        const auto json = result_file(name, command_line, cli::torch_version(), rows);
        write_file(*file, json.dump(2) + '\n');
      }
      return kSuccess;
    };
  });
  return {*sub, call->options};
}

constexpr const char* kScalingFigures =
    R"(Figures, one thread for each queue:
  calls_per_s                of all queues together
  linear_calls_per_s         one queue, times the queues (stage gpus: the same number on one GPU,
                             times the GPUs)
  empty_kernels_calls_per_s  kernels that do nothing, from the same threads on the same queues, with
                             the blocks, threads, shared memory and bytes of parameters of the
                             model's launches (of a memory operation: one warp); for aot_graph, in
                             a CUDA graph
  full_gpu_calls_per_s       a full GPU, times the GPUs: one queue whose calls have
                             full_gpu_inputs_per_call inputs each, with which the time per input
                             falls no longer
  one_graph_calls_per_s      the calls of 32 queues side by side in one CUDA graph that one thread
                             launches, times the GPUs: the same work without the host
  ratio                      calls_per_s over the smaller of linear and empty kernels
  ratio_full                 calls_per_s over the smallest of all four)";

void add_event_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  options.model = default_model();
  command
      .add_option("INPUT", options.inputs, "Files, folders or generate:EVENTS[:SEED[:PARTICLES]]")
      ->capture_default_str();
  command.add_option("--model", options.model, "TorchScript file")->capture_default_str();
}

void add_path_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  constexpr std::size_t kMost = 1'000'000'000;
  options.threads = {1};
  CLI::Option* const inputs =
      command
          .add_option("INPUT", options.inputs,
                      "Events: files, folders or generate:EVENTS[:SEED[:PARTICLES…]]")
          ->capture_default_str();
  command
      .add_option("--of", options.of,
                  "hits: the graphs of `tensoa track`; fragments: those of `tensoa merge`; rows: "
                  "generated columns of any package")
      ->check(CLI::IsMember({"hits", "fragments", "rows"}))
      ->capture_default_str();
  command.add_option("--model", options.models,
                     "Files of one network, in turns; default: that of `tensoa track` or `merge`");
  CLI::Option* const batch =
      command
          .add_option("--batch", options.batch,
                      "Events of a call: each event this number of times, as graphs side by side")
          ->check(CLI::Range(std::size_t{1}, kMost))
          ->capture_default_str();
  CLI::Option* const rows =
      command.add_option("--rows", options.rows, "Rows of a call, with --of rows")
          ->check(CLI::Range(std::size_t{0}, kMost))
          ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads, each with its own columns")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--onnxruntime", options.onnxruntime,
                     "On the CPU, also by this libonnxruntime.so: MODEL.onnx next to the first "
                     "MODEL, with rows packed for it");
  command.parse_complete_callback([=, &options = options] {
    const bool of_rows = options.of == "rows";
    for (const CLI::Option* other : of_rows ? std::vector{inputs, batch} : std::vector{rows}) {
      if (other->count() > 0)
        throw CLI::ValidationError(other->get_name(), "has no meaning with --of " + options.of);
    }
    if (!options.models.empty()) return;
    if (of_rows) throw CLI::ValidationError("--model", "--of rows expects a package");
    options.models = {options.of == "hits" ? default_model() : default_model("merge")};
  });
}

void add_track_options(std::pair<CLI::App&, BenchOptions&> bench) {
  add_event_options(bench);
  auto& [command, options] = bench;
  command
      .add_option("--threads", options.threads,
                  "Threads on each GPU, each with a pipeline and a queue")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--events-per-thread", options.events_per_thread,
                  "Events that a thread works on in turns, each with a pipeline and a queue: while "
                  "one waits for the GPU, another one goes on")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option("--edge-room", options.edge_room,
                  "Also with a fixed capacity of edges: a multiple of those of the largest event")
      ->check(cli::number_between(1, 100));
}

void add_binding_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  constexpr std::size_t kMost = 100'000'000;  // of 64 columns: 26 GB
  command.add_option("--rows", options.rows, "Rows of the collections")
      ->check(CLI::Range(std::size_t{0}, kMost))
      ->capture_default_str();
}

/// Of benchmarks that run the packages of `make bench-packages`.
void add_package_options(std::pair<CLI::App&, BenchOptions&> bench, std::vector<std::size_t> rows,
                         std::vector<std::string> inputs, int repeats = 10) {
  auto& [command, options] = bench;
  constexpr std::size_t kMost = 100'000'000;  // of five columns: 2 GB
  options.rows = std::move(rows);
  options.inputs = std::move(inputs);
  options.packages = (cli::program_folder() / "bench_packages").string();
  options.repeats = repeats;
  command.get_option("--repeats")->capture_default_str();
  command
      .add_option("INPUT", options.inputs,
                  "Events of the graph network: files, folders or "
                  "generate:EVENTS[:SEED[:PARTICLES]]")
      ->capture_default_str();
  command.add_option("--rows", options.rows, "Rows of the multi-layer perceptron")
      ->check(CLI::Range(std::size_t{0}, kMost))
      ->capture_default_str();
  command.add_option("--packages", options.packages, "The folder that `make bench-packages` fills")
      ->capture_default_str();
}

void add_forest_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  constexpr std::size_t kMost = 100'000'000;
  options.inputs.clear();
  options.rows = {1, 4, 16, 64, 256, 1'000, 10'000, 100'000};
  options.repeats = 7;
  command.get_option("--repeats")->capture_default_str();
  command.add_option("MODEL", options.inputs, "Tree files of XGBoost or LightGBM")->required();
  command
      .add_option("--features", options.features,
                  "Rows of float32, packed, with the columns of the models")
      ->required();
  command.add_option("--rows", options.rows, "Rows of a call")
      ->check(CLI::Range(std::size_t{1}, kMost))
      ->capture_default_str();
  options.threads = {1};
  command
      .add_option("--threads", options.threads,
                  "Threads that call at the same time; a time is the processor time of a call")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--xgboost", options.xgboost,
                     "Also by this library: libxgboost.so, MODEL.json");
  command.add_option("--xgboost-cuda", options.xgboost_cuda,
                     "With --device cuda:0, a libxgboost.so with CUDA");
  command.add_option("--lightgbm", options.lightgbm, "The same: lib_lightgbm.so, MODEL.txt");
  command.add_option("--onnxruntime", options.onnxruntime,
                     "The same: libonnxruntime.so, MODEL.onnx");
  command.add_option(
      "--fastforest", options.fastforest,
      "The same: bench/peers/fastforest.cpp as a library, MODEL.dump; code that "
      "was generated for the trees is found as MODEL.tl2cgen.so and MODEL.lleaves.so");
  command.add_option("--rbdt", options.rbdt,
                     "The same: bench/peers/rbdt.cpp as a library, MODEL.rbdt");
}

void add_latency_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  command.remove_option(command.get_option("--repeats"));
  options.inputs.clear();
  options.rows = {1, 16};
  command.add_option("MODEL", options.inputs, "Packages and tree files")->required();
  command.add_option("--rows", options.rows, "Rows of an event")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->capture_default_str();
  command.add_option("--events", options.events, "Events of each model and number of rows")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
      ->capture_default_str();
}

void add_pipeline_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  options.inputs.clear();
  command.add_option(
      "INPUT", options.inputs,
      "Instead: time to read the events of these Parquet and Arrow files, compared with "
      "Arrow's own reader");
  command.add_option(
      "--packages", options.packages,
      "Instead: small events in calls of their own and gathered, with the model in this "
      "folder, which `make bench-packages` fills");
  options.repeats = 3;
  command.get_option("--repeats")->capture_default_str();
  options.threads = {1, 4, 16};
  command.add_option("--threads", options.threads, "Threads of the arena")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_flag("--gpus", options.on_all_gpus,
                   "Instead: kernels of 100 us and 5 ms on one GPU, and on it and all after it");
}

void add_service_options(std::pair<CLI::App&, BenchOptions&> bench) {
  auto& [command, options] = bench;
  options.python = ".venv-service/bin/python";
  options.python_client = "bench/service/python_client.py";
  command.add_option(
      "--server", options.server,
      "HOST:PORT, several with commas; default: TENSOA_TEST_TRITON of the environment");
  command
      .add_option("--python", options.python,
                  "Python with tritonclient[grpc]; where it is missing, its rows are")
      ->capture_default_str();
  command.add_option("--python-client", options.python_client, "The script that it runs")
      ->capture_default_str();
}

/// The bindings of the packages of `forward`, for `make bench-packages`.
void add_describe_forward_command(CLI::App& program, Action& action) {
  CLI::App* sub =
      program.add_subcommand("describe-forward", "Write the bindings of the packages of `forward`");
  auto folder = std::make_shared<std::string>();
  sub->add_option("FOLDER", *folder, "Where to")->required();
  sub->callback([folder, &action] {
    action = [folder] {
      describe_forward(*folder);
      return kSuccess;
    };
  });
}

void add_commands(CLI::App& program, Action& action, const std::string& command_line) {
  const auto add = [&](const std::string& name, const std::string& help, Suite suite) {
    return add_bench(program, action, command_line, name, help, suite);
  };
  add_path_options(add("path",
                       "Packing, on the host and on the device, against columns where they lie",
                       bench_path));
  add_event_options(
      add("accuracy", "Scores on CPU and GPU against a float64 evaluation", bench_accuracy));
  add_track_options(add(
      "track", "Events per second on a GPU: graph on the host, or all on the device", bench_track));
  add_binding_options(add(
      "binding", "Tensors over columns against the bare library call and packing", bench_binding));
  add_package_options(
      add("forward", "Calls of models: packed, TorchScript, packages", bench_forward),
      {1, 16, 1'000, 16'384, 1'000'000},
      {"generate:1:77:50", "generate:1:77:475", "generate:1:77:2050"});
  const auto scaling =
      add("scaling", "Calls of models on many threads, queues and GPUs", bench_scaling);
  scaling.first.footer(kScalingFigures);
  add_package_options(scaling, {16, 1'000, 16'384}, {"generate:1:77:50", "generate:1:77:475"}, 5);
  add_forest_options(
      add("forest", "Decision trees on columns against other libraries", bench_forest));
  add_latency_options(
      add("latency", "One event after another: median, tail and jitter", bench_latency));
  add_pipeline_options(add("pipeline",
                           "Module graphs: cost of the scheduler, and ways to wait for a GPU",
                           bench_pipeline));
  add_service_options(
      add("service", "Models of servers against other clients of the same servers", bench_service));
  add_describe_forward_command(program, action);
}

}  // namespace
}  // namespace tensoa::bench

int main(int argc, char** argv) {
  std::string command_line;
  for (int i = 0; i < argc; ++i) command_line += (i > 0 ? " " : "") + std::string(argv[i]);
  return tensoa::cli::run(argc, argv,
                          {.name = "tensoa-bench",
                           .description = "Measures tensoa on this machine.",
                           .add_commands = [&](CLI::App& program, tensoa::cli::Action& action) {
                             tensoa::bench::add_commands(program, action, command_line);
                           }});
}
