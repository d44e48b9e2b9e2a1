// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/triton/wire.hpp"

namespace tensoa::triton {

/// Calls of a model on tensors as they are sent, on one device. Planned once: a call sets addresses and
/// numbers of rows.
///
/// The memory of a call is in main memory. On a GPU it is copied there and back, and run() waits.
/// *Threads*: one thread at a time.
class WireCall {
 public:
  /// Loads the model on `device`. @param wire must outlive the object
  /// @throws LoadError, DeviceError, BindingError
  WireCall(const AnyModel& model, const Wire& wire, Device device);

  /// Starts a call.
  /// @param inputs values in a plane of each input, 0 or more
  /// @return values in a plane of each output, until the next call
  /// @throws BindingError where the inputs of one collection differ
  std::span<const std::int64_t> set_rows(std::span<const std::int64_t> inputs);

  /// Runs the model on the rows of set_rows().
  /// @param inputs,outputs memory of each block, aligned to its dtype; not read or written, but not null, where
  /// a block has no values
  /// @throws BindingError where a column that an input block has at several places differs there; EngineError,
  /// DeviceError
  void run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs);

 private:
  /// How a block of one row is bound; strides of planes are multiples of the pitch.
  struct Place {
    const WireBlock* wire = nullptr;
    std::size_t side_of = 0;  ///< of the plan: its number among the inputs or outputs
    bool is_input = true;
    /// The planes lie as described, with others between, which a tensor [k, n] needs: copied into `spread`.
    bool is_spread = false;
    std::array<std::int64_t, kMaxRank> strides{};
    std::vector<std::array<std::int64_t, kMaxRank>> source_strides;
    std::vector<std::int64_t> first_planes;  ///< of each column, where it is bound
    /// Columns that the block has at an earlier place, too, and that place. They are bound there.
    std::vector<std::pair<std::size_t, std::size_t>> repeated;
    std::int64_t all_planes = 0;  ///< that memory is needed for
    std::int64_t rows = 0;        ///< of this call
    Buffer spread;
    Buffer staged;  ///< on the device, where it is a GPU

    std::int64_t values() const noexcept { return wire->is_scalar() ? 1 : rows; }
    std::size_t element() const noexcept { return size_of(wire->dtype()); }
    std::size_t plane_bytes() const noexcept {
      return static_cast<std::size_t>(values()) * element();
    }
    std::size_t bytes() const noexcept {
      return static_cast<std::size_t>(wire->planes) * plane_bytes();
    }
  };

  Place place_of(const WireBlock& wire, bool is_input);
  void bind_one_row(std::vector<BoundBlock>& blocks, Place& place, std::byte* memory);
  BoundBlock& bound(const Place& place) noexcept;
  void remember_strides(Place& place);
  std::byte* in_device(Place& place, std::byte* memory);
  void point(Place& place, std::byte* memory);
  static void require_repeated(const Place& place, const std::byte* memory);
  void copy_planes(Place& place, std::byte* wire, std::byte* spread, bool is_input) const;

  const AnyModel model_;
  const Wire& wire_;
  Queue queue_;
  std::vector<Place> places_;  ///< of the inputs, then of the outputs
  std::vector<std::int64_t> rows_of_collection_;
  std::vector<const WireBlock*> first_of_collection_;
  std::vector<std::int64_t> values_of_outputs_;
  Buffer one_row_;
  Planned plan_{};
};

}  // namespace tensoa::triton
