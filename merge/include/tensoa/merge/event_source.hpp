// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensoa/events/event_source.hpp"
#include "tensoa/merge/event.hpp"

namespace tensoa::merge {

/// Where one event comes from: an event of a table, or the generator.
using EventSource = events::SourceOf<Event>;

/// The events of several inputs, one after the other, with different names.
///
/// Files are .parquet, .arrow, .ipc or .feather, with the columns x, y, z (mm), energy (GeV), layer (from 1) and fragment_id (-1:
/// on no fragment), and where they are there time (ns after light from the origin), cells (else 1), and particle_id, with which the
/// event has truth. Numbers of any type that fits. A row is a cluster, in any order; neighbours with one number in the column event_id (or
/// event) are an event, and without that column the file is one. Or a row is an event and its columns are lists.
///
/// @param inputs each a file, a folder of them, or "generate:EVENTS[:SEED[:PARTICLES[:PILE_UP]]]". A file that cannot be used
/// counts as an event whose read() throws InputError, and so do events of a table that cannot be read
/// @throws InputError, ConfigError as events::find_events()
std::vector<EventSource> find_events(std::span<const std::string> inputs);

}  // namespace tensoa::merge
