// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a layout has 1 to 64 fields
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
