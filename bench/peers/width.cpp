// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// One model as packages, TorchScript and ONNX file in comparison, on one thread of the CPU or a GPU: what bench/width.py calls.
//     compare_width DEVICE ONNXRUNTIME_LIBRARY FOLDER ROWS... > RESULT.json
// ROWS: of the first collection (of the next one three times this number, then five times), or of all: 8:672:1.
// FOLDER: ours.pt2, whose columns are bound; inputs_ROWS.bin, the planes of its input blocks; and of the others
// those that are there: just_in_time.pt2, inductor.pt2, model.pt, and on a CPU model.onnx. One that cannot be loaded or
// called is left out, and "notes" says why. What each model gives is written to answers_NAME_ROWS.bin: the planes of the
// output blocks, as doubles.

#include <fmt/core.h>

#include <cstddef>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/packing_baseline.hpp"
#include "cli/generated_columns.hpp"
#include "onnxruntime.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/engines.hpp"

namespace tensoa::peers {
namespace {

using bench::Variant;
using nlohmann::ordered_json;

constexpr int kTurns = 15;
constexpr double kShortest = 1000;  // us of a batch

/// The planes of each input block, as bench/width.py wrote them.
std::vector<std::vector<std::byte>> read_inputs(const std::filesystem::path& file,
                                                const Binding& binding) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  std::vector<std::vector<std::byte>> blocks;
  std::size_t at = 0;
  for (const BoundBlock& block : binding.inputs) {
    const std::size_t size = block.tensor.bytes();
    if (at + size > bytes.size()) throw InputError(file.string() + ": too short for the columns");
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data()) + at;
    blocks.emplace_back(first, first + size);
    at += size;
  }
  return blocks;
}

class Comparison {
 public:
  Comparison(Device device, std::string onnxruntime, std::filesystem::path folder)
      : onnxruntime_(std::move(onnxruntime)),
        folder_(std::move(folder)),
        description_(package::inspect((folder_ / "ours.pt2").string())),
        queue_(device) {
    for (const auto& [name, file] : kModels) {
      const std::filesystem::path path = folder_ / file;
      if (!std::filesystem::exists(path)) continue;
      tried(name, [&] { models_.emplace_back(name, Model<>(path.string())); });
    }
  }

  /// Microseconds of a call of each, by name: of the processor's time, or on a GPU until all calls of a batch
  /// are done.
  ordered_json measure(const std::string& rows) {
    cli::GeneratedColumns columns = columns_of(rows);
    columns.fill(read_inputs(folder_ / fmt::format("inputs_{}.bin", rows), columns.binding()));
    std::vector<Variant> variants;
    const auto add = [&](const std::string& name, auto call) {
      const auto run = [this, call](std::size_t calls) {
        for (std::size_t i = 0; i < calls; ++i) call();
        queue_.wait();
        return std::size_t{0};
      };
      const bool is_run = tried(name, [&] { run(1); });
      if (is_run) variants.push_back({.name = name, .run = run});
      return is_run;
    };
    for (const auto& [name, model] : models_) {
      const Model<>* const one = &model;
      if (add(name, [this, one, &columns] { one->forward(queue_, columns.binding()); }))
        write_answers(columns, folder_ / fmt::format("answers_{}_{}.bin", name, rows));
    }
    bench::PackingBaseline packing(queue_, columns.binding());
    const std::filesystem::path onnx = folder_ / "model.onnx";
    if (queue_.device().is_cpu() && std::filesystem::exists(onnx)) {
      packing.pack();
      const bool is_loaded = tried("onnxruntime", [&] {
        sessions_.emplace_back(onnxruntime_, onnx.string(), packing.rows());
      });
      if (is_loaded) {
        OnnxRuntime* const session = &sessions_.back();
        add("onnxruntime", [session] { session->run(); });
        add("onnxruntime_packed", [session, &packing] {
          packing.pack();
          session->run();
          packing.bring_back();
        });
      }
    }
    const bool on_cpu = queue_.device().is_cpu();
    bench::run_in_turns(variants, kTurns, kShortest,
                        on_cpu ? bench::process_clock : bench::wall_clock);
    ordered_json times;
    for (Variant& variant : variants)
      times[variant.name] = bench::summarize(std::move(variant.times)).median_us;
    return times;
  }

  const ordered_json& notes() const { return notes_; }

 private:
  cli::GeneratedColumns columns_of(const std::string& rows) const {
    std::vector<std::size_t> all;
    std::istringstream text(rows);
    for (std::string one; std::getline(text, one, ':');) all.push_back(std::stoul(one));
    if (all.size() == 1) return {description_, all.front(), 0, 1, queue_};
    return {description_, all, 0, 1, queue_};
  }

  static void write_answers(const cli::GeneratedColumns& columns,
                            const std::filesystem::path& file) {
    std::ofstream stream(file, std::ios::binary);
    for (std::size_t i = 0; i < columns.binding().outputs.size(); ++i) {
      const std::vector<double> numbers = columns.output(i);
      stream.write(reinterpret_cast<const char*>(numbers.data()),
                   static_cast<std::streamsize>(numbers.size() * sizeof(double)));
    }
  }

  /// Whether it could be done; of what we measure, all must be.
  template <class Action>
  bool tried(const std::string& name, Action action) {
    try {
      action();
      return true;
    } catch (const std::exception& error) {
      if (name == kModels[0].first) throw;
      notes_[name] = error.what();
      return false;
    }
  }

  static constexpr std::pair<const char*, const char*> kModels[] = {
      {"ours", "ours.pt2"},
      {"just_in_time", "just_in_time.pt2"},
      {"inductor", "inductor.pt2"},
      {"torchscript", "model.pt"}};

  std::string onnxruntime_;
  std::filesystem::path folder_;
  package::ModelDescription description_;
  Queue queue_;
  std::vector<std::pair<std::string, Model<>>> models_;
  std::deque<OnnxRuntime> sessions_;
  ordered_json notes_ = ordered_json::object();
};

int main_of(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: compare_width DEVICE ONNXRUNTIME_LIBRARY FOLDER ROWS...\n");
    return 2;
  }
  pytorch::register_engines();
  Comparison comparison(parse_device(argv[1]), argv[2], argv[3]);
  ordered_json times;
  for (int i = 4; i < argc; ++i) times[argv[i]] = comparison.measure(argv[i]);
  fmt::print("{}\n", ordered_json{{"times", times}, {"notes", comparison.notes()}}.dump());
  return 0;
}

}  // namespace
}  // namespace tensoa::peers

int main(int argc, char** argv) {
  try {
    return tensoa::peers::main_of(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare_width: {}\n", error.what());
    return 2;
  }
}
