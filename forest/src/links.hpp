// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/hints.hpp"
#include "tensoa/core/element.hpp"
#include "tensoa/forest/ensemble.hpp"

// Answers from margins. Compiled for the host and for GPUs.

namespace tensoa::forest {
namespace detail {

/// The quantile of the normal distribution: Acklam's rational approximation (relative error below 1.2e-9), and
/// one step of Halley's method, which makes it exact but for rounding.
TENSOA_HOST_DEVICE inline double normal_quantile(double p) noexcept {
  if (!(p > 0) || !(p < 1)) {
    if (p == 0 || p == 1)
      return p == 0 ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                           1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                           6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                           -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                           3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  double x;
  if (const double tail = std::min(p, 1 - p); tail < kTail) {
    const double q = std::sqrt(-2 * std::log(tail));
    x = (((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
        ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
    if (p > kTail) x = -x;
  } else {
    const double q = p - 0.5;
    const double r = q * q;
    x = (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
        (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
  const double step = error * std::sqrt(2 * 3.14159265358979323846) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

/// In float64, so that answers in float32 are right but for their rounding.
TENSOA_HOST_DEVICE inline double answer(Link link, double scale, double margin) noexcept {
  switch (link) {
    case Link::kSigmoid:
      return 1 / (1 + std::exp(-scale * margin));
    case Link::kExp:
      return std::exp(margin);
    case Link::kTanh:
      return 2 / (1 + std::exp(-2 * margin)) - 1;
    case Link::kSoftplus:
      return margin > 0 ? margin + std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin));
    case Link::kProbit:
      return normal_quantile(margin);
    case Link::kSignedSquare:
      return margin * std::abs(margin);
    case Link::kStep:
      return margin > 0 ? 1 : 0;
    case Link::kNone:
    case Link::kSoftmax:
    case Link::kSoftmaxZero:
      break;
  }
  return margin;
}

template <class Sum>
TENSOA_HOST_DEVICE void softmax(Sum* margins, std::size_t outputs, std::size_t stride,
                                bool zero_stays) noexcept {
  // ONNX: what is as near to 0 as this counts as 0.
  const auto is_zero = [&](Sum margin) { return zero_stays && std::abs(margin) <= Sum{1e-7F}; };
  double most = margins[0];
  for (std::size_t k = 1; k < outputs; ++k) most = std::max(most, double{margins[k * stride]});
  double sum = 0;
  for (std::size_t k = 0; k < outputs; ++k) {
    const Sum margin = margins[k * stride];
    if (!is_zero(margin)) sum += std::exp(double{margin} - most);
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    Sum& margin = margins[k * stride];
    margin = is_zero(margin) ? Sum{0} : static_cast<Sum>(std::exp(double{margin} - most) / sum);
  }
}

}  // namespace detail

/// In place, of one row.
/// @param margins of each output, `stride` apart
template <class Sum>
TENSOA_NO_INLINE TENSOA_HOST_DEVICE void apply(Link link, double scale, Sum* margins,
                                               std::size_t outputs, std::size_t stride) {
  if (link == Link::kNone) return;
  if (link == Link::kSoftmax || link == Link::kSoftmaxZero) {
    return detail::softmax(margins, outputs, stride, link == Link::kSoftmaxZero);
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    margins[k * stride] = static_cast<Sum>(detail::answer(link, scale, margins[k * stride]));
  }
}

}  // namespace tensoa::forest
