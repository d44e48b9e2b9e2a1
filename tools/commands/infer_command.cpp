// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "command.hpp"
#include "infer/infer_run.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

double parse_null(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw ConfigError("--null: got \"" + text + "\", expected skip, nan or a number");
}

}  // namespace

void add_infer_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("infer",
                                             "Runs a model over files of columns, also larger than "
                                             "memory, and writes its answers for each row");
  struct Options {
    InferCall call;
    std::string keep;
    std::string null;
  };
  auto options = std::make_shared<Options>();
  InferCall& call = options->call;
  call.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  command->add_option("--model,MODEL", call.model, kModel)->required();
  command
      ->add_option("--binding", call.binding,
                   "The columns of a TorchScript file or a program of torch.export, which do not "
                   "name them (JSON)")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--input,FILE", call.inputs,
                   "Files .parquet, .arrow, .ipc, .feather, .csv, .csv.gz, or folders of them")
      ->required();
  cli::add_path_option(
      *command, "--output", call.output,
      "Write the answers to this file: .parquet, .arrow or .csv; - for stdout, as CSV")
      ->required();
  command
      ->add_option("--columns", call.choice.columns,
                   "The columns of the files that the model reads: FILE_NAME=MODEL_NAME, or names "
                   "in the order of the model's columns (default: those of the same names). For a "
                   "TorchScript file or a program of torch.export, which do not name theirs, the "
                   "columns of each argument: features=pt,eta charge=charge:int32")
      ->delimiter(',');
  command->add_option("--outputs", call.outputs,
                      "The results of such a model, in order: score or scores=signal,background");
  command
      ->add_option("--copy", call.choice.copied, "Columns of the files to write with the answers")
      ->delimiter(',');
  command->add_option("--keep", options->keep,
                      "Write only rows for which this is true: 'score>0.9 && n<=3'; with the "
                      "number of each row in a column \"row\"");
  CLI::Option* numbered = command->add_flag_callback(
      "--row-numbers", [options] { options->call.row_numbers = true; },
      "Write the column \"row\" also where no row is left out");
  command
      ->add_flag_callback(
          "--no-row-numbers", [options] { options->call.row_numbers = false; }, "Do not write it")
      ->excludes(numbered);
  command->add_option("--group", call.choice.group,
                      "Integer column whose equal neighbours belong to one call of the model");
  const std::map<std::string, RowDependence::Answer> answers{
      {"independent", RowDependence::Answer::kIndependent},
      {"dependent", RowDependence::Answer::kDependent}};
  command
      ->add_option("--rows", call.rows,
                   "independent or dependent: whether the answer for a row depends on the other "
                   "rows of a call (default: that of the model; unknown is dependent)")
      ->transform(CLI::CheckedTransformer(answers).description(""));
  command->add_flag_callback(
      "--convert",
      [options] { options->call.choice.rules.rounding = columnar::Rounding::kAllowed; },
      "Round numbers that have more digits than the model's columns, and numbers that are not "
      "whole "
      "where it reads integers");
  command->add_option("--null", options->null,
                      "Nulls in columns of the model: skip leaves their rows out, without an "
                      "error; nan or a number replaces them (default: skip, and exit status 2)");
  command
      ->add_option("--device", call.device,
                   "cpu, cuda:N, or auto: the device of a package, else cpu")
      ->capture_default_str();
  command->add_option("--threads", call.threads, "Threads that read files and run the model")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  constexpr std::size_t kMostRows = 100'000'000;
  command
      ->add_option("--rows-per-chunk", call.rows_per_chunk,
                   "Rows that a thread has in memory at a time, at most")
      ->check(CLI::Range(std::size_t{1}, kMostRows))
      ->capture_default_str();
  cli::add_path_option(*command, "--json", call.json,
                       "Write the figures of the run; - for stdout, the table is then on stderr");
  add_server_options(*command, call.servers);
  add_fallback_option(*command, call.servers);
  command->callback([options, &action] {
    action = [options] {
      InferCall& chosen = options->call;
      if (!options->keep.empty()) chosen.choice.keep = parse_keep(options->keep);
      chosen.skips_nulls = options->null == "skip";
      if (!options->null.empty() && !chosen.skips_nulls) {
        chosen.choice.rules.null_value = parse_null(options->null);
      }
      return infer(chosen);
    };
  });
}

}  // namespace tensoa::tools
