// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The header of all with one component linked: the engines of the layers that are linked are there, and nothing is missing.

#include <iostream>
#include <string>
#include <tensoa/tensoa.hpp>

int main() {
#ifdef TENSOA_HAS_PACKAGE
  try {
    const tensoa::Model<> model("absent.pt2");
  } catch (const tensoa::LoadError& error) {
    std::cout << error.what() << '\n';
    return std::string(error.what()) == "model absent.pt2: there is no such file" ? 0 : 1;
  }
  return 1;
#else
  std::cout << tensoa::to_string(tensoa::Device::cpu()) << '\n';
#endif
}
