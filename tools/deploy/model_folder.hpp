// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tensoa::tools {

/// A file of a folder that is written as a whole: text, or a copy of another file.
struct NewFile {
  std::filesystem::path place;  ///< in the folder
  std::string text = {};
  std::filesystem::path copy_of = {};  ///< empty: `text`
};

/// The first words of the file that marks a folder as written by `tensoa deploy`.
extern const std::string kDeployMark;

/// Writes a folder, complete or not at all. A folder that is there is replaced where `tensoa deploy` wrote it; of a model
/// its other versions are kept: subfolders whose names are numbers.
/// @param mark the file, one of `files`, that begins with kDeployMark
/// @throws InputError where another thing is at `folder`; OutputError
void write_folder(const std::filesystem::path& folder, const std::vector<NewFile>& files,
                  const std::filesystem::path& mark);

/// @throws InputError where another thing than a folder that `tensoa deploy` wrote is at `folder`
void require_free(const std::filesystem::path& folder, const std::filesystem::path& mark);

/// The same of a text file.
void require_free_file(const std::filesystem::path& file);

/// The versions in the folder of a model, subfolders whose names are numbers, in ascending order; none where there is no folder.
std::vector<std::uint64_t> versions_in(const std::filesystem::path& folder);

/// Writes a text file over one that `tensoa deploy` wrote, complete or not at all.
/// @throws InputError where another file is there; OutputError
void write_marked_file(const std::filesystem::path& file, const std::string& text);

}  // namespace tensoa::tools
