// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/inductor_program.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "inductor/aot_runner.hpp"
#include "inductor/captured_graph.hpp"
#include "inductor/fused_parts.hpp"
#include "runtime/stream_guard.hpp"
#include "runtime/tensors.hpp"
#include "runtime/threads.hpp"
#include "runtime/torch_memory.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/core/strided_copy.hpp"
#include "tensoa/package/impl/per_queue.hpp"
#include "tensoa/package/impl/private_folder.hpp"

namespace tensoa::pytorch {
namespace {

using package::BlockMemory;
using package::PlaneRange;

/// An argument: some planes of a block, as a tensor [planes, rows].
struct Argument {
  PlaneRange planes;
  std::size_t block;
  DType dtype;
  bool is_scalar;  ///< all rows are one element
};

/// Torch does not support loads at the same time, of whatever packages; nor captures during a load.
std::mutex& loads_and_captures() {
  static std::mutex mutex;
  return mutex;
}

/// Elements in a line of a tensor [planes, rows]; those of a scalar are one.
std::int64_t elements_of_line(const TensorView& view) {
  const std::int64_t rows = view.size_of_dim[1];
  return view.stride_of_dim[1] == 0 ? std::min<std::int64_t>(rows, 1) : rows;
}

std::size_t bytes_of_line(const TensorView& view) {
  return static_cast<std::size_t>(elements_of_line(view)) * size_of(view.dtype);
}

/// Copies the elements of a tensor [planes, rows] to one of the same shape. @return their bytes
std::size_t copy_planes(const Queue& queue, TensorView to, TensorView from) {
  to.size_of_dim[1] = from.size_of_dim[1] = elements_of_line(from);
  return strided_copy(queue, to, from);
}

/// Unpacks all files of the program into `folder`. @return its library
std::filesystem::path unpack(const package::Package& package,
                             const package::TargetDescription& target,
                             const std::filesystem::path& folder) {
  const auto program =
      std::ranges::find(target.programs, "inductor", &package::ProgramDescription::kind);
  const std::filesystem::path library = program->file;
  for (const auto& file : package.archive().files()) {
    if (std::filesystem::path(file.name).parent_path() == library.parent_path()) {
      package.unpack(file.name, folder);
    }
  }
  return folder / library.filename();
}

/// One container for each queue, because a container is not made for calls at the same time (but for
/// its pool, which locks twice a call and records events). All read the weights of the first.
class InductorProgram final : public package::Program {
 public:
  InductorProgram(const package::Package& package, const package::TargetDescription& target,
                  Device device, bool with_graphs)
      : parts_(package, target.parts, device),
        library_(unpack(package, target, folder_.path())),
        device_(device),
        with_graphs_(with_graphs && !device.is_cpu()),
        inputs_(package.manifest().binding.inputs.size()) {
    const BindingDescription& binding = package.manifest().binding;
    for (std::size_t i = 0; i < target.arguments.size(); ++i) {
      const FieldInfo& element =
          i < inputs_ ? binding.inputs[i].element : binding.outputs[i - inputs_].element;
      for (const PlaneRange& planes : target.arguments[i]) {
        arguments_.push_back({planes, i, element.dtype, element.kind == ColumnKind::kScalar});
      }
    }
    std::unique_ptr<Container> first;
    {
      // The size of the file, until the size in memory is known.
      const MemoryCharge at_most(device, MemoryPurpose::kWeights,
                                 std::filesystem::file_size(library_));
      first = load();
    }
    std::size_t bytes = 0;
    for (const auto& [name, weight] :
         first->runner->extract_constants_map(/*use_inactive=*/false)) {
      bytes += weight.nbytes();
    }
    charge_ = MemoryCharge(device, MemoryPurpose::kWeights, bytes);
    weights_ = weights_to_share(*first->runner, device);
    containers_.add(std::move(first));
  }

  /// Waits for the device: what is enqueued reads the weights and runs the code.
  ~InductorProgram() override { wait_for_device(device_); }
  InductorProgram(const InductorProgram&) = delete;
  InductorProgram& operator=(const InductorProgram&) = delete;

  CopyReport run(const Queue& queue, std::span<const BlockMemory> blocks) override {
    return with_allocation_errors([&] { return call(queue, blocks); });
  }

  CopyReport warm_up(const Queue& queue, std::span<const BlockMemory> blocks) override {
    return with_allocation_errors(
        [&] { return with_graphs_ ? prepare(queue, blocks) : call(queue, blocks); });
  }

 private:
  /// Returns what `work` returns. @throws DeviceFullError if it fails because torch got no memory
  template <class Work>
  static CopyReport with_allocation_errors(const Work& work) {
    forget_allocation_failure();
    try {
      return work();
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      throw_if_allocation_failed("");
      throw;
    }
  }

  CopyReport call(const Queue& queue, std::span<const BlockMemory> blocks) {
    pin_torch_to_one_thread();
    const c10::InferenceMode no_gradients;
    const StreamGuard on_queue(queue);
    const package::PerQueue<Container>::Loan container(containers_, queue,
                                                       [this] { return load(); });
    if (const Captured* captured = find(*container, blocks))
      return replay(queue, *captured, blocks);
    run(queue, *container, blocks);
    return {};
  }

  CopyReport prepare(const Queue& queue, std::span<const BlockMemory> blocks) {
    pin_torch_to_one_thread();
    const c10::InferenceMode no_gradients;
    const StreamGuard on_queue(queue);
    const package::PerQueue<Container>::Loan container(containers_, queue,
                                                       [this] { return load(); });
    const Captured* captured = find(*container, blocks);
    if (captured == nullptr) {
      run(queue, *container, blocks);  // what fails here has nothing to do with graphs
      queue.wait();
      const std::lock_guard lock(loads_and_captures());
      if (graphs_are_off_.empty()) capture(queue, *container, blocks);
      if (!graphs_are_off_.empty()) throw EngineError(graphs_are_off_);
      captured = container->graphs.back().get();
    }
    return replay(queue, *captured, blocks);
  }

  /// A call with these numbers of rows, as a graph that works in its own memory.
  struct Captured {
    std::vector<std::int64_t> rows;     ///< of each block
    std::vector<TensorView> views;      ///< of each argument, in `memory`
    std::vector<at::Tensor> arguments;  ///< the same
    std::unique_ptr<CapturedGraph> graph;
    Buffer memory;  ///< goes first, and waits for the device
  };

  struct Container {
    std::unique_ptr<AotRunner> runner;
    std::vector<at::Tensor> arguments;  ///< of the last call
    std::vector<std::unique_ptr<Captured>> graphs;
  };

  void run(const Queue& queue, Container& container, std::span<const BlockMemory> blocks) const {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      wrap_again(container.arguments[i], view_of(arguments_[i], blocks[arguments_[i].block]));
    }
    container.runner->run(container.arguments, StreamGuard::torch_stream(queue));
  }

  static const Captured* find(const Container& container, std::span<const BlockMemory> blocks) {
    for (const auto& captured : container.graphs) {
      if (std::ranges::equal(captured->rows, blocks, {}, {}, &BlockMemory::rows))
        return captured.get();
    }
    return nullptr;
  }

  CopyReport replay(const Queue& queue, const Captured& captured,
                    std::span<const BlockMemory> blocks) const {
    CopyReport copies;
    for (std::size_t i = 0; i < arguments_.size() && is_input(i); ++i) {
      copies.add_in(copy_planes(queue, captured.views[i], view_of(i, blocks)),
                    CopyReason::kCudaGraph);
    }
    captured.graph->replay(queue);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (is_input(i)) continue;
      copies.add_out(copy_planes(queue, view_of(i, blocks), captured.views[i]),
                     CopyReason::kCudaGraph);
    }
    return copies;
  }

  /// Adds a graph for these numbers of rows, or says in graphs_are_off_ why there are none.
  void capture(const Queue& queue, Container& container, std::span<const BlockMemory> blocks) {
    auto captured = std::make_unique<Captured>(place(blocks));
    for (std::size_t i = 0; i < arguments_.size() && is_input(i); ++i) {
      copy_planes(queue, captured->views[i], view_of(i, blocks));
    }
    const auto call = [&] { container.runner->run(captured->arguments, queue.native_handle()); };
    call();  // at these addresses and with these numbers of rows nothing is new any more
    queue.wait();
    try {
      captured->graph = std::make_unique<CapturedGraph>(queue, call);
      captured->graph->replay(queue);
      queue.wait();
      container.graphs.push_back(std::move(captured));
    } catch (const std::exception& error) {
      graphs_are_off_ = "CUDA graphs are off for this model on " + to_string(device_) +
                        ": capturing a call failed (" + package::first_line(error) + "); ";
      graphs_are_off_ += what_still_works(queue, container, blocks);
    }
  }

  /// Tries what every call needs: the program, and memory.
  std::string what_still_works(const Queue& queue, Container& container,
                               std::span<const BlockMemory> blocks) const {
    try {
      run(queue, container, blocks);
      queue.wait();
      static_cast<void>(Buffer(device_, std::size_t{1} << 20U));
    } catch (const std::exception& error) {
      return "the device cannot be used any more by this process (" + package::first_line(error) +
             "): end it, and load the model without package::Options::cuda_graphs";
    }
    return "a run without graphs and an allocation after it went well: the device can be used as "
           "before, and calls run without graphs";
  }

  /// Memory for all arguments, as tensors.
  Captured place(std::span<const BlockMemory> blocks) const {
    Captured captured;
    for (const BlockMemory& block : blocks) captured.rows.push_back(block.rows);
    std::vector<std::size_t> places;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      TensorView& view = captured.views.emplace_back(view_of(i, blocks));
      const std::size_t line = (bytes_of_line(view) + kAlignment - 1) / kAlignment * kAlignment;
      if (view.size_of_dim[0] > 1) {
        view.stride_of_dim[0] = static_cast<std::int64_t>(line / size_of(view.dtype));
      }
      places.push_back(bytes);
      bytes += line * static_cast<std::size_t>(view.size_of_dim[0]);
    }
    captured.memory = Buffer(device_, bytes);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      captured.views[i].data = captured.memory.data() + places[i];
      captured.arguments.push_back(wrap(captured.views[i]));
    }
    return captured;
  }

  bool is_input(std::size_t argument) const { return arguments_[argument].block < inputs_; }

  TensorView view_of(std::size_t argument, std::span<const BlockMemory> blocks) const {
    return view_of(arguments_[argument], blocks[arguments_[argument].block]);
  }

  TensorView view_of(const Argument& argument, const BlockMemory& block) const {
    const PlaneRange& planes = argument.planes;
    const auto plane_bytes = block.pitch * static_cast<std::int64_t>(size_of(argument.dtype));
    TensorView view{.data = block.first + planes.first * plane_bytes,
                    .dtype = argument.dtype,
                    .device = device_};
    view.rank = 2;
    view.size_of_dim = {planes.planes, block.rows};
    view.stride_of_dim = {planes.planes > 1 ? planes.step * block.pitch : block.rows,
                          argument.is_scalar ? 0 : 1};
    return view;
  }

  std::unique_ptr<Container> load() {
    const std::lock_guard lock(loads_and_captures());
    return std::make_unique<Container>(Container{
        make_runner(library_, device_, weights_), std::vector<at::Tensor>(arguments_.size()), {}});
  }

  FusedParts parts_;               ///< outlive the containers
  package::PrivateFolder folder_;  ///< outlives the containers
  std::filesystem::path library_;
  Device device_;
  bool with_graphs_;
  std::size_t inputs_;          ///< blocks
  std::string graphs_are_off_;  ///< why, once that is known; under loads_and_captures()
  std::vector<Argument> arguments_;
  AotWeights weights_;   ///< views of the first container's
  MemoryCharge charge_;  ///< of the first container's weights
  package::PerQueue<Container> containers_;
};

}  // namespace

std::unique_ptr<package::Program> make_inductor_program(const package::Package& package,
                                                        const package::TargetDescription& target,
                                                        Device device, bool with_graphs) {
  return std::make_unique<InductorProgram>(package, target, device, with_graphs);
}

}  // namespace tensoa::pytorch
