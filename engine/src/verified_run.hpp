// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/engine/engine.hpp"

// The mode TENSOA_VERIFY_CONST=1: proof, for each call, that a model left its inputs alone.

namespace tensoa::detail {

/// Whether the environment requires it: TENSOA_VERIFY_CONST is set, and neither empty nor "0". Read
/// at the first call; after that a load.
bool verifies_inputs() noexcept;

/// `engine.run` between two checksums of the elements of every input block. Elements that an output
/// block covers too are left out: a layout may be input and output.
///
/// @param subject "model FILE: ", the beginning of messages
/// @return the engine's report; what the checksums cost is not in it
/// @throws EngineError that names the first block that changed, and where; the outputs are written
/// by then. What `engine.run` throws.
/// *Stream order*: waits for the queue, before the run and after it. On CUDA the memory from the
/// first to the last element of a block goes to the host and is read there.
/// *Threads*: no other thread may write the inputs meanwhile, as for any call; a change is reported.
CopyReport verified_run(const Engine& engine, const Queue& queue, const Binding& binding,
                        const Prepared& prepared, const std::string& subject);

}  // namespace tensoa::detail
