// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/forest/forest.hpp"

namespace tensoa::forest {
namespace {

/// A plane of a block of a binding: in one of its tensors, the place in the dimensions that do not count rows.
struct BoundPlane {
  std::size_t block;
  std::size_t tensor;
  std::array<std::int64_t, kMaxRank> index{};
  std::uint8_t row_dimension = 0;

  const TensorView& in(const std::vector<BoundBlock>& blocks) const {
    return blocks[block].memory()[tensor];
  }
  std::byte* first_of(const TensorView& view) const noexcept {
    std::int64_t elements = 0;
    for (std::size_t d = 0; d < view.rank; ++d) elements += index[d] * view.stride_of_dim[d];
    return static_cast<std::byte*>(view.data) +
           elements * static_cast<std::int64_t>(size_of(view.dtype));
  }
};

/// A place, and the name of its column where it is one of plain values.
struct NamedPlane {
  BoundPlane place;
  std::string name;
};

/// All planes of a tensor: column by column, of each its parts.
void append_planes(const TensorView& view, BoundPlane place, const std::vector<std::string>& names,
                   std::vector<NamedPlane>& all) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < view.rank; ++d) {
    if (d != place.row_dimension) count *= view.size_of_dim[d];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t left = i;
    for (std::size_t d = view.rank; d-- > 0;) {
      if (d == place.row_dimension) continue;
      place.index[d] = left % view.size_of_dim[d];
      left /= view.size_of_dim[d];
    }
    const auto column = static_cast<std::size_t>(i);
    all.push_back({place, names.size() == static_cast<std::size_t>(count) ? names[column] : ""});
  }
}

std::vector<NamedPlane> planes_of(const std::vector<BoundBlock>& blocks,
                                  const std::string& subject) {
  std::vector<NamedPlane> all;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const BoundBlock& block = blocks[b];
    if (block.form != BlockForm::kInPlace && block.form != BlockForm::kRepacked) {
      throw BindingError(
          subject + to_string(block) +
          " is of padded rows, a mask or segments; trees take columns, one value a row");
    }
    const auto tensors = block.memory();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const bool is_one_column = block.form == BlockForm::kRepacked;
      std::vector<std::string> names;
      for (std::size_t c = 0; c < block.columns.size(); ++c) {
        if (!is_one_column || c == t) names.push_back(block.columns[c].name);
      }
      BoundPlane place{
          b, t, {}, static_cast<std::uint8_t>(is_one_column ? 0 : block.row_dimension())};
      append_planes(tensors[t], place, names, all);
    }
  }
  return all;
}

/// Names that XGBoost (f0) and LightGBM (Column_0) make up where the user gave none.
bool is_made_up(const std::string& name) {
  const bool is_lightgbm = name.starts_with("Column_");
  if (!is_lightgbm && !name.starts_with('f')) return false;
  const std::string_view number = std::string_view(name).substr(is_lightgbm ? 7 : 1);
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

struct TreePrepared final : Prepared {
  using Prepared::Prepared;

  std::vector<BoundPlane> features;
  std::vector<BoundPlane> answers;
  std::shared_ptr<const Forest> forest;
};

class TreeEngine final : public Engine {
 public:
  TreeEngine(std::string subject, Ensemble ensemble, Device device)
      : subject_(std::move(subject)), ensemble_(std::move(ensemble)), device_(device) {}

  const Signature& signature() const noexcept override { return signature_; }

  /// Blocks are only where columns are.
  std::vector<std::size_t> match(const Binding& binding,
                                 const std::string& /*subject*/) const override {
    std::vector<std::size_t> arguments(binding.inputs.size());
    std::iota(arguments.begin(), arguments.end(), std::size_t{0});
    return arguments;
  }

  std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                          std::vector<std::size_t> arguments) const override {
    auto prepared = std::make_shared<TreePrepared>(std::move(arguments));
    prepared->features = features_in(binding);
    prepared->answers = answers_in(binding);
    std::vector<DType> dtypes;
    for (const BoundPlane& place : prepared->features)
      dtypes.push_back(place.in(binding.inputs).dtype);
    prepared->forest = forest_of(dtypes);
    return prepared;
  }

  RowDependence row_dependence(const Binding& /*binding*/,
                               const Prepared& /*prepared*/) const override {
    return {RowDependence::Answer::kIndependent, ""};
  }

  CopyReport run(const Queue& queue, const Binding& binding,
                 const Prepared& prepared) const override {
    const auto& plan = static_cast<const TreePrepared&>(prepared);
    thread_local std::vector<Column> columns;
    thread_local std::vector<AnswerColumn> answers;
    columns.clear();
    answers.clear();
    const std::int64_t rows = rows_in(binding);
    for (const BoundPlane& place : plan.answers) {
      const TensorView& view = place.in(binding.outputs);
      answers.push_back(
          {place.first_of(view), view.stride_of_dim[place.row_dimension], view.dtype});
    }
    for (const BoundPlane& place : plan.features) {
      const TensorView& view = place.in(binding.inputs);
      columns.push_back(
          {place.first_of(view), view.stride_of_dim[place.row_dimension], view.dtype});
      for (const AnswerColumn& answer : answers) require_apart(columns.back(), answer, rows);
    }
    plan.forest->run(queue, columns, answers, rows);
    return {};
  }

 private:
  /// The forest compiled for columns of these dtypes. All plans share it: compiling takes milliseconds.
  std::shared_ptr<const Forest> forest_of(const std::vector<DType>& dtypes) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Forest>& forest = forests_[dtypes];
    if (forest == nullptr) forest = std::make_shared<const Forest>(ensemble_, dtypes, device_);
    return forest;
  }

  /// Of each feature its place: by name, or in order.
  std::vector<BoundPlane> features_in(const Binding& binding) const {
    const std::vector<NamedPlane> planes = planes_of(binding.inputs, subject_);
    std::vector<BoundPlane> places;
    const std::vector<std::string>& names = ensemble_.column_names;
    if (binding.match != Match::kByOrder && goes_by_name(ensemble_)) {
      for (const std::string& name : names) places.push_back(find(name, planes));
      return places;
    }
    if (planes.size() != ensemble_.columns) {
      throw BindingError(subject_ + "takes " + std::to_string(ensemble_.columns) +
                         " columns, got " + std::to_string(planes.size()) +
                         "; bind one for each feature, in their order");
    }
    for (const NamedPlane& plane : planes) places.push_back(plane.place);
    return places;
  }

  BoundPlane find(const std::string& name, const std::vector<NamedPlane>& planes) const {
    const auto found = std::ranges::find(planes, name, &NamedPlane::name);
    if (found != planes.end()) return found->place;
    std::vector<std::string> names;
    std::string there;
    for (const NamedPlane& plane : planes) {
      if (plane.name.empty()) continue;
      names.push_back(plane.name);
      there += (there.empty() ? "" : ", ") + plane.name;
    }
    throw BindingError(subject_ + "its feature \"" + name +
                       "\" is not a column of the input blocks; there are: " +
                       (there.empty() ? "none with a name" : there) + nearest_of(name, names) +
                       ". Rename the column, or request Match::kByOrder");
  }

  std::vector<BoundPlane> answers_in(const Binding& binding) const {
    std::vector<BoundPlane> answers;
    for (const NamedPlane& plane : planes_of(binding.outputs, subject_)) {
      const DType dtype = plane.place.in(binding.outputs).dtype;
      if (dtype != DType::kF32 && dtype != DType::kF64) {
        throw BindingError(subject_ + to_string(binding.outputs[plane.place.block]) + " is of " +
                           std::string(name_of(dtype)) +
                           ", expected float32 or float64 for answers");
      }
      answers.push_back(plane.place);
    }
    if (answers.size() == ensemble_.outputs) return answers;
    throw BindingError(subject_ + "gives " + std::to_string(ensemble_.outputs) +
                       " outputs a row, got " + std::to_string(answers.size()) +
                       " output columns; bind one for each");
  }

  std::int64_t rows_in(const Binding& binding) const {
    const BoundBlock& first = binding.outputs.front();
    const std::int64_t rows = first.tensor.size_of_dim[first.row_dimension()];
    for (const auto* const blocks : {&binding.inputs, &binding.outputs}) {
      for (const BoundBlock& block : *blocks) {
        const std::int64_t got = block.tensor.size_of_dim[block.row_dimension()];
        if (got == rows) continue;
        throw BindingError(subject_ + to_string(block) + " has " + std::to_string(got) +
                           " rows, expected " + std::to_string(rows) + ", as " + to_string(first));
      }
    }
    return rows;
  }

  void require_apart(const Column& column, const AnswerColumn& answer, std::int64_t rows) const {
    const auto extent = [&](const std::byte* first, std::int64_t stride, DType dtype) {
      const std::int64_t strides[] = {stride};
      const std::int64_t sizes[] = {rows};
      return extent_of(first, sizes, strides, size_of(dtype));
    };
    const bool is_same = column.first == answer.first && column.stride == answer.stride &&
                         size_of(column.dtype) == size_of(answer.dtype);
    if (is_same || !extent(column.first, column.stride, column.dtype)
                        .overlaps(extent(answer.first, answer.stride, answer.dtype))) {
      return;
    }
    throw BindingError(subject_ +
                       "an output column lies on an input column, not row on row; bind them apart");
  }

  std::string subject_;
  Ensemble ensemble_;
  Device device_;
  Signature signature_;
  mutable std::mutex mutex_;  ///< of forests_
  mutable std::map<std::vector<DType>, std::shared_ptr<const Forest>> forests_;
};

}  // namespace

bool goes_by_name(const Ensemble& ensemble) {
  const std::vector<std::string>& names = ensemble.column_names;
  return !names.empty() && !std::ranges::all_of(names, is_made_up);
}

std::shared_ptr<const Engine> load_tree_engine(const std::filesystem::path& path, Device device,
                                               const Options& options) {
  const std::string subject = "model " + path.string() + ": ";
  Ensemble ensemble = read_tree_file(path, options.trees);
  if (options.margin) ensemble.link = Link::kNone;
  return std::make_shared<const TreeEngine>(subject, std::move(ensemble), device);
}

}  // namespace tensoa::forest
