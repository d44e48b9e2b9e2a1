// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of float64, two words of 32 bits each: tiles of the high ones, then as many of the low ones.
#include "rows.cuh"

template <int T>
struct Words {
  const Fragment<2 * T>& at;
};
struct ScalarWords {
  Scalar high, low;
};
// Constants, as Vector.
struct DoubleVector {
  const double* numbers;
  int quad;
};

__device__ __forceinline__ double number_of(float high, float low) {
  return __hiloint2double(__float_as_int(high), __float_as_int(low));
}

template <int T>
__device__ __forceinline__ double number_at(const Words<T>& x, int n, int i) {
  return number_of(x.at.at[n][i], x.at.at[T + n][i]);
}
__device__ __forceinline__ double number_at(const ScalarWords& x, int, int i) {
  return number_of(x.high.at[i >> 1], x.low.at[i >> 1]);
}
__device__ __forceinline__ double number_at(const DoubleVector& x, int n, int i) {
  return x.numbers[8 * n + 2 * x.quad + (i & 1)];
}
__device__ __forceinline__ double number_at(double x, int, int) { return x; }
template <int T>
__device__ __forceinline__ double number_at(const Fragment<T>& x, int n, int i) {
  return element(x, n, i);
}
__device__ __forceinline__ double number_at(const Scalar& x, int n, int i) {
  return element(x, n, i);
}
__device__ __forceinline__ double number_at(const Vector& x, int n, int i) {
  return element(x, n, i);
}

// A function of numbers of float64, in every place of T tiles.
template <int T, class Function, class... Arguments>
__device__ __forceinline__ Fragment<2 * T> map_doubles(Function function,
                                                       const Arguments&... arguments) {
  Fragment<2 * T> result;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const double number = function(number_at(arguments, n, i)...);
      result.at[n][i] = __int_as_float(__double2hiint(number));
      result.at[T + n][i] = __int_as_float(__double2loint(number));
    }
  }
  return result;
}

// The same, made float32.
template <int T, class Function, class... Arguments>
__device__ __forceinline__ Fragment<T> map_shortened(Function function,
                                                     const Arguments&... arguments) {
  Fragment<T> result;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      result.at[n][i] = static_cast<float>(function(number_at(arguments, n, i)...));
  }
  return result;
}
template <class Function, class... Arguments>
__device__ __forceinline__ Scalar scalar_shortened(Function function,
                                                   const Arguments&... arguments) {
  return {{static_cast<float>(function(number_at(arguments, 0, 0)...)),
           static_cast<float>(function(number_at(arguments, 0, 2)...))}};
}
