// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "cli/engines.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"

namespace tensoa::cli {
namespace {

const CLI::App* chosen_command = nullptr;

/// As options_for() sets them.
constexpr std::array<std::pair<std::string_view, const char*>, 7> kOptions{
    {{"ca_file", "--ca"},
     {"certificate_file", "--cert"},
     {"key_file", "--key"},
     {"token_file", "--token"},
     {"headers", "--header"},
     {"fallback", "--fallback"},
     {"deadline", "--deadline"}}};

std::string name_of_option(std::string_view member) {
  for (const auto& [known, option] : kOptions) {
    if (known == member && chosen_command->get_option_no_throw(option) != nullptr) return option;
  }
  return {};
}

}  // namespace

void register_remote(const CLI::App& command) {
  remote::register_engines();
  chosen_command = &command;
  remote::set_option_names(name_of_option);
}

}  // namespace tensoa::cli
