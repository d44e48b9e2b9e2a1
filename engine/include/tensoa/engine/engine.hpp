// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/core/queue.hpp"
#include "tensoa/engine/completion.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/engine/row_dependence.hpp"
#include "tensoa/engine/signature.hpp"

/// @file
/// The interface of an engine, which runs a model on one device. Users of models do not need this header;
/// loader.hpp registers engines.

namespace tensoa {

/// The results of an engine's checks of a binding, kept in a Plan, so that calls do not repeat them. Engines derive
/// their own class from it. It depends on the binding and the signature alone: engines of one kind with equal
/// signatures, as before and after Model::reload, accept each other's. Immutable. It may outlive the engine, and its
/// destructor may run in any thread.
class Prepared {
 public:
  explicit Prepared(std::vector<std::size_t> arguments) : arguments_(std::move(arguments)) {}
  virtual ~Prepared() = default;

  /// Of each input block the number of its argument.
  const std::vector<std::size_t>& arguments() const noexcept { return arguments_; }

 private:
  std::vector<std::size_t> arguments_;
};

/// A model made executable on one device. Immutable; one for each device, shared by all threads and
/// queues.
///
/// *Lifetime*: the destructor waits for the device where work that is enqueued may still read the weights or
/// run the code; freeing a Buffer does that by itself. It also waits until the completions of all calls
/// that were submitted are called.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const Signature& signature() const noexcept = 0;

  /// Of each input block the number of its argument: by name or in order, as in Binding::match.
  /// Engines of models that read columns, not tensors, have their own way.
  /// @param subject "model FILE", the beginning of messages
  /// @throws BindingError where an argument that has no default has no block, or a block no argument
  virtual std::vector<std::size_t> match(const Binding& binding, const std::string& subject) const;

  /// Checks all that stays the same when the binding is rebound: names, forms, dtypes, numbers of columns.
  /// @param binding checked, on the device of the engine
  /// @param arguments of each input block the number of its argument
  /// @throws BindingError when the model does not accept these blocks
  virtual std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                                  std::vector<std::size_t> arguments) const;

  /// Whether rows of the columns depend on each other in a call. Follows from the forms of the blocks alone.
  /// @param binding checked; `prepared` was made for it
  virtual RowDependence row_dependence([[maybe_unused]] const Binding& binding,
                                       [[maybe_unused]] const Prepared& prepared) const {
    return {RowDependence::Answer::kUnknown, "the engine that runs it does not report it"};
  }

  /// Runs the model on the columns, in the order of `queue`.
  /// @param binding checked and not empty; the one that `prepared` was made for, or a later state of it:
  /// rebound, or some of its rows
  /// @param prepared made by this engine, or one of its kind and signature
  /// @return the bytes that were copied, counted where they are copied
  /// @throws BindingError when an output does not fit its block; EngineError when the model fails.
  /// Outputs are then untouched, unless the device failed while an answer was copied; ONNX Runtime,
  /// and a server with SharedMemory, may have written a part.
  virtual CopyReport run(const Queue& queue, const Binding& binding,
                         const Prepared& prepared) const = 0;

  /// Runs the model once and prepares whatever makes later calls with these numbers of rows on `queue`
  /// cheap. May wait for the queue. Errors as `run`; and an EngineError where such a preparation
  /// failed, which describes later calls.
  virtual CopyReport warm_up(const Queue& queue, const Binding& binding,
                             const Prepared& prepared) const {
    return run(queue, binding, prepared);
  }

  /// Whether calls can be recorded in a CUDA graph: a call whose blocks have no more rows than those of one before it on
  /// the queue only enqueues, in memory that stays as it is until a call there has more rows, or the engine goes.
  virtual bool can_be_recorded() const noexcept { return false; }

  /// Starts a call, and returns without waiting for it. Does not throw: what run() would throw goes to
  /// `completion`. Takes a copy of what it needs of `binding` after it has returned.
  ///
  /// This one is for engines that enqueue: run(), then the completion of the queue.
  /// @param completion called exactly once, by any thread, also before this returns
  virtual void submit(const Queue& queue, const Binding& binding, const Prepared& prepared,
                      Completion completion) const;
};

}  // namespace tensoa
