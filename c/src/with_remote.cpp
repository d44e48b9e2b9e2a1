// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "remote_seam.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"

namespace tensoa::c {

void register_remote() { remote::register_engines(); }

ModelOptions options_for_file(const std::string& checksum) {
  remote::Options options;
  options.checksum = checksum;
  return options;
}

}  // namespace tensoa::c
