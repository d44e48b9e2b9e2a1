// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tensoa {

/// Returns the folder of the program, or library, that this is linked into; empty where it is not known.
std::filesystem::path own_folder();

/// Loads one of tensoa's own shared libraries, for what only some programs need: from where the dynamic
/// linker looks (RUNPATH, LD_LIBRARY_PATH), else from the folder of the program, or library, that this is linked
/// into, and its ../lib. It stays for the rest of the process, and shows its names to nothing else.
/// @param symbol a name of it
/// @param why set where that cannot be done: the message of the linker, of a file that exists before others
/// @return the address of `symbol`; nullptr where that cannot be done
void* find_in_own_library(const char* library, const char* symbol, std::string& why);

}  // namespace tensoa
