// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "aot_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "program_kinds.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/package/impl/per_queue.hpp"
#include "tensoa/package/package.hpp"
#include "tensoa/package/program.hpp"

namespace tensoa::package {
namespace {

/// Of each block of the package its place among the inputs or outputs of the binding.
class Places final : public Prepared {
 public:
  Places(std::vector<std::size_t> arguments, std::vector<std::size_t> of_blocks)
      : Prepared(std::move(arguments)), of_blocks_(std::move(of_blocks)) {}

  std::size_t operator[](std::size_t block) const noexcept { return of_blocks_[block]; }

 private:
  std::vector<std::size_t> of_blocks_;
};

/// Memory for the planes of one call, which only grows: a thread runs one call at a time.
struct OfThread {
  std::vector<BlockMemory> planes;
  std::vector<std::size_t> gathered;  ///< blocks whose columns do not lie as planes
};

class AotEngine final : public Engine {
 public:
  AotEngine(const Package& package, Device device, const Options& options, GraphTrial trial)
      : subject_(package.subject()),
        row_dependence_(package.manifest().row_dependence),
        inputs_(package.manifest().binding.inputs.size()),
        program_(load_program(package, device, options, trial)) {
    const BindingDescription& binding = package.manifest().binding;
    for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
      for (const BlockDescription& block : *blocks) blocks_.emplace_back(block);
    }
    const std::vector<std::size_t>& collections = package.manifest().collections;
    for (std::size_t i = 0; i < inputs_; ++i) {
      signature_.inputs.push_back(spec_of(binding.inputs[i]));
      rows_from_.push_back({.collection = collections[i], .rows = 0});
    }
    signature_.required_inputs = signature_.inputs.size();
    const std::vector<RowRule>& rows = package.manifest().rows;
    for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
      const BlockDescription& block = binding.outputs[i];
      TensorSpec& spec = signature_.outputs.emplace_back(spec_of(block));
      if (rows[i].collection) continue;
      (*spec.sizes)[block.shape == BlockShape::kColumns ? 1 : 0] =
          static_cast<std::int64_t>(rows[i].rows);
    }
    rows_from_.insert(rows_from_.end(), rows.begin(), rows.end());
    for (RowRule& rule : rows_from_) {  // now an input block of that collection
      if (rule.collection) rule.collection = first_of(*rule.collection, collections);
    }
  }

  const Signature& signature() const noexcept override { return signature_; }

  std::shared_ptr<const Prepared> prepare(const Binding& binding,
                                          std::vector<std::size_t> arguments) const override {
    const std::size_t outputs = blocks_.size() - inputs_;
    if (binding.outputs.size() != outputs) {
      throw BindingError(subject_ + "gives " + std::to_string(outputs) + " outputs, got " +
                         std::to_string(binding.outputs.size()) + " output blocks");
    }
    std::vector<std::size_t> places(blocks_.size());
    for (std::size_t i = 0; i < inputs_; ++i) places[arguments[i]] = i;
    const bool by_name = outputs_go_by_name(binding);
    for (std::size_t i = 0; i < outputs; ++i) {
      places[inputs_ + i] = by_name ? output_called(described(inputs_ + i).name, binding) : i;
    }
    auto prepared = std::make_shared<const Places>(std::move(arguments), std::move(places));
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      require_described(i, block_for(i, binding, *prepared));
    }
    return prepared;
  }

  RowDependence row_dependence(const Binding& /*binding*/,
                               const Prepared& /*prepared*/) const override {
    return row_dependence_;
  }

  CopyReport run(const Queue& queue, const Binding& binding,
                 const Prepared& prepared) const override {
    return call(&Program::run, queue, binding, static_cast<const Places&>(prepared));
  }

  CopyReport warm_up(const Queue& queue, const Binding& binding,
                     const Prepared& prepared) const override {
    return call(&Program::warm_up, queue, binding, static_cast<const Places&>(prepared));
  }

  bool can_be_recorded() const noexcept override { return program_->can_be_recorded(); }

 private:
  /// Memory of one queue for blocks that the program cannot have where they lie. Only grows.
  using Aside = std::vector<Buffer>;
  using AsideLoan = PerQueue<Aside>::LoanWhenNeeded;
  using Call = CopyReport (Program::*)(const Queue&, std::span<const BlockMemory>);

  CopyReport call(Call work, const Queue& queue, const Binding& binding,
                  const Places& places) const {
    thread_local OfThread mine;
    const std::size_t n = blocks_.size();
    if (mine.planes.size() < n) mine.planes.resize(n);
    const std::span<BlockMemory> planes(mine.planes.data(), n);
    std::vector<std::size_t>& gathered = mine.gathered;
    gathered.clear();
    for (std::size_t i = 0; i < n; ++i) {
      const BoundBlock& block = block_for(i, binding, places);
      if (blocks_[i].in_place(block, planes[i])) continue;
      if (block.form == BlockForm::kRepacked) {
        planes[i] = {nullptr, 0, rows_of(block)};
        gathered.push_back(i);
      } else {
        throw_not_in_place(block);
      }
    }
    for (std::size_t i = 0; i < n; ++i) require_rows(i, planes, binding, places);

    CopyReport copies;
    try {
      AsideLoan aside(aside_, queue);  // until the program is enqueued
      for (const std::size_t i : gathered) {
        planes[i] = set_aside(i, planes[i].rows, queue, aside);
        if (!is_input(i)) continue;
        copies.add_in(blocks_[i].gather(queue, block_for(i, binding, places), planes[i]),
                      CopyReason::kRepack);
      }
      for (std::size_t i = 0; i < inputs_; ++i) {
        if (!is_output(i, planes)) continue;  // a program would write it while it reads
        planes[i] = set_aside(i, planes[i].rows, queue, aside);
        copies.add_in(blocks_[i].gather(queue, block_for(i, binding, places), planes[i]),
                      CopyReason::kInputIsWritten);
      }
      copies += ((*program_).*work)(queue, planes);
      for (const std::size_t i : gathered) {
        if (is_input(i)) continue;
        copies.add_out(blocks_[i].scatter(queue, planes[i], block_for(i, binding, places)),
                       CopyReason::kRepack);
      }
    } catch (const DeviceError& error) {
      rethrow(error, subject_ + "failed while running: ");
    } catch (const EngineError& error) {
      throw EngineError(subject_ + error.what());
    } catch (const std::exception& error) {
      throw_if_lost(queue, subject_ + "failed while running: ");
      throw EngineError(subject_ + "failed while running: " + first_line(error));
    }
    return copies;
  }

  bool outputs_go_by_name(const Binding& binding) const {
    const auto matched = match_names(binding.match, binding.outputs, signature_.outputs);
    if (const BoundBlock* block = matched.misplaced) {
      throw BindingError(subject_ + to_string(*block) + " is output block number " +
                         std::to_string(block - binding.outputs.data() + 1) +
                         ", and has the name of another output; name all blocks as the outputs, "
                         "rename this one, or request Match::kByOrder");
    }
    return matched.by_name;
  }

  bool is_input(std::size_t i) const noexcept { return i < inputs_; }

  const BlockDescription& described(std::size_t i) const noexcept {
    return blocks_[i].description();
  }

  std::size_t first_of(std::size_t collection, const std::vector<std::size_t>& collections) const {
    const auto found = std::ranges::find(collections, collection);
    if (found == collections.end()) {
      throw LoadError(subject_ + "a result has the number of rows of input collection " +
                      std::to_string(collection) + ", which no block has; export it again");
    }
    return static_cast<std::size_t>(found - collections.begin());
  }

  const BoundBlock& block_for(std::size_t i, const Binding& binding,
                              const Places& places) const noexcept {
    return (is_input(i) ? binding.inputs : binding.outputs)[places[i]];
  }

  static std::size_t output_called(const std::string& name, const Binding& binding) {
    const auto found = std::ranges::find(binding.outputs, name, &BoundBlock::name);
    if (found == binding.outputs.end()) {
      throw BindingError("there is no block called \"" + name +
                         "\", which the package was made for");
    }
    return static_cast<std::size_t>(found - binding.outputs.begin());
  }

  void require_described(std::size_t i, const BoundBlock& block) const {
    const std::string differs = difference(described(i), block);
    if (differs.empty()) return;
    throw BindingError(subject_ + "was made for other columns: " + to_string(block) + ": " +
                       differs + "; bind what was described, or export again");
  }

  [[noreturn]] void throw_not_in_place(const BoundBlock& block) const {
    throw BindingError(subject_ + to_string(block) +
                       ": its columns do not lie in memory as the package was made for, one pitch "
                       "from each to the next and " +
                       std::to_string(rows_of(block)) +
                       " rows apart at least; use a PortableCollection of the layout that was "
                       "described, or request a copy (Repack)");
  }

  void require_rows(std::size_t i, std::span<const BlockMemory> planes, const Binding& binding,
                    const Places& places) const {
    const RowRule& rule = rows_from_[i];
    const std::int64_t rows = planes[i].rows;
    const auto expected =
        rule.collection ? planes[*rule.collection].rows : static_cast<std::int64_t>(rule.rows);
    if (rows <= most_rows_ && rows == expected) [[likely]] {
      return;
    }
    const std::string got = subject_ + to_string(block_for(i, binding, places)) + " has " +
                            std::to_string(rows) + " rows, ";
    if (rows > most_rows_) {
      throw BindingError(got + "its program takes at most " + std::to_string(most_rows_) +
                         "; bind slices of fewer rows, or export with --no-fuse");
    }
    throw BindingError(
        got + "expected " + std::to_string(expected) +
        (rule.collection ? ", as block \"" + block_for(*rule.collection, binding, places).name + '"'
                         : ", always"));
  }

  bool is_output(std::size_t input, std::span<const BlockMemory> planes) const {
    for (std::size_t i = inputs_; i < blocks_.size(); ++i) {
      if (blocks_[input].overlap(planes[input], blocks_[i], planes[i])) return true;
    }
    return false;
  }

  /// Planes of block `i` in memory that is not the caller's.
  BlockMemory set_aside(std::size_t i, std::int64_t rows, const Queue& queue,
                        AsideLoan& aside) const {
    aside->resize(blocks_.size());
    Buffer& memory = (*aside)[i];
    const std::size_t bytes = blocks_[i].packed_bytes(rows);
    if (memory.size() < bytes) memory = Buffer(queue.device(), bytes, MemoryPurpose::kWorkspaces);
    return blocks_[i].packed(memory.data(), rows);
  }

  std::string subject_;
  RowDependence row_dependence_;
  std::size_t inputs_;  ///< blocks
  std::unique_ptr<Program> program_;
  std::int64_t most_rows_ = program_->most_rows();
  std::vector<PlanesOfBlock> blocks_;  ///< inputs, then outputs
  std::vector<RowRule> rows_from_;     ///< of each block; `collection` is the place of an input
  Signature signature_;
  mutable PerQueue<Aside> aside_;
};

}  // namespace

std::shared_ptr<const Engine> load_aot_engine(const std::filesystem::path& path, Device device,
                                              const Options& options, GraphTrial trial) {
  const std::string subject = "model " + path.string() + ": ";
  try {
    return std::make_shared<AotEngine>(Package(path), device, options, trial);
  } catch (const DeviceError& error) {
    rethrow(error, subject + "cannot be loaded: ");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw LoadError(subject + "cannot be loaded: " + first_line(error) +
                    " (where the folder of packages allows no programs, set TENSOA_PACKAGE_FOLDER "
                    "to another)");
  }
}

}  // namespace tensoa::package
