// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

// The names of the files of hits, and the tables among them.

namespace tensoa::track::detail {

/// The end of the name of a TrackML file of hits.
inline constexpr std::string_view kHits = "-hits";

/// True when the name of a file says that it holds the hits of events: *.csv, *.csv.gz or a table, but not
/// the cells, truth or particles next to it, nor TrackML's description of the detectors.
bool is_event_file(const std::filesystem::path& path);

/// The event's name: the file's, without its folder, "-hits" and its ending.
std::string event_name(const std::filesystem::path& path);

}  // namespace tensoa::track::detail
