// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/manifest.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "dtype_names.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::package {
namespace {

using nlohmann::json;

const std::string kInductorFolder = "data/aotinductor/";
constexpr std::string_view kAny = "any";

std::string_view target_called(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "cpu" : "cuda";
}

class Reader {
 public:
  Reader(const Archive& archive, const std::string& subject)
      : archive_(archive), subject_(subject) {}

  Manifest read(const json& object) const {
    const json& schema = object.at("schema");
    const bool has_one_target = schema == kSchemaOfOneTarget;
    if (!has_one_target && schema != kSchema) {
      const bool is_newer = schema.is_number_integer() && schema > kSchema;
      fail("its format is " + schema.dump() + ", this version of tensoa reads " +
           std::to_string(kSchemaOfOneTarget) + " and " + std::to_string(kSchema) +
           (is_newer ? "; a newer tensoa wrote it: update this one, or compile the model with it"
                     : "; compile the model again"));
    }
    Manifest all;
    all.binding = parse_binding(object.at("binding").dump());
    all.collections = collections(object, all.binding);
    all.rows = row_rules(object.at("rows"));
    all.machine = object.at("machine").get<std::string>();
    all.torch = object.at("torch").get<std::string>();
    if (has_one_target) {
      all.targets.push_back(target(object, object, kInductorFolder, all));
    } else {
      for (const json& one : object.at("targets")) {
        all.targets.push_back(
            target(one, object, kInductorFolder + one.at("target").get<std::string>() + '/', all));
      }
      require_different(all.targets);
    }
    if (object.contains("forest")) read_forest(object["forest"], all);
    all.row_dependence = row_dependence(object, all);
    if (object.contains("recorded")) all.recorded = recorded_files(object["recorded"]);
    all.shared = shared_bytes(object);
    if (all.rows.size() != all.binding.outputs.size()) {
      fail("does not state how many rows each output block has; export it again");
    }
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw LoadError(subject_ + what); }

  RowDependence row_dependence(const json& object, const Manifest& all) const {
    using Answer = RowDependence::Answer;
    const bool has_rows = std::ranges::all_of(
        all.rows, [](const RowRule& rule) { return rule.collection.has_value(); });
    const bool is_of_trees = all.forest && has_rows;
    if (!object.contains("row_dependence")) {
      if (is_of_trees) return {Answer::kIndependent, ""};
      return {Answer::kUnknown, "the package does not state it; export it again"};
    }
    const json& said = object["row_dependence"];
    const auto analysis = count<int>(said, "analysis", 1, std::numeric_limits<int>::max());
    if (analysis > kRowAnalysis) {
      return {Answer::kUnknown, "the package was written by a later version of tensoa"};
    }
    const auto name = said.at("answer").get<std::string>();
    for (const Answer answer : {Answer::kUnknown, Answer::kIndependent, Answer::kDependent}) {
      if (name != name_of(answer)) continue;
      if (analysis < kRowAnalysis && answer == Answer::kIndependent && !is_of_trees) {
        return {Answer::kUnknown,
                "the package was written before rules that found independent rows were corrected; "
                "export it again"};
      }
      return {answer, said.value("reason", "")};
    }
    fail("its \"row_dependence\" is \"" + name +
         "\", expected independent, dependent or unknown; export it again");
  }

  /// A number of `object`, from `from` to `to`.
  template <class Number>
  Number count(const json& object, const char* key, std::int64_t from, std::int64_t to) const {
    const auto value = object.at(key).get<std::int64_t>();
    if (value >= from && value <= to) return static_cast<Number>(value);
    fail("its program is not whole: \"" + std::string(key) + "\" is " + std::to_string(value) +
         ", expected " + std::to_string(from) + " to " + std::to_string(to) + "; export it again");
  }

  /// A place in a list of `size`.
  std::size_t place(const json& object, const char* key, std::size_t size) const {
    const auto value = object.at(key).get<std::int64_t>();
    if (value >= 0 && value < static_cast<std::int64_t>(size)) {
      return static_cast<std::size_t>(value);
    }
    fail("its program is not whole: \"" + std::string(key) + "\" is " + std::to_string(value) +
         ", expected a place in a list of " + std::to_string(size) + "; export it again");
  }

  static std::vector<std::size_t> collections(const json& object,
                                              const BindingDescription& binding) {
    const auto lengths = object.value("lengths", std::vector<std::size_t>{});
    std::vector<std::size_t> all;
    for (const BlockDescription& block : binding.inputs) {
      if (!lengths.empty() && block.collection >= lengths.size()) {
        throw std::runtime_error("its \"lengths\" lack input collection " +
                                 std::to_string(block.collection));
      }
      all.push_back(lengths.empty() ? block.collection : lengths[block.collection]);
    }
    return all;
  }

  static std::vector<RowRule> row_rules(const json& rules) {
    std::vector<RowRule> all;
    for (const json& rule : rules) {
      RowRule& last = all.emplace_back();
      if (rule.contains("collection")) {
        last.collection = rule.at("collection").get<std::size_t>();
      } else {
        last.rows = rule.at("rows").get<std::size_t>();
      }
    }
    return all;
  }

  /// @param object of this target @param shared the manifest @param folder of TorchInductor's program
  TargetDescription target(const json& object, const json& shared, const std::string& folder,
                           const Manifest& all) const {
    TargetDescription one;
    one.name = object.at("target").get<std::string>();
    const bool is_known = one.name == kAny || one.name == target_called(DeviceKind::kCpu) ||
                          one.name == target_called(DeviceKind::kCuda);
    if (!is_known) {
      fail("its target is \"" + one.name + "\", expected cpu, cuda or any; export it again");
    }
    one.gpu_architecture = object.value("gpu_architecture", "");
    one.tolerance = object.value("tolerance", 0.0);
    read_checks(object, one);
    if (object.contains("fused")) read_fused(object["fused"], all, one);
    for (const json& part : object.value("parts", json::array())) {
      one.parts.push_back(fused_part(part));
    }
    for (const json& left : object.value("unfused", json::array())) {
      one.unfused.push_back(
          {left.at("operation").get<std::string>(), left.at("reason").get<std::string>()});
    }
    read_inductor(object, shared, folder, all, one);
    const auto is_for_it = [&](const ProgramDescription& program) {
      return one.name == target_called(program.target);
    };
    if (!std::ranges::all_of(one.programs, is_for_it)) {
      fail("its target " + one.name + " has programs for other devices; export it again");
    }
    return one;
  }

  void require_different(const std::vector<TargetDescription>& targets) const {
    if (targets.empty()) fail("its \"targets\" are empty; export it again");
    for (std::size_t i = 0; i < targets.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (targets[i].name != targets[j].name && targets[i].name != kAny &&
            targets[j].name != kAny) {
          continue;
        }
        fail("its \"targets\" are " + names_of(targets) +
             ", expected each once, and any alone; export it again");
      }
    }
  }

  static void read_checks(const json& object, TargetDescription& all) {
    using Errors = std::map<std::string, double>;
    for (const json& check : object.at("checks")) {
      all.checks.push_back({check.at("rows").get<std::vector<std::size_t>>(),
                            check.value("numbers", "normal"),
                            check.at("relative_error").get<Errors>(),
                            check.at("relative_error_eager").get<Errors>()});
    }
    for (const json& check : object.value("gpu_checks", json::array())) {
      GpuCheckDescription& last = all.gpu_checks.emplace_back();
      last.architecture = check.at("architecture").get<std::string>();
      last.gpu = check.at("gpu").get<std::string>();
      last.error = check.at("relative_error").get<Errors>();
      const json& graphs = check.at("cuda_graphs");
      last.has_graphs = graphs.is_boolean() && graphs.get<bool>();
      if (!last.has_graphs)
        last.why_no_graphs = graphs.is_string() ? graphs.get<std::string>() : graphs.dump();
    }
  }

  // ---- fused programs

  void read_fused(const json& object, const Manifest& all, TargetDescription& of) const {
    FusedDescription& fused = of.fused.emplace();
    fused.domains = domains(object.at("domains"), all.collections);
    fused.stages = object.at("stages").get<std::vector<std::string>>();
    if (object.contains("deterministic")) {
      of.is_deterministic = object["deterministic"].get<bool>();
    }
    fused.kernels = programs(object, all.blocks(), fused.domains.size(), of.programs);
  }

  /// Adds the code of a fused program to `all`. @return its kernels for GPUs, where it is for these
  std::optional<FusedKernels> programs(const json& object, std::size_t blocks, std::size_t domains,
                                       std::vector<ProgramDescription>& all) const {
    for (const json& variant : object.value("cpu", json::array())) {
      all.push_back(fused_program(variant, DeviceKind::kCpu, "name"));
    }
    if (!object.contains("cuda")) return std::nullopt;
    const json& cuda = object["cuda"];
    for (const json& code : cuda.at("code")) {
      all.push_back(fused_program(code, DeviceKind::kCuda, "architecture"));
    }
    FusedKernels found = kernels(cuda, blocks, domains);
    static_cast<void>(archive_.file(found.weights));
    return found;
  }

  FusedPart fused_part(const json& object) const {
    constexpr std::int64_t kMost = 0x7FFF'FFFF;
    FusedPart part;
    part.name = object.at("name").get<std::string>();
    part.inputs = count<std::size_t>(object, "inputs", 1, kMost);
    part.stages = object.at("stages").get<std::vector<std::string>>();
    for (const json& output : object.at("outputs")) {
      part.outputs.push_back({count<std::int64_t>(output, "planes", 1, kMost),
                              dtype_of(output.at("dtype").get<std::string>()),
                              place(output, "rows_of", part.inputs)});
    }
    for (const json& domain : object.at("domains")) {
      const auto input = domain.get<std::int64_t>();
      if (input >= static_cast<std::int64_t>(part.inputs)) {
        fail("its part " + part.name +
             " has the rows of a tensor that is not its input; export it again");
      }
      part.domains.push_back(input < 0 ? std::nullopt
                                       : std::optional(static_cast<std::size_t>(input)));
    }
    part.kernels =
        programs(object, part.inputs + part.outputs.size(), part.domains.size(), part.programs);
    return part;
  }

  DType dtype_of(const std::string& name) const {
    if (const std::optional<DType> dtype = dtype_called(name)) return *dtype;
    fail("one of its parts gives numbers of " + name + ", which columns do not have");
  }

  ProgramDescription fused_program(const json& variant, DeviceKind target, const char* name) const {
    ProgramDescription program{.kind = "fused",
                               .target = target,
                               .name = variant.at(name).get<std::string>(),
                               .status = variant.at("status").get<std::string>(),
                               .cpu_flags = {},
                               .file = variant.at("file").get<std::string>(),
                               .bytes = 0};
    if (target == DeviceKind::kCpu) {
      program.cpu_flags = variant.at("cpu_flags").get<std::vector<std::string>>();
    }
    program.bytes = archive_.file(program.file).size();
    return program;
  }

  /// For each domain the first input block of its collection.
  std::vector<std::size_t> domains(const json& wanted,
                                   const std::vector<std::size_t>& collections) const {
    std::vector<std::size_t> inputs;
    for (const json& domain : wanted) {
      const auto collection = domain.get<std::size_t>();
      const auto found = std::ranges::find(collections, collection);
      if (found == collections.end()) {
        fail("its fused program requests the rows of input collection " +
             std::to_string(collection) + ", which no block has; export it again");
      }
      inputs.push_back(static_cast<std::size_t>(found - collections.begin()));
    }
    return inputs;
  }

  FusedKernels kernels(const json& cuda, std::size_t blocks, std::size_t domains) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    FusedKernels all;
    all.params = {kMaxGpuBlocks, kMaxGpuDomains, kMaxGpuBuffers};
    if (cuda.contains("params")) {
      const json& params = cuda.at("params");
      all.params = {count<std::size_t>(params, "blocks", 1, kMaxGpuBlocks),
                    count<std::size_t>(params, "domains", 1, kMaxGpuDomains),
                    count<std::size_t>(params, "buffers", 1, kMaxGpuBuffers)};
    }
    for (const json& kernel : cuda.at("kernels")) {
      all.kernels.push_back({kernel.at("name").get<std::string>(),
                             count<unsigned>(kernel, "threads", 1, 1024),
                             count<unsigned>(kernel, "shared_bytes", 0, kMost),
                             count<std::int64_t>(kernel, "rows_per_block", 1, kMost),
                             count<std::int64_t>(kernel, "blocks_per_sm", 0, 64)});
    }
    for (const json& buffer : cuda.at("buffers")) {
      all.buffers.push_back(
          {place(buffer, "domain", domains), count<std::size_t>(buffer, "row_bytes", 0, kMost)});
    }
    for (const json& step : cuda.at("steps")) {
      FusedKernels::Step& last = all.steps.emplace_back();
      if (step.contains("kernel")) {
        last.kernel = place(step, "kernel", all.kernels.size());
        last.domain = place(step, "domain", domains);
        if (step.contains("times")) last.times = count<std::int64_t>(step, "times", 1, kMost);
      } else {
        last.buffer = place(step, "zero", all.buffers.size());
      }
    }
    if (cuda.contains("rows_at_once")) {
      all.rows_at_once = count<std::int64_t>(cuda, "rows_at_once", 0, kMost);
      if (all.rows_at_once > 0 && domains != 1) {
        fail("its fused program runs for " + std::to_string(all.rows_at_once) +
             " rows at a time, but has rows of " + std::to_string(domains) +
             " collections; export it again");
      }
    }
    all.waits = cuda.value("waits", false);
    require_at_most("blocks", blocks, all.params.blocks);
    require_at_most("domains", domains, all.params.domains);
    require_at_most("buffers", all.buffers.size(), all.params.buffers);
    all.weights = cuda.at("weights").get<std::string>();
    return all;
  }

  void require_at_most(const char* what, std::size_t got, std::size_t most) const {
    if (got <= most) return;
    fail("its fused program has " + std::to_string(got) + ' ' + what + ", at most " +
         std::to_string(most) + " are possible; export it again");
  }

  // ---- trees

  void read_forest(const json& object, Manifest& all) const {
    ForestDescription& forest = all.forest.emplace();
    forest.file = object.at("file").get<std::string>();
    for (const json& column : object.at("columns")) {
      forest.columns.push_back({column.at(0).get<std::size_t>(), column.at(1).get<std::size_t>()});
    }
    forest.facts = object.at("facts").get<std::vector<std::pair<std::string, std::string>>>();
    if (all.targets.size() != 1 || all.targets.front().name != kAny) {
      fail("it holds trees, which run on any device, for the target " + names_of(all.targets) +
           "; import it again");
    }
    TargetDescription& any = all.targets.front();
    any.is_deterministic = true;
    for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
      const bool is_checked = kind == DeviceKind::kCpu && !any.checks.empty();
      any.programs.push_back({.kind = "forest",
                              .target = kind,
                              .name = "any",
                              .status = is_checked ? "checked" : "built, not run",
                              .cpu_flags = {},
                              .file = forest.file,
                              .bytes = archive_.file(forest.file).size()});
    }
  }

  // ---- that of TorchInductor

  void read_inductor(const json& object, const json& shared, const std::string& folder,
                     const Manifest& all, TargetDescription& of) const {
    ProgramDescription program;
    for (const Archive::File& file : archive_.files()) {
      if (!file.name.starts_with(folder)) continue;
      program.bytes += file.bytes.size();
      if (file.name.ends_with(".so")) program.file = file.name;
    }
    if (program.file.empty()) return;
    program.kind = "inductor";
    program.target =
        of.name == target_called(DeviceKind::kCuda) ? DeviceKind::kCuda : DeviceKind::kCpu;
    program.name = of.gpu_architecture.empty() ? all.machine : of.gpu_architecture;
    program.status = of.checks.empty() && of.gpu_checks.empty() ? "built, not run" : "checked";
    program.cpu_flags = object.at("cpu_flags").get<std::vector<std::string>>();
    of.programs.push_back(std::move(program));
    for (const char* blocks : {"inputs", "outputs"}) {
      for (const json& block : shared.at(blocks)) of.arguments.push_back(plane_ranges(block));
    }
    if (of.arguments.size() != all.blocks()) {
      fail("does not state how all blocks of its binding become arguments; export it again");
    }
  }

  std::vector<PlaneRange> plane_ranges(const json& arguments) const {
    constexpr std::int64_t kMost = 0x7FFF'FFFF;
    std::vector<PlaneRange> all;
    for (const json& argument : arguments) {
      all.push_back({count<std::uint32_t>(argument, "first", 0, kMost),
                     count<std::uint32_t>(argument, "step", 0, kMost),
                     count<std::uint32_t>(argument, "planes", 1, kMost)});
    }
    return all;
  }

  std::vector<SharedBytes> shared_bytes(const json& object) const {
    std::vector<SharedBytes> all;
    for (const json& one : object.value("shared", json::array())) {
      auto file = one.at("file").get<std::string>();
      auto part = one.at("part").get<std::string>();
      static_cast<void>(archive_.file(part));
      const std::size_t at = place(one, "at", archive_.file(file).size() + 1);
      if (std::ranges::find(all, file, &SharedBytes::file) != all.end()) {
        fail("its file " + file + " lacks two parts; export it again");
      }
      all.push_back({std::move(file), at, std::move(part)});
    }
    return all;
  }

  RecordedFiles recorded_files(const json& recorded) const {
    RecordedFiles all;
    all.tolerance = recorded.at("tolerance").get<double>();
    for (const json& one : recorded.at("cases")) {
      RecordedFiles::Case& last = all.cases.emplace_back();
      last.rows = one.at("rows").get<std::size_t>();
      last.file = one.at("file").get<std::string>();
      last.numbers = one.value("numbers", last.numbers);
      last.tolerances = one.value("tolerances", last.tolerances);
      static_cast<void>(archive_.file(last.file));
    }
    return all;
  }

  const Archive& archive_;
  const std::string& subject_;
};

}  // namespace

const TargetDescription* target_for(const std::vector<TargetDescription>& targets,
                                    DeviceKind kind) {
  const auto found = std::ranges::find_if(targets, [&](const TargetDescription& target) {
    return target.name == kAny || target.name == target_called(kind);
  });
  return found == targets.end() ? nullptr : &*found;
}

std::string names_of(const std::vector<TargetDescription>& targets) {
  std::string names;
  for (const TargetDescription& target : targets) names += (names.empty() ? "" : ",") + target.name;
  return names;
}

Manifest read_manifest(const Archive& archive, const std::string& subject) {
  constexpr int kDeepest = 64;  // messages and copies recurse
  const auto require_shallow = [](int depth, json::parse_event_t, const json&) {
    if (depth <= kDeepest) return true;
    throw std::runtime_error("its manifest is nested deeper than " + std::to_string(kDeepest) +
                             " levels");
  };
  const json object = json::parse(archive.file("extra/tensoa.json"), require_shallow);
  return Reader(archive, subject).read(object);
}

}  // namespace tensoa::package
