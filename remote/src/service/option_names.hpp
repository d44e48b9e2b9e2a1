// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tensoa::remote {

/// Part of a message: `before`, what users call the member `option` of Options, `after`; empty where they cannot set it
/// (set_option_names).
std::string with_option(std::string_view before, std::string_view option,
                        std::string_view after = {});

}  // namespace tensoa::remote
