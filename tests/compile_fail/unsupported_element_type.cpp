// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a field of a layout holds bool
#include <string>
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x;
  F<std::string> name;
};

constexpr auto kKind = tensoa::kFieldInfo<Hit>[1].kind;
