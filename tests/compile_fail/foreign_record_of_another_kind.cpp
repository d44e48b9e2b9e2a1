// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: the kind of a record must be that of its field
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<float> x;
};

enum class ColumnType { scalar, column, eigen };

struct ScalarRecord {
  static constexpr ColumnType columnType = ColumnType::scalar;
  using ValueType = float;
  float* addr_;
};

auto use(ScalarRecord record) {
  return tensoa::foreign_view<Hit>(8, tensoa::Device::cpu(), record);
}
