// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/generated_columns.hpp"
#include "command.hpp"
#include "seams/remote_seam.hpp"
#include "seams/torch_seam.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::tools {
namespace {

using nlohmann::ordered_json;
using track::Edge;
using track::Hit;

constexpr double kTolerance = 3e-5;
constexpr double kWrongChoices = 2e-3;  // of integers and truth values: the share that may differ

struct CheckCall {
  std::string model;
  std::string against;
  std::vector<std::string> events;
  std::string device = "auto";
  std::string against_device = "auto";
  std::vector<std::size_t> rows = {0, 1, 2, 33, 1'000, 4'097};
  std::optional<double> tolerance;
  bool cuda_graphs = false;
  std::string json;
  ServerOptions servers;
};

/// One of the two models that are compared.
struct Side {
  Side(const std::string& path, const std::string& device_name, const ModelOptions& options)
      : Side(path, device_name, options, package::inspect(path, options)) {}

  /// @param what the description of the model
  Side(const std::string& path, const std::string& device_name, const ModelOptions& options,
       package::ModelDescription what)
      : description(std::move(what)),
        model(path, options),
        queue(package::device_for(device_name, description)) {}

  bool is_package() const { return description.compilation == CompilationType::kAheadOfTime; }

  package::ModelDescription description;
  Model<> model;
  Queue queue;
};

/// One plane of an output of both models on the same inputs.
struct PlaneComparison {
  std::string name;      ///< of the column, "p[2]" of one with several planes
  double tolerance = 0;  ///< the largest `relative` that is right
  std::size_t n = 0;     ///< numbers that were compared
  double max_abs = 0;
  double difference = 0;  ///< sum of squares
  double norm = 0;        ///< likewise
  std::size_t flips = 0;
  std::size_t unequal = 0;

  /// ||a - b|| / ||b||, where ||b|| is scaled to these rows from the largest of the comparisons of this
  /// plane: one number alone may be near zero. Of choices the share that is unequal. Infinite where
  /// one number is not finite and the other is.
  double relative = 0;

  void add(double x, double y) {
    ++n;
    flips += (x >= 0.5) != (y >= 0.5) ? 1 : 0;
    if (std::isfinite(y)) norm += y * y;
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    ++unequal;
    max_abs = std::isfinite(x - y) ? std::max(max_abs, std::abs(x - y))
                                   : std::numeric_limits<double>::infinity();
    difference += (x - y) * (x - y);
  }

  double mean_square() const { return n > 0 ? norm / static_cast<double>(n) : 0; }
  double excess() const { return tolerance > 0 ? relative / tolerance : relative * kMuch; }

  static constexpr double kMuch = 1e300;
};

/// One output of both models on the same inputs.
struct Comparison {
  std::string inputs;   ///< "1000 rows from 1", or the name of an event
  std::string numbers;  ///< of the inputs: "normal"
  std::string block;
  bool is_choice = false;  ///< integers or truth values: right or wrong, not near
  std::vector<PlaneComparison> planes;

  const PlaneComparison& worst() const {
    return *std::ranges::max_element(planes, {}, &PlaneComparison::excess);
  }
  template <class T>
  T sum(T PlaneComparison::*member) const {
    T total = 0;
    for (const PlaneComparison& plane : planes) total += plane.*member;
    return total;
  }
  double max_abs() const {
    return std::ranges::max_element(planes, {}, &PlaneComparison::max_abs)->max_abs;
  }
};

bool is_floating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

/// The names of the planes of a block, in its order.
std::vector<std::string> plane_names(const BlockDescription& block) {
  std::vector<std::string> names;
  for (const ColumnDescription& column : block.columns) {
    for (std::size_t i = 0; i < block.element.planes(); ++i) {
      names.push_back(column.name);
      if (block.element.has_planes()) names.back() += fmt::format("[{}]", i);
    }
  }
  return names;
}

/// The comparisons, for people and as JSON.
class Comparisons {
 public:
  /// @param tolerance of all planes, or what the package says of each, or `otherwise`
  explicit Comparisons(std::optional<double> tolerance, double otherwise = kTolerance)
      : tolerance_(tolerance), otherwise_(otherwise) {}

  /// One output of `planes` planes, one after another in `a` and `b`.
  void add(Comparison comparison, const std::vector<std::string>& planes, const auto& a,
           const auto& b, std::size_t rows, const std::vector<double>& tolerances = {}) {
    for (std::size_t i = 0; i < planes.size(); ++i) {
      PlaneComparison& plane = comparison.planes.emplace_back();
      plane.name = planes[i];
      const double otherwise =
          comparison.is_choice ? std::max(otherwise_, kWrongChoices) : otherwise_;
      plane.tolerance = tolerance_.value_or(tolerances.empty() ? otherwise : tolerances[i]);
      for (std::size_t row = 0; row < rows; ++row) plane.add(a[i * rows + row], b[i * rows + row]);
    }
    all_.push_back(std::move(comparison));
  }

  /// Outputs of a model whose columns are described, on the same inputs.
  void add(const std::string& inputs, const package::ModelDescription& description,
           const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b,
           const std::string& numbers = "normal",
           const std::vector<std::vector<double>>& tolerances = {}) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const package::ArgumentDescription& output = description.outputs[i];
      const std::vector<std::string> planes = plane_names(*output.block);
      const bool is_choice = !is_floating(output.block->dtype);
      add({inputs, numbers, output.name, is_choice, {}}, planes, a[i], b[i],
          a[i].size() / planes.size(), tolerances.empty() ? std::vector<double>{} : tolerances[i]);
    }
  }

  /// Once all is there. @throws InputError where nothing is: that says nothing of a model
  void finish() {
    if (all_.empty()) {
      throw InputError(
          "nothing was compared: the model has no outputs, or none has a row at these --rows; "
          "request 1 or more");
    }
    std::map<std::tuple<std::string, std::string, std::string>, double> largest;
    const auto key = [](const Comparison& c, const PlaneComparison& plane) {
      return std::tuple(c.numbers, c.block, plane.name);
    };
    for (const Comparison& c : all_) {
      for (const PlaneComparison& plane : c.planes) {
        double& most = largest[key(c, plane)];
        most = std::max(most, plane.mean_square());
      }
    }
    for (Comparison& c : all_) {
      for (PlaneComparison& plane : c.planes)
        plane.relative = error(c, plane, largest[key(c, plane)]);
    }
  }

  bool are_right() const {
    return std::ranges::all_of(all_, [](const Comparison& c) { return c.worst().excess() <= 1; });
  }

  const Comparison& worst() const {
    return *std::ranges::max_element(all_, {}, [](const auto& c) { return c.worst().excess(); });
  }

  void print() const {
    fmt::print("{:<32} {:<16} {:>9} {:>14} {:>14} {:>7}  {}\n", "inputs", "block", "numbers",
               "max abs error", "relative error", "flips", "worst column");
    for (const Comparison& c : all_) {
      fmt::print("{:<32} {:<16} {:>9} {:>14.2e} {:>14.2e} {:>7}  {}\n", c.inputs, c.block,
                 c.sum(&PlaneComparison::n), c.max_abs(), c.worst().relative,
                 c.sum(&PlaneComparison::flips), c.worst().name);
    }
    const PlaneComparison& plane = worst().worst();
    fmt::print("worst: relative error {:.2e}, {}; tolerance {:.0e}\n", plane.relative,
               place_of_worst(), plane.tolerance);
  }

  ordered_json json() const {
    ordered_json rows = ordered_json::array();
    double most = 0;
    for (const Comparison& c : all_) {
      rows.push_back({{"inputs", c.inputs},
                      {"block", c.block},
                      {"column", c.worst().name},
                      {"n", c.sum(&PlaneComparison::n)},
                      {"max_abs_error", c.max_abs()},
                      {"max_rel_error", c.worst().relative},
                      {"flips", c.sum(&PlaneComparison::flips)}});
      most = std::max(most, c.worst().relative);
    }
    return {{"tolerance", tolerance_.value_or(otherwise_)},
            {"is_right", are_right()},
            {"max_rel_error", most},
            {"rows", rows}};
  }

  /// "…differs from OTHER by 1.00e-03 (…)", in one line.
  std::string complaint(const std::string& model, const std::string& other) const {
    const PlaneComparison& plane = worst().worst();
    return fmt::format("{} differs from {} by {:.2e} (relative; {}), tolerance {:.0e}", model,
                       other, plane.relative, place_of_worst(), plane.tolerance);
  }

 private:
  static double error(const Comparison& c, const PlaneComparison& plane, double mean_square) {
    if (!std::isfinite(plane.max_abs)) return plane.max_abs;
    if (plane.unequal == 0) return 0;
    const auto n = static_cast<double>(plane.n);
    if (c.is_choice) return static_cast<double>(plane.unequal) / n;
    const double relative = std::sqrt(plane.difference / n / mean_square);
    return std::isnan(relative) ? std::numeric_limits<double>::infinity()  // squares overflowed
                                : relative;
  }

  std::string place_of_worst() const {
    const Comparison& worst = this->worst();
    return fmt::format("block \"{}\", column {}, {}", worst.block, worst.worst().name,
                       worst.inputs);
  }

  std::optional<double> tolerance_;
  double otherwise_;
  std::vector<Comparison> all_;
};

/// Writes what `run(file)` makes of a check to --json, and says what is wrong.
class Results {
 public:
  explicit Results(const CheckCall& call) {
    if (!call.json.empty()) file_.emplace(call.json);
  }

  int finish(const ordered_json& json, bool is_right, const std::string& complaint) {
    if (file_) write_file(*file_, json.dump(2) + '\n');
    if (is_right) return kSuccess;
    fmt::print(stderr, "tensoa: {}\n", complaint);
    return kFailure;
  }

  /// The result of all checks of one device.
  static ordered_json about(const std::string& model, Device device) {
    ordered_json object{{"model", model}, {"device", to_string(device)}};
    if (device.is_cpu()) return object;
    object["gpu"] = device_name(device);
    object["architecture"] = package::gpu_architecture_of(device);
    return object;
  }

 private:
  std::optional<OutputFile> file_;
};

/// The outputs of one call. @throws EngineError where memory was written that is not the model's own
template <class Run>
std::vector<std::vector<double>> outputs_of(const Side& side, const cli::GeneratedColumns& columns,
                                            std::size_t outputs, std::size_t rows, const Run& run) {
  run(columns.binding());
  if (const std::string block = columns.changed(); !block.empty()) {
    throw EngineError("model " + side.model.location().text() + ": wrote memory of block \"" +
                      block + "\" that is not its own, at " + std::to_string(rows) + " rows");
  }
  std::vector<std::vector<double>> all;
  for (std::size_t i = 0; i < outputs; ++i) all.push_back(columns.output(i));
  return all;
}

/// Whether all blocks have the same number of rows.
bool has_one_collection(const package::ModelDescription& model) {
  const auto is_first = [](const package::ArgumentDescription& argument) {
    return argument.collection == std::size_t{0};
  };
  return std::ranges::all_of(model.inputs, is_first) &&
         std::ranges::all_of(model.outputs, is_first);
}

/// One call for each `rows_of_call` of the rows.
void run_in_calls(const Side& side, const Binding& binding, std::size_t rows,
                  std::size_t rows_of_call) {
  if (rows_of_call >= rows) {
    side.model.forward(side.queue, binding);
    return;
  }
  Binding part = binding;
  for (std::size_t first = 0; first < rows; first += rows_of_call) {
    take_rows(binding, first, std::min(rows_of_call, rows - first), part);
    side.model.forward(side.queue, part);
  }
}

std::string name_of_case(std::size_t rows, std::size_t offset,
                         const std::string& numbers = "normal") {
  return fmt::format("{} rows from {}{}", rows, offset, numbers == "normal" ? "" : ", " + numbers);
}

/// Compares a package on one device with its recorded results.
Comparisons compare_recorded(const CheckCall& call, const Side& side) {
  const auto recorded = side.is_package() && !side.description.is_served
                            ? package::recorded_results(call.model, side.queue.device().kind)
                            : std::nullopt;
  if (!recorded || recorded->cases.empty()) {
    throw InputError(
        "model " + call.model +
        ": holds no results to be compared with; say --against OTHER, or make a package "
        "of it: tensoa compile");
  }
  Comparisons compared(call.tolerance, recorded->tolerance);
  const auto compare = [&](const auto& one, std::size_t offset, std::size_t rows_of_call) {
    cli::GeneratedColumns columns(side.description, one.rows, offset, 1, side.queue);
    columns.fill(one.inputs);
    const auto outputs = outputs_of(
        side, columns, one.outputs.size(), one.rows,
        [&](const Binding& binding) { run_in_calls(side, binding, one.rows, rows_of_call); });
    const std::string in_calls =
        rows_of_call < one.rows ? fmt::format(", {} a call", rows_of_call) : "";
    compared.add(name_of_case(one.rows, offset, one.numbers) + in_calls, side.description, outputs,
                 one.outputs, one.numbers, one.tolerances);
  };
  const bool is_divided =
      side.description.row_dependence.are_independent() && has_one_collection(side.description);
  constexpr std::size_t kCalls = 3;
  for (const auto& one : recorded->cases) {
    compare(one, 0, one.rows);
    compare(one, 1, one.rows);
    if (is_divided && one.rows > 1) compare(one, 0, (one.rows + kCalls - 1) / kCalls);
  }
  compared.finish();
  return compared;
}

/// The devices of --device; without it one for each target of a package. @param missing gets the targets that have none here
std::vector<std::string> devices_of(const CheckCall& call,
                                    const package::ModelDescription& description,
                                    std::vector<std::string>& missing) {
  if (call.device != "auto" || description.targets.size() == 1) return {call.device};
  std::vector<std::string> devices;
  for (const package::TargetDescription& target : description.targets) {
    const bool is_here = target.name == "cpu" || device_count(DeviceKind::kCuda) > 0;
    (is_here ? devices : missing).push_back(target.name);
  }
  return devices;
}

/// Compares each target of a package with the recorded results.
int check_recorded(const CheckCall& call) {
  Results results(call);
  const ModelOptions options = options_for(call.model, call.servers);
  const package::ModelDescription description = package::inspect(call.model, options);
  std::vector<std::string> missing;
  const std::vector<std::string> devices = devices_of(call, description, missing);
  std::vector<ordered_json> found;
  bool are_right = true;
  std::string complaints;
  for (const std::string& name : devices) {
    const Side side(call.model, name, options, description);
    const Comparisons compared = compare_recorded(call, side);
    const std::string device = to_string(side.queue.device());
    if (devices.size() > 1) fmt::print("on {}:\n", device);
    compared.print();
    ordered_json& json = found.emplace_back(Results::about(call.model, side.queue.device()));
    json.update(compared.json());
    if (compared.are_right()) continue;
    are_right = false;
    complaints += (complaints.empty() ? "" : "; ") +
                  compared.complaint(devices.size() > 1 ? call.model + " on " + device : call.model,
                                     "what it was made to give");
  }
  for (const std::string& name : missing) {
    fmt::print("not checked for {}: there is no such device here\n", name);
  }
  if (missing.empty() && found.size() == 1) {
    return results.finish(found.front(), are_right, complaints);
  }
  return results.finish({{"model", call.model},
                         {"is_right", are_right},
                         {"devices", found},
                         {"not_checked", missing}},
                        are_right, complaints);
}

/// Whether calls of a package can be captured as CUDA graphs, and then give the same. The process may
/// be lost in finding out.
int try_graphs(const CheckCall& call) {
  Results results(call);
  const ModelOptions options = options_for(call.model, call.servers);
  package::ModelDescription description = package::inspect(call.model, options);
  const bool is_for_gpus =
      std::ranges::find(description.targets, "cuda", &package::TargetDescription::name) !=
      description.targets.end();
  const Side side(call.model, call.device == "auto" && is_for_gpus ? "cuda" : call.device, options,
                  std::move(description));
  const Queue& queue = side.queue;
  if (!side.is_package() || queue.device().is_cpu()) {
    throw ConfigError("--cuda-graphs: " + call.model + " on " + to_string(queue.device()) +
                      " has none; expected a package for CUDA");
  }
  const auto with_graphs = package::load_to_try_graphs(call.model, queue.device());
  const auto prepared = [&](const Binding& binding) {
    return with_graphs->prepare(binding, with_graphs->match(binding, "model " + call.model));
  };
  Comparisons compared(call.tolerance);
  ordered_json json = Results::about(call.model, queue.device());
  try {
    for (const std::size_t rows : call.rows) {
      const std::size_t outputs = side.description.outputs.size();
      const cli::GeneratedColumns first(side.description, rows, 0, 1, queue);
      if (first.binding().is_empty()) continue;
      outputs_of(side, first, outputs, rows, [&](const Binding& binding) {
        with_graphs->warm_up(queue, binding, *prepared(binding));
      });
      const cli::GeneratedColumns replayed(side.description, rows, 1, 2, queue);
      const cli::GeneratedColumns plain(side.description, rows, 1, 3, queue);
      compared.add(name_of_case(rows, 1), side.description,
                   outputs_of(side, replayed, outputs, rows,
                              [&](const Binding& binding) {
                                with_graphs->run(queue, binding, *prepared(binding));
                              }),
                   outputs_of(side, plain, outputs, rows,
                              [&](const Binding& binding) { side.model.forward(queue, binding); }));
    }
  } catch (const Error& error) {
    json["cuda_graphs"] = error.what();
    return results.finish(json, false, error.what());
  }
  compared.finish();
  const std::string complaint =
      compared.complaint(call.model + " with CUDA graphs", "itself without");
  json["cuda_graphs"] = compared.are_right() ? ordered_json(true) : ordered_json(complaint);
  json.update(compared.json());
  compared.print();
  if (compared.are_right())
    fmt::print("CUDA graphs: captured, and replayed with the same results\n");
  return results.finish(json, compared.are_right(), complaint);
}

class Check {
 public:
  explicit Check(const CheckCall& call)
      : call_(call),
        results_(call),
        first_(call.model, call.device, options_for(call.model, call.servers, call.against)),
        second_(call.against, call.against_device,
                options_for(call.against, call.servers, call.model)),
        compared_(call.tolerance) {}

  int run() {
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
    compared_.finish();
    compared_.print();
    ordered_json json = Results::about(call_.model, first_.queue.device());
    json["against"] = call_.against;
    json["against_device"] = to_string(second_.queue.device());
    json.update(compared_.json());
    return results_.finish(json, compared_.are_right(),
                           compared_.complaint(call_.model, call_.against));
  }

 private:
  /// The side that describes its columns; nullptr where neither does. A package describes them best; a server may return only
  /// the shapes of its tensors.
  const Side* described() const {
    const auto knows = [](const Side& side) {
      if (!side.description.binding) return 0;
      if (side.description.is_served) return side.description.checksum.empty() ? 1 : 3;
      return side.is_package() ? 4 : 2;
    };
    const Side& best = knows(second_) > knows(first_) ? second_ : first_;
    return knows(best) > 0 ? &best : nullptr;
  }

  /// Whether events are the default: neither says what it takes, or a package takes
  /// what an edge scorer binds.
  bool scores_edges() const {
    const Side* package = described();
    if (package == nullptr) return true;
    PortableCollection<Hit> hits(1, Device::cpu());
    PortableCollection<Edge> edges(1, Device::cpu());
    const auto metadata =
        track::bind_edge_network(package->description.inputs.size() >= 3, hits.const_view(),
                                 edges.const_view(), edges.view());
    return describe(metadata) == to_json(*package->description.binding);
  }

  std::vector<std::vector<double>> run_on_columns(const Side& side,
                                                  const package::ModelDescription& description,
                                                  std::size_t rows, std::size_t offset) const {
    const std::uint64_t seed = &side == &first_ ? 1 : 2;
    const cli::GeneratedColumns columns(description, rows, offset, seed, side.queue);
    return outputs_of(side, columns, description.outputs.size(), rows,
                      [&](const Binding& binding) { side.model.forward(side.queue, binding); });
  }

  void compare_columns(const package::ModelDescription& description, std::size_t rows,
                       std::size_t offset) {
    compared_.add(name_of_case(rows, offset), description,
                  run_on_columns(first_, description, rows, offset),
                  run_on_columns(second_, description, rows, offset));
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
      compared_.add({"event " + event.name, "normal", "score", false, {}}, {"score"}, a, scores,
                    edges.size());
    }
  }

  const CheckCall& call_;
  Results results_;
  Side first_;
  Side second_;
  Comparisons compared_;
};

}  // namespace

void add_check_command(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("check",
                             "Compares a model with another one, or a package with its recorded "
                             "results. Exit status 1 where they differ");
  auto call = std::make_shared<CheckCall>();
  command->add_option("MODEL", call->model, kModel)->required();
  CLI::Option* against =
      command->add_option("--against", call->against,
                          "The model to compare with (default: the results in the package)");
  command
      ->add_flag("--cuda-graphs", call->cuda_graphs,
                 "Check whether calls of the package can be captured as CUDA graphs, with the same "
                 "results; the process may crash")
      ->excludes(against);
  command->add_option("INPUT", call->events,
                      "Events for models that score edges: files, folders or "
                      "generate:EVENTS[:SEED[:PARTICLES]]");
  command
      ->add_option("--device", call->device,
                   "The device of MODEL: cpu, cuda:N, or auto: all kinds of devices of a package, "
                   "one after the other, else cpu")
      ->capture_default_str();
  command->add_option("--against-device", call->against_device, "The same for --against")
      ->capture_default_str();
  constexpr std::size_t kMost = 100'000'000;
  command
      ->add_option("--rows", call->rows,
                   "Numbers of rows of generated columns, where a package describes its columns")
      ->check(CLI::Range(std::size_t{0}, kMost))
      ->capture_default_str();
  command
      ->add_option("--tolerance", call->tolerance,
                   "The largest relative error that is accepted: ||a - b|| / ||b|| of a column "
                   "(default: that of the package, or 3e-05)")
      ->check(cli::number_between(0, 1));
  cli::add_path_option(*command, "--json", call->json, "Write the figures to this file");
  add_server_options(*command, call->servers);
  command->callback([call, &action] {
    action = [call] {
      if (call->cuda_graphs) return try_graphs(*call);
      return call->against.empty() ? check_recorded(*call) : Check(*call).run();
    };
  });
}

}  // namespace tensoa::tools
