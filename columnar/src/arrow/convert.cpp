// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arrow/convert.hpp"

#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace tensoa::columnar {
namespace {

using arrow::util::Float16;

/// A decimal as what it can become.
struct Decimal {
  double value = 0;
  std::optional<std::int64_t> whole;  ///< where it is one
};

template <class T>
inline constexpr bool is_floating = std::floating_point<T> || std::same_as<T, Float16>;

double as_double(double value) { return value; }
double as_double(float value) { return value; }
double as_double(Float16 value) { return value.ToDouble(); }

template <class To>
bool is_finite(To value) {
  if constexpr (std::same_as<To, Float16>) return value.is_finite();
  // As one comparison, which compilers do for several numbers at a time.
  else
    return std::abs(value) <= std::numeric_limits<To>::max();
}

template <class To, class From>
To converted(const From& value) {
  if constexpr (std::same_as<From, Decimal>) {
    if constexpr (std::integral<To>) {
      return static_cast<To>(value.whole ? *value.whole
                                         : static_cast<std::int64_t>(std::nearbyint(value.value)));
    } else {
      return converted<To>(value.value);
    }
  } else if constexpr (std::integral<To> && is_floating<From>) {
    return static_cast<To>(std::nearbyint(as_double(value)));
  } else if constexpr (std::same_as<To, Float16> && std::same_as<From, double>) {
    return Float16::FromDouble(value);
  } else if constexpr (std::same_as<To, Float16> && !std::same_as<From, Float16>) {
    return Float16::FromFloat(static_cast<float>(value));
  } else if constexpr (std::same_as<From, Float16> && !std::same_as<To, Float16>) {
    return static_cast<To>(value.ToFloat());
  } else {
    return static_cast<To>(value);
  }
}

/// From here on a number may stand for several whole ones, which were rounded to it: 2^53 in a double.
template <class From>
double first_inexact() {
  if constexpr (std::same_as<From, Float16>)
    return 1 << 11;
  else
    return std::ldexp(1.0, std::numeric_limits<From>::digits);
}

/// Whether a number is one of `To`.
template <class To, class From>
bool fits(const From& value, bool rounds) {
  if constexpr (std::same_as<From, Decimal>) {
    if constexpr (std::integral<To>) {
      if (value.whole) return std::in_range<To>(*value.whole);
      return rounds && fits<To>(value.value, true);
    } else {
      return fits<To>(value.value, rounds);
    }
  } else if constexpr (std::integral<To> && std::integral<From>) {
    return std::in_range<To>(value);
  } else if constexpr (std::integral<To>) {
    const double number = as_double(value);
    const double whole = std::nearbyint(number);
    // 2^digits of To is a double, and one more than the largest To.
    constexpr double kEnd =
        static_cast<double>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    constexpr double kFirst = std::is_signed_v<To> ? -kEnd : 0;
    const bool is_kept = whole == number && std::abs(number) < first_inexact<From>();
    return (rounds || is_kept) && whole >= kFirst && whole < kEnd;
  } else if constexpr (std::integral<From>) {
    if constexpr (std::same_as<To, Float16>) {
      // What is finite there is below 2^24, and exactly a float.
      const To other = converted<To>(value);
      return is_finite(other) && (rounds || other.ToFloat() == static_cast<float>(value));
    } else {
      if (rounds) return true;
      // 2^digits of From is a To, and one more than the largest From.
      const To limit =
          static_cast<To>(std::uint64_t{1} << (std::numeric_limits<From>::digits - 1)) * 2;
      const To other = static_cast<To>(value);
      return other < limit && static_cast<From>(other) == value;
    }
  } else {
    // Infinite numbers and NaN stay so.
    return static_cast<bool>(static_cast<int>(is_finite(converted<To>(value))) |
                             static_cast<int>(!is_finite(value)));
  }
}

/// NaN where integers are read: how tables without nulls write a gap.
template <class To, class From>
bool is_gap(const From& value) {
  if constexpr (std::integral<To> && is_floating<From>) return std::isnan(as_double(value));
  return false;
}

template <class From>
std::string text_of(const From& value) {
  if constexpr (std::integral<From>) {
    return std::to_string(value);
  } else {
    constexpr std::size_t kRoom = 32;
    char text[kRoom];
    char* end = nullptr;
    if constexpr (std::same_as<From, float>) {
      end = std::to_chars(text, text + kRoom, value).ptr;
    } else {
      end = std::to_chars(text, text + kRoom, converted<double>(value)).ptr;
    }
    return {text, end};
  }
}

/// The numbers of an array, its offset applied.
template <class T>
const T* values(const arrow::Array& array) {
  return array.data()->GetValues<T>(1);
}

template <class DecimalType>
std::vector<Decimal> decimals(const arrow::Array& array) {
  const auto& all = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  const std::int32_t scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  std::vector<Decimal> numbers(static_cast<std::size_t>(array.length()));
  for (std::int64_t i = 0; i < array.length(); ++i) {
    if (all.IsNull(i)) continue;
    const DecimalType value(all.GetValue(i));
    Decimal& number = numbers[static_cast<std::size_t>(i)];
    number.value = value.ToDouble(scale);
    const auto whole = value.Rescale(scale, 0);
    // Integers of more than 64 bits are out of every range, which their value shows.
    if (!whole.ok()) continue;
    const auto text = whole->ToIntegerString();
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (error == std::errc() && end == text.data() + text.size()) number.whole = integer;
  }
  return numbers;
}

/// Returns body(To(), numbers of the array).
template <class Body>
auto with_types(const arrow::Array& array, DType to, const Body& body) {
  const auto from = [&]<class From>(const From* numbers) {
    switch (to) {
      // NOLINTNEXTLINE(bugprone-branch-clone): the branches differ in a type
      case DType::kBool:
      case DType::kU8:
        return body(std::uint8_t(), numbers);
      case DType::kI8:
        return body(std::int8_t(), numbers);
      case DType::kI16:
        return body(std::int16_t(), numbers);
      case DType::kI32:
        return body(std::int32_t(), numbers);
      case DType::kI64:
        return body(std::int64_t(), numbers);
      case DType::kF16:
        return body(Float16(), numbers);
      case DType::kF64:
        return body(double(), numbers);
      case DType::kBF16:
      case DType::kF32:
        break;
    }
    return body(float(), numbers);
  };
  switch (array.type_id()) {
    case arrow::Type::BOOL: {
      const auto& truths = static_cast<const arrow::BooleanArray&>(array);
      std::vector<std::uint8_t> bits(static_cast<std::size_t>(array.length()));
      for (std::size_t i = 0; i < bits.size(); ++i) {
        bits[i] = truths.Value(static_cast<std::int64_t>(i)) ? 1 : 0;
      }
      return from(bits.data());
    }
    case arrow::Type::UINT8:
      return from(values<std::uint8_t>(array));
    case arrow::Type::UINT16:
      return from(values<std::uint16_t>(array));
    case arrow::Type::UINT32:
      return from(values<std::uint32_t>(array));
    case arrow::Type::UINT64:
      return from(values<std::uint64_t>(array));
    case arrow::Type::INT8:
      return from(values<std::int8_t>(array));
    case arrow::Type::INT16:
      return from(values<std::int16_t>(array));
    case arrow::Type::INT32:
      return from(values<std::int32_t>(array));
    case arrow::Type::INT64:
      return from(values<std::int64_t>(array));
    case arrow::Type::HALF_FLOAT:
      return from(values<Float16>(array));
    case arrow::Type::FLOAT:
      return from(values<float>(array));
    case arrow::Type::DECIMAL32:
      return from(decimals<arrow::Decimal32>(array).data());
    case arrow::Type::DECIMAL64:
      return from(decimals<arrow::Decimal64>(array).data());
    case arrow::Type::DECIMAL128:
      return from(decimals<arrow::Decimal128>(array).data());
    case arrow::Type::DECIMAL256:
      return from(decimals<arrow::Decimal256>(array).data());
    default:
      return from(values<double>(array));
  }
}

/// The value for a null, where the type has it.
std::optional<double> null_value(DType to, const NumberRules& rules) {
  return rules.null_value && holds(to, *rules.null_value) ? rules.null_value : std::nullopt;
}

}  // namespace

bool convert(const arrow::Array& array, DType to, const NumberRules& rules, bool is_exact,
             std::byte* memory) {
  const std::int64_t n = array.length();
  const bool rounds = rules.rounding == Rounding::kAllowed;
  const bool has_nulls = array.null_count() > 0;
  const std::optional<double> fill = null_value(to, rules);
  if (has_nulls && !fill) return false;
  return with_types(array, to, [&]<class To, class From>(To, const From* from) {
    To* numbers = reinterpret_cast<To*>(memory);
    bool are_kept = true;
    if (!has_nulls && !(fill && std::integral<To> && is_floating<From>)) {
      // Without a branch on each number.
      for (std::int64_t i = 0; !is_exact && i < n; ++i) are_kept &= fits<To>(from[i], rounds);
      if (!are_kept) return false;
      std::transform(from, from + n, numbers,
                     [](const From& value) { return converted<To>(value); });
      return true;
    }
    const To null = converted<To>(*fill);
    for (std::int64_t i = 0; i < n; ++i) {
      if (array.IsNull(i) || is_gap<To>(from[i])) {
        numbers[i] = null;
      } else if (fits<To>(from[i], rounds)) {
        numbers[i] = converted<To>(from[i]);
      } else {
        are_kept = false;
      }
    }
    return are_kept;
  });
}

std::vector<NumberFault> faults_of(const arrow::Array& array, DType to, const NumberRules& rules) {
  const bool rounds = rules.rounding == Rounding::kAllowed;
  const bool has_fill = null_value(to, rules).has_value();
  std::vector<NumberFault> faults;
  with_types(array, to, [&]<class To, class From>(To, const From* from) {
    for (std::int64_t i = 0; i < array.length(); ++i) {
      if (array.IsNull(i)) {
        if (!has_fill) faults.push_back({i, FaultKind::kNull, ""});
      } else if (is_gap<To>(from[i])) {
        if (!has_fill) faults.push_back({i, FaultKind::kNull, "nan"});
      } else if (!fits<To>(from[i], rounds)) {
        FaultKind kind = FaultKind::kOutOfRange;
        if constexpr (std::integral<To> && !std::integral<From>) {
          const double number = converted<double>(from[i]);
          if (!rounds && fits<To>(from[i], true)) {
            kind = number == std::nearbyint(number) ? FaultKind::kInexact : FaultKind::kNotWhole;
          }
        }
        faults.push_back({i, kind, text_of(from[i])});
      }
    }
    return true;
  });
  return faults;
}

}  // namespace tensoa::columnar
