// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: the column belongs to a layout that is not one of this SoAMetadata
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

template <template <class> class F>
struct Point {
  F<float> x, y;
};

template <template <class> class F>
struct Hit {
  F<tensoa::Sub<Point>> position;
};

// Columns of a Sub belong to the whole layout.
void use(tensoa::View<Hit> hits) {
  tensoa::SoAMetadata<Point> metadata(10);
  metadata.append_block("x", hits.records().position.x());
}
