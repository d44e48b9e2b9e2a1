// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// --keep of `tensoa infer`: any text is conditions or a ConfigError, and conditions keep what they say.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "infer/keep.hpp"
#include "tensoa/core/error.hpp"

namespace {

using namespace tensoa;
using tools::KeepCondition;
using tools::Relation;

bool holds(const KeepCondition& condition, double x) {
  const double y = condition.number;
  const std::array answers{x<y, x <= y, x> y, x >= y, x == y, x != y};
  return answers.at(static_cast<std::size_t>(condition.relation));
}

template <class T>
void check(const KeepCondition& condition, DType dtype, const std::vector<T>& numbers) {
  std::vector<std::uint8_t> keep(numbers.size(), 1);
  keep.back() = 0;
  tools::apply(condition, reinterpret_cast<const std::byte*>(numbers.data()), dtype, keep);
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const bool is_kept = i + 1 < keep.size() && holds(condition, static_cast<double>(numbers[i]));
    if ((keep[i] != 0) != is_kept) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<KeepCondition> conditions;
  try {
    conditions = tools::parse_keep(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const ConfigError&) {
    return 0;
  }
  if (conditions.empty()) std::abort();
  for (const KeepCondition& condition : conditions) {
    if (condition.name.empty() || std::isnan(condition.number)) std::abort();
    const double y = condition.number;
    check<double>(condition, DType::kF64, {y, std::nextafter(y, HUGE_VAL), -y, NAN, HUGE_VAL, 0});
    check<float>(condition, DType::kF32, {static_cast<float>(0.5), NAN, -HUGE_VALF, 0, 1});
    check<std::int64_t>(condition, DType::kI64,
                        {std::numeric_limits<std::int64_t>::max(), -1, 0, 1});
    check<std::uint8_t>(condition, DType::kU8, {0, 1, 255, 3});
  }
  return 0;
}
