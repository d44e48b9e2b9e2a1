// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/wire_plan.hpp"
#include "kserve/messages.hpp"
#include "shared/region.hpp"

namespace tensoa::remote {

/// Which blocks of a call go by shared memory: their elements lie in one region one after another, in the order
/// in which they travel, and are worth it.
struct Sharing {
  std::shared_ptr<SharedRegion> region;             ///< nullptr: none does
  std::shared_ptr<Region> host_region = {};         ///< the same, where it is memory of the host
  std::vector<std::optional<SharedRange>> inputs;   ///< of each input block
  std::vector<std::optional<SharedRange>> outputs;  ///< of each output block
  std::vector<std::string> output_names;            ///< of those that are shared
  bool needs_all = false;                           ///< a reply must not have contents for them

  explicit operator bool() const noexcept { return region != nullptr; }
};

/// Of columns in host memory.
Sharing find_sharing(const Binding& binding, const ModelMetadataReply& metadata,
                     const WirePlan& plan);

/// Whether outputs of a finished call are where the request said: another call may have exchanged their pages.
bool is_still_there(const Sharing& sharing, const std::vector<BoundBlock>& outputs,
                    const WirePlan& plan);

/// After an attempt that is given up: the columns get other pages than those that the server may still write to.
void leave_outputs(const Sharing& sharing, const std::vector<BoundBlock>& outputs);

}  // namespace tensoa::remote
