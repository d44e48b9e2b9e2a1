// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching (member )?function for call to .*(::to.tensoa::Device|'to')
#include "tensoa/engine/model.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

void use(tensoa::Model<>& model) { model.to(tensoa::Device::cpu()); }
