// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tensoa/engine/describe.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::tools {

/// Where a column of a described block lies.
struct ColumnPlace {
  std::byte* data = nullptr;
  std::size_t pitch = 0;  ///< elements from one plane to the next; 0 for plain columns and scalars
};

/// Binds a block, as a model describes it, to columns of any memory, and appends it. In place where the
/// columns lie at equal distances, else as a copy (Repack), which engines do without where they can.
/// @param places one for each column of the block
/// @throws BindingError
void append_described(std::vector<BoundBlock>& blocks, const BlockDescription& block,
                      std::span<const ColumnPlace> places, std::size_t rows, Device device,
                      bool is_input);

/// Returns the binding of a file that `tensoa describe` or describe() wrote. @throws InputError
BindingDescription read_binding(const std::string& file);

/// Gives the arguments of a TorchScript model the columns of a binding file (`tensoa describe`).
/// @throws InputError
void use_binding(package::ModelDescription& model, const std::string& file);

/// Returns the name of a plane of a column: "x", of a vector "u.0", of a matrix "m.ROW.COLUMN".
std::string plane_name(const std::string& column, const FieldInfo& element, std::size_t plane);

}  // namespace tensoa::tools
