// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/exported_engine.hpp"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

#include "exported/memory.hpp"
#include "exported/program_file.hpp"
#include "exported/row_dependence.hpp"
#include "exported/schedule.hpp"
#include "exported/signature.hpp"
#include "runtime/stream_guard.hpp"
#include "runtime/tensors.hpp"
#include "runtime/threads.hpp"
#include "runtime/torch_memory.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/error.hpp"
#include "torchscript/arguments.hpp"
#include "torchscript/jit_file.hpp"
#include "torchscript/results.hpp"

namespace tensoa::pytorch {
namespace exported {
namespace {

/// Where the blocks of a binding go.
class PlacedBlocks final : public Prepared {
 public:
  PlacedBlocks(std::vector<std::size_t> arguments, std::vector<std::size_t> results)
      : Prepared(std::move(arguments)), results_(std::move(results)) {}

  /// Of each output block the number of its result.
  const std::vector<std::size_t>& results() const noexcept { return results_; }

 private:
  std::vector<std::size_t> results_;
};

/// The buffers of a call. Kept from call to call, so that it allocates nothing but tensors.
struct Workspace {
  std::vector<c10::IValue> values;
  Stack stack;
  std::vector<at::Tensor> inputs;   ///< over the caller's columns
  std::vector<at::Tensor> outputs;  ///< those that are written where they lie
  Size::Values symbols;
  std::vector<bool> is_in_place;    ///< of each result: it is one of `outputs` in this call
  std::vector<at::Tensor> results;  ///< the others, by output block

  /// Drops all tensors of the call, but those over the caller's columns.
  void clear() {
    for (c10::IValue& value : values) value = c10::IValue();
    stack.clear();
    results.clear();
  }
};

class ClearAtEnd {
 public:
  explicit ClearAtEnd(Workspace& work) : work_(work) {}
  ~ClearAtEnd() { work_.clear(); }
  ClearAtEnd(const ClearAtEnd&) = delete;
  ClearAtEnd& operator=(const ClearAtEnd&) = delete;

 private:
  Workspace& work_;
};

/// Gives `view` the sizes of another tensor, from which it differs in dimensions of size 1 alone.
/// @return whether it does
bool reshape_ones(TensorView& view, const std::vector<Size>& sizes, const Size::Values& symbols) {
  TensorView reshaped = view;
  std::size_t from = 0;
  const auto skip_ones = [&] {
    while (from < view.rank && view.size_of_dim[from] == 1) ++from;
  };
  if (sizes.size() > kMaxRank) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = sizes[i].value(symbols);
    if (!size) return false;
    reshaped.size_of_dim[i] = *size;
    reshaped.stride_of_dim[i] = 1;
    if (*size == 1) continue;
    skip_ones();
    if (from == view.rank || view.size_of_dim[from] != *size) return false;
    reshaped.stride_of_dim[i] = view.stride_of_dim[from++];
  }
  skip_ones();
  reshaped.rank = static_cast<std::uint8_t>(sizes.size());
  if (from != view.rank) return false;
  view = reshaped;
  return true;
}

class ExportedEngine final : public Engine {
 public:
  ExportedEngine(std::string subject, ProgramSignature signature, Program program,
                 Schedule schedule, std::unique_ptr<WeightsInTorch> weights)
      : subject_(std::move(subject)),
        weights_(std::move(weights)),
        program_(std::move(program)),
        signature_(std::move(signature)),
        schedule_(std::move(schedule)) {}

  /// Waits for the device: what is enqueued reads the weights.
  ~ExportedEngine() override { wait_for_device(weights_->device()); }
  ExportedEngine(const ExportedEngine&) = delete;
  ExportedEngine& operator=(const ExportedEngine&) = delete;

  const Signature& signature() const noexcept override { return signature_.signature(); }

  std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                          std::vector<std::size_t> arguments) const override {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      signature_.require_fitting(arguments[i], binding.inputs[i], subject_);
    }
    return std::make_shared<const PlacedBlocks>(
        std::move(arguments),
        results_of_blocks(signature_.result_names(), binding.outputs, binding.match, subject_));
  }

  /// The result of the analysis, where the rows of the blocks lie as in the program.
  RowDependence row_dependence(const Binding& binding, const Prepared& prepared) const override {
    const auto& placed = static_cast<const PlacedBlocks&>(prepared);
    const ProgramRows& rows = this->rows();
    if (!rows.dependence.are_independent()) return rows.dependence;
    const auto dependent = [](const BoundBlock& block) -> RowDependence {
      return {RowDependence::Answer::kDependent,
              "block " + block.name +
                  " has its rows in another dimension than the program, or "
                  "those of several groups in one"};
    };
    for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
      const BoundBlock& block = binding.inputs[i];
      const auto dim = rows.of_inputs[placed.arguments()[i]];
      const bool is_grouped =
          block.form != BlockForm::kInPlace && block.form != BlockForm::kRepacked;
      if (is_grouped || (dim && *dim != block.row_dimension())) return dependent(block);
    }
    for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
      const BoundBlock& block = binding.outputs[i];
      if (rows.of_outputs[placed.results()[i]] != block.row_dimension()) return dependent(block);
    }
    return rows.dependence;
  }

  CopyReport run(const Queue& queue, const Binding& binding,
                 const Prepared& prepared) const override {
    pin_torch_to_one_thread();
    forget_allocation_failure();
    const c10::InferenceMode no_gradients;
    const StreamGuard on_queue(queue);
    const auto& placed = static_cast<const PlacedBlocks&>(prepared);
    CopyReport copies;
    const Step* step = nullptr;
    try {
      Workspaces::Loan work(workspaces_, queue, [&] { return new_workspace(); });
      const ClearAtEnd clear(*work);
      ScratchPool::LoanWhenNeeded scratch(scratch_, queue);
      bind_inputs(queue, binding, placed.arguments(), *work, scratch, copies);
      run_steps(queue, binding, placed.results(), *work, step, copies);
    } catch (const DeviceError& error) {
      rethrow(error, failed_in(step));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw_if_allocation_failed(failed_in(step));
      throw_if_lost(queue, failed_in(step));
      throw EngineError(failed_in(step) + short_message(error) + describe_inputs(binding));
    }
    return copies;
  }

 private:
  using Workspaces = package::PerQueue<Workspace>;

  const ProgramRows& rows() const {
    std::call_once(has_rows_, [this] {
      pin_torch_to_one_thread();
      const c10::InferenceMode no_gradients;
      rows_ = rows_of(program_);
      program_ = {};
    });
    return rows_;
  }

  std::string failed_in(const Step* step) const {
    return subject_ + (step == nullptr ? "" : step->node.text() + ' ') + "failed while running: ";
  }

  std::unique_ptr<Workspace> new_workspace() const {
    auto work = std::make_unique<Workspace>();
    work->values.resize(schedule_.values);
    work->inputs.resize(signature().inputs.size());
    work->outputs.resize(schedule_.outputs.size());
    return work;
  }

  void bind_inputs(const Queue& queue, const Binding& binding,
                   const std::vector<std::size_t>& arguments, Workspace& work,
                   ScratchPool::LoanWhenNeeded& scratch, CopyReport& copies) const {
    work.symbols.assign(signature_.symbols(), Size::kUnknown);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const BoundBlock& block = binding.inputs[i];
      const std::size_t argument = arguments[i];
      at::Tensor& tensor = work.inputs[argument];
      signature_.bind_symbols(argument, block, work.symbols, subject_);
      if (block.form == BlockForm::kInPlace && !signature_.may_be_written(argument)) {
        TensorView view = block.tensor;
        if (signature_.loses_a_dimension(argument, block)) view.rank = 1;
        wrap_again(tensor, view);
      } else {
        tensor = argument_of(queue, block, signature_.may_be_written(argument), i, scratch, copies);
        if (signature_.loses_a_dimension(argument, block)) tensor = tensor.squeeze(-1);
      }
      work.values[signature_.value_of(argument)] = tensor;
    }
  }

  /// @param results of each output block the number of its result
  void run_steps(const Queue& queue, const Binding& binding,
                 const std::vector<std::size_t>& results, Workspace& work, const Step*& step,
                 CopyReport& copies) const {
    const std::span all(schedule_.steps);
    const auto call = [&](const Step& one) {
      step = &one;
      push_arguments(one.node.arguments, work.values, work.stack);
      if (one.node.op) {
        one.node.op->callBoxed(work.stack);
      } else {
        one.node.size_operation(work.stack);
      }
      pop_results(one.node.results, work.values, work.stack);
    };
    for (const Step& one : all.first(schedule_.first_direct)) call(one);
    // All that can be refused is refused before an output is written.
    std::vector<bool>& is_in_place = work.is_in_place;
    is_in_place.assign(schedule_.outputs.size(), false);
    work.results.assign(binding.outputs.size(), {});
    for (std::size_t i = 0; i < results.size(); ++i) {
      is_in_place[results[i]] = has_place(binding, i, results[i], work);
    }
    for (const Step& one : all.subspan(schedule_.first_direct)) {
      if (!is_in_place[one.output]) call(one);
    }
    step = nullptr;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (is_in_place[results[i]]) continue;
      work.results[i] = result(schedule_.outputs[results[i]], work);
      require_fitting(work.results[i], binding.outputs[i], subject_);
    }
    for (const Step& one : all.subspan(schedule_.first_direct)) {
      if (!is_in_place[one.output]) continue;
      step = &one;
      push_arguments(one.node.arguments, work.values, work.stack);
      work.stack.emplace_back(work.outputs[one.output]);
      one.into->callBoxed(work.stack);
      work.stack.clear();
    }
    step = nullptr;
    write_results(queue, std::move(work.results), binding, copies);
  }

  /// Whether output `number` can be written where block `i` lies; points a tensor there.
  bool has_place(const Binding& binding, std::size_t i, std::size_t number, Workspace& work) const {
    const Output& output = schedule_.outputs[number];
    const BoundBlock& block = binding.outputs[i];
    if (!output.is_direct || block.form != BlockForm::kInPlace ||
        to_torch(block.tensor.dtype) != output.meta->dtype) {
      return false;
    }
    std::array<std::int64_t, kMaxRank> sizes{};
    if (output.meta->sizes.size() > sizes.size()) return false;
    for (std::size_t dim = 0; dim < output.meta->sizes.size(); ++dim) {
      sizes[dim] = output.meta->sizes[dim].value(work.symbols).value_or(-1);
    }
    TensorView shaped = block.tensor;
    if (!sizes_fit({sizes.data(), output.meta->sizes.size()}, block) ||
        !reshape_ones(shaped, output.written->sizes, work.symbols)) {
      return false;
    }
    const Extent extent = extent_of(block.tensor);
    for (const BoundBlock& input : binding.inputs) {
      for (const TensorView& memory : input.memory()) {
        if (extent.overlaps(extent_of(memory))) return false;
      }
    }
    wrap_again(work.outputs[number], shaped);
    return true;
  }

  /// Of a step that does not write it where it lies; in the shape that the file says.
  static at::Tensor result(const Output& output, const Workspace& work) {
    const c10::IValue& value = output.constant ? *output.constant : work.values[output.value];
    const at::Tensor& tensor = value.toTensor();
    if (!output.is_direct || output.written->sizes == output.meta->sizes) return tensor;
    std::vector<std::int64_t> sizes;
    for (const Size& size : output.meta->sizes) sizes.push_back(size.value(work.symbols).value());
    return tensor.reshape(sizes);
  }

  std::string subject_;  ///< "model FILE: ", the beginning of messages
  std::unique_ptr<WeightsInTorch> weights_;
  mutable std::once_flag has_rows_;
  mutable Program program_;  ///< until rows_ are found in it
  mutable ProgramRows rows_;
  ProgramSignature signature_;
  Schedule schedule_;
  mutable Workspaces workspaces_;
  mutable ScratchPool scratch_;
};

std::shared_ptr<const Engine> load(const std::filesystem::path& path, Device device) {
  pin_torch_to_one_thread();
  const std::string subject = subject_of(path);
  std::shared_ptr<const Engine> engine;
  const auto load_it = [&] {
    const c10::InferenceMode no_gradients;
    const ProgramFile file(path);
    Program program = read_program(file.program(), to_torch(device));
    const Memory memory(program);
    ProgramSignature signature(program, memory);
    std::vector<at::Tensor> tensors;
    std::size_t bytes = 0;
    for (const Weight& weight : program.weights) {
      tensors.push_back(file.tensor(weight.name));
      bytes += tensors.back().nbytes();
    }
    auto weights = std::make_unique<WeightsInTorch>(device, bytes);
    const WithinBudget within_budget(device);
    for (at::Tensor& tensor : tensors) tensor = tensor.to(to_torch(device));
    Schedule schedule(program, memory, tensors, to_torch(device));
    // It is computed on a stream of torch's, which the queues of calls do not wait for.
    wait_for_device(device);
    engine = std::make_shared<ExportedEngine>(subject, std::move(signature), std::move(program),
                                              std::move(schedule), std::move(weights));
  };
  load_named(subject, load_it, [](const std::exception& error) {
    return "is a program of torch.export that cannot be loaded: " + short_message(error);
  });
  return engine;
}

}  // namespace
}  // namespace exported

std::shared_ptr<const Engine> load_exported_engine(const std::filesystem::path& path,
                                                   Device device) {
  return exported::load(path, device);
}

}  // namespace tensoa::pytorch
