// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/util/float16.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"

// Every type of a file as every type of a collection, compared with a reference in long double, which has 64 bits
// for digits: all numbers of both sides are exact there.

namespace tensoa::columnar {
namespace {

using arrow::util::Float16;

using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

constexpr Exact kInfinity = std::numeric_limits<Exact>::infinity();

/// The cases of a type.
struct Format {
  int digits;  ///< of whole numbers that are all held
  bool is_signed;
  bool is_floating;
  int largest = 0;   ///< floating: 2^largest and more is infinite
  int smallest = 0;  ///< floating: the last digit of the smallest numbers is 2^smallest
};

template <class T>
constexpr Format format_of() {
  if constexpr (std::same_as<T, Float16>) {
    return {11, true, true, 16, -24};
  } else if constexpr (std::floating_point<T>) {
    using Limits = std::numeric_limits<T>;
    return {Limits::digits, true, true, Limits::max_exponent,
            Limits::min_exponent - Limits::digits};
  } else if constexpr (std::same_as<T, bool>) {
    return {1, false, false};
  } else {
    return {std::numeric_limits<T>::digits, std::is_signed_v<T>, false};
  }
}

/// The nearest number of a floating type, of two the even one.
Exact rounded(Exact value, const Format& format) {
  if (!std::isfinite(value) || value == 0) return value;
  const int unit = std::max(std::ilogb(value) + 1 - format.digits, format.smallest);
  const Exact nearest = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(nearest) < std::ldexp(Exact{1}, format.largest) ? nearest
                                                                  : std::copysign(kInfinity, value);
}

/// The converted number; nothing where it is an error.
std::optional<Exact> reference(Exact value, const Format& from, const Format& to, bool rounds) {
  if (to.is_floating) {
    const Exact nearest = rounded(value, to);
    if (std::isfinite(value) && !std::isfinite(nearest)) return {};
    if (!from.is_floating && !rounds && nearest != value) return {};
    return nearest;
  }
  const Exact whole = std::nearbyint(value);
  const Exact end = std::ldexp(Exact{1}, to.digits);
  if (!(whole < end && whole >= (to.is_signed ? -end : 0))) return {};
  const bool may_be_rounded = from.is_floating && std::abs(value) >= std::ldexp(1.0L, from.digits);
  if (!rounds && (whole != value || may_be_rounded)) return {};
  return whole;
}

template <class T>
T made(Exact value) {
  if constexpr (std::same_as<T, Float16>) {
    return Float16::FromDouble(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
Exact exact(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  if constexpr (std::same_as<T, Float16>)
    return value.ToDouble();
  else
    return static_cast<Exact>(value);
}

/// Numbers at which types differ, those that a format has.
std::vector<Exact> edges(const Format& format) {
  std::vector<Exact> all{0, 1, 2, 100, 2'049, 65'519};
  for (const int power : {7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64}) {
    const Exact end = std::ldexp(Exact{1}, power);
    all.insert(all.end(), {end - 1, end, end + 1});
  }
  if (format.is_floating) {
    all.insert(all.end(),
               {0.5L, 1.5L, 2.5L, 0.1L, 65'520, 1e-45L, 1e-7L, 1e38L, 1e300L, kInfinity});
  }
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  if (format.is_floating) {
    for (Exact& value : all) value = rounded(value, format);
    return all;
  }
  const Exact end = std::ldexp(Exact{1}, format.digits);
  std::erase_if(all, [&](Exact x) {
    return std::signbit(x) ? !format.is_signed || x == 0 || x < -end : x >= end;
  });
  return all;
}

bool is_same(Exact a, Exact b) {
  return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
}

class Conversions : public testing::Test {
 protected:
  template <class From, class Builder>
  void check_from() {
    const Format from = format_of<From>();
    const std::vector<Exact> values = edges(from);
    Builder builder;
    for (const Exact value : values) {
      ASSERT_TRUE(builder.Append(stored(made<From>(value))).ok());
    }
    const auto array = builder.Finish().ValueOrDie();
    SCOPED_TRACE(array->type()->ToString());
    const TableFile file(test::write(folder_.path() / "a.arrow", {{"x", array}}, 1'000'000));
    const TableChunk chunk = test::only_chunk(file, {"x"});
    check<std::int8_t>(chunk, values, from, DType::kI8);
    check<std::uint8_t>(chunk, values, from, DType::kU8);
    check<std::int16_t>(chunk, values, from, DType::kI16);
    check<std::int32_t>(chunk, values, from, DType::kI32);
    check<std::int64_t>(chunk, values, from, DType::kI64);
    check<Float16>(chunk, values, from, DType::kF16);
    check<float>(chunk, values, from, DType::kF32);
    check<double>(chunk, values, from, DType::kF64);
  }

 private:
  template <class T>
  static auto stored(T value) {
    if constexpr (std::same_as<T, Float16>)
      return value.bits();
    else
      return value;
  }

  /// Each number on its own, then all that are held side by side.
  template <class To>
  void check(const TableChunk& chunk, const std::vector<Exact>& values, const Format& from,
             DType dtype) {
    SCOPED_TRACE(name_of(dtype));
    const Format to = format_of<To>();
    const bool only_rounds = from.is_floating && to.is_floating && from.digits > to.digits;
    for (const bool rounds : {false, true}) {
      if (only_rounds && !rounds) continue;
      const NumberRules rules{.rounding = rounds ? Rounding::kAllowed : Rounding::kRefused};
      std::vector<std::uint8_t> is_held;
      std::vector<Exact> expected;
      for (std::size_t row = 0; row < values.size(); ++row) {
        const auto value = reference(values[row], from, to, rounds);
        is_held.push_back(value ? 1 : 0);
        if (value) expected.push_back(*value);
        EXPECT_EQ(chunk.slice(row, 1).faults(0, dtype, rules).empty(), value.has_value())
            << values[row] << (rounds ? " rounded" : "");
      }
      std::vector<std::size_t> faults;
      for (const RowFault& fault : chunk.faults(0, dtype, rules)) faults.push_back(fault.row);
      for (const std::size_t row : faults) EXPECT_EQ(is_held[row], 0) << values[row];
      ASSERT_EQ(faults.size() + expected.size(), values.size());
      if (!faults.empty()) {
        EXPECT_THROW(chunk.numbers(0, dtype, rules, memory_), InputError);
      }
      const TableChunk held = chunk.filter(is_held);
      const std::byte* numbers = held.numbers(0, dtype, rules, memory_);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Exact got = exact<To>(numbers + i * sizeof(To));
        EXPECT_TRUE(is_same(got, to.is_floating ? expected[i] : expected[i] + 0))
            << static_cast<double>(got) << ", expected " << static_cast<double>(expected[i]);
      }
    }
  }

  tensoa::test::TemporaryFolder folder_;
  NumberMemory memory_;
};

TEST_F(Conversions, OfUnsignedIntegersAreExactOrFaults) {
  check_from<std::uint8_t, arrow::UInt8Builder>();
  check_from<std::uint16_t, arrow::UInt16Builder>();
  check_from<std::uint32_t, arrow::UInt32Builder>();
  check_from<std::uint64_t, arrow::UInt64Builder>();
}

TEST_F(Conversions, OfSignedIntegersAreExactOrFaults) {
  check_from<std::int8_t, arrow::Int8Builder>();
  check_from<std::int16_t, arrow::Int16Builder>();
  check_from<std::int32_t, arrow::Int32Builder>();
  check_from<std::int64_t, arrow::Int64Builder>();
}

TEST_F(Conversions, OfFloatingPointRoundOnceAndNeverBecomeInfinite) {
  check_from<Float16, arrow::HalfFloatBuilder>();
  check_from<float, arrow::FloatBuilder>();
  check_from<double, arrow::DoubleBuilder>();
}

}  // namespace
}  // namespace tensoa::columnar
