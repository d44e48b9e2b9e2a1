// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/queue_memory.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/package/inspect.hpp"

/// @file
/// Calls of a model, of which only the description is known, on planes anywhere in memory: what the Python module and the
/// C interface run.

namespace tensoa::package {

/// Where a plane lies: element i begins at data + i * stride.
struct Plane {
  std::byte* data = nullptr;
  std::int64_t stride = 0;  ///< bytes; of a scalar not used
  DType dtype = DType::kF32;
  Device device = Device::cpu();  ///< that of the call, or the CPU for a scalar

  bool operator==(const Plane&) const = default;
};

/// A block of a model, and which of all planes of the inputs (of the outputs) are its own.
struct BlockOfPlanes {
  BlockDescription block;
  std::size_t first = 0;
  std::size_t count = 0;
  std::optional<std::size_t> collection;  ///< has the number of rows of this input collection
  std::size_t rows = 0;                   ///< else
};

/// The planes that calls of a model read and write.
struct PlanesOfModel {
  std::vector<BlockOfPlanes> inputs;
  std::vector<BlockOfPlanes> outputs;
  std::size_t input_planes = 0;
  std::size_t output_planes = 0;
  std::size_t collections = 0;  ///< of the inputs
  Match match = Match::kAuto;
  /// Of tree files: planes of any dtype and distance are read where they lie, answers are float32 or float64. Else the
  /// dtype is the one described, and rows that are not side by side are copied.
  bool takes_any_numbers = false;
};

/// @param description with a binding @param is_served by servers, which accept the dtypes that are described
PlanesOfModel planes_of(const ModelDescription& description, bool is_served);

/// Rows of which each group is a separate call: of input collection c, group g is the rows from offsets[c][g] to
/// offsets[c][g + 1].
struct Groups {
  std::int64_t count = 0;
  std::vector<const std::int64_t*> offsets;
};

/// The error of the call of one group.
struct FailedGroup : std::exception {
  std::int64_t group;
  std::exception_ptr error;

  FailedGroup(std::int64_t number, const std::exception_ptr& why) : group(number) { error = why; }
};

/// Calls of one model by one thread: a binding that is prepared once for each way in which columns lie, and memory for
/// what has to be copied. Only grows.
/// *Threads*: belongs to one thread; the model is shared.
class PlaneCall {
 public:
  /// @param model, planes outlive this
  /// @param queue where all calls run
  PlaneCall(const AnyModel& model, const PlanesOfModel& planes, Queue queue);
  PlaneCall(const PlaneCall&) = delete;
  PlaneCall& operator=(const PlaneCall&) = delete;

  std::vector<Plane> inputs;       ///< set before run()
  std::vector<Plane> outputs;      ///< likewise
  std::vector<std::int64_t> rows;  ///< likewise, of each input collection

  /// Runs the model. @return the bytes that were copied
  /// @throws as Model::forward
  /// *Stream order*: on a GPU only enqueues.
  CopyReport run();

  /// The same where inputs, outputs and rows were not set since the last run(), which had no groups.
  CopyReport run_again();

  /// The same for each group. Planes have the rows of all of them; scalars have one number for each, or the stride 0;
  /// results that are not rows of a collection lie one after another.
  /// @param now_and_then called between groups, every tenth of a second
  /// @throws BindingError for a result that lies on another plane; FailedGroup for the first call that fails: results of those
  /// before it are written
  CopyReport run(const Groups& groups, const std::function<void()>& now_and_then);

  const Queue& queue() const noexcept { return queue_; }

  std::int64_t rows_of(const BlockOfPlanes& block) const {
    return block.collection ? rows[*block.collection] : static_cast<std::int64_t>(block.rows);
  }

  /// A binding over one row of zeros, for questions about the model.
  static Binding example(const PlanesOfModel& planes, std::vector<std::byte>& memory);

 private:
  /// As a view has a column in it (bind()).
  struct PlacedColumn {
    void* data;
    std::size_t pitch;
  };

  /// One block of the binding, and what of it stays from call to call.
  struct Place {
    const BlockOfPlanes* of;
    bool is_input;
    std::vector<PlacedColumn> columns;
    std::vector<DType> dtypes;  ///< of the columns, where any are taken
    bool is_in_place = false;
    Buffer aside;                     ///< for planes that cannot be used where they lie
    std::size_t aside_pitch = 0;      ///< bytes
    std::vector<std::size_t> copied;  ///< planes that are aside now
  };

  /// A plane that is copied.
  struct Copy {
    Plane to;
    Plane from;
    std::int64_t count;
  };

  void require_apart(const Groups& groups) const;
  void place(Place& place, std::vector<Plane>& planes, CopyReport& copies);
  void place_described(Place& place, std::vector<Plane>& planes, CopyReport& copies);
  void place_any(Place& place, std::vector<Plane>& planes, CopyReport& copies);
  void set_aside(Place& place, std::vector<Plane>& planes, std::size_t plane, CopyReport& copies);
  void bring_back(const Place& place, CopyReport& copies);
  void copy();
  void prepare();
  void rebind();

  const AnyModel& model_;
  const PlanesOfModel& of_model_;
  Queue queue_;
  QueueMemory memory_;
  std::vector<Place> places_;       ///< of the inputs, then of the outputs
  std::vector<Plane> used_inputs_;  ///< of the last call
  std::vector<Plane> used_outputs_;
  std::vector<std::int64_t> used_rows_;
  bool is_bound_ = false;  ///< planned_ points to these planes, and none is a copy
  std::vector<Copy> to_copy_;
  std::vector<ViewReference> views_;
  std::optional<Planned> planned_;
  bool is_prepared_ = false;
};

}  // namespace tensoa::package
