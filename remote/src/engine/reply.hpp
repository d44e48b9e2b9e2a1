// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "engine/wire_plan.hpp"
#include "protobuf/decoder.hpp"
#include "shared/sharing.hpp"
#include "tensoa/engine/copy_report.hpp"

namespace tensoa::remote {

/// A reply that is not an answer to the request.
struct ReplyError {
  std::string what;
  bool is_of_another = false;  ///< model than the one of the plan
};

/// Writes the outputs of a ModelInfer reply to the columns of the output blocks, which are in host memory.
/// Checks the whole reply first: that it is of the model of the plan, and fits.
/// @param sharing the outputs that the server has written to shared memory; nullptr: none
/// @param copies the bytes are added to it
/// @throws ReplyError; the columns are then untouched
void write_outputs(std::span<const protobuf::Piece> reply, const KeptPlan& kept,
                   const std::vector<BoundBlock>& outputs, const Sharing* sharing,
                   CopyReport& copies);

}  // namespace tensoa::remote
