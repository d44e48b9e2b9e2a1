// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tensoa/core/device.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/completion.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/engine/model_options.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/engine/row_dependence.hpp"
#include "tensoa/engine/signature.hpp"

/// @file
/// A model for programs that get its columns at run time.

namespace tensoa {

/// A model whose columns are known at run time alone, as programs over files and bindings of other languages have them: a Binding is made
/// already, and each call names its queue. Model is this with types: lifetime, order of queues, threads and errors are those of its members.
class AnyModel {
 public:
  /// @param compilation kAny: what the file is @throws ConfigError for options that cannot be
  AnyModel(ModelLocation location, CompilationType compilation, ModelOptions options);

  const ModelLocation& location() const noexcept;

  /// As Model::deploy: loads the model, once for each device.
  const Signature& deploy(Device device) const;

  /// As Model::reload: other weights of the same program.
  void reload(const ModelLocation& location) const;

  /// As Model::plan. @throws BindingError where the columns are not those of the model
  Planned plan(Binding binding) const;

  RowDependence row_dependence(const Binding& binding) const;

  /// The engine, where its calls may be recorded into a graph of the device; else nullptr.
  std::shared_ptr<const Engine> recordable(Device device) const;

  /// As Model::forward: enqueues a call. @return what was copied
  CopyReport run(const Queue& queue, const Binding& binding) const;
  CopyReport run(const Queue& queue, const Planned& plan) const;

  /// As Model::submit: `completion` is called once when the answer is there, or the call has failed.
  void submit(const Queue& queue, const Planned& plan, Completion completion) const;

  /// As Model::warm_up.
  void warm_up(const Queue& queue, const Planned& plan) const;

  /// As Model::forward_batches: one call for each `rows` rows, the last may have fewer.
  CopyReport run_batches(const Queue& queue, const Planned& plan, std::size_t rows) const;

 private:
  class Call;

  void require_planned_for(const Queue& queue, const Planned& plan) const;
  std::shared_ptr<const Prepared> prepare(const Engine& engine, const Binding& binding) const;
  CopyReport run_on(const Engine& engine, const Queue& queue, const Binding& binding,
                    const Prepared& prepared) const;

  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace tensoa
