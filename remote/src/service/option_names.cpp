// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/option_names.hpp"

#include <atomic>

#include "tensoa/remote/options.hpp"

namespace tensoa::remote {
namespace {

std::atomic<OptionNames> current_names{nullptr};

}  // namespace

OptionNames set_option_names(OptionNames names) noexcept { return current_names.exchange(names); }

std::string with_option(std::string_view before, std::string_view option, std::string_view after) {
  const OptionNames names = current_names.load();
  const std::string name =
      names == nullptr ? "remote::Options::" + std::string(option) : names(option);
  return name.empty() ? name : std::string(before) + name + std::string(after);
}

}  // namespace tensoa::remote
