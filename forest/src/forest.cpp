// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/forest.hpp"

#include <algorithm>
#include <string>

#include "block_call.hpp"
#include "compile/compiled.hpp"
#include "gpu/gpu_forest.hpp"
#include "kernels/block_kernels.hpp"
#include "row_call.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::forest {
namespace {

/// Below this many rows they are evaluated one by one. Rows of full trees cost as much as a block of 64 rows
/// from 9 to 12 rows on, those of deep trees from about 4 rows on. Measured on AVX2: `tensoa-bench forest`.
std::int64_t few_rows(const Compiled& forest) noexcept {
  constexpr std::int64_t kOfFullTrees = 10;
  constexpr std::int64_t kOfDeepTrees = 4;
  return 2 * forest.followed.trees.size() < forest.blocks.trees.size() ? kOfFullTrees
                                                                       : kOfDeepTrees;
}

}  // namespace

Forest::Forest(const Ensemble& ensemble, std::span<const DType> columns, Device device)
    : device_(device) {
  if (columns.size() != ensemble.columns) {
    throw ConfigError("Forest: got the dtypes of " + std::to_string(columns.size()) +
                      " columns, expected " + std::to_string(ensemble.columns) +
                      ", one for each column of the ensemble");
  }
  compiled_ = std::make_unique<const Compiled>(ensemble, columns, !device.is_cpu());
  if (!device.is_cpu()) gpu_ = make_gpu_forest(*compiled_, device);
}

Forest::~Forest() = default;

Device Forest::device() const noexcept { return device_; }

std::size_t Forest::columns() const noexcept { return compiled_->ensemble.columns; }

std::size_t Forest::outputs() const noexcept { return compiled_->ensemble.outputs; }

Forest::Shape Forest::shape() const noexcept {
  Shape shape{.tests = compiled_->blocks.tests - 1};
  for (const BlockTree& tree : compiled_->blocks.trees) {
    (tree.form == BlockTree::Form::kFull     ? shape.full
     : tree.form == BlockTree::Form::kRagged ? shape.ragged
                                             : shape.followed) += 1;
  }
  return shape;
}

void Forest::run(const Queue& queue, std::span<const Column> columns,
                 std::span<const AnswerColumn> answers, std::int64_t rows) const {
  if (queue.device() != device_) {
    throw ConfigError("Forest: got a queue of " + to_string(queue.device()) +
                      ", its trees are on " + to_string(device_));
  }
  if (gpu_) return gpu_->run(queue, columns, answers, rows);
  const auto call = [&]<class Sum>(Sum /*of the ensemble*/) {
    if (rows < few_rows(*compiled_)) {
      RowCall<Sum>(*compiled_, columns, answers).run(rows);
    } else {
      const auto words = static_cast<int>(std::min<std::int64_t>((rows + 63) / 64, kMostWords));
      BlockCall<Sum>(*compiled_, columns, answers, block_kernels_for(words)).run(rows);
    }
  };
  if (compiled_->ensemble.sums == Precision::kFloat32) {
    call(float{});
  } else {
    call(double{});
  }
}

}  // namespace tensoa::forest
