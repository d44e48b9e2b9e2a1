// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// The inputs and outputs of one call: blocks over columns, without the types of their layouts.
struct Binding {
  std::vector<BoundBlock> inputs;
  std::vector<BoundBlock> outputs;
  std::size_t input_collections =
      0;  ///< collections of the inputs; those of the outputs come after
  Match match = Match::kAuto;
  bool is_bound = true;  ///< false after a rebind that failed

  /// Where all blocks lie; the CPU where there are none.
  Device device() const noexcept;

  /// Whether there is nothing to compute: every output has no elements. (A model without outputs
  /// always runs.)
  bool is_empty() const noexcept;
};

/// Checks the blocks of a binding against each other; ModelMetadata and rebind() do.
/// @throws BindingError when an output is read-only, ragged, or a scalar for several rows, when two
/// outputs share memory (an input and an output may), or blocks lie on several devices.
void require_valid(const Binding& binding);

/// As require_valid(), for a binding whose tensors the caller made: also checks that the sizes, strides and memory
/// of each tensor are possible, and that a block has the tensors of its form. Engines check the values of offsets.
/// @throws BindingError, before anything is read through the tensors
void require_valid_tensors(const Binding& binding);

/// Points the blocks of `batch`, a copy of `all`, to the rows [first, first + count) of each block of `all`.
/// Allocates nothing.
/// @param count at least 1; all blocks of `all` have `first + count` rows or more
void take_rows(const Binding& all, std::size_t first, std::size_t count, Binding& batch);

namespace detail {

/// Rows that all blocks have in common. @throws BindingError where they differ, or a block has no
/// rows that could be taken one after another (segments)
std::size_t rows_of(const Binding& binding);

/// @throws BindingError that names the block whose collection is gone, or after a rebind that failed.
/// A call asks this first.
void require_live(const Binding& binding);

}  // namespace detail

/// The blocks that a model reads and writes. `ModelMetadata metadata(inputs, outputs)` deduces its arguments;
/// spelled out they are the layouts of the inputs, then those of the outputs. A layout may be input
/// and output.
/// *Lifetime*: as SoAMetadata; the collections must outlive it.
template <template <template <class> class> class... Layouts>
class ModelMetadata {
 public:
  /// @throws BindingError, as require_valid()
  template <template <template <class> class> class... Inputs,
            template <template <class> class> class... Outputs>
  ModelMetadata(const SoAMetadata<Inputs...>& inputs, const SoAMetadata<Outputs...>& outputs,
                Match match = Match::kAuto)
      : binding_{{inputs.blocks().begin(), inputs.blocks().end()},
                 {outputs.blocks().begin(), outputs.blocks().end()},
                 sizeof...(Inputs),
                 match} {
    static_assert(
        std::is_same_v<std::tuple<Inputs<std::add_pointer_t>..., Outputs<std::add_pointer_t>...>,
                       std::tuple<Layouts<std::add_pointer_t>...>>,
        "ModelMetadata<…>: list the layouts of the inputs, then those of the outputs");
    require_valid(binding_);
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
