// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a source is const; use foreign_const_view
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Vector<float, 3>> direction;
};

enum class ColumnType { scalar, column, eigen };

struct Element {
  enum { RowsAtCompileTime = 3, ColsAtCompileTime = 1, IsRowMajor = 0 };
};

// CMSSW's record of const elements: the pointer is not to const, only the type says it.
struct ConstRecord {
  static constexpr ColumnType columnType = ColumnType::eigen;
  using ValueType = Element;
  using ConstType = ConstRecord;
  float* addr_;
  unsigned long stride_;
};

auto use(ConstRecord record) { return tensoa::foreign_view<Hit>(8, tensoa::Device::cpu(), record); }
