// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#include <atomic>
#endif

/// @file
/// The arithmetic of the kernels: the same bits on CPU and GPU.
///
/// +, -, *, / and sqrt are correctly rounded on both; other functions of the mathematics libraries
/// differ in the last bits, so those that decide about edges are written here, in plain arithmetic.
/// That holds where a * b + c is not contracted: -ffp-contract=off (g++, clang), -fmad=false (nvcc).

/// A function that CPU and GPU run.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define TENSOA_HOST_DEVICE __host__ __device__
#else
#define TENSOA_HOST_DEVICE
#endif

namespace tensoa::events {

namespace detail {

/// arctan(y / x) for 0 <= y <= x, x > 0.
///
/// With c = k / 8 next to y / x, the addition theorem gives arctan(y / x) = arctan(c) + arctan(t),
/// t = (y - c x) / (x + c y), |t| <= 1 / 16: there seven terms of Gregory's series are exact to
/// 1e-18. c x is exact for coordinates of float32.
TENSOA_HOST_DEVICE inline double first_octant(double y, double x) {
  constexpr double kArctanOfEighths[9] = {
      0.0,
      0.12435499454676143503,
      0.24497866312686415417,
      0.35877067027057222040,
      0.46364760900080611621,
      0.55859931534356243597,
      0.64350110879328438680,
      0.71882999962162450542,
      0.78539816339744830962,
  };
  const int k = static_cast<int>(16 * (y / x) + 1) / 2;
  const double c = 0.125 * k;
  const double t = (y - c * x) / (x + c * y);
  const double s = t * t;
  const double terms =
      s * (-1.0 / 3 +
           s * (1.0 / 5 + s * (-1.0 / 7 + s * (1.0 / 9 + s * (-1.0 / 11 + s * (1.0 / 13))))));
  return kArctanOfEighths[k] + (t + t * terms);
}

/// 2 artanh(s) for |s| <= 0.172: the series to s^21, exact to 1e-18.
TENSOA_HOST_DEVICE inline double twice_artanh(double s) {
  const double q = s * s;
  double terms = 1.0 / 21;
  for (int odd = 19; odd >= 3; odd -= 2) terms = terms * q + 1.0 / odd;
  return 2 * s + 2 * s * (q * terms);
}

}  // namespace detail

/// The angle of (x, y) in rad, [-pi, pi], as std::atan2, zeros and their signs included; within 2
/// ulp of it.
/// @param y, x finite; values of float32, or of about their range
TENSOA_HOST_DEVICE inline double angle_of(double y, double x) {
  constexpr double kPi = std::numbers::pi;
  const double a = std::abs(y);
  const double b = std::abs(x);
  double angle = 0;
  if (a > b) {
    angle = kPi / 2 - detail::first_octant(b, a);
  } else if (b > 0) {
    angle = detail::first_octant(a, b);
  }
  if (std::bit_cast<std::int64_t>(x) < 0) angle = kPi - angle;
  return std::bit_cast<std::int64_t>(y) < 0 ? -angle : angle;
}

/// arsinh(u), within 3 ulp of std::asinh.
///
/// arsinh(u) = log(1 + w), w = u + u^2 / (1 + sqrt(1 + u^2)) for u >= 0. Near w = 0 that is
/// 2 artanh(w / (2 + w)); elsewhere 1 + w = m 2^e with m in [sqrt(1/2), sqrt(2)), and
/// log(m) = 2 artanh((m - 1) / (m + 1)).
/// @param u |u| < 1e150
TENSOA_HOST_DEVICE inline double inverse_sinh(double u) {
  constexpr double kLn2High = 0x1.62e42fefa38p-1;  // few bits: times any exponent it is exact
  constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  constexpr double kSqrt2 = std::numbers::sqrt2;
  const double a = std::abs(u);
  const double w = a + a * a / (1 + std::sqrt(1 + a * a));
  double result = 0;
  if (w <= kSqrt2 - 1) {
    result = detail::twice_artanh(w / (2 + w));
  } else {
    const auto bits = std::bit_cast<std::uint64_t>(1 + w);
    auto e = static_cast<int>(bits >> 52U) - 1023;
    auto m = std::bit_cast<double>((bits & 0x000fffffffffffffU) | 0x3ff0000000000000U);
    if (m >= kSqrt2) {
      m *= 0.5;
      ++e;
    }
    result = e * kLn2High + (detail::twice_artanh((m - 1) / (m + 1)) + e * kLn2Low);
  }
  return u < 0 ? -result : result;
}

/// Numbers that several rows of a kernel change at the same time. Their order does not matter to the
/// result, so that neither does the number of threads.
namespace atomic {

template <class T>
TENSOA_HOST_DEVICE T load(T& value) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return *const_cast<volatile T*>(&value);
#else
  return std::atomic_ref(value).load(std::memory_order_relaxed);
#endif
}

template <class T>
TENSOA_HOST_DEVICE void store(T& value, T other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  *const_cast<volatile T*>(&value) = other;
#else
  std::atomic_ref(value).store(other, std::memory_order_relaxed);
#endif
}

/// @return what was there; `other` is there now if that was `expected`
TENSOA_HOST_DEVICE inline std::int32_t exchange_if(std::int32_t& value, std::int32_t expected,
                                                   std::int32_t other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return atomicCAS(&value, expected, other);
#else
  std::atomic_ref(value).compare_exchange_strong(expected, other, std::memory_order_relaxed);
  return expected;
#endif
}

TENSOA_HOST_DEVICE inline void add(std::uint32_t& value, std::uint32_t more) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicAdd(&value, more);
#else
  std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
#endif
}

/// @return what was there
TENSOA_HOST_DEVICE inline std::int32_t add(std::int32_t& value, std::int32_t more) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return atomicAdd(&value, more);
#else
  return std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
#endif
}

TENSOA_HOST_DEVICE inline void add(std::uint64_t& value, std::uint64_t more) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  static_assert(sizeof(unsigned long long) == sizeof value);
  atomicAdd(reinterpret_cast<unsigned long long*>(&value), more);
#else
  std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
#endif
}

/// @return what was there
TENSOA_HOST_DEVICE inline std::int64_t add(std::int64_t& value, std::int64_t more) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  static_assert(sizeof(unsigned long long) == sizeof value);
  return static_cast<std::int64_t>(atomicAdd(reinterpret_cast<unsigned long long*>(&value),
                                             static_cast<unsigned long long>(more)));
#else
  return std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
#endif
}

#if !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
/// Leaves `other` where `is_better(other, value)`.
template <class T, class IsBetter>
void replace_where(T& value, T other, const IsBetter& is_better) {
  const std::atomic_ref shared(value);
  T before = shared.load(std::memory_order_relaxed);
  while (is_better(other, before) &&
         !shared.compare_exchange_weak(before, other, std::memory_order_relaxed)) {
  }
}
#endif

/// Leaves the smaller of both.
TENSOA_HOST_DEVICE inline void lower(std::uint64_t& value, std::uint64_t other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicMin(reinterpret_cast<unsigned long long*>(&value), other);
#else
  replace_where(value, other, std::less());
#endif
}

/// Leaves the larger of both.
TENSOA_HOST_DEVICE inline void raise(std::uint64_t& value, std::uint64_t other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicMax(reinterpret_cast<unsigned long long*>(&value), other);
#else
  replace_where(value, other, std::greater());
#endif
}

TENSOA_HOST_DEVICE inline void raise(std::int64_t& value, std::int64_t other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicMax(reinterpret_cast<long long*>(&value), static_cast<long long>(other));
#else
  replace_where(value, other, std::greater());
#endif
}

/// The same for numbers that are not NaN. -0 may become 0.
TENSOA_HOST_DEVICE inline void lower(double& value, double other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  // As integers, doubles without a sign ascend, and those with one descend and are above, unsigned.
  const double whole = other + 0.0;
  if (whole >= 0) {
    atomicMin(reinterpret_cast<long long*>(&value), __double_as_longlong(whole));
  } else {
    atomicMax(reinterpret_cast<unsigned long long*>(&value),
              static_cast<unsigned long long>(__double_as_longlong(whole)));
  }
#else
  replace_where(value, other, std::less());
#endif
}
TENSOA_HOST_DEVICE inline void raise(double& value, double other) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  const double whole = other + 0.0;
  if (whole >= 0) {
    atomicMax(reinterpret_cast<long long*>(&value), __double_as_longlong(whole));
  } else {
    atomicMin(reinterpret_cast<unsigned long long*>(&value),
              static_cast<unsigned long long>(__double_as_longlong(whole)));
  }
#else
  replace_where(value, other, std::greater());
#endif
}

}  // namespace atomic

}  // namespace tensoa::events
