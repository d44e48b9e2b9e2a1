// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::cli {

/// Memory for the columns that a package was made for, filled with made-up numbers: floats in [-2, 2),
/// integers that are rows of the smallest input collection. The same arguments give the same numbers on
/// every device.
/// *Ownership*: owns the memory that its binding refers to.
class GeneratedColumns {
 public:
  /// @param model of a package
  /// @param rows of the first input collection; the next one has three times this number, then five times, …
  /// @param offset the columns begin at this row of their collections
  /// @param seed of what is in the outputs before, so that two that were not written differ
  /// @param event another one has other inputs
  GeneratedColumns(const package::ModelDescription& model, std::size_t rows, std::size_t offset,
                   std::uint64_t seed, const Queue& queue, std::uint64_t event = 0);

  /// @param rows of each input collection
  GeneratedColumns(const package::ModelDescription& model, const std::vector<std::size_t>& rows,
                   std::size_t offset, std::uint64_t seed, const Queue& queue,
                   std::uint64_t event = 0);

  /// Puts these numbers in the place of the made-up ones: of each input block its planes, one after
  /// another. Waits for the queue.
  void fill(const std::vector<std::vector<std::byte>>& inputs);

  const Binding& binding() const noexcept { return binding_; }

  /// The content of output block `i` now, plane after plane. Waits for the queue.
  std::vector<double> output(std::size_t i) const;

  /// The block of which something changed though it must not: an input, or what lies before, between
  /// and behind the rows of an output. Empty where no block changed. Waits for the queue.
  std::string changed() const;

 private:
  struct Memory {
    BlockDescription block;
    std::size_t rows;
    std::size_t pitch;   ///< elements from one plane to the next
    std::size_t offset;  ///< elements before the first row
    std::vector<std::byte> before;
    Buffer now;

    std::size_t place(std::size_t plane, std::size_t row) const;  ///< in bytes
    std::vector<std::size_t> planes() const;                      ///< that belong to the block
  };

  Memory& allocate(const BlockDescription& block, std::size_t rows, std::size_t offset);
  void bind(const Memory& memory, bool is_input);
  std::vector<std::byte> contents(const Memory& memory) const;

  Queue queue_;
  std::vector<Memory> memory_;  ///< of the inputs, then of the outputs
  std::size_t inputs_ = 0;
  Binding binding_;
};

}  // namespace tensoa::cli
