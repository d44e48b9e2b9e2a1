// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/result.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/engine/model_options.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {

/// A model that runs on columns where they lie.
///
///     auto model = Model<CompilationType::kJustInTime>("model.pt");
///     model.to(queue);
///     model.forward(metadata);
///
/// A cheap handle: copies share the loaded engines, one for each device, and differ only in their queue. The file is read
/// on a device when the first call there needs it, or earlier by `deploy`.
///
/// *Lifetime*: the columns must outlive the work that `forward` enqueued; the model need not. The last copy of the handle
/// takes the engines with it, and waits for the GPUs on which it was loaded, since enqueued work may read the weights.
/// *Stream order*: everything runs on the given queue, nothing waits for it; on the CPU the answer is there at return. With
/// TENSOA_VERIFY_CONST=1 in the environment every call waits, and is an EngineError where the model changed an input
/// (docs/troubleshooting.md).
/// *Threads*: const members may be called from any number of threads, each with its own metadata or plan. The first call
/// on a device loads, others on that device wait for that load only, and get its error; the next call tries again.
template <CompilationType kCompilation = CompilationType::kAny>
class Model {
 public:
  /// @param location a path, or the URL of a server
  /// @param options of the engine that loads it: package::Options, pytorch::TorchScriptOptions
  /// @throws LoadError when there is nothing, no engine for it, or these are options of another engine
  explicit Model(ModelLocation location, ModelOptions options = {})
      : model_(std::move(location), kCompilation, std::move(options)) {}

  /// The location that this handle was made with, whatever was reloaded since.
  const ModelLocation& location() const noexcept { return model_.location(); }

  /// Sets the queue of this handle, and deploys the model on the queue's device. @throws LoadError,
  /// DeviceError; the handle then keeps the queue that it had
  template <QueueLike Q>
  void to(const Q& queue) {
    Queue on = QueueTraits<Q>::get(queue);
    model_.deploy(on.device());
    queue_ = std::move(on);
  }

  /// Loads the model on `device` unless it is there already. @return its signature @throws LoadError, DeviceError
  const Signature& deploy(Device device) const { return model_.deploy(device); }

  /// Replaces the weights: from now on all handles of this model run what is in another file, which must be of the
  /// same kind, with the arguments and results of this one: names, dtypes, sizes, described columns. Loads it on each
  /// device where the model is loaded, then swaps all; until then, and where this fails, calls use the old.
  ///
  ///     model.reload("model_of_today.pt2");
  ///
  /// Calls do not stop: those in flight end with the weights that they began with, the next ones use the new. Plans
  /// stay, and go on with the new weights. Both files are in memory for a while. Memory of a call on a queue is
  /// allocated again: call warm_up() again, so that no event pays for it, and to capture CUDA graphs again.
  /// @throws LoadError that names what differs, for another kind of file, and for a server's model; what loading throws
  /// *Stream order*: waits for calls in progress on other threads, then, freeing the old weights, for the devices.
  /// *Threads*: safe, next to calls of any kind; not from the completion of a call.
  void reload(const ModelLocation& location) const { model_.reload(location); }

  /// For callers who record calls of this model in a CUDA graph (cudaStreamBeginCapture): what a recorded call uses.
  /// It lives as long as the answer, which the caller keeps with the graph. nullptr: calls cannot be recorded, as they may wait
  /// or allocate memory. Only fused packages loaded without package::Options::cuda_graphs can, and not with TENSOA_VERIFY_CONST=1.
  ///
  /// Call forward() on the queue first with the number of rows to record. A call there with more rows replaces memory
  /// that the graph uses: record again, or use the queue for nothing else. After reload() the answer is another one,
  /// and the graph still runs the old weights.
  /// @throws LoadError, DeviceError as deploy()
  std::shared_ptr<const void> recordable(Device device) const { return model_.recordable(device); }

  /// Whether the results for a row depend on the other rows of the call. A package stores it, trees have independent
  /// rows; of a program of torch.export and of TorchScript it is proven from their graphs, with the columns of
  /// `plan`, at every call of this: ask once. After reload() ask again.
  ///
  ///     if (model.row_dependence(plan).are_independent()) model.forward_batches(queue, plan, 10'000);
  ///
  /// @throws as plan()
  template <template <template <class> class> class... Layouts>
  RowDependence row_dependence(const Plan<Layouts...>& plan) const {
    return model_.row_dependence(plan.binding());
  }
  RowDependence row_dependence(const Binding& binding) const {
    require_valid_tensors(binding);
    return model_.row_dependence(binding);
  }

  /// Runs the model on the columns of `metadata`, on this handle's queue. With no rows in any output nothing runs.
  /// @throws ConfigError without a queue; BindingError, LoadError, DeviceError, EngineError; outputs are then as after Engine::run()
  template <template <template <class> class> class... Layouts>
  CopyReport forward(const ModelMetadata<Layouts...>& metadata) const {
    return model_.run(queue(), metadata.binding());
  }

  /// The short form, on `queue`: the blocks are named where it is called (`bind` in soa_metadata.hpp), and checked at
  /// every call, which a plan does once.
  ///
  ///     model.forward(queue, bind("features", hits.x(), hits.y()), bind("score", scores.score()));
  ///
  /// @throws as above, and what `bind` and ModelMetadata throw
  template <QueueLike Q, template <template <class> class> class... Inputs,
            template <template <class> class> class... Outputs>
  CopyReport forward(const Q& queue, const SoAMetadata<Inputs...>& inputs,
                     const SoAMetadata<Outputs...>& outputs) const {
    return model_.run(QueueTraits<Q>::get(queue), ModelMetadata(inputs, outputs).binding());
  }

  /// The shortest form: runs on a queue that is made for this call, on the device of the columns, and returns when
  /// the outputs are written. On a GPU each call makes a stream and takes memory for it: pass a queue to call often.
  ///
  ///     model.forward(bind("features", hits.const_view()), bind("score", scores.view()));
  ///
  /// @throws as above; DeviceError also for work that failed on the device
  template <template <template <class> class> class... Inputs,
            template <template <class> class> class... Outputs>
  CopyReport forward(const SoAMetadata<Inputs...>& inputs,
                     const SoAMetadata<Outputs...>& outputs) const {
    const ModelMetadata metadata(inputs, outputs);
    const Queue queue(metadata.binding().device());
    const auto done = Result<CopyReport>::of([&] { return model_.run(queue, metadata.binding()); });
    queue.wait();  // also for a call that failed after work was enqueued
    return done.value();
  }

  /// A binding that is checked once and rebound for each event, for calls on the device that its columns are on.
  /// Loads the model there unless it is there already.
  /// @throws LoadError, DeviceError; BindingError where the model does not accept these blocks
  template <template <template <class> class> class... Layouts>
  Plan<Layouts...> plan(const ModelMetadata<Layouts...>& metadata) const {
    return Plan<Layouts...>(model_.plan(metadata.binding()));
  }

  /// The same binding over other collections, which may lie on another device, or for another model: `plan` may be of
  /// any. @param views as for Plan::rebind @throws as plan() and Plan::rebind
  template <template <template <class> class> class... Layouts, class... Views>
    requires(sizeof...(Views) == sizeof...(Layouts))
  Plan<Layouts...> plan(const Plan<Layouts...>& plan, const Views&... views) const {
    Binding binding = plan.binding();
    detail::require_one_collection_each(binding);
    const ViewReference references[] = {reference_to<Layouts>(views)...};
    rebind(binding, references);
    return Plan<Layouts...>(model_.plan(std::move(binding)));
  }

  /// Pays now for what the first calls on `queue` would: loads the model, runs it once on columns of zeros that are
  /// made for it, and waits. Calls on this queue with at most these rows then load nothing and allocate no more
  /// memory, except for columns of foreign memory that a package has to gather (Repack): the first call allocates it.
  /// On the CPU that holds for the calling thread. With CUDA graphs, also captures them where that is needed
  /// (package::Options): do it before events run.
  ///
  ///     model.warm_up(queue, plan, 20'000, 100'000, 100'000);
  ///
  /// @param plan what will run; stays as it is, and may be bound to small collections, of any device
  /// @param rows the most that are expected, for each layout of the plan in its order (of offsets: the groups); an
  /// index of 0 must be right, so no collection that is pointed into has 0 rows
  /// @throws as forward and Plan::rebind; EngineError where a CUDA graph could not be captured, which shows whether
  /// the device can be used; if so, calls run without graphs
  template <QueueLike Q, template <template <class> class> class... Layouts,
            std::convertible_to<std::size_t>... Rows>
    requires(sizeof...(Rows) == sizeof...(Layouts))
  void warm_up(const Q& queue, const Plan<Layouts...>& plan, Rows... rows) const {
    const Queue& on = QueueTraits<Q>::get(queue);
    std::tuple<PortableCollection<Layouts>...> columns{
        detail::collection_with_end<Layouts>(rows, on.device())...};
    std::apply(
        [&](auto&... collections) {
          (zero_bytes(on, collections.data(), collections.bytes()), ...);
          model_.warm_up(on, this->plan(plan, collections.view()...).planned_);
        },
        columns);
    on.wait();
  }

  /// Runs the model on the columns of `plan`, on `queue`. Errors as above; ConfigError for a plan of
  /// another model.
  template <QueueLike Q, template <template <class> class> class... Layouts>
  CopyReport forward(const Q& queue, const Plan<Layouts...>& plan) const {
    return model_.run(QueueTraits<Q>::get(queue), plan.planned_);
  }

  /// Starts the planned call and returns; `completion` is called once, when the columns of the outputs are written,
  /// with the report of the call or with the error that it ended with.
  ///
  ///     model.submit(queue, plan, [&](Result<CopyReport> result) { scheduler.go_on(event, result); });
  ///
  /// On the CPU the model runs in this call and the completion is called before it returns. On a GPU the work is
  /// enqueued, and a thread of the driver's calls when it and all work of the queue before is done, or has failed;
  /// work that is enqueued later starts after the completion. It may hand over to a scheduler, and nothing that takes
  /// long. As for Queue::when_done it must not throw, block, call the GPU runtime or this library, and the
  /// destructors of what it holds neither. Where the call fails before anything is enqueued, this thread calls it.
  /// @param completion any function of a Result<CopyReport>; what run() throws and a lost device come as its failure
  /// @throws ConfigError, BindingError for wrong use: without a completion, with a plan of another model or device,
  /// or that is not bound; the completion is then not called
  /// *Lifetime*: the plan may be rebound, or destroyed, once this has returned. The columns, a borrowed stream and
  /// the model must be there until the completion is called.
  /// *Threads*: as forward.
  template <QueueLike Q, template <template <class> class> class... Layouts>
  void submit(const Q& queue, const Plan<Layouts...>& plan, Completion completion) const {
    model_.submit(QueueTraits<Q>::get(queue), plan.planned_, std::move(completion));
  }

  /// Runs the model batch after batch, on `queue`: the first `rows` rows of all blocks, then the next, the last batch
  /// may be short. All blocks have one number of rows; batches start anywhere, no alignment is requested. Errors as
  /// above; batches before the one that failed have been written.
  /// @param rows of one batch, at least 1
  /// @return the bytes of all batches together
  template <QueueLike Q, template <template <class> class> class... Layouts>
  CopyReport forward_batches(const Q& queue, const Plan<Layouts...>& plan, std::size_t rows) const {
    return model_.run_batches(QueueTraits<Q>::get(queue), plan.planned_, rows);
  }

  /// Runs the model on tensors of the caller's own making; the call that all others come down to. TorchScript accepts
  /// any sizes and any strides from 0 on. A package accepts planes: the rows of each column side by side (a scalar:
  /// one element for all), columns as far apart as it was made for.
  /// @throws as above; BindingError for tensors that are something else
  template <QueueLike Q>
  CopyReport forward(const Q& queue, const Binding& binding) const {
    require_valid_tensors(binding);
    return model_.run(QueueTraits<Q>::get(queue), binding);
  }

 private:
  const Queue& queue() const {
    if (!queue_)
      throw ConfigError("Model::forward: this handle has no queue; call model.to(queue) first");
    return *queue_;
  }

  AnyModel model_;
  std::optional<Queue> queue_;
};

}  // namespace tensoa
