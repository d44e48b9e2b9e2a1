// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/check_service.hpp"

#include <fmt/core.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/generated_columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/file_kind.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::tools {
namespace {

/// Rows of the made-up inputs, in addition to those that were recorded.
constexpr std::size_t kMadeUp[] = {1, 33, 4097};

/// The bits of all outputs: numbers of 64 bits hold those of every type that columns have, but for integers
/// above 2^53.
std::vector<std::uint64_t> bits_of(const cli::GeneratedColumns& columns, std::size_t outputs) {
  std::vector<std::uint64_t> bits;
  for (std::size_t i = 0; i < outputs; ++i) {
    for (const double number : columns.output(i))
      bits.push_back(std::bit_cast<std::uint64_t>(number));
  }
  return bits;
}

}  // namespace

bool answers_equally(const std::string& file, const std::string& url, const ModelOptions& options) {
  const package::ModelDescription description = package::inspect(file);
  if (!description.binding) {
    throw InputError("--check: " + file +
                     " does not state which columns it reads, so none can be made up; expected a "
                     "package or a tree file");
  }
  const auto recorded = package::kind_of_file(file) == package::FileKind::kPackage
                            ? package::recorded_results(file, DeviceKind::kCpu)
                            : std::nullopt;
  const Queue queue(Device::cpu());
  const Model<> here(file);
  const Model<> there(url, options);
  std::size_t cases = 0;
  std::size_t unequal = 0;
  const auto compare = [&](std::size_t rows, const std::vector<std::vector<std::byte>>* inputs) {
    const auto run = [&](const auto& model, std::uint64_t seed) {
      cli::GeneratedColumns columns(description, rows, 0, seed, queue);
      if (inputs != nullptr) columns.fill(*inputs);
      model.forward(queue, columns.binding());
      return bits_of(columns, description.outputs.size());
    };
    ++cases;
    const std::vector<std::uint64_t> mine = run(here, 1);
    const std::vector<std::uint64_t> theirs = run(there, 2);
    std::size_t differ = mine.size() == theirs.size() ? 0 : mine.size();
    for (std::size_t i = 0; differ == 0 && i < mine.size(); ++i)
      differ = mine[i] != theirs[i] ? i + 1 : 0;
    if (differ == 0) return;
    ++unequal;
    fmt::print("{} rows: number {} of the outputs is {} here and {} there\n", rows, differ,
               std::bit_cast<double>(mine[differ - 1]),
               differ <= theirs.size() ? std::bit_cast<double>(theirs[differ - 1]) : 0.0);
  };
  if (recorded) {
    for (const auto& one : recorded->cases) compare(one.rows, &one.inputs);
  }
  for (const std::size_t rows : kMadeUp) compare(rows, nullptr);
  fmt::print("{}: {} of {} cases have the bits of {}\n", url, cases - unequal, cases, file);
  return unequal == 0;
}

}  // namespace tensoa::tools
