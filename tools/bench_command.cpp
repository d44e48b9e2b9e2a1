// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>

#include "bench.hpp"
#include "command.hpp"
#include "tensoa/core/output_file.hpp"

namespace tensoa::tools {
namespace {

using Bench = std::vector<ResultRow> (*)(const BenchOptions& options);

struct Call {
  BenchOptions options;
  std::string json;
};

void add_bench(CLI::App& command, Action& action, const std::string& command_line,
               const std::string& name, const std::string& help, Bench bench) {
  CLI::App* sub = command.add_subcommand(name, help);
  auto call = std::make_shared<Call>();
  call->options.model = default_model();
  sub->add_option("INPUT", call->options.inputs,
                  "Files, folders or generate:EVENTS[:SEED[:PARTICLES]]")
      ->capture_default_str();
  sub->add_option("--model", call->options.model, "TorchScript file")->capture_default_str();
  sub->add_option("--device", call->options.device, "auto, cpu or cuda:N")->capture_default_str();
  sub->add_option("--repeats", call->options.repeats,
                  "Timed runs of each variant, after two that are not counted")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_path_option(*sub, "--json", call->json, "Write the figures to this file");
  sub->callback([=, &action] {
    action = [=] {
      std::optional<OutputFile> file;
      if (!call->json.empty()) file.emplace(call->json);
      const std::vector<ResultRow> rows = bench(call->options);
      fmt::print("{}", table_of(rows));
      if (file) write_file(*file, result_file(name, command_line, rows).dump(2) + '\n');
      return kRight;
    };
  });
}

}  // namespace

void add_bench_command(CLI::App& program, Action& action, const std::string& command_line) {
  CLI::App* command = program.add_subcommand("bench", "Measure on this machine");
  command->require_subcommand(1);
  add_bench(*command, action, command_line, "path",
            "The road through host copies and packing beside columns where they lie", bench_path);
  add_bench(*command, action, command_line, "accuracy",
            "Scores on CPU and GPU against a float64 evaluation", bench_accuracy);
}

}  // namespace tensoa::tools
