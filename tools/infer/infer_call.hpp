// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "infer_columns.hpp"
#include "skipped_rows.hpp"
#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/model.hpp"

namespace tensoa::tools {

/// The results of a model for a chunk.
struct InferredChunk {
  std::uint64_t first_row = 0;  ///< in the file
  std::size_t rows_read = 0;
  std::size_t rows = 0;  ///< to be written
  std::vector<std::size_t>
      row_numbers;             ///< of these, from the first of the chunk; empty: all, in order
  std::vector<Buffer> memory;  ///< of each output block
  std::vector<columnar::WrittenNumbers> numbers;  ///< of each written column
  columnar::TableChunk copied;
  std::vector<SkippedRows> skipped = {};
};

/// The bytes copied on the way from the file to the model and back.
struct InferCopies {
  CopyReport model;           ///< by the model's engine
  std::size_t converted = 0;  ///< bytes written by conversions, or because planes lay apart
  std::size_t to_device = 0;  ///< bytes
  std::size_t from_device = 0;

  InferCopies& operator+=(const InferCopies& other) noexcept;
};

/// Runs a model on chunks of files, one at a time. *Threads*: one at a time.
class InferCaller {
 public:
  /// @param are_rows_independent one call may have rows of several groups
  InferCaller(Model<> model, Queue queue, Match match, bool are_rows_independent,
              columnar::NumberRules rules);

  /// Leaves out the rows that cannot be used.
  /// @throws InputError for what is wrong with more than rows; as Model::forward
  InferredChunk run(const columnar::TableChunk& chunk, const InferColumns& columns);

  /// Returns what was copied since the last call of this.
  InferCopies take_copies() noexcept { return std::exchange(copies_, {}); }

  double seconds() const noexcept { return seconds_; }  ///< in the model

 private:
  /// Of each collection where the rows of each call begin, and where those of the last one end.
  using Offsets = std::vector<std::vector<std::int64_t>>;

  /// An input block: where its planes lie, for all calls of the chunk.
  struct InputPlanes {
    std::vector<const std::byte*> data;
    std::size_t pitch = 0;  ///< elements, of vectors and matrices
  };

  InferredChunk run_usable(const columnar::TableChunk& chunk, const InferColumns& columns,
                           const std::vector<std::int64_t>& groups);
  InferredChunk answers(const columnar::TableChunk& chunk, const InferColumns& columns,
                        const Offsets& offsets);
  /// @param groups where the groups begin of which each is one call, and where the last one ends; empty: all
  /// rows are one call, or each is
  Offsets read_inputs(const columnar::TableChunk& chunk, const InferColumns& columns,
                      const std::vector<std::int64_t>& groups);
  void put_planes_together(const InputSource& input, std::size_t rows, InputPlanes& planes);
  void call(const InferColumns& columns, const Offsets& offsets, std::size_t number,
            InferredChunk& out);
  void bind(std::vector<BoundBlock>& blocks, const BlockDescription& block,
            const std::vector<std::byte*>& planes, std::size_t pitch, std::size_t rows,
            bool is_input);
  void filter(const columnar::TableChunk& chunk, const InferColumns& columns, InferredChunk& out);

  Model<> model_;
  Queue queue_;
  Match match_;
  bool are_rows_independent_;
  columnar::NumberRules rules_;
  std::vector<InputPlanes> planes_;              ///< of each input
  std::vector<columnar::NumberMemory> numbers_;  ///< of each plane of each input
  std::vector<Buffer> together_;                 ///< of each input whose planes lay apart
  std::vector<Buffer> on_device_;                ///< of each block of a call
  InferCopies copies_;
  double seconds_ = 0;
};

/// Whether the rows of a model depend on each other: by its engine for the columns of its binding, else by what describes it.
RowDependence row_dependence(const Model<>& model, const package::ModelDescription& description,
                             const Queue& queue);

}  // namespace tensoa::tools
