// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of every type, and the functions of functions.py by the names that it gives them.
//
// Types: float (also for float16 and bfloat16), double, int (also for narrower integers), int64; a truth value is a bool, and an
// int, 0 or 1, in memory. Integers wrap around. What C++ leaves undefined is defined as functions.py says.
#include "layers.cuh"

template <class T>
struct TypeOf {
  static constexpr bool is_float = false;
  using Bits = T;
  using Wrapping = T;
};
template <>
struct TypeOf<float> {
  static constexpr bool is_float = true;
  using Bits = unsigned;
};
template <>
struct TypeOf<double> {
  static constexpr bool is_float = true;
  using Bits = unsigned long long;
};
template <>
struct TypeOf<int> {
  static constexpr bool is_float = false;
  using Bits = unsigned;
  using Wrapping = unsigned;
};
template <>
struct TypeOf<int64> {
  static constexpr bool is_float = false;
  using Bits = unsigned long long;
  using Wrapping = unsigned long long;
};
template <class T>
using Wrapped = typename TypeOf<T>::Wrapping;
template <class T>
constexpr bool is_float() {
  return TypeOf<T>::is_float;
}

__device__ __forceinline__ float float_of(unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double double_of(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
template <class T>
__device__ __forceinline__ typename TypeOf<T>::Bits bits_of(T x) {
  return static_cast<typename TypeOf<T>::Bits>(x);
}
__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned long long bits_of(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(x));
}
template <class T>
__device__ __forceinline__ T of_bits(typename TypeOf<T>::Bits bits) {
  return static_cast<T>(bits);
}
template <>
__device__ __forceinline__ float of_bits<float>(unsigned bits) {
  return float_of(bits);
}
template <>
__device__ __forceinline__ double of_bits<double>(unsigned long long bits) {
  return double_of(bits);
}

// ---- arithmetic

template <class T>
__device__ __forceinline__ T add_of(T x, T y) {
  if constexpr (is_float<T>())
    return x + y;
  else
    return static_cast<T>(Wrapped<T>(x) + Wrapped<T>(y));
}
template <class T>
__device__ __forceinline__ T sub_of(T x, T y) {
  if constexpr (is_float<T>())
    return x - y;
  else
    return static_cast<T>(Wrapped<T>(x) - Wrapped<T>(y));
}
template <class T>
__device__ __forceinline__ T mul_of(T x, T y) {
  if constexpr (is_float<T>())
    return x * y;
  else
    return static_cast<T>(Wrapped<T>(x) * Wrapped<T>(y));
}
// The next term of a sum of products, which is rounded once.
__device__ __forceinline__ float added_product(float x, float y, float sum) {
  return fmaf(x, y, sum);
}
__device__ __forceinline__ double added_product(double x, double y, double sum) {
  return fma(x, y, sum);
}
template <class T>
__device__ __forceinline__ T added_product(T x, T y, T sum) {
  return add_of(sum, mul_of(x, y));
}
template <class T>
__device__ __forceinline__ T neg_of(T x) {
  if constexpr (is_float<T>())
    return -x;
  else
    return sub_of(T{}, x);
}
__device__ __forceinline__ float abs_of(float x) { return fabsf(x); }
__device__ __forceinline__ double abs_of(double x) { return fabs(x); }
template <class T>
__device__ __forceinline__ T abs_of(T x) {
  return x < 0 ? neg_of(x) : x;
}
template <class T>
__device__ __forceinline__ T sign_of(T x) {
  return static_cast<T>(x > 0 ? 1 : x < 0 ? -1 : 0);
}
__device__ __forceinline__ float relu_of(float x) { return maximum(x, 0.f); }
template <class T>
__device__ __forceinline__ T relu_of(T x) {
  return x < 0 ? T{} : x;
}
// NaN where one is; of zeros +0 is the larger one, so that no order matters.
__device__ __forceinline__ float maximum_of(float x, float y) { return maximum(x, y); }
__device__ __forceinline__ float minimum_of(float x, float y) { return minimum(x, y); }
__device__ __forceinline__ double maximum_of(double x, double y) {
  if (x == y) return double_of(bits_of(x) & bits_of(y));
  return x > y || x != x ? x : y;
}
__device__ __forceinline__ double minimum_of(double x, double y) {
  if (x == y) return double_of(bits_of(x) | bits_of(y));
  return x < y || x != x ? x : y;
}
template <class T>
__device__ __forceinline__ T compared(T x) {
  if constexpr (sizeof(T) <= sizeof(int))
    return static_cast<T>(with_its_sign(static_cast<int>(x)));
  else
    return x;
}
template <class T>
__device__ __forceinline__ T maximum_of(T x, T y) {
  const T a = compared(x), b = compared(y);
  return a > b ? a : b;
}
template <class T>
__device__ __forceinline__ T minimum_of(T x, T y) {
  const T a = compared(x), b = compared(y);
  return a < b ? a : b;
}
template <class T>
__device__ __forceinline__ T div_of(T x, T y) {
  if constexpr (is_float<T>())
    return x / y;
  else
    return y == 0 ? T{} : y == -1 ? neg_of(x) : x / y;
}
__device__ __forceinline__ float fmod_of(float x, float y) { return fmodf(x, y); }
__device__ __forceinline__ double fmod_of(double x, double y) { return fmod(x, y); }
template <class T>
__device__ __forceinline__ T fmod_of(T x, T y) {
  return y == 0 || y == -1 ? T{} : x % y;
}
template <class T>
__device__ __forceinline__ T shl_of(T x, T y) {
  constexpr int kBits = 8 * sizeof(T);
  return y >= 0 && y < kBits ? static_cast<T>(Wrapped<T>(x) << y) : T{};
}
template <class T>
__device__ __forceinline__ T shr_of(T x, T y) {
  constexpr int kMost = 8 * sizeof(T) - 1;
  return x >> (y >= 0 && y < kMost ? y : T{kMost});
}
template <class T>
__device__ __forceinline__ T reciprocal_of(T x) {
  return T{1} / x;
}
template <class T>
__device__ __forceinline__ T not_of(T x) {
  return ~x;
}
__device__ __forceinline__ bool not_of(bool x) { return !x; }
#define TENSOA_OF_TWO(name, type, value)                \
  template <class T>                                    \
  __device__ __forceinline__ type name##_of(T x, T y) { \
    return value;                                       \
  }
TENSOA_OF_TWO(and, T, static_cast<T>(x& y))
TENSOA_OF_TWO(or, T, static_cast<T>(x | y))
TENSOA_OF_TWO(xor, T, static_cast<T>(x ^ y))
TENSOA_OF_TWO(lt, bool, x < y)
TENSOA_OF_TWO(le, bool, x <= y)
TENSOA_OF_TWO(gt, bool, x > y)
TENSOA_OF_TWO(ge, bool, x >= y)
TENSOA_OF_TWO(eq, bool, x == y)
TENSOA_OF_TWO(ne, bool, x != y)
#undef TENSOA_OF_TWO
template <class T>
__device__ __forceinline__ T where_of(bool condition, T x, T y) {
  return condition ? x : y;
}

// ---- functions of floats

#define TENSOA_NUMBER(name, short_name, long_name)                              \
  __device__ __forceinline__ float name##_of(float x) { return short_name(x); } \
  __device__ __forceinline__ double name##_of(double x) { return long_name(x); }
TENSOA_NUMBER(exp, expf, exp)
TENSOA_NUMBER(exp2, exact_exp2, exp2)
TENSOA_NUMBER(expm1, expm1f, expm1)
TENSOA_NUMBER(log, logf, log)
TENSOA_NUMBER(log2, exact_log2, log2)
TENSOA_NUMBER(log10, exact_log10, log10)
TENSOA_NUMBER(log1p, log1pf, log1p)
TENSOA_NUMBER(sin, sinf, sin)
TENSOA_NUMBER(cos, cosf, cos)
TENSOA_NUMBER(tan, tanf, tan)
TENSOA_NUMBER(sinh, sinhf, sinh)
TENSOA_NUMBER(cosh, coshf, cosh)
TENSOA_NUMBER(tanh, tanhf, tanh)
TENSOA_NUMBER(asin, asinf, asin)
TENSOA_NUMBER(acos, acosf, acos)
TENSOA_NUMBER(atan, atanf, atan)
TENSOA_NUMBER(asinh, asinhf, asinh)
TENSOA_NUMBER(acosh, acoshf, acosh)
TENSOA_NUMBER(atanh, atanhf, atanh)
TENSOA_NUMBER(erf, erff, erf)
TENSOA_NUMBER(erfc, erfcf, erfc)
TENSOA_NUMBER(sqrt, sqrtf, sqrt)
TENSOA_NUMBER(floor, floorf, floor)
TENSOA_NUMBER(ceil, ceilf, ceil)
TENSOA_NUMBER(trunc, truncf, trunc)
TENSOA_NUMBER(round, rintf, rint)
#undef TENSOA_NUMBER
#define TENSOA_NUMBERS(name, short_name, long_name)                                         \
  __device__ __forceinline__ float name##_of(float x, float y) { return short_name(x, y); } \
  __device__ __forceinline__ double name##_of(double x, double y) { return long_name(x, y); }
TENSOA_NUMBERS(pow, powf, pow)
TENSOA_NUMBERS(atan2, atan2f, atan2)
TENSOA_NUMBERS(hypot, hypotf, hypot)
#undef TENSOA_NUMBERS
__device__ __forceinline__ float sigmoid_of(float x) { return sigmoid(x); }
__device__ __forceinline__ double sigmoid_of(double x) { return 1.0 / (1.0 + exp(-x)); }
// log(exp(x) + exp(y)).
template <class T>
__device__ __forceinline__ T logaddexp_of(T x, T y) {
  const T apart = x == y ? T{0} : abs_of(x - y);  // infinities are equal
  return maximum_of(x, y) + log1p_of(exp_of(-apart));
}
__device__ __forceinline__ float fma_of(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double fma_of(double x, double y, double z) { return fma(x, y, z); }
__device__ __forceinline__ float rsqrt_of(float x) { return rsqrtf(x); }
__device__ __forceinline__ double rsqrt_of(double x) { return 1.0 / sqrt_of(x); }

// ---- other dtypes

// Integers that do not hold a float are the least one.
template <class T, class X>
__device__ __forceinline__ T integer_of(X x) {
  constexpr X kLimit = sizeof(T) == 8 ? X{9223372036854775808.0} : X{2147483648.0};
  return x >= -kLimit && x < kLimit ? static_cast<T>(x)
                                    : static_cast<T>(Wrapped<T>{1} << (8 * sizeof(T) - 1));
}
template <class T>
__device__ __forceinline__ T narrowed(T x, int bits, bool is_signed) {
  x &= (T{1} << bits) - 1;
  const T sign = T{1} << (bits - 1);
  return is_signed ? (x ^ sign) - sign : x;
}
// Rounded to a short float.
__device__ __forceinline__ float short_of(float x, bool is_bfloat) {
  return is_bfloat ? __uint_as_float(to_bfloats(x, 0.f) << 16)
                   : half_to_float(static_cast<unsigned short>(to_halves(x, 0.f)));
}
// A number of a column in registers, and back.
template <class T, class C>
__device__ __forceinline__ T from_column(C x) {
  return static_cast<T>(x);
}
template <>
__device__ __forceinline__ float from_column<float, Half>(Half x) {
  return to_float(x);
}
template <>
__device__ __forceinline__ float from_column<float, Bfloat16>(Bfloat16 x) {
  return to_float(x);
}
template <class C, class T>
__device__ __forceinline__ C to_column(T x) {
  return static_cast<C>(x);
}
template <>
__device__ __forceinline__ Half to_column<Half, float>(float x) {
  return element<Half>(x);
}
template <>
__device__ __forceinline__ Bfloat16 to_column<Bfloat16, float>(float x) {
  return element<Bfloat16>(x);
}

// ---- places

__device__ __forceinline__ bool is_inside(int64 place, int64 size) {
  return static_cast<unsigned long long>(place) < static_cast<unsigned long long>(size);
}
// A place as one of `size` rows, or -1: none.
__device__ __forceinline__ int row_of(int64 place, int64 size) {
  return is_inside(place, size) ? static_cast<int>(place) : -1;
}
// What a place outside of an axis reads.
template <class T>
__device__ __forceinline__ T nothing() {
  return T{};
}
template <>
__device__ __forceinline__ float nothing<float>() {
  return not_a_number();
}
template <>
__device__ __forceinline__ double nothing<double>() {
  return not_a_number();
}
// An element of the row by its place.
template <class T, class M>
__device__ __forceinline__ T gather_of(const M* from, int64 place, int size, int stride) {
  return is_inside(place, size) ? static_cast<T>(from[place * stride]) : nothing<T>();
}
// Where a binary search among elements of the row ends.
template <bool kIsUpper, class M, class X>
__device__ __forceinline__ int bound_of(const M* from, X x, int size, int stride) {
  int first = 0, last = size;
  while (first < last) {
    const int middle = (first + last) / 2;
    const X other = static_cast<X>(from[static_cast<int64>(middle) * stride]);
    const bool is_above = kIsUpper ? other > x : other >= x;
    first = is_above ? first : middle + 1;
    last = is_above ? middle : last;
  }
  return first;
}
// Before the first element that is not below x.
template <class, class M, class X>
__device__ __forceinline__ int lower_bound_of(const M* from, X x, int size, int stride) {
  return bound_of<false>(from, x, size, stride);
}
// Before the first element that is above x.
template <class, class M, class X>
__device__ __forceinline__ int upper_bound_of(const M* from, X x, int size, int stride) {
  return bound_of<true>(from, x, size, stride);
}

// ---- joinings of two numbers

#define TENSOA_JOIN(name, joins, sums)   \
  struct name {                          \
    static constexpr bool is_sum = sums; \
    template <class T>                   \
    static __device__ T join(T x, T y) { \
      return joins(x, y);                \
    }                                    \
  };
TENSOA_JOIN(JoinSum, add_of, true)
TENSOA_JOIN(JoinProd, mul_of, false)
TENSOA_JOIN(JoinMax, maximum_of, false)
TENSOA_JOIN(JoinMin, minimum_of, false)
TENSOA_JOIN(JoinLogAddExp, logaddexp_of, false)
#undef TENSOA_JOIN

// Of `kLanes` neighbouring lanes, for all of them.
template <class J, int kLanes, class T>
__device__ __forceinline__ T joined_lanes(T x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
    if constexpr (sizeof(T) < 4)
      x = J::join(x, static_cast<T>(__shfl_xor_sync(kAll, static_cast<int>(x), step)));
    else
      x = J::join(x, __shfl_xor_sync(kAll, x, step));
  }
  return x;
}
// Joins a number to memory that other threads join to, too.
template <class J, class T>
__device__ __forceinline__ void join_to(T* to, T x) {
  using Bits = typename TypeOf<T>::Bits;
  Bits* const held = reinterpret_cast<Bits*>(to);
  Bits before = *reinterpret_cast<volatile Bits*>(held);
  while (true) {
    const Bits joined = bits_of(J::join(of_bits<T>(before), x));
    if (joined == before) return;
    const Bits found = atomicCAS(held, before, joined);
    if (found == before) return;
    before = found;
  }
}
template <>
__device__ __forceinline__ void join_to<JoinSum, float>(float* to, float x) {
  add_to(to, x);
}
// As integers, floats of one sign are in order, and those of the other one in reverse; NaN is beyond all of them.
template <>
__device__ __forceinline__ void join_to<JoinMax, float>(float* to, float x) {
  const unsigned bits = x == x ? bits_of(x) : 0x7fffffffu;
  if (bits >> 31)
    atomicMin(reinterpret_cast<unsigned*>(to), bits);
  else
    atomicMax(reinterpret_cast<int*>(to), static_cast<int>(bits));
}
template <>
__device__ __forceinline__ void join_to<JoinMin, float>(float* to, float x) {
  const unsigned bits = x == x ? bits_of(x) : 0xffffffffu;
  if (bits >> 31)
    atomicMax(reinterpret_cast<unsigned*>(to), bits);
  else
    atomicMin(reinterpret_cast<int*>(to), static_cast<int>(bits));
}
template <>
__device__ __forceinline__ void join_to<JoinSum, double>(double* to, double x) {
  atomicAdd(to, x);
}
template <>
__device__ __forceinline__ void join_to<JoinSum, int>(int* to, int x) {
  atomicAdd(to, x);
}
template <>
__device__ __forceinline__ void join_to<JoinSum, int64>(int64* to, int64 x) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(x));
}

// ---- orders

// How many of `size` numbers come before number i.
template <class T>
__device__ __forceinline__ int rank_of(const T* x, int step, int size, int i, bool is_largest) {
  const T mine = x[i * step];
  int rank = 0;
  if (mine != mine) {
    for (int j = 0; j < size; ++j) rank += x[j * step] != x[j * step] ? j < i : !is_largest;
    return rank;
  }
  for (int j = 0; j < size; ++j) {
    const T other = x[j * step];
    const bool is_first = j < i;  // of equal ones
    rank += is_largest ? !(is_first ? other < mine : other <= mine)
            : is_first ? other <= mine
                       : other < mine;
  }
  return rank;
}
