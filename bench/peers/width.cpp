// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// One model as packages, TorchScript and ONNX file beside each other, on one thread of the CPU: what bench/width.py calls.
//     compare_width ONNXRUNTIME_LIBRARY FOLDER ROWS... > RESULT.json
// FOLDER: ours.pt2, whose columns are bound; inputs_ROWS.bin, the planes of its input blocks; and of the peers
// those that are there: inductor.pt2, model.pt, model.onnx.

#include <fmt/core.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "onnxruntime.hpp"
#include "row_major.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tools/generated_columns.hpp"

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
  Comparison(std::string onnxruntime, std::filesystem::path folder)
      : onnxruntime_(std::move(onnxruntime)),
        folder_(std::move(folder)),
        description_(package::inspect((folder_ / "ours.pt2").string())) {
    for (const auto& [name, file] : kModels) {
      const std::filesystem::path path = folder_ / file;
      if (std::filesystem::exists(path)) models_.emplace_back(name, Model<>(path.string()));
    }
  }

  /// Microseconds of a call of each, by name.
  ordered_json measure(std::size_t rows) {
    tools::GeneratedColumns columns(description_, rows, 0, 1, queue_);
    columns.fill(read_inputs(folder_ / fmt::format("inputs_{}.bin", rows), columns.binding()));
    const RowMajor tensors(columns.binding());
    std::vector<Variant> variants;
    const auto add = [&](const std::string& name, auto call) {
      variants.push_back({.name = name, .run = [call](std::size_t calls) {
                            for (std::size_t i = 0; i < calls; ++i) call();
                            return std::size_t{0};
                          }});
    };
    for (const auto& [name, model] : models_) {
      const Model<>* const one = &model;
      add(name, [this, one, &columns] { one->forward(queue_, columns.binding()); });
    }
    if (const std::filesystem::path path = folder_ / "model.onnx"; std::filesystem::exists(path)) {
      sessions_.emplace_back(onnxruntime_, path.string(), tensors.tensors(), tensors.names(),
                             columns.binding().outputs.size());
      OnnxRuntime* const session = &sessions_.back();
      add("onnxruntime", [session] { session->run(); });
    }
    bench::run_in_turns(variants, kTurns, kShortest, bench::process_clock);
    ordered_json times;
    for (Variant& variant : variants)
      times[variant.name] = bench::summarize(std::move(variant.times)).median_us;
    return times;
  }

 private:
  static constexpr std::pair<const char*, const char*> kModels[] = {
      {"ours", "ours.pt2"}, {"inductor", "inductor.pt2"}, {"torchscript", "model.pt"}};

  std::string onnxruntime_;
  std::filesystem::path folder_;
  package::ModelDescription description_;
  Queue queue_{Device::cpu()};
  std::vector<std::pair<std::string, Model<>>> models_;
  std::deque<OnnxRuntime> sessions_;
};

int main_of(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: compare_width ONNXRUNTIME_LIBRARY FOLDER ROWS...\n");
    return 2;
  }
  pytorch::register_engines();
  Comparison comparison(argv[1], argv[2]);
  ordered_json result;
  for (int i = 3; i < argc; ++i)
    result[argv[i]] = comparison.measure(std::strtoul(argv[i], nullptr, 10));
  fmt::print("{}\n", result.dump());
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
