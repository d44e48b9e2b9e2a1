// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching (function for call to|constructor for initialization of) .*SoAMetadata<Hit>
#include "tensoa/soa/soa_metadata.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::SoAMetadata<Hit> metadata(10.5);
