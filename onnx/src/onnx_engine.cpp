// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx_engine.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/strided_copy.hpp"
#include "tensoa/engine/arguments.hpp"
#include "tensoa/package/impl/per_queue.hpp"

namespace tensoa::onnx {
namespace {

// ---- what is found out once, for a plan

// [prepared]
class PreparedBlocks final : public Prepared {
 public:
  PreparedBlocks(std::vector<std::size_t> arguments, std::vector<std::size_t> results,
                 bool is_row_after_row)
      : Prepared(std::move(arguments)),
        results_(std::move(results)),
        is_row_after_row_(is_row_after_row) {}

  /// Of each output block the number of its result.
  const std::vector<std::size_t>& results() const noexcept { return results_; }

  /// Whether the file is for one row, and the blocks may have any number of them.
  bool is_row_after_row() const noexcept { return is_row_after_row_; }

 private:
  std::vector<std::size_t> results_;
  bool is_row_after_row_;
};
// [/prepared]

// ---- tensors of blocks

/// Whether the elements lie one behind the other, rows first: the one form of a tensor that ONNX Runtime has.
bool is_row_major(const TensorView& view) noexcept {
  std::int64_t expected = 1;
  for (std::size_t dim = view.rank; dim-- > 0;) {
    if (view.size_of_dim[dim] == 0) return true;
    if (view.size_of_dim[dim] != 1 && view.stride_of_dim[dim] != expected) return false;
    expected *= view.size_of_dim[dim];
  }
  return true;
}

/// Whether the model has one dimension and the block, of one column, two.
bool loses_a_dimension(const Value& value, const BoundBlock& block) {
  return value.spec.sizes && value.spec.sizes->size() == 1 && block.tensor.rank == 2 &&
         block.tensor.size_of_dim[1 - block.row_dimension()] == 1;
}

/// The dimension of the model's tensor that counts the rows of the block.
std::size_t row_dimension(const Value& value, const BoundBlock& block) {
  return loses_a_dimension(value, block) ? 0 : block.row_dimension();
}

/// The tensor of the block as the model counts its dimensions; strides as where it is row-major.
TensorView as_the_model(TensorView view, const Value& value, const BoundBlock& block) {
  if (!loses_a_dimension(value, block)) return view;
  view.size_of_dim[0] = view.size_of_dim[block.row_dimension()];
  view.stride_of_dim[0] = view.stride_of_dim[block.row_dimension()];
  view.rank = 1;
  return view;
}

/// One number for all rows: it is also one row.
bool is_scalar(const BoundBlock& block) {
  return !block.columns.empty() && std::ranges::all_of(block.columns, [](const BoundColumn& one) {
    return one.info.kind == ColumnKind::kScalar;
  });
}

bool has_rows(const BoundBlock& block) {
  return block.form == BlockForm::kInPlace || block.form == BlockForm::kRepacked;
}

std::int64_t rows_of(const BoundBlock& block) {
  return block.tensor.size_of_dim[block.row_dimension()];
}

/// Rows [first, first + 1) of a row-major tensor whose rows are first.
TensorView row_of(TensorView view, std::int64_t first) {
  view.data = static_cast<std::byte*>(view.data) +
              first * view.stride_of_dim[0] * static_cast<std::int64_t>(size_of(view.dtype));
  view.size_of_dim[0] = 1;
  return view;
}

std::string text_of(const std::string& type, std::span<const std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    text += (text.empty() ? "" : ", ") + (size == kAnySize ? "?" : std::to_string(size));
  }
  return type + '[' + text + ']';
}

std::string text_of(const Value& value) {
  return value.spec.sizes ? text_of(value.type, *value.spec.sizes) : value.type;
}

// ---- memory of one call, kept for the next

/// A tensor of ONNX Runtime over memory of ours. Made again where the memory or its sizes are others than before.
struct Slot {
  ValueOwner value = nullptr;
  TensorView view = {};
  bool is_bound = false;  ///< in the binding of its workspace

  /// @throws RuntimeFailure
  OrtValue* over(const Runtime& ort, const TensorView& tensor) {
    if (value != nullptr && tensor.data == view.data && tensor.dtype == view.dtype &&
        std::ranges::equal(tensor.sizes(), view.sizes())) {
      return value.get();
    }
    static char nothing = 0;  // where there are no rows
    OrtValue* made = nullptr;
    ort.check(ort.create_tensor(ort.host, tensor.data == nullptr ? &nothing : tensor.data,
                                tensor.bytes(), tensor.size_of_dim.data(), tensor.rank,
                                to_onnx(tensor.dtype), &made));
    value.reset(made);
    view = tensor;
    is_bound = false;
    return made;
  }
};

struct Workspace {
  std::vector<Buffer> memory;  ///< of inputs, then outputs, that have to be copied. Only grows.
  BindingOwner binding;        ///< of the slots' tensors
  std::vector<Slot> slots;     ///< of the model's inputs, then outputs
  std::vector<std::size_t> bound_results;  ///< those of the last call, in `binding`
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::vector<bool> is_own;    ///< of outputs: ONNX Runtime allocates it
  std::vector<bool> is_aside;  ///< of outputs: in `memory`
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  std::vector<OrtValue*> results;

  /// Room `i` for a row-major tensor of the sizes of `like`.
  TensorView room(std::size_t i, TensorView like) {
    if (memory[i].size() < like.bytes()) {
      memory[i] = Buffer(like.device, like.bytes(), MemoryPurpose::kWorkspaces);
    }
    like.data = memory[i].data();
    like.read_only = false;
    make_row_major(like);
    return like;
  }
};

// ---- the engine

class OnnxEngine final : public Engine {
 public:
  OnnxEngine(std::string subject, const std::filesystem::path& path)
      : subject_(std::move(subject)), session_(path) {
    for (const Value& input : session_.inputs()) signature_.inputs.push_back(input.spec);
    for (const Value& output : session_.outputs()) signature_.outputs.push_back(output.spec);
    signature_.required_inputs = signature_.inputs.size();
  }

  const Signature& signature() const noexcept override { return signature_; }

  // [prepare]
  std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                          std::vector<std::size_t> arguments) const override {
    std::vector<std::size_t> results = results_of(binding);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      require_fitting(input(arguments[i]), binding.inputs[i]);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      require_dtype(output(results[i]), binding.outputs[i], "gives ");
    }
    const bool is_row_after_row = is_for_one_row(binding, arguments, results);
    return std::make_shared<const PreparedBlocks>(std::move(arguments), std::move(results),
                                                  is_row_after_row);
  }
  // [/prepare]

  RowDependence row_dependence(const Binding& /*binding*/,
                               const Prepared& prepared) const override {
    if (static_cast<const PreparedBlocks&>(prepared).is_row_after_row()) {
      return {RowDependence::Answer::kIndependent, ""};
    }
    return {RowDependence::Answer::kUnknown, "ONNX Runtime does not state it"};
  }

  // [run]
  CopyReport run(const Queue& queue, const Binding& binding,
                 const Prepared& prepared) const override {
    const auto& plan = static_cast<const PreparedBlocks&>(prepared);
    CopyReport copies;
    try {
      const Workspaces::Loan work(workspaces_, queue, [this] { return new_workspace(); });
      const std::int64_t rounds = rounds_of(binding, plan);
      place_inputs(queue, binding, plan, *work, copies);
      place_outputs(binding, plan, *work);
      name_values(plan, *work);
      if (rounds == 1) {
        call(binding, plan, *work, work->inputs, work->outputs, copies);
      } else {
        call_row_after_row(rounds, binding, plan, *work, copies);
      }
      scatter_outputs(queue, binding, *work, copies);
    } catch (const RuntimeFailure& failure) {
      const std::string message = subject_ + "failed while running: " + failure.what();
      if (failure.is_of_memory()) throw DeviceFullError(message);
      throw EngineError(message + described_inputs(binding));
    }
    return copies;
  }
  // [/run]

 private:
  using Workspaces = package::PerQueue<Workspace>;

  const Value& input(std::size_t i) const { return session_.inputs()[i]; }
  const Value& output(std::size_t i) const { return session_.outputs()[i]; }

  std::unique_ptr<Workspace> new_workspace() const {
    auto work = std::make_unique<Workspace>();
    const std::size_t all = session_.inputs().size() + session_.outputs().size();
    work->memory.resize(all);
    work->slots.resize(all);
    OrtIoBinding* binding = nullptr;
    const Runtime& ort = Runtime::get();
    ort.check(ort.create_binding(session_.get(), &binding));
    work->binding.reset(binding);
    return work;
  }

  /// Of each output block the number of its result.
  std::vector<std::size_t> results_of(const Binding& binding) const {
    const std::vector<BoundBlock>& blocks = binding.outputs;
    const std::vector<TensorSpec>& places = signature_.outputs;
    const auto matched = match_names(binding.match, blocks, places);
    if (const BoundBlock* block = matched.misplaced) {
      refuse_outputs("block \"" + block->name + "\" as number " +
                     std::to_string(block - blocks.data() + 1) +
                     "; name all blocks as the results, rename this one, or request "
                     "Match::kByOrder");
    }
    std::vector<std::size_t> results(blocks.size());
    std::iota(results.begin(), results.end(), std::size_t{0});
    if (matched.by_name) {
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto place = std::ranges::find(places, blocks[i].name, &TensorSpec::name);
        if (place == places.end()) {
          refuse_outputs("a block called \"" + blocks[i].name +
                         "\"; name blocks as the results, or match by order");
        }
        results[i] = static_cast<std::size_t>(place - places.begin());
      }
      return results;
    }
    const bool are_the_first = blocks.size() < places.size() && binding.match == Match::kAuto &&
                               std::ranges::equal(blocks, std::span(places).first(blocks.size()),
                                                  {}, &BoundBlock::name, &TensorSpec::name);
    if (blocks.size() != places.size() && !are_the_first) {
      refuse_outputs(std::to_string(blocks.size()) +
                     " blocks; bind one for each, or some of these names");
    }
    return results;
  }

  [[noreturn]] void refuse_outputs(const std::string& got) const {
    std::string names;
    for (const TensorSpec& one : signature_.outputs) {
      names += (names.empty() ? "" : ", ") + one.name;
    }
    throw BindingError(subject_ + "gives " + std::to_string(signature_.outputs.size()) +
                       " outputs (" + names + "), got " + got);
  }

  [[noreturn]] void refuse(const Value& value, const BoundBlock& block, const char* verb,
                           const std::string& what) const {
    throw BindingError(subject_ + verb + value.spec.name + " as " + text_of(value) + ", got " +
                       to_string(block) + ' ' + to_string(block.tensor) + "; " + what);
  }

  void require_dtype(const Value& value, const BoundBlock& block, const char* verb) const {
    if (value.spec.dtype == block.tensor.dtype) return;
    refuse(value, block, verb,
           value.spec.dtype ? "bind columns of that dtype, or convert them (Repack)"
                            : "columns have no such values: leave it out, or export the model "
                              "without it");
  }

  /// Compares all of an input that stays the same when it is bound again: sizes but rows.
  void require_fitting(const Value& value, const BoundBlock& block) const {
    require_dtype(value, block, "takes ");
    if (!value.spec.sizes) return;
    const TensorView view = as_the_model(block.tensor, value, block);
    const std::vector<std::int64_t>& sizes = *value.spec.sizes;
    if (view.rank != sizes.size()) {
      refuse(value, block, "takes ", "bind a block of that number of dimensions");
    }
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      const bool is_any = sizes[dim] == kAnySize || dim == row_dimension(value, block);
      if (is_any || sizes[dim] == view.size_of_dim[dim]) continue;
      refuse(value, block, "takes ", "bind that number of columns");
    }
  }

  static bool has_one_row(const Value& value, const BoundBlock& block) {
    return value.spec.sizes && block.shape == BlockShape::kRows && has_rows(block) &&
           (*value.spec.sizes)[0] == 1;
  }

  bool is_for_one_row(const Binding& binding, const std::vector<std::size_t>& arguments,
                      const std::vector<std::size_t>& results) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!has_one_row(input(arguments[i]), binding.inputs[i])) return false;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!has_one_row(output(results[i]), binding.outputs[i])) return false;
    }
    return !arguments.empty() && !results.empty();
  }

  /// How often the model runs. @throws BindingError for numbers of rows that it does not take
  std::int64_t rounds_of(const Binding& binding, const PreparedBlocks& plan) const {
    if (plan.is_row_after_row()) return common_rows(binding);
    for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
      const BoundBlock& block = binding.inputs[i];
      const Value& value = input(plan.arguments()[i]);
      if (!value.spec.sizes) continue;
      const std::int64_t expected = (*value.spec.sizes)[row_dimension(value, block)];
      if (expected == kAnySize || expected == rows_of(block)) continue;
      if (expected == 1 && is_scalar(block) && block.form == BlockForm::kInPlace) continue;
      throw BindingError(subject_ + "takes " + value.spec.name + " as " + text_of(value) +
                         ", got " + to_string(block) + ' ' + to_string(block.tensor) +
                         "; its number of rows is fixed in the file: bind " +
                         std::to_string(expected) +
                         ", export it with a dynamic axis, or make a package, which takes any: "
                         "tensoa compile FILE.onnx --out PACKAGE.pt2");
    }
    return 1;
  }

  std::int64_t common_rows(const Binding& binding) const {
    const std::int64_t rows = rows_of(binding.outputs.front());
    for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
      for (const BoundBlock& block : *blocks) {
        if (rows_of(block) == rows) continue;
        throw BindingError(subject_ + "runs row after row, and " + to_string(block) + " has " +
                           std::to_string(rows_of(block)) + " rows, " +
                           to_string(binding.outputs.front()) + " has " + std::to_string(rows) +
                           "; bind blocks of equal length");
      }
    }
    return rows;
  }

  // [inputs]
  /// Of each input block a row-major tensor: the columns themselves where they are one, else a copy.
  void place_inputs(const Queue& queue, const Binding& binding, const PreparedBlocks& plan,
                    Workspace& work, CopyReport& copies) const {
    work.inputs.clear();
    for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
      const BoundBlock& block = binding.inputs[i];
      const Value& value = input(plan.arguments()[i]);
      TensorView view = block.tensor;
      const bool is_one_row = value.spec.sizes && !plan.is_row_after_row() && is_scalar(block) &&
                              block.form == BlockForm::kInPlace &&
                              (*value.spec.sizes)[row_dimension(value, block)] == 1;
      if (is_one_row) view.size_of_dim[block.row_dimension()] = 1;
      if (block.form != BlockForm::kInPlace) {
        view = work.room(i, view);
        write_argument(queue, block, view, copies);
      } else if (!is_row_major(view)) {
        const TensorView rows = work.room(i, view);
        copies.add_in(strided_copy(queue, rows, view), CopyReason::kRowMajor);
        view = rows;
      }
      make_row_major(view);
      work.inputs.push_back(as_the_model(view, value, block));
    }
  }
  // [/inputs]

  /// Of each output block a row-major tensor: the columns themselves, or room for the result.
  void place_outputs(const Binding& binding, const PreparedBlocks& plan, Workspace& work) const {
    const std::size_t count = binding.outputs.size();
    work.outputs.clear();
    work.is_own.assign(count, false);
    work.is_aside.assign(count, false);
    for (std::size_t i = 0; i < count; ++i) {
      const BoundBlock& block = binding.outputs[i];
      const Value& value = output(plan.results()[i]);
      TensorView view = block.tensor;
      work.is_own[i] = !is_written_in_place(value, block, plan);
      work.is_aside[i] = block.form != BlockForm::kInPlace || !is_row_major(view) ||
                         lies_on_an_input(view, binding, work);
      if (work.is_aside[i]) view = work.room(session_.inputs().size() + i, view);
      make_row_major(view);
      work.outputs.push_back(as_the_model(view, value, block));
    }
  }

  /// Whether ONNX Runtime writes this result into memory that it is given. It compares that with the sizes in the file, which
  /// may be wrong, and writes nothing for a result that is an input.
  bool is_written_in_place(const Value& value, const BoundBlock& block,
                           const PreparedBlocks& plan) const {
    const auto is_it = [&](const Value& input) { return input.spec.name == value.spec.name; };
    if (!value.spec.sizes || std::ranges::any_of(session_.inputs(), is_it)) return false;
    const TensorView view = as_the_model(block.tensor, value, block);
    const std::vector<std::int64_t>& sizes = *value.spec.sizes;
    if (sizes.size() != view.rank) return false;
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      const bool is_row = plan.is_row_after_row() && dim == 0;
      if (sizes[dim] != kAnySize && !is_row && sizes[dim] != view.size_of_dim[dim]) return false;
    }
    return true;
  }

  static bool lies_on_an_input(const TensorView& view, const Binding& binding,
                               const Workspace& work) {
    const Extent extent = extent_of(view);
    for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
      const bool is_in_place = work.inputs[i].data == binding.inputs[i].tensor.data;
      if (is_in_place && extent.overlaps(extent_of(binding.inputs[i].tensor))) return true;
    }
    return false;
  }

  /// The names of the values, of inputs, then outputs. They are those of this engine; a Prepared may be another's.
  void name_values(const PreparedBlocks& plan, Workspace& work) const {
    work.names.clear();
    for (const std::size_t i : plan.arguments()) work.names.push_back(input(i).spec.name.c_str());
    for (const std::size_t i : plan.results()) work.names.push_back(output(i).spec.name.c_str());
  }

  // [call]
  /// Runs the model once, on tensors that are row-major.
  void call(const Binding& binding, const PreparedBlocks& plan, Workspace& work,
            std::span<const TensorView> inputs, std::span<const TensorView> outputs,
            CopyReport& copies) const {
    const Runtime& ort = Runtime::get();
    work.values.clear();
    work.results.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      work.values.push_back(work.slots[plan.arguments()[i]].over(ort, inputs[i]));
    }
    bool is_all_in_place = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Slot& slot = work.slots[session_.inputs().size() + plan.results()[i]];
      work.results.push_back(work.is_own[i] ? nullptr : slot.over(ort, outputs[i]));
      is_all_in_place = is_all_in_place && !work.is_own[i];
    }
    OrtStatus* const status = is_all_in_place ? run_bound(ort, plan, work) : run_session(ort, work);
    if (status != nullptr) say_why(ort, status, binding, plan, work, outputs);
    const std::vector<ValueOwner> owned = owned_results(work);
    require_sizes(ort, binding, plan, work, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!work.is_own[i]) continue;
      copies.add_out(copy_result(ort, work.results[i], outputs[i]), CopyReason::kOwnOutput);
    }
  }
  // [/call]

  /// The quick call: ONNX Runtime looks up the names when a tensor is bound, and not when the model runs.
  OrtStatus* run_bound(const Runtime& ort, const PreparedBlocks& plan, Workspace& work) const {
    const std::size_t inputs = session_.inputs().size();
    if (work.bound_results != plan.results()) {
      ort.clear_outputs(work.binding.get());
      for (std::size_t i = inputs; i < work.slots.size(); ++i) work.slots[i].is_bound = false;
      work.bound_results = plan.results();
    }
    const auto bind = [&](std::size_t number, std::size_t name, auto* to_binding) {
      Slot& slot = work.slots[number];
      if (slot.is_bound) return;
      ort.check(to_binding(work.binding.get(), work.names[name], slot.value.get()));
      slot.is_bound = true;
    };
    for (std::size_t i = 0; i < work.values.size(); ++i) {
      bind(plan.arguments()[i], i, ort.bind_input);
    }
    for (std::size_t i = 0; i < work.results.size(); ++i) {
      bind(inputs + plan.results()[i], work.values.size() + i, ort.bind_output);
    }
    return ort.run_bound(session_.get(), nullptr, work.binding.get());
  }

  OrtStatus* run_session(const Runtime& ort, Workspace& work) const {
    return ort.run(session_.get(), nullptr, work.names.data(), work.values.data(),
                   work.values.size(), work.names.data() + work.values.size(), work.results.size(),
                   work.results.data());
  }

  /// The results that ONNX Runtime allocated, to be freed with the call.
  static std::vector<ValueOwner> owned_results(const Workspace& work) {
    std::vector<ValueOwner> owned;
    for (std::size_t i = 0; i < work.results.size(); ++i) {
      if (work.is_own[i]) owned.emplace_back(work.results[i]);
    }
    return owned;
  }

  /// A failure may come of memory with other sizes than a result has: then the model runs in its own memory, and the
  /// results say it.
  [[noreturn]] void say_why(const Runtime& ort, OrtStatus* status, const Binding& binding,
                            const PreparedBlocks& plan, Workspace& work,
                            std::span<const TensorView> outputs) const {
    try {
      ort.check(status);
    } catch (const RuntimeFailure& failure) {
      if (failure.is_of_memory()) throw;
      work.is_own.assign(work.results.size(), true);
      work.results.assign(work.results.size(), nullptr);
      ort.check(run_session(ort, work));
      const std::vector<ValueOwner> owned = owned_results(work);
      require_sizes(ort, binding, plan, work, outputs);
      throw;
    }
    throw EngineError(subject_ + "failed while running");
  }

  /// Of results that ONNX Runtime allocated. @throws BindingError where one does not fit its block
  void require_sizes(const Runtime& ort, const Binding& binding, const PreparedBlocks& plan,
                     const Workspace& work, std::span<const TensorView> outputs) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!work.is_own[i]) continue;
      const Value& value = output(plan.results()[i]);
      const auto fail = [&](const std::string& got) {
        throw BindingError(subject_ + "gives " + got + " for its output " + value.spec.name +
                           ", got output " + to_string(binding.outputs[i]) + ' ' +
                           to_string(outputs[i]) + "; bind a block of that shape and dtype");
      };
      int is_tensor = 0;
      ort.check(ort.is_tensor(work.results[i], &is_tensor));
      if (is_tensor == 0) fail("no tensor");
      OrtTensorInfo* made = nullptr;
      ort.check(ort.get_tensor_info(work.results[i], &made));
      const TensorInfoOwner info(made);
      int element_type = 0;
      std::size_t rank = 0;
      ort.check(ort.get_element_type(made, &element_type));
      ort.check(ort.get_rank(made, &rank));
      std::vector<std::int64_t> sizes(rank);
      ort.check(ort.get_sizes(made, sizes.data(), rank));
      if (fits(sizes, outputs[i], binding.outputs[i]) &&
          from_onnx(element_type) == outputs[i].dtype) {
        continue;
      }
      const auto dtype = from_onnx(element_type);
      fail(text_of(dtype ? std::string(name_of(*dtype)) : value.type, sizes));
    }
  }

  static bool fits(std::span<const std::int64_t> got, const TensorView& expected,
                   const BoundBlock& block) {
    const bool is_one_column = block.columns.size() == 1 && expected.rank == 2 &&
                               expected.size_of_dim[1] == 1 && block.shape == BlockShape::kRows;
    return std::ranges::equal(got, expected.sizes()) ||
           (is_one_column && got.size() == 1 && got[0] == expected.size_of_dim[0]) ||
           (got.empty() && expected.elements() == 1);
  }

  static std::size_t copy_result(const Runtime& ort, OrtValue* result, const TensorView& to) {
    TensorView from = to;
    ort.check(ort.get_data(result, &from.data));
    return strided_copy(Queue(Device::cpu()), to, from);
  }

  void call_row_after_row(std::int64_t rows, const Binding& binding, const PreparedBlocks& plan,
                          Workspace& work, CopyReport& copies) const {
    std::vector<TensorView> inputs(work.inputs.size());
    std::vector<TensorView> outputs(work.outputs.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto its_row = [&](const TensorView& view) { return row_of(view, row); };
      std::ranges::transform(work.inputs, inputs.begin(), its_row);
      std::ranges::transform(work.outputs, outputs.begin(), its_row);
      call(binding, plan, work, inputs, outputs, copies);
    }
  }

  /// Copies results that lie in memory of the engine to their columns.
  static void scatter_outputs(const Queue& queue, const Binding& binding, Workspace& work,
                              CopyReport& copies) {
    for (std::size_t i = 0; i < work.outputs.size(); ++i) {
      if (!work.is_aside[i]) continue;
      const BoundBlock& block = binding.outputs[i];
      TensorView result = block.tensor;
      result.data = work.outputs[i].data;
      make_row_major(result);
      if (block.form != BlockForm::kInPlace) {
        write_columns(queue, result, block, copies);
        continue;
      }
      const CopyReason reason =
          is_row_major(block.tensor) ? CopyReason::kOverlap : CopyReason::kRowMajor;
      copies.add_out(strided_copy(queue, block.tensor, result), reason);
    }
  }

  static std::string described_inputs(const Binding& binding) {
    std::string text;
    for (const BoundBlock& block : binding.inputs) {
      text +=
          (text.empty() ? "; inputs: " : ", ") + to_string(block) + ' ' + to_string(block.tensor);
    }
    return text;
  }

  std::string subject_;  ///< "model FILE: ", the beginning of messages
  Session session_;
  Signature signature_;
  mutable Workspaces workspaces_;
};

}  // namespace

std::shared_ptr<const Engine> load_onnx_engine(const std::filesystem::path& path, Device device) {
  const std::string subject = "model " + path.string() + ": ";
  if (!device.is_cpu()) {
    throw LoadError(subject + "is an ONNX file, which runs on the CPU as it is, got " +
                    to_string(device) + "; make a package for the GPU: tensoa compile " +
                    path.string() + " --target cuda --out PACKAGE.pt2");
  }
  return std::make_shared<const OnnxEngine>(subject, path);
}

}  // namespace tensoa::onnx
