// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: each layout stands there once
#include "tensoa/soa/soa_metadata.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::SoAMetadata<Hit, Hit> metadata(10, 20);
