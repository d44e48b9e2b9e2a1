// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

// gRPC ends the process at a header that it does not take ("Illegal header value"), so none gets there.

namespace tensoa::remote {

inline bool is_header_value(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// In lower case, as names of HTTP/2 are, and none of gRPC's own.
inline bool is_header_name(std::string_view text) {
  const bool is_right = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  return is_right && !text.empty() && !text.starts_with("grpc-") && !text.ends_with("-bin");
}

}  // namespace tensoa::remote
