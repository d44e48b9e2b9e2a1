// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "aot_engine.hpp"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "aot_runner.hpp"
#include "package.hpp"
#include "scratch.hpp"
#include "stream_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensors.hpp"
#include "threads.hpp"

namespace tensoa::pytorch {
namespace {

/// Where a block lies: plane p begins `p * pitch` elements after `first`.
struct Planes {
  std::byte* first;
  std::int64_t pitch;
  std::int64_t rows;
};

std::int64_t rows_of(const BoundBlock& block) {
  return block.tensor.size_of_dim[block.row_dimension()];
}

/// Where column `i` begins.
std::byte* address_of(const BoundBlock& block, std::size_t i) {
  if (block.form == BlockForm::kRepacked) return static_cast<std::byte*>(block.sources[i].data);
  const std::size_t dim = 1 - block.row_dimension();
  const std::int64_t step = block.columns.size() > 1 ? block.tensor.stride_of_dim[dim] : 0;
  return static_cast<std::byte*>(block.tensor.data) +
         static_cast<std::int64_t>(i) * step *
             static_cast<std::int64_t>(block.columns[i].info.element_size());
}

/// The planes of a block that is as described. @throws BindingError where its columns are no planes
/// of one pitch, as in foreign memory
Planes planes_of(const BlockDescription& described, const BoundBlock& block) {
  const std::vector<ColumnDescription>& columns = described.columns;
  const auto size = static_cast<std::int64_t>(described.element.element_size());
  const auto place = [&](std::size_t i) { return static_cast<std::int64_t>(columns[i].plane); };

  std::int64_t pitch = 0;
  if (described.element.has_planes()) {
    const bool is_repacked = block.form == BlockForm::kRepacked;
    const std::size_t dim = !is_repacked && columns.size() > 1 ? 2 : 1;
    pitch = (is_repacked ? block.sources.front() : block.tensor).stride_of_dim[dim];
  } else if (columns.size() > 1 && place(1) != place(0)) {
    pitch = (address_of(block, 1) - address_of(block, 0)) / ((place(1) - place(0)) * size);
  }
  std::byte* const first = address_of(block, 0) - place(0) * pitch * size;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (address_of(block, i) == first + place(i) * pitch * size) continue;
    throw BindingError(to_string(block) + ": column " + columns[i].name + " does not lie " +
                       std::to_string(place(i) - place(0)) + " planes after " + columns[0].name +
                       ", as the package was made for; use a PortableCollection of the layout that "
                       "was described, or export for this one");
  }
  return {first, pitch, rows_of(block)};
}

/// One argument of the program.
TensorView view_of(const PackageArgument& argument, const Planes& planes,
                   const BlockDescription& described, const BoundBlock& block) {
  const auto size = static_cast<std::int64_t>(described.element.element_size());
  TensorView view{.data = planes.first + argument.first * planes.pitch * size,
                  .dtype = described.element.dtype,
                  .device = block.tensor.device};
  view.rank = 2;
  view.size_of_dim = {argument.planes, planes.rows};
  view.stride_of_dim = {argument.planes > 1 ? argument.step * planes.pitch : planes.rows,
                        described.element.kind == ColumnKind::kScalar ? 0 : 1};
  return view;
}

/// The bytes of one plane.
struct Extent {
  const std::byte* begin;
  const std::byte* end;

  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

/// Whether rows of two blocks share memory. Asks for the planes only where their ranges do.
class Memory {
 public:
  Memory(const Planes& planes, const BlockDescription& described)
      : planes_(planes), described_(described) {
    const std::size_t size = described.element.element_size();
    pitch_bytes_ = planes.pitch * static_cast<std::int64_t>(size);
    const bool is_scalar = described.element.kind == ColumnKind::kScalar;
    plane_bytes_ = (is_scalar ? std::min<std::int64_t>(planes.rows, 1) : planes.rows) *
                   static_cast<std::int64_t>(size);
    std::uint32_t last = 0;
    for (const ColumnDescription& column : described.columns) last = std::max(last, column.plane);
    const auto planes_per_column = static_cast<std::int64_t>(described.element.planes());
    whole_ = {planes.first, plane(last + planes_per_column - 1).end};
  }

  bool overlaps(const Memory& other) const {
    if (!whole_.overlaps(other.whole_)) return false;
    bool found = false;
    for_each_plane([&](const Extent& mine) {
      other.for_each_plane([&](const Extent& theirs) { found = found || mine.overlaps(theirs); });
    });
    return found;
  }

 private:
  Extent plane(std::int64_t place) const {
    const std::byte* begin = planes_.first + place * pitch_bytes_;
    return {begin, begin + plane_bytes_};
  }
  template <class Action>
  void for_each_plane(const Action& action) const {
    for (const ColumnDescription& column : described_.columns) {
      for (std::size_t i = 0; i < described_.element.planes(); ++i) {
        action(plane(column.plane + static_cast<std::int64_t>(i)));
      }
    }
  }

  const Planes& planes_;
  const BlockDescription& described_;
  std::int64_t pitch_bytes_ = 0;
  std::int64_t plane_bytes_ = 0;
  Extent whole_{};
};

/// The programs of a package that are loaded, one for each queue: what ran on a queue last runs there
/// again, and calls that run at the same time have one each.
/// *Threads*: safe.
class RunnerPool {
 public:
  RunnerPool(std::filesystem::path library, Device device)
      : library_(std::move(library)), device_(device) {}

  /// A loaded program for one call, given back at the end.
  class Loan {
   public:
    Loan(RunnerPool& pool, const Queue& queue)
        : pool_(pool), key_(queue.native_handle()), runner_(pool.take(key_)) {}
    ~Loan() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.idle_.insert(std::move(runner_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    AotRunner& operator*() const { return *runner_.mapped(); }

   private:
    RunnerPool& pool_;
    void* key_;
    std::multimap<void*, std::unique_ptr<AotRunner>>::node_type runner_;
  };

  /// Loads a program for the first queue that comes.
  void load_one() {
    std::unique_ptr<AotRunner> runner = make();
    const std::lock_guard lock(mutex_);
    idle_.emplace(kAnyQueue, std::move(runner));
  }

 private:
  using Runners = std::multimap<void*, std::unique_ptr<AotRunner>>;
  static constexpr std::nullptr_t kAnyQueue = nullptr;  // the key of the CPU, too

  /// Torch is not ready for loads at the same time, of whatever packages.
  std::unique_ptr<AotRunner> make() const {
    static std::mutex one_load;
    const std::lock_guard lock(one_load);
    if (!device_.is_cpu()) return make_gpu_runner(library_, device_);
    return std::make_unique<torch::inductor::AOTIModelContainerRunnerCpu>(
        library_.string(), /*num_models=*/1, /*run_single_threaded=*/true);
  }

  /// The entry of a runner, taken out as a node, so that giving it back allocates nothing.
  Runners::node_type take(void* key) {
    {
      const std::lock_guard lock(mutex_);
      auto found = idle_.find(key);
      if (found == idle_.end()) found = idle_.find(kAnyQueue);
      if (found != idle_.end()) {
        Runners::node_type runner = idle_.extract(found);
        runner.key() = key;
        return runner;
      }
    }
    Runners one;
    return one.extract(one.emplace(key, make()));
  }

  std::filesystem::path library_;
  Device device_;
  std::mutex mutex_;
  Runners idle_;
};

class AotEngine final : public Engine {
 public:
  AotEngine(const std::filesystem::path& path, Device device)
      : subject_("model " + path.string() + ": "),
        package_(path, device, device.is_cpu() ? "" : gpu_architecture_of(device)),
        runners_(package_.library, device) {
    for (const BlockDescription& block : package_.binding.inputs) {
      signature_.inputs.push_back(block.name);
    }
    signature_.required_inputs = signature_.inputs.size();
    for (const auto& arguments : package_.inputs) arguments_ += arguments.size();
    for (const auto& arguments : package_.outputs) arguments_ += arguments.size();
    runners_.load_one();
  }

  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue& queue, const Binding& binding) const override {
    hold_torch_threads();
    const c10::InferenceMode no_gradients;
    const StreamGuard on_queue(queue);
    ScratchPool::Loan scratch(scratch_, queue);
    CopyReport copies;
    std::vector<at::Tensor> arguments = arguments_of(binding, scratch, copies);
    try {
      const RunnerPool::Loan runner(runners_, queue);
      (*runner).boxed_run(std::move(arguments), queue.native_handle());
    } catch (const std::exception& error) {
      const std::string reason = error.what();
      throw EngineError(subject_ + "failed while running: " + reason.substr(0, reason.find('\n')));
    }
    return copies;
  }

 private:
  /// All arguments, in the order of the package: of the inputs, then of the outputs.
  std::vector<at::Tensor> arguments_of(const Binding& binding, ScratchPool::Loan& scratch,
                                       CopyReport& copies) const {
    const std::vector<BlockDescription>& inputs = package_.binding.inputs;
    const std::vector<BlockDescription>& outputs = package_.binding.outputs;
    if (binding.outputs.size() != outputs.size()) {
      throw BindingError(subject_ + "gives " + std::to_string(outputs.size()) + " outputs, got " +
                         std::to_string(binding.outputs.size()) + " output blocks");
    }
    std::vector<const BoundBlock*> blocks;
    std::vector<Planes> planes;
    blocks.reserve(inputs.size() + outputs.size());
    planes.reserve(inputs.size() + outputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      blocks.push_back(&block_for(inputs[i], i, binding.inputs, binding.match));
      planes.push_back(checked_planes(inputs[i], *blocks.back()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      blocks.push_back(&block_for(outputs[i], i, binding.outputs, binding.match));
      planes.push_back(checked_planes(outputs[i], *blocks.back()));
    }
    const std::span<const BoundBlock* const> input_blocks(blocks.data(), inputs.size());
    const std::span<const BoundBlock* const> output_blocks(blocks.data() + inputs.size(),
                                                           outputs.size());
    const std::span<const Planes> input_planes(planes.data(), inputs.size());
    const std::span<const Planes> output_planes(planes.data() + inputs.size(), outputs.size());
    check_rows(input_blocks, output_blocks);

    std::vector<at::Tensor> arguments;
    arguments.reserve(arguments_);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_written = is_output(input_planes[i], inputs[i], output_planes);
      for (const PackageArgument& argument : package_.inputs[i]) {
        const TensorView view = view_of(argument, input_planes[i], inputs[i], *input_blocks[i]);
        arguments.push_back(is_written ? copied(view, argument, i, scratch, copies) : wrap(view));
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (const PackageArgument& argument : package_.outputs[i]) {
        arguments.push_back(
            wrap(view_of(argument, output_planes[i], outputs[i], *output_blocks[i])));
      }
    }
    return arguments;
  }

  static const BoundBlock& block_for(const BlockDescription& described, std::size_t i,
                                     const std::vector<BoundBlock>& blocks, Match match) {
    if (match == Match::kByOrder) return blocks[i];
    const auto found = std::ranges::find(blocks, described.name, &BoundBlock::name);
    if (found == blocks.end()) {
      throw BindingError("there is no block called \"" + described.name +
                         "\", which the package was made for");
    }
    return *found;
  }

  Planes checked_planes(const BlockDescription& described, const BoundBlock& block) const {
    const std::string differs = difference(described, block);
    if (!differs.empty()) {
      throw BindingError(subject_ + "was made for other columns: " + to_string(block) + ": " +
                         differs + "; bind what was described, or export again");
    }
    return planes_of(described, block);
  }

  void check_rows(std::span<const BoundBlock* const> inputs,
                  std::span<const BoundBlock* const> outputs) const {
    const std::vector<BlockDescription>& described = package_.binding.inputs;
    const auto first_of = [&](std::size_t collection) {
      const auto found = std::ranges::find(described, collection, &BlockDescription::collection);
      return inputs[static_cast<std::size_t>(found - described.begin())];
    };
    const auto require = [&](const BoundBlock& block, std::int64_t rows, const std::string& why) {
      if (rows_of(block) == rows) return;
      throw BindingError(subject_ + to_string(block) + " has " + std::to_string(rows_of(block)) +
                         " rows, expected " + std::to_string(rows) + why);
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const BoundBlock& first = *first_of(described[i].collection);
      require(*inputs[i], rows_of(first), ", as block \"" + first.name + '"');
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const PackageRows& rows = package_.rows[i];
      if (!rows.collection) {
        require(*outputs[i], static_cast<std::int64_t>(rows.rows), ", always");
      } else {
        const BoundBlock& input = *first_of(*rows.collection);
        require(*outputs[i], rows_of(input), ", as block \"" + input.name + '"');
      }
    }
  }

  bool is_output(const Planes& input, const BlockDescription& described,
                 std::span<const Planes> outputs) const {
    const Memory memory(input, described);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (memory.overlaps(Memory(outputs[i], package_.binding.outputs[i]))) return true;
    }
    return false;
  }

  /// A copy of the planes that block `i` reads, for a program that would write them while it reads.
  at::Tensor copied(const TensorView& view, const PackageArgument& argument, std::size_t i,
                    ScratchPool::Loan& scratch, CopyReport& copies) const {
    at::Tensor copy = scratch.get().take(i, view);
    const at::Tensor columns = wrap(view);
    const BlockDescription& described = package_.binding.inputs[i];
    for (const ColumnDescription& column : described.columns) {
      for (std::size_t plane = 0; plane < described.element.planes(); ++plane) {
        const auto place =
            static_cast<std::int64_t>((column.plane + plane - argument.first) / argument.step);
        copy.select(0, place).copy_(columns.select(0, place), /*non_blocking=*/true);
        copies.add_in(static_cast<std::size_t>(view.size_of_dim[1]) * size_of(view.dtype),
                      CopyReason::kInputIsWritten);
      }
    }
    return copy;
  }

  std::string subject_;  ///< "model FILE: ", the beginning of messages
  Package package_;
  mutable RunnerPool runners_;  ///< goes before the files of the package
  Signature signature_;
  std::size_t arguments_ = 0;
  mutable ScratchPool scratch_;
};

}  // namespace

std::shared_ptr<const Engine> load_aot_engine(const std::filesystem::path& path, Device device,
                                              const ModelOptions& options) {
  hold_torch_threads();
  const std::string subject = "model " + path.string() + ": ";
  if (options.dtype) {
    throw LoadError(subject +
                    "a package has the dtypes that it was exported with; convert the model there");
  }
  try {
    return std::make_shared<AotEngine>(path, device);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    throw LoadError(subject + "cannot be loaded: " + reason.substr(0, reason.find('\n')) +
                    " (where the folder of packages allows no programs, set TENSOA_PACKAGE_FOLDER "
                    "to another)");
  }
}

}  // namespace tensoa::pytorch
