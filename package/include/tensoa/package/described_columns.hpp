// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tensoa/engine/describe.hpp"
#include "tensoa/package/inspect.hpp"

/// @file
/// Columns of which only the description of a model is known: their names, and bindings to any memory. For programs
/// that run models which they were not compiled for, as `tensoa infer` and the Python module.

namespace tensoa::package {

/// Where a column of a described block lies.
struct ColumnPlace {
  std::byte* data = nullptr;
  std::size_t pitch = 0;  ///< elements from one plane to the next; 0 for plain columns and scalars
};

/// Whether a block that lies there is bound in place: its columns lie at equal distances, as the planes that they were
/// described as. @param places one for each column of the block
bool is_in_place(const BlockDescription& block, std::span<const ColumnPlace> places);

/// Binds a block, as a model describes it, to columns of any memory, and appends it: in place where is_in_place(), else
/// as a copy (Repack), which engines avoid where they can.
/// @param places one for each column of the block
/// @throws BindingError
void append_described(std::vector<BoundBlock>& blocks, const BlockDescription& block,
                      std::span<const ColumnPlace> places, std::size_t rows, Device device,
                      bool is_input);

/// Returns the binding of a file that `tensoa describe` or describe() wrote. @throws InputError
BindingDescription read_binding(const std::string& file);

/// Gives the arguments of a model that does not store its columns (TorchScript, torch.export) these: of a file
/// (read_binding()), or in words (columns_in_words.hpp).
void use_binding(ModelDescription& model, BindingDescription binding);

/// Returns the names of the planes of a block, in its order: "x", of a vector "u.0", of a matrix "m.ROW.COLUMN".
std::vector<std::string> plane_names(const BlockDescription& block);

/// Returns the names of the planes of several blocks, in their order: "x", or "block.x" where two blocks have an x.
/// @param arguments all of which have a `block`
std::vector<std::string> column_names(const std::vector<ArgumentDescription>& arguments);

/// Returns which name the caller's data has for columns of a model, by their own names ("x" or "block.x").
/// @param columns names in the data in the order of the model's columns, or each `DATA_NAME=MODEL_NAME`; a list of
///     names that are all the model's own is matched by name
/// @param option that they come from, for messages: "--columns"
/// @throws ConfigError
std::map<std::string, std::string> names_in_data(const ModelDescription& model,
                                                 const std::vector<std::string>& columns,
                                                 const std::string& option);

}  // namespace tensoa::package
