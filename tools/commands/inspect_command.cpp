// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "runtime_figures.hpp"
#include "seams/remote_seam.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::tools {
namespace {

using nlohmann::ordered_json;
using package::ArgumentDescription;
using package::CheckDescription;
using package::GpuCheckDescription;
using package::ModelDescription;
using package::ProgramDescription;
using package::TargetDescription;
using package::UnfusedOperation;

struct InspectCall {
  std::string file;
  bool is_json = false;
  bool is_runtime = false;
  RuntimeCall runtime;
  ServerOptions servers;
};

ordered_json json_of(const std::string& file, const ModelDescription& model) {
  ordered_json object{{"file", file}};
  object.update(ordered_json::parse(to_json(model)));
  return object;
}

std::string to_text(const ordered_json& object) {
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

ordered_json json_of(const std::string& file, const RuntimeFigures& figures) {
  const MemoryOfCall& memory = figures.memory;
  ordered_json object{{"file", file},
                      {"device", to_string(figures.device)},
                      {"inputs", figures.inputs},
                      {"weights", memory.weights},
                      {"workspaces", memory.workspaces},
                      {"activations", memory.activations},
                      {"collections", memory.collections},
                      {"peak", memory.peak}};
  if (memory.budget != kNoBudget) object["budget"] = memory.budget;
  if (!figures.device.is_cpu()) object["torch_holds"] = memory.torch_holds;
  object["process_peak"] = figures.process_peak;
  object["threads_before"] = figures.threads_before;
  object["threads_after"] = figures.threads_after;
  return object;
}

// ---- for people

std::string in_groups(std::uintmax_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, " ");
  return digits;
}

template <class Range, class Text>
std::string joined(const Range& range, const char* between, const Text& text) {
  std::string all;
  bool is_first = true;
  for (const auto& element : range) {
    all += (is_first ? "" : between) + std::string(text(element));
    is_first = false;
  }
  return all;
}

std::string line_of(const ArgumentDescription& argument) {
  std::string line = fmt::format("  {:<16} {}", argument.name, argument.type);
  if (!argument.block) return line;
  const bool converts = argument.block->dtype != argument.block->element.dtype;
  return line +
         fmt::format("  {} {}{} {}", name_of(argument.block->element.kind),
                     argument.block->columns.size() == 1 ? "column" : "columns",
                     converts ? fmt::format(" ({})", name_of(argument.block->element.dtype)) : "",
                     joined(argument.block->columns, ", ", [](const auto& column) {
                       return fmt::format("{}@{}", column.name, column.plane);
                     }));
}

std::string describe_parts(const TargetDescription& target) {
  std::string text = "fused in part, each line one loop over rows after the number of its part:\n";
  for (std::size_t i = 0; i < target.parts.size(); ++i) {
    for (const std::string& stage : target.parts[i].stages) {
      text += fmt::format("  {:>2}  {}\n", i + 1, stage);
    }
  }
  if (!target.unfused.empty()) text += "by TorchInductor:\n";
  for (const UnfusedOperation& one : target.unfused) {
    text += fmt::format("      {}, because of {}\n", one.name, one.reason);
  }
  return text;
}

/// The programs of a target, and what was found when they were checked.
/// @param name " for cuda", or nothing where there is one target
std::string text_of(const TargetDescription& target, const std::string& name, bool is_forest) {
  std::string text = target.programs.empty()
                         ? fmt::format("programs{}: none, it cannot run\n", name)
                         : fmt::format("programs{}:\n", name);
  for (const ProgramDescription& program : target.programs) {
    text += fmt::format("  {:<12} {:<12} {:<16} {:>12} bytes\n", program.kind, program.name,
                        program.status, in_groups(program.bytes));
  }
  if (!target.parts.empty()) {
    text += describe_parts(target);
  } else if (target.fused && !target.fused->stages.empty()) {
    text += "fused, each one loop over rows:\n";
    for (std::size_t i = 0; i < target.fused->stages.size(); ++i) {
      text += fmt::format("  {:>2}  {}\n", i + 1, target.fused->stages[i]);
    }
  } else if (!is_forest) {
    text += "fused: nothing\n";
  }
  if (target.is_deterministic) {
    text += *target.is_deterministic ? "results: the same bits at every call\n"
                                     : "results: sums by index may differ in their last bits from "
                                       "call to call\n";
  }
  text += target.checks.empty()
              ? "checks at export: none\n"
              : "checks at export, relative errors against float64 (the module's own):\n";
  for (const CheckDescription& check : target.checks) {
    text += fmt::format(
        "  rows {}{}: {}\n",
        joined(check.rows, ", ", [](std::size_t rows) { return std::to_string(rows); }),
        check.numbers == "normal" ? "" : " of " + check.numbers + " numbers",
        joined(check.error, ", ", [&](const auto& error) {
          const auto eager = check.error_of_eager.find(error.first);
          return fmt::format(
              "{} {:.1e}{}", error.first, error.second,
              eager == check.error_of_eager.end() ? "" : fmt::format(" ({:.1e})", eager->second));
        }));
  }
  for (const GpuCheckDescription& check : target.gpu_checks) {
    text += fmt::format("checked on {} ({}), relative errors: {}\n  CUDA graphs: {}\n", check.gpu,
                        check.architecture,
                        joined(check.error, ", ",
                               [](const auto& error) {
                                 return fmt::format("{} {:.1e}", error.first, error.second);
                               }),
                        check.has_graphs ? "can be captured" : "no: " + check.why_no_graphs);
  }
  return text;
}

std::string text_of(const std::string& file, const ModelDescription& model) {
  const bool is_package = model.compilation == CompilationType::kAheadOfTime;
  std::string text = fmt::format("{}: {}", file, model.format);
  text += model.is_served
              ? "\n"
              : fmt::format(", {}, {} bytes\n", name_of(model.compilation), in_groups(model.bytes));
  const std::string target = package::names_of(model.targets);
  text += fmt::format("target: {}{}", target == "any" ? "any device" : target,
                      model.machine.empty() ? "" : ", " + model.machine);
  for (const TargetDescription& one : model.targets) {
    if (!one.gpu_architecture.empty()) text += ", " + one.gpu_architecture;
  }
  text += '\n';
  if (model.is_served) {
    text += model.checksum.empty()
                ? "identity: unknown, the server does not state which file it runs\n"
                : fmt::format("file: SHA-256 {}\n", model.checksum);
  }
  if (!model.torch.empty()) text += fmt::format("written by: torch {}\n", model.torch);
  if (model.weights) {
    text += fmt::format("weights: {} numbers, {} bytes\n", in_groups(*model.weights),
                        in_groups(*model.weight_bytes));
  }
  text += fmt::format("inputs, by {}:\n", model.match == Match::kAuto     ? "name or in order"
                                          : model.match == Match::kByName ? "name"
                                                                          : "order");
  for (const auto& input : model.inputs) text += line_of(input) + '\n';
  text += "outputs:\n";
  for (const auto& output : model.outputs) text += line_of(output) + '\n';
  text += "rows: " + to_string(model.row_dependence) + '\n';
  if (model.is_served) return text;

  const std::string written = joined(model.inputs, "", [](const ArgumentDescription& input) {
    return input.may_be_written ? ' ' + input.name : std::string();
  });
  text += "const inputs: " +
          (written.empty() ? "never written, bound without a copy"
                           : "may be written, copied at every call:" + written) +
          " (" + model.proof + ")\n";
  if (model.keeps_state) text += "state: forward changes the model; it is refused when loaded\n";
  if (!model.operators.empty()) {
    std::size_t nodes = 0;
    for (const auto& [name, count] : model.operators) nodes += count;
    text += fmt::format("graph: {} nodes\n", nodes);
    for (const auto& [name, count] : model.operators) {
      text += fmt::format("  {:>4} x {}\n", count, name);
    }
  }
  if (!model.forest_facts.empty()) {
    text += "trees:\n";
    for (const auto& [name, value] : model.forest_facts) {
      text += fmt::format("  {:<24} {}\n", name, value);
    }
  }
  if (!is_package) return text;

  const bool has_one_target = model.targets.size() == 1;
  for (const TargetDescription& one : model.targets) {
    text += text_of(one, has_one_target ? "" : " for " + one.name, !model.forest_facts.empty());
  }
  if (!has_one_target) {
    text += "between targets: results differ in their last bits, as the programs do\n";
  }
  return text;
}

std::string text_of(const std::string& file, const RuntimeFigures& figures) {
  const MemoryOfCall& memory = figures.memory;
  std::string text =
      fmt::format("{} on {}, {}, in bytes:\n", file, to_string(figures.device), figures.inputs);
  const auto line = [&](const char* name, std::size_t bytes, const char* what) {
    text += fmt::format("  {:<12} {:>16}  {}\n", name, in_groups(bytes), what);
  };
  line("weights", memory.weights, "");
  line("workspaces", memory.workspaces, "kept from call to call");
  line("activations", memory.activations, "the most of a call");
  line("collections", memory.collections, "the columns of this call");
  line("peak", memory.peak, "of all that at one time");
  if (!figures.device.is_cpu()) line("torch holds", memory.torch_holds, "used and cached");
  line("process", figures.process_peak, "most that the process had in main memory");
  text += fmt::format("threads: {} before the model was loaded, {} after the call\n",
                      figures.threads_before, figures.threads_after);
  return text;
}

}  // namespace

void add_inspect_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("inspect",
                                             "Describes a model: signature, target, programs, "
                                             "checks; with --runtime its memory and threads");
  auto call = std::make_shared<InspectCall>();
  command->add_option("MODEL", call->file, kModel)->required();
  command->add_flag("--json", call->is_json, "Write JSON");
  CLI::Option* runtime =
      command->add_flag("--runtime", call->is_runtime,
                        "Load and run it, and print the memory and threads that this needs");
  command
      ->add_option("--device", call->runtime.device,
                   "With --runtime: cpu, cuda:N, or auto: the device of a package, else cpu")
      ->needs(runtime)
      ->capture_default_str();
  command
      ->add_option("--rows", call->runtime.rows,
                   "With --runtime: rows of the columns that it runs on, where they are known")
      ->needs(runtime)
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
      ->capture_default_str();
  command
      ->add_option(
          "--binding", call->runtime.binding,
          "With --runtime: the columns of a TorchScript file or a program of torch.export, as "
          "describe() writes them; without it the model must score edges")
      ->needs(runtime);
  add_server_options(*command, call->servers);
  command->callback([call, &action] {
    action = [call] {
      const auto print = [&](const auto& what) {
        fmt::print("{}",
                   call->is_json ? to_text(json_of(call->file, what)) : text_of(call->file, what));
      };
      const ModelOptions options = options_for(call->file, call->servers);
      if (call->is_runtime) {
        print(runtime_figures(call->file, options, call->runtime));
      } else {
        print(package::inspect(call->file, options));
      }
      return kSuccess;
    };
  });
}

}  // namespace tensoa::tools
