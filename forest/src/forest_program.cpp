// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engines.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/forest/forest.hpp"

namespace tensoa::forest {
namespace {

/// A plane of a block of the package.
struct PackagePlane {
  std::size_t block;
  std::int64_t plane;
  DType dtype;

  std::byte* first_of(std::span<const package::BlockMemory> blocks) const noexcept {
    const package::BlockMemory& planes = blocks[block];
    return planes.first + plane * planes.pitch * static_cast<std::int64_t>(size_of(dtype));
  }
};

/// The planes of a block, column by column, a vector as its parts.
std::vector<PackagePlane> places_of(const BlockDescription& block, std::size_t number) {
  std::vector<PackagePlane> places;
  for (const ColumnDescription& column : block.columns) {
    const std::size_t parts = block.element.planes();
    for (std::size_t part = 0; part < parts; ++part) {
      // A matrix counts row by row, its planes lie column by column.
      const std::size_t columns =
          block.element.kind == ColumnKind::kMatrix ? block.element.columns : 1;
      const std::size_t plane = part / columns + part % columns * (parts / columns);
      places.push_back(
          {number, static_cast<std::int64_t>(column.plane + plane), block.element.dtype});
    }
  }
  return places;
}

class ForestProgram final : public package::Program {
 public:
  ForestProgram(const package::Package& package, const package::ForestDescription& description,
                Device device) {
    const BindingDescription& binding = package.manifest().binding;
    const Ensemble ensemble =
        from_bytes(package.archive().file(description.file), package.subject());
    std::vector<std::vector<PackagePlane>> inputs;
    for (const BlockDescription& block : binding.inputs) {
      inputs.push_back(places_of(block, inputs.size()));
      require_rows(package, block);
    }
    std::vector<DType> dtypes;
    for (const auto& [block, place] : description.columns) {
      if (block >= inputs.size() || place >= inputs[block].size()) {
        package.fail("its trees read column " + std::to_string(place) + " of input block " +
                     std::to_string(block) + ", which it does not describe; import it again");
      }
      features_.push_back(inputs[block][place]);
      dtypes.push_back(features_.back().dtype);
    }
    if (dtypes.size() != ensemble.columns) {
      package.fail("its trees take " + std::to_string(ensemble.columns) + " columns, it names " +
                   std::to_string(dtypes.size()) + "; import it again");
    }
    for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
      require_rows(package, binding.outputs[i]);
      for (const PackagePlane& place : places_of(binding.outputs[i], binding.inputs.size() + i)) {
        if (place.dtype != DType::kF32 && place.dtype != DType::kF64) {
          package.fail("its output \"" + binding.outputs[i].name + "\" is of " +
                       std::string(name_of(place.dtype)) +
                       ", expected float32 or float64; import it again");
        }
        answers_.push_back(place);
      }
    }
    if (answers_.size() != ensemble.outputs) {
      package.fail("its trees give " + std::to_string(ensemble.outputs) + " outputs, it has " +
                   std::to_string(answers_.size()) + " output columns; import it again");
    }
    forest_.emplace(ensemble, dtypes, device);
  }

  CopyReport run(const Queue& queue, std::span<const package::BlockMemory> blocks) override {
    thread_local std::vector<Column> columns;
    thread_local std::vector<AnswerColumn> answers;
    columns.clear();
    answers.clear();
    for (const PackagePlane& place : features_)
      columns.push_back({place.first_of(blocks), 1, place.dtype});
    for (const PackagePlane& place : answers_)
      answers.push_back({place.first_of(blocks), 1, place.dtype});
    forest_->run(queue, columns, answers, blocks.back().rows);
    return {};
  }

 private:
  static void require_rows(const package::Package& package, const BlockDescription& block) {
    if (!block.element.is_scalar()) return;
    package.fail("its block \"" + block.name +
                 "\" is of scalars, expected one value a row; import it again");
  }

  std::vector<PackagePlane> features_;
  std::vector<PackagePlane> answers_;
  std::optional<Forest> forest_;
};

}  // namespace

std::unique_ptr<package::Program> load_forest_program(const package::Package& package,
                                                      Device device,
                                                      const package::Options& /*options*/,
                                                      package::GraphTrial /*trial*/) {
  return std::make_unique<ForestProgram>(package, *package.manifest().forest, device);
}

}  // namespace tensoa::forest
