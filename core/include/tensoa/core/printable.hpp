// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tensoa {

/// Text of a stranger for a message: what moves a cursor, colours or ends a line in a terminal is written out. Control characters
/// (those of Unicode too) and bytes that are not UTF-8 become "\n", "\t", "\r" or "\x1b"; everything else stays.
std::string printable(std::string_view text);

/// The same, in its place: copies nothing where there is nothing to write out.
void make_printable(std::string& text);

}  // namespace tensoa
