// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensoa/soa/soa_metadata.hpp"
#include "tensoa/soa/view.hpp"

namespace tensoa {

/// How blocks find their arguments and results. The entries of a dict always go by name, what has no
/// name always in order. By name, arguments that have defaults may be left out.
enum class Match : std::uint8_t {
  /// By name where every input block has the name of an argument, else in order. Results likewise:
  /// by name where every member of a named tuple has the name of an output block. A block or a member
  /// that has the name of one place and would go, in order, to another is a BindingError.
  kAuto,
  /// The first block is the first argument, whatever they are called; members of named tuples alike.
  kByOrder,
  /// A block is the argument of its name, a member of a named tuple goes to the block of its name.
  /// Other names are a BindingError.
  kByName,
};

namespace detail {

/// The engine that last found a binding to be what its model was made for, so that it need not look
/// at names, kinds and dtypes again. Only of bindings that nobody can change but for a rebind, which
/// keeps all that: those in a Plan. A copy is anybody's, so it remembers nothing.
/// *Threads*: safe.
class AcceptedBy {
 public:
  AcceptedBy() noexcept = default;
  AcceptedBy(const AcceptedBy&) noexcept {}
  AcceptedBy& operator=(const AcceptedBy&) noexcept {
    engine_.store(kForgets, std::memory_order_relaxed);
    return *this;
  }
  ~AcceptedBy() = default;

  /// The binding will not be changed from now on.
  void start() noexcept {
    if (engine_.load(std::memory_order_relaxed) == kForgets) {
      engine_.store(kNobody, std::memory_order_relaxed);
    }
  }
  /// What `engine` noted; nothing where it was not the last.
  std::optional<unsigned> noted_by(std::uint64_t engine) const noexcept {
    const std::uint64_t noted = engine_.load(std::memory_order_relaxed);
    if (noted >> kNoteBits != engine) return std::nullopt;
    return static_cast<unsigned>(noted & ((1U << kNoteBits) - 1U));
  }
  /// @param engine a number of its own that no other engine of the process ever had; from 1 on
  /// @param note less than 4
  void set(std::uint64_t engine, unsigned note) const noexcept {
    if (engine_.load(std::memory_order_relaxed) == kForgets) return;
    engine_.store(engine << kNoteBits | note, std::memory_order_relaxed);
  }

  static constexpr std::uint64_t kFirstEngine = 1;

 private:
  static constexpr unsigned kNoteBits = 2;
  static constexpr std::uint64_t kForgets = 0;
  static constexpr std::uint64_t kNobody = 1;  // what "engine 0" noted
  mutable std::atomic<std::uint64_t> engine_{kForgets};
};

}  // namespace detail

/// The inputs and outputs of one call: blocks over columns, without the types of their layouts.
struct Binding {
  std::vector<BoundBlock> inputs;
  std::vector<BoundBlock> outputs;
  std::size_t input_collections =
      0;  ///< collections of the inputs; those of the outputs come after
  Match match = Match::kAuto;
  bool is_bound = true;  ///< false after a rebind that failed
  detail::AcceptedBy accepted_by = {};

  /// Whether there is nothing to compute: every output has no elements. (A model without outputs
  /// always runs.)
  bool is_empty() const noexcept;
};

namespace detail {

/// @throws BindingError when an output is read-only, ragged, or a scalar for several rows, when two
/// outputs share memory (an input and an output may), or blocks lie on several devices.
void check(const Binding& binding);

/// As check, of a binding whose tensors are of the caller's own making: also that each can be and has
/// memory, and that the tensors of a block are those of its form. What offsets say, engines check.
/// @throws BindingError, before anything is read through them
void check_own(const Binding& binding);

/// Rows that all blocks have in common. @throws BindingError where they differ, or a block has no
/// rows that could be taken one after another (segments)
std::size_t rows_of(const Binding& binding);

/// Points the blocks of `batch`, a copy of `all`, to the rows [first, first + count) of each of `all`.
/// Allocates nothing.
void take_rows(const Binding& all, std::size_t first, std::size_t count, Binding& batch);

/// @throws BindingError that names the block whose collection is gone, or after a rebind that failed.
/// A call asks this first.
void require_live(const Binding& binding);

/// Where blocks go.
struct Matched {
  bool by_name;                 ///< to the places of their names, else in order
  const BoundBlock* misplaced;  ///< one that goes in order, but has the name of another place
};

/// `names` are those of the arguments or of the results. Allocates nothing.
Matched match_names(Match match, std::span<const BoundBlock> blocks,
                    std::span<const std::string> names);

}  // namespace detail

/// What a model reads and writes. `ModelMetadata metadata(inputs, outputs)` deduces its arguments;
/// spelled out they are the layouts of the inputs, then those of the outputs. A layout may be input
/// and output.
/// *Lifetime*: as SoAMetadata; the collections must outlive it.
template <template <template <class> class> class... Layouts>
class ModelMetadata {
 public:
  /// @throws BindingError, as detail::check
  template <template <template <class> class> class... Inputs,
            template <template <class> class> class... Outputs>
  ModelMetadata(const SoAMetadata<Inputs...>& inputs, const SoAMetadata<Outputs...>& outputs,
                Match match = Match::kAuto)
      : binding_{{inputs.blocks().begin(), inputs.blocks().end()},
                 {outputs.blocks().begin(), outputs.blocks().end()},
                 sizeof...(Inputs),
                 match} {
    static_assert(
        std::is_same_v<std::tuple<Inputs<detail::Pointer>..., Outputs<detail::Pointer>...>,
                       std::tuple<Layouts<detail::Pointer>...>>,
        "ModelMetadata<…>: list the layouts of the inputs, then those of the outputs");
    detail::check(binding_);
  }

  const Binding& binding() const noexcept { return binding_; }

 private:
  Binding binding_;
};

template <template <template <class> class> class... Inputs,
          template <template <class> class> class... Outputs>
ModelMetadata(const SoAMetadata<Inputs...>&, const SoAMetadata<Outputs...>&, Match = Match::kAuto)
    -> ModelMetadata<Inputs..., Outputs...>;

}  // namespace tensoa
