// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "generated_columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/inspect.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::tools {
namespace {

using nlohmann::ordered_json;
using track::Edge;
using track::Hit;

struct CheckCall {
  std::string model;
  std::string against;
  std::vector<std::string> events;
  std::string device = "auto";
  std::string against_device = "auto";
  std::vector<std::size_t> rows = {0, 1, 2, 33, 1'000, 4'097};
  double tolerance = 3e-5;
  std::string json;
};

/// One of the two models that are compared.
struct Side {
  Side(const std::string& path, const std::string& device_name)
      : description(pytorch::inspect(path)), model(path), queue(device_for(device_name)) {}

  bool is_package() const { return description.binding.has_value(); }

  pytorch::ModelDescription description;
  Model<> model;
  Queue queue;

 private:
  Device device_for(const std::string& name) const {
    if (name != "auto") return parse_device(name);
    return parse_device(description.target == "cuda" ? "cuda" : "cpu");
  }
};

/// One output of both models on the same inputs.
struct Comparison {
  std::string inputs;  ///< "1000 rows from 1", or the name of an event
  std::string block;
  std::size_t n = 0;  ///< numbers that were compared
  double max_abs = 0;
  double relative = 0;  ///< ||a - b|| / ||b||; infinite where one is not finite and the other is
  std::size_t flips = 0;

  template <class A, class B>
  Comparison(std::string what, std::string name, const A& a, const B& b, std::size_t count)
      : inputs(std::move(what)), block(std::move(name)), n(count) {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = a[i];
      const double y = b[i];
      flips += (x >= 0.5) != (y >= 0.5) ? 1 : 0;
      if (x == y || (std::isnan(x) && std::isnan(y))) {
        if (std::isfinite(y)) norm += y * y;
        continue;
      }
      max_abs = std::isfinite(x - y) ? std::max(max_abs, std::abs(x - y))
                                     : std::numeric_limits<double>::infinity();
      difference += (x - y) * (x - y);
      norm += y * y;
    }
    if (!std::isfinite(max_abs)) {
      relative = max_abs;
    } else if (difference > 0) {
      relative = norm > 0 ? std::sqrt(difference / norm) : std::numeric_limits<double>::infinity();
    }
  }
};

class Check {
 public:
  explicit Check(const CheckCall& call)
      : call_(call), first_(call.model, call.device), second_(call.against, call.against_device) {}

  int run() {
    std::optional<OutputFile> file;
    if (!call_.json.empty()) file.emplace(call_.json);
    if (const Side* package = described()) {
      for (const std::size_t rows : call_.rows) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}})
          compare_columns(package->description, rows, offset);
      }
    }
    if (!call_.events.empty()) {
      compare_events(call_.events);
    } else if (scores_edges()) {
      compare_events({"generate:2"});
    }
    const bool is_right = std::ranges::all_of(
        compared_, [&](const auto& c) { return c.relative <= call_.tolerance; });
    print();
    if (file) write_file(*file, json(is_right).dump(2) + '\n');
    if (is_right) return kRight;
    const Comparison& worst = this->worst();
    fmt::print(stderr,
               "tensoa: {} differs from {} by {:.2e} (relative; block \"{}\", {}), tolerance "
               "{:.0e}\n",
               call_.model, call_.against, worst.relative, worst.block, worst.inputs,
               call_.tolerance);
    return kBroken;
  }

 private:
  /// The package that says which columns it takes; nullptr where neither does.
  const Side* described() const {
    if (first_.is_package()) return &first_;
    return second_.is_package() ? &second_ : nullptr;
  }

  /// Whether events can be asked for by default: neither says what it takes, or a package takes
  /// what an edge scorer binds.
  bool scores_edges() const {
    const Side* package = described();
    if (package == nullptr) return true;
    PortableCollection<Hit> hits(1, Device::cpu());
    PortableCollection<Edge> edges(1, Device::cpu());
    const auto plan = track::plan_edge_network(package->description.inputs.size() >= 3,
                                               hits.const_view(), edges.const_view(), edges.view());
    return to_json(description_of(plan.binding())) == to_json(*package->description.binding);
  }

  std::vector<std::vector<double>> run_on_columns(const Side& side,
                                                  const pytorch::ModelDescription& description,
                                                  std::size_t rows, std::size_t offset) const {
    const std::uint64_t seed = &side == &first_ ? 1 : 2;
    const GeneratedColumns columns(description, rows, offset, seed, side.queue);
    side.model.forward(side.queue, columns.binding());
    if (const std::string block = columns.changed(); !block.empty()) {
      throw EngineError("model " + side.model.path().string() + ": wrote memory of block \"" +
                        block + "\" that is not its own, at " + std::to_string(rows) + " rows");
    }
    std::vector<std::vector<double>> outputs;
    for (std::size_t i = 0; i < description.outputs.size(); ++i) {
      outputs.push_back(columns.output(i));
    }
    return outputs;
  }

  void compare_columns(const pytorch::ModelDescription& description, std::size_t rows,
                       std::size_t offset) {
    const auto a = run_on_columns(first_, description, rows, offset);
    const auto b = run_on_columns(second_, description, rows, offset);
    for (std::size_t i = 0; i < a.size(); ++i) {
      compared_.emplace_back(fmt::format("{} rows from {}", rows, offset),
                             description.outputs[i].name, a[i], b[i], a[i].size());
    }
  }

  void compare_events(const std::vector<std::string>& inputs) {
    track::EdgeScorer first(first_.model, first_.queue);
    track::EdgeScorer second(second_.model, second_.queue);
    track::GraphBuilder builder;
    for (const track::EventSource& source : track::find_events(inputs)) {
      track::Event event = source.read();
      PortableCollection<Edge>& edges = builder.build(event.hits.view());
      const auto scores = edges.view().score;
      first.score(event.hits, edges);
      const std::vector<float> a(scores.data(), scores.data() + edges.size());
      second.score(event.hits, edges);
      compared_.emplace_back("event " + event.name, "score", a, scores, edges.size());
    }
  }

  const Comparison& worst() const {
    return *std::ranges::max_element(compared_, {}, &Comparison::relative);
  }

  void print() const {
    fmt::print("{:<32} {:<16} {:>9} {:>14} {:>14} {:>7}\n", "inputs", "block", "numbers",
               "max abs error", "relative error", "flips");
    for (const Comparison& c : compared_) {
      fmt::print("{:<32} {:<16} {:>9} {:>14.2e} {:>14.2e} {:>7}\n", c.inputs, c.block, c.n,
                 c.max_abs, c.relative, c.flips);
    }
    const Comparison& worst = this->worst();
    fmt::print("worst: relative error {:.2e}, block \"{}\", {}; tolerance {:.0e}\n", worst.relative,
               worst.block, worst.inputs, call_.tolerance);
  }

  ordered_json json(bool is_right) const {
    ordered_json rows = ordered_json::array();
    for (const Comparison& c : compared_) {
      rows.push_back({{"inputs", c.inputs},
                      {"block", c.block},
                      {"n", c.n},
                      {"max_abs_error", c.max_abs},
                      {"max_rel_error", c.relative},
                      {"flips", c.flips}});
    }
    return {{"model", call_.model},
            {"device", to_string(first_.queue.device())},
            {"against", call_.against},
            {"against_device", to_string(second_.queue.device())},
            {"tolerance", call_.tolerance},
            {"is_right", is_right},
            {"max_rel_error", worst().relative},
            {"rows", rows}};
  }

  const CheckCall& call_;
  Side first_;
  Side second_;
  std::vector<Comparison> compared_;
};

}  // namespace

void add_check_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "check", "Do two models give the same numbers? Exit status 1 where they do not");
  auto call = std::make_shared<CheckCall>();
  command->add_option("MODEL", call->model, "TorchScript file or package (.pt2)")->required();
  command->add_option("--against", call->against, "The model to compare with")->required();
  command->add_option("INPUT", call->events,
                      "Events for models that score edges: files, folders or "
                      "generate:EVENTS[:SEED[:PARTICLES]]");
  command
      ->add_option("--device", call->device,
                   "Where MODEL runs: cpu, cuda:N, or auto: what a package is for, else cpu")
      ->capture_default_str();
  command->add_option("--against-device", call->against_device, "The same for --against")
      ->capture_default_str();
  constexpr std::size_t kMost = 100'000'000;
  command
      ->add_option("--rows", call->rows,
                   "Rows of generated columns, where a package says which ones it takes")
      ->check(CLI::Range(std::size_t{0}, kMost))
      ->capture_default_str();
  command
      ->add_option("--tolerance", call->tolerance,
                   "The largest relative error that is right: ||a - b|| / ||b|| of a block")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_path_option(*command, "--json", call->json, "Write the figures to this file");
  command->callback([call, &action] { action = [call] { return Check(*call).run(); }; });
}

}  // namespace tensoa::tools
