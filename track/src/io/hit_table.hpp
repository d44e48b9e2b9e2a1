// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "event_table.hpp"
#include "tensoa/track/event.hpp"

namespace tensoa::track::detail {

/// A table of hits (read_event() says which columns). @throws InputError
std::unique_ptr<events::EventTable> open_hits(const std::filesystem::path& path);

/// @throws InputError where the rows of this event cannot be read or are not hits
Event read_hits(const events::EventTable& table, std::size_t number);

}  // namespace tensoa::track::detail
