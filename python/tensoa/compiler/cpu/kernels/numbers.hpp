// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Vectors of every type, and the functions of functions.py by the names that it gives them.
///
/// Types in registers and in scratch memory: float (also for float16 and bfloat16), double, int32 (also for narrower integers),
/// int64; a truth value is an int32, 0 or -1. N lanes: kLanes where all numbers of a loop have 4 bytes, else half of that.

#include "tile.hpp"

namespace {

template <class T, int N>
struct VecOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
  typedef T unaligned __attribute__((vector_size(sizeof(T) * N), aligned(sizeof(T)), may_alias));
};
template <class T, int N>
using Vec = typename VecOf<T, N>::type;
template <class X>
using Element = std::remove_cvref_t<decltype(std::declval<X>()[0])>;
template <class X>
constexpr int kCount = sizeof(X) / sizeof(Element<X>);
template <class X>
constexpr bool kIsFloat = std::is_floating_point_v<Element<X>>;
template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
/// The truth values of the lanes of a vector.
template <class X>
using Mask = Vec<std::int32_t, kCount<X>>;
template <class X>
using BitsOf = Vec<Bits<Element<X>>, kCount<X>>;
/// Integers of the same size, whose overflow is defined.
template <class X>
using Wrapping = Vec<std::make_unsigned_t<Bits<Element<X>>>, kCount<X>>;

template <class T, int N>
inline Vec<T, N> load_of(const void* p) {
  return *static_cast<const typename VecOf<T, N>::unaligned*>(p);
}
template <class T, int N>
inline Vec<T, N> all_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return x - Vec<T, N>{};  // 0 + -0 would be 0
  return x + Vec<T, N>{};
}
template <class X>
inline X all_like(X, Element<X> x) {
  return all_of<Element<X>, kCount<X>>(x);
}
template <int N>
inline Vec<std::int32_t, N> lanes_of() {
  return []<int... k>(std::integer_sequence<int, k...>) {
    return Vec<std::int32_t, N>{k...};
  }(std::make_integer_sequence<int, N>{});
}
/// The first `count` lanes, all where there are more.
template <class T, int N>
inline void store_of(T* p, Vec<T, N> x, int count = N) {
  if (count >= N) {
    *reinterpret_cast<typename VecOf<T, N>::unaligned*>(p) = x;
    return;
  }
#ifdef __AVX512F__
  if constexpr (sizeof(x) == 64 && sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1U << count) - 1),
                             reinterpret_cast<__m512i>(x));
    return;
  }
  if constexpr (sizeof(x) == 64 && sizeof(T) == 8) {
    _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1U << count) - 1),
                             reinterpret_cast<__m512i>(x));
    return;
  }
#endif
  for (int i = 0; i < count; ++i) p[i] = x[i];
}
/// The first `count` of numbers that are `step` apart; the other lanes repeat the last one.
template <class T, int N>
inline Vec<T, N> strided(const T* p, int step, int count) {
  const int last = std::min(N, count) - 1;
  if constexpr (std::is_same_v<T, float> && N == kLanes) {
    const I lane = lanes() < last ? lanes() : whole(last);
    return gathered(p, lane * step);
  }
  Vec<T, N> x;
  for (int i = 0; i < N; ++i) x[i] = p[std::min(i, last) * step];
  return x;
}

// ---- truth values and other dtypes

template <class M>
inline Mask<M> mask_of(M x) {
  return __builtin_convertvector(x, Mask<M>);
}
/// Of the size of the numbers that they choose.
template <class X>
inline BitsOf<X> mask_for(Mask<X> x) {
  return __builtin_convertvector(x, BitsOf<X>);
}
template <class T, class X>
inline Vec<T, kCount<X>> cast_of(X x) {
  return __builtin_convertvector(x, Vec<T, kCount<X>>);
}
/// Integers that do not hold a float are the least one, as the instructions of x86 make them; also where GCC would know better.
template <class T, class X>
inline Vec<T, kCount<X>> integer_of(X x) {
  if constexpr (std::is_same_v<T, std::int32_t> && std::is_same_v<X, V>) {
    I y;
    asm("vcvttps2dq %1, %0" : "=v"(y) : "v"(x));
    return y;
  } else {
    constexpr Element<X> kLimit = sizeof(T) == 8 ? 0x1p63 : 0x1p31;
    const BitsOf<X> inside = (x >= -kLimit) & (x < kLimit);
    const Vec<T, kCount<X>> whole = cast_of<T>(inside ? x : X{});
    return __builtin_convertvector(inside, Vec<T, kCount<X>>)
               ? whole
               : all_of<T, kCount<X>>(T{1} << (8 * sizeof(T) - 1));
  }
}
template <class X>
inline X narrowed(X x, int bits, bool is_signed) {
  x &= (1 << bits) - 1;
  if (!is_signed) return x;
  const int sign = 1 << (bits - 1);
  return (x ^ sign) - sign;
}

/// A function of V or D, also of vectors of fewer floats or doubles.
template <class F, class X>
inline X widely(F f, X x) {
  using Wide = std::conditional_t<std::is_same_v<Element<X>, double>, D, V>;
  if constexpr (sizeof(X) == sizeof(Wide)) {
    return f(x);
  } else {
    Wide wide{};
    std::memcpy(&wide, &x, sizeof(x));
    wide = f(wide);
    std::memcpy(&x, &wide, sizeof(x));
    return x;
  }
}

// ---- arithmetic; integers wrap around

template <class X>
inline X add_of(X x, X y) {
  if constexpr (kIsFloat<X>)
    return x + y;
  else
    return reinterpret_cast<X>(reinterpret_cast<Wrapping<X>>(x) + reinterpret_cast<Wrapping<X>>(y));
}
template <class X>
inline X sub_of(X x, X y) {
  if constexpr (kIsFloat<X>)
    return x - y;
  else
    return reinterpret_cast<X>(reinterpret_cast<Wrapping<X>>(x) - reinterpret_cast<Wrapping<X>>(y));
}
template <class X>
inline X mul_of(X x, X y) {
  if constexpr (kIsFloat<X>)
    return x * y;
  else
    return reinterpret_cast<X>(reinterpret_cast<Wrapping<X>>(x) * reinterpret_cast<Wrapping<X>>(y));
}
/// x * y + z, rounded once.
template <class X>
inline X fma_of(X x, X y, X z) {
  if constexpr (std::is_same_v<X, V> || std::is_same_v<X, D>) {
    return fused(x, y, z);
  } else {
    for (int i = 0; i < kCount<X>; ++i) z[i] = std::fma(x[i], y[i], z[i]);
    return z;
  }
}
template <class X>
inline X neg_of(X x) {
  if constexpr (kIsFloat<X>)
    return -x;
  else
    return sub_of(X{}, x);
}
template <class X>
inline X abs_of(X x) {
  if constexpr (kIsFloat<X>) {
    constexpr auto kAll = static_cast<Bits<Element<X>>>(
        ~(std::make_unsigned_t<Bits<Element<X>>>{1} << (8 * sizeof(Element<X>) - 1)));
    return reinterpret_cast<X>(reinterpret_cast<BitsOf<X>>(x) & kAll);
  } else {
    return x < 0 ? neg_of(x) : x;
  }
}
template <class X>
inline X sign_of(X x) {
  return x > 0 ? all_like(x, 1) : (x < 0 ? all_like(x, -1) : X{});
}
template <class X>
inline X relu_of(X x) {
  if constexpr (std::is_same_v<X, V>)
    return f_relu(x);
  else
    return x < 0 ? X{} : x;
}
template <class X>
inline X maximum_of(X x, X y) {
  if constexpr (std::is_same_v<X, V>)
    return f_maximum(x, y);
  else if constexpr (kIsFloat<X>)
    return (x > y) | (x != x) ? x : y;
  else
    return x > y ? x : y;
}
template <class X>
inline X minimum_of(X x, X y) {
  if constexpr (std::is_same_v<X, V>)
    return f_minimum(x, y);
  else if constexpr (kIsFloat<X>)
    return (x < y) | (x != x) ? x : y;
  else
    return x < y ? x : y;
}
/// Conditions on whole vectors: SLP of GCC 12 makes -1 of 1 where a lane's own condition chooses between constants.
template <class X>
inline X div_of(X x, X y) {
  if constexpr (kIsFloat<X>) {
    return x / y;
  } else {
    const auto is_zero = y == 0, is_minus = y == -1;
    const X safe = (is_zero | is_minus) ? all_like(x, 1) : y;
    X quotient;
    for (int i = 0; i < kCount<X>; ++i) quotient[i] = x[i] / safe[i];
    return is_zero ? X{} : (is_minus ? neg_of(x) : quotient);
  }
}
template <class X>
inline X fmod_of(X x, X y) {
  if constexpr (kIsFloat<X>) {
    for (int i = 0; i < kCount<X>; ++i) x[i] = std::fmod(x[i], y[i]);
    return x;
  } else {
    const auto is_alone = (y == 0) | (y == -1);
    const X safe = is_alone ? all_like(x, 1) : y;
    X rest;
    for (int i = 0; i < kCount<X>; ++i) rest[i] = x[i] % safe[i];
    return is_alone ? X{} : rest;
  }
}
template <class X>
inline X shl_of(X x, X y) {
  constexpr int kBits = 8 * sizeof(Element<X>);
  const auto inside = (y >= 0) & (y < kBits);
  const auto shifted = reinterpret_cast<Wrapping<X>>(x)
                       << reinterpret_cast<Wrapping<X>>(inside ? y : X{});
  return inside ? reinterpret_cast<X>(shifted) : X{};
}
template <class X>
inline X shr_of(X x, X y) {
  constexpr int kMost = 8 * sizeof(Element<X>) - 1;
  return x >> (((y >= 0) & (y < kMost)) ? y : all_like(x, kMost));
}
template <class X>
inline X reciprocal_of(X x) {
  return all_like(x, 1) / x;
}
template <class X>
inline X not_of(X x) {
  return ~x;
}
#define TENSOA_OF_TWO(name, type, value) \
  template <class X>                     \
  inline type name##_of(X x, X y) {      \
    return value;                        \
  }
TENSOA_OF_TWO(and, X, x& y)
TENSOA_OF_TWO(or, X, x | y)
TENSOA_OF_TWO(xor, X, x ^ y)
TENSOA_OF_TWO(lt, Mask<X>, mask_of(x < y))
TENSOA_OF_TWO(le, Mask<X>, mask_of(x <= y))
TENSOA_OF_TWO(gt, Mask<X>, mask_of(x > y))
TENSOA_OF_TWO(ge, Mask<X>, mask_of(x >= y))
TENSOA_OF_TWO(eq, Mask<X>, mask_of(x == y))
TENSOA_OF_TWO(ne, Mask<X>, mask_of(x != y))
#undef TENSOA_OF_TWO
template <class X>
inline X where_of(Mask<X> condition, X x, X y) {
  return mask_for<X>(condition) ? x : y;
}

// ---- functions of floats; those of double by their names in doubles.hpp

#define TENSOA_NUMBER(name, short_name, long_name)         \
  template <class X>                                       \
  inline X name##_of(X x) {                                \
    if constexpr (std::is_same_v<Element<X>, double>)      \
      return widely([](D y) { return long_name; }, x);     \
    else                                                   \
      return widely([](V y) { return short_name(y); }, x); \
  }
#define TENSOA_NUMBER_OF(name) TENSOA_NUMBER(name, f_##name, name(y))
TENSOA_NUMBER_OF(exp)
TENSOA_NUMBER_OF(exp2)
TENSOA_NUMBER_OF(expm1)
TENSOA_NUMBER_OF(log)
TENSOA_NUMBER_OF(log2)
TENSOA_NUMBER_OF(log10)
TENSOA_NUMBER_OF(log1p)
TENSOA_NUMBER_OF(sin)
TENSOA_NUMBER_OF(cos)
TENSOA_NUMBER_OF(tan)
TENSOA_NUMBER_OF(sinh)
TENSOA_NUMBER_OF(cosh)
TENSOA_NUMBER_OF(tanh)
TENSOA_NUMBER_OF(asin)
TENSOA_NUMBER_OF(acos)
TENSOA_NUMBER_OF(atan)
TENSOA_NUMBER_OF(asinh)
TENSOA_NUMBER_OF(acosh)
TENSOA_NUMBER_OF(atanh)
TENSOA_NUMBER_OF(erf)
TENSOA_NUMBER_OF(erfc)
TENSOA_NUMBER_OF(sqrt)
TENSOA_NUMBER_OF(floor)
TENSOA_NUMBER_OF(ceil)
TENSOA_NUMBER_OF(trunc)
TENSOA_NUMBER(round, f_round, rint(y))
TENSOA_NUMBER(sigmoid, f_sigmoid, 1.0 / (1.0 + exp(-y)))
#undef TENSOA_NUMBER_OF
#undef TENSOA_NUMBER
#define TENSOA_NUMBERS(name)                                          \
  template <class X>                                                  \
  inline X name##_of(X x, X y) {                                      \
    for (int i = 0; i < kCount<X>; ++i) x[i] = std::name(x[i], y[i]); \
    return x;                                                         \
  }
TENSOA_NUMBERS(pow)
TENSOA_NUMBERS(atan2)
TENSOA_NUMBERS(hypot)
#undef TENSOA_NUMBERS
template <class X>
inline X rsqrt_of(X x) {
  return all_like(x, 1) / sqrt_of(x);
}
/// log(exp(x) + exp(y)).
template <class X>
inline X logaddexp_of(X x, X y) {
  const X apart =
      where_of(eq_of(x, y), all_like(x, 0), abs_of(sub_of(x, y)));  // infinities are equal
  return maximum_of(x, y) + log1p_of(exp_of(-apart));
}
template <class X>
inline X short_of(X x, bool is_bfloat) {
  return widely([&](V y) { return is_bfloat ? f_to_bfloat16(y) : f_to_float16(y); }, x);
}

// ---- joinings of two numbers, of any type

#define TENSOA_JOIN(name, joins) \
  struct name {                  \
    template <class X>           \
    static X join(X x, X y) {    \
      return joins(x, y);        \
    }                            \
  };
TENSOA_JOIN(JoinSum, add_of)
TENSOA_JOIN(JoinProd, mul_of)
TENSOA_JOIN(JoinMax, maximum_of)
TENSOA_JOIN(JoinMin, minimum_of)
TENSOA_JOIN(JoinLogAddExp, logaddexp_of)
#undef TENSOA_JOIN
template <class J, class X>
inline Element<X> joined_lanes(X x) {
  using One = Vec<Element<X>, 1>;
  One y{x[0]};
  for (int i = 1; i < kCount<X>; ++i) y = J::join(y, One{x[i]});
  return y[0];
}
template <class J, class T>
inline T joined_of(T x, T y) {
  using One = Vec<T, 1>;
  return J::join(One{x}, One{y})[0];
}

// ---- memory between stages: rows of any type

template <class T>
inline T* row_at(const Memory& memory, std::int64_t row) {
  return reinterpret_cast<T*>(memory.data + row * memory.pitch);
}
inline bool is_inside(std::int64_t place, std::int64_t size) {
  return static_cast<std::uint64_t>(place) < static_cast<std::uint64_t>(size);
}
/// What a place outside of an axis reads.
template <class T>
inline T nothing() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(NAN);
  return 0;
}
template <class T>
inline void fill_rows(const Memory& memory, T start) {
  std::fill_n(reinterpret_cast<T*>(memory.data),
              memory.rows * memory.pitch * 4 / static_cast<std::int64_t>(sizeof(T)), start);
}
/// Elements of the row by places, `stride` apart; from lane to lane another `step`.
template <class T, int N, class P>
inline Vec<T, N> gather_of(const T* from, P places, std::int64_t size, int stride, int step,
                           int count) {
  if constexpr (std::is_same_v<T, float> && N == kLanes && std::is_same_v<P, I>) {
    const I inside = (places >= 0) & (places < static_cast<std::int32_t>(size)) & (lanes() < count);
    const V y = gathered(from, inside ? places * stride + lanes() * step : I{});
    return inside ? y : all(NAN);
  }
  if constexpr (std::is_same_v<T, float> && N == kLanes / 2 && std::is_same_v<P, L64>) {
    const L64 lane = __builtin_convertvector(lanes_of<N>(), L64);
    const L64 inside = (places >= 0) & (places < size) & (lane < count);
    const L64 at = inside ? places * stride + lane * step : L64{};
#ifdef __AVX512F__
    const auto y =
        reinterpret_cast<HalfV>(_mm512_i64gather_ps(reinterpret_cast<__m512i>(at), from, 4));
#else
    const auto y =
        reinterpret_cast<HalfV>(_mm256_i64gather_ps(from, reinterpret_cast<__m256i>(at), 4));
#endif
    return __builtin_convertvector(inside, Mask<HalfV>) ? y : all_of<float, N>(NAN);
  }
  Vec<T, N> y;
  for (int i = 0; i < N; ++i)
    y[i] = i < count && is_inside(places[i], size) ? from[places[i] * stride + i * step]
                                                   : nothing<T>();
  return y;
}
/// Where a binary search among elements of the row ends; the arguments are those of gather_of().
template <bool kIsUpper, int N, class T, class X>
inline Vec<std::int32_t, N> bound_of(const T* from, X x, std::int64_t size, int stride, int step,
                                     int count) {
  using Places = Vec<std::int32_t, N>;
  Places first{}, last = all_of<std::int32_t, N>(static_cast<std::int32_t>(size));
  for (std::int64_t left = size; left > 0; left /= 2) {
    const Places middle = (first + last) >> 1, is_open = first < last;
    const X other = gather_of<T, N>(from, middle, size, stride, step, count);
    const Places is_above = kIsUpper ? gt_of(other, x) : ge_of(other, x);
    first = (is_open & ~is_above) ? middle + 1 : first;
    last = (is_open & is_above) ? middle : last;
  }
  return first;
}
/// Before the first element that is not below x.
template <class, int N, class T, class X>
inline auto lower_bound_of(const T* from, X x, std::int64_t size, int stride, int step, int count) {
  return bound_of<false, N>(from, x, size, stride, step, count);
}
/// Before the first element that is above x.
template <class, int N, class T, class X>
inline auto upper_bound_of(const T* from, X x, std::int64_t size, int stride, int step, int count) {
  return bound_of<true, N>(from, x, size, stride, step, count);
}
/// A number of a column as it lies in scratch memory, and back.
template <class T, class C>
inline T from_column(C x) {
  if constexpr (std::is_same_v<C, bool>)
    return -static_cast<T>(x);
  else if constexpr (std::is_same_v<C, Half> || std::is_same_v<C, BFloat>)
    return number(x);
  else
    return static_cast<T>(x);
}

template <class C, class T>
inline C to_column(T x) {
  if constexpr (std::is_same_v<C, bool>)
    return x != 0;
  else if constexpr (std::is_same_v<C, Half> || std::is_same_v<C, BFloat>)
    return element<C>(x);
  else
    return static_cast<C>(x);
}
/// A row of memory, or what a place outside of it reads.
template <class T>
inline void gather_row(T* y, int count, const Memory& memory, std::int64_t place) {
  if (is_inside(place, memory.rows))
    std::copy_n(row_at<T>(memory, place), count, y);
  else
    std::fill_n(y, count, nothing<T>());
}
/// The sum of rows of memory; a place outside of one makes it NaN.
template <int kCount>
inline void add_rows(float* y, int count, const IndexedRows (&from)[kCount]) {
  const float* rows[kCount];
  for (int k = 0; k < kCount; ++k) {
    const std::int64_t place = *from[k].index;
    if (!is_inside(place, from[k].memory->rows)) {
      std::fill_n(y, count, NAN);
      return;
    }
    rows[k] = row_at<float>(*from[k].memory, place);
  }
  for (int i = 0; i < count; i += kLanes) {
    V sum = load(rows[0] + i);
    for (int k = 1; k < kCount; ++k) sum += load(rows[k] + i);
    store_of<float, kLanes>(y + i, sum, count - i);
  }
}
/// Joins the elements of a row, `step` apart, to a row of memory.
template <class J, class T>
inline void scatter_row(const T* x, int count, int step, const Memory& memory, std::int64_t place) {
  if (!is_inside(place, memory.rows)) return;
  T* to = row_at<T>(memory, place);
  if constexpr (std::is_same_v<T, float>)
    if (step == 1) {
      for (int i = 0; i < count; i += kLanes)
        store_of<float, kLanes>(to + i, J::join(load(to + i), load(x + i)), count - i);
      return;
    }
  for (int i = 0; i < count; ++i) to[i] = joined_of<J>(to[i], x[i * step]);
}

/// Joins a row of memory to a row of another one; a place outside of the first reads NaN, one outside of the second is left out.
template <class J>
inline void pass_row(const Memory& from, std::int64_t place, const Memory& to, std::int64_t target,
                     int count) {
  if (!is_inside(target, to.rows)) return;
  float* const y = row_at<float>(to, target);
  const float* const x = is_inside(place, from.rows) ? row_at<float>(from, place) : nullptr;
  for (int i = 0; i < count; i += kLanes)
    store(y + i, J::join(load(y + i), x ? load(x + i) : all(NAN)));  // rows are whole vectors
}

/// Places of the K least of W numbers, in order.
template <class T, int W, int K>
inline void sort_one(std::int32_t* y, int ys, const T* x, int xs, bool is_largest) {
  if constexpr (std::is_same_v<T, float>) {  // the key, and then the place, are one number
    std::int64_t keys[W];
    for (int i = 0; i < W; i += kLanes) {
      const I some = key_of(strided<float, kLanes>(x + i * xs, xs, W - i), is_largest);
      for (int l = 0; l < std::min(kLanes, W - i); ++l)
        keys[i + l] = std::int64_t{some[l]} << 32 | (i + l);
    }
    std::partial_sort(keys, keys + K, keys + W);
    for (int k = 0; k < K; ++k) y[k * ys] = static_cast<std::int32_t>(keys[k] & 0x7fffffff);
    return;
  }
  std::int32_t order[W];
  for (int i = 0; i < W; ++i) order[i] = i;
  const auto before = [&](std::int32_t i, std::int32_t j) {
    const T a = x[i * xs], b = x[j * xs];
    const bool is_nan = a != a, is_other = b != b;
    if (is_nan || is_other) {
      if (is_nan && is_other) return i < j;
      return is_largest ? is_nan : is_other;
    }
    if (a == b) return i < j;
    return is_largest ? a > b : a < b;
  };
  std::partial_sort(order, order + K, order + W, before);
  for (int k = 0; k < K; ++k) y[k * ys] = order[k];
}
/// The same of kLanes rows at a time.
template <int W, int K>
inline void sort_rows(std::int32_t* y, int ys, const float* x, int xs, bool is_largest, int n) {
  I keys[W];
  for (int r = 0; r < n; r += kLanes) {
    for (int i = 0; i < W; ++i) keys[i] = key_of(load(x + i * xs + r), is_largest);
    for (int k = 0; k < K; ++k) {
      I least = keys[0], place = {};
      for (int i = 1; i < W; ++i) {
        const I is_less = keys[i] < least;
        least = is_less ? keys[i] : least;
        place = is_less ? whole(i) : place;
      }
      store_of<std::int32_t, kLanes>(y + k * ys + r, place);
      for (int i = 0; i < W; ++i) keys[i] = place == i ? whole(kTakenKey) : keys[i];
    }
  }
}

// ---- the K least of all rows, block by block

/// Whether a comes before b in an order, where both are at different places: NaN is larger than all numbers.
template <class T>
inline bool is_before(T a, T b, bool is_largest) {
  const bool is_nan = a != a, is_other = b != b;
  if (is_nan || is_other) return is_nan != is_other && (is_largest ? is_nan : is_other);
  return is_largest ? a > b : a < b;
}
/// Joins a block of `count` numbers, from row `first` on, to the numbers that were found so far and their places.
template <class T, int K>
inline void select_one(std::int32_t* places, int ps, T* numbers, int ns, const T* x, int xs,
                       int count, std::int64_t first, bool is_largest) {
  int found = K;
  while (found > 0 && places[(found - 1) * ps] < 0) --found;
  for (int j = 0; j < count; ++j) {
    const T mine = x[j * xs];
    if (found == K && !is_before(mine, numbers[(K - 1) * ns], is_largest)) continue;
    int i = found < K ? found++ : K - 1;
    for (; i > 0 && is_before(mine, numbers[(i - 1) * ns], is_largest); --i) {
      numbers[i * ns] = numbers[(i - 1) * ns];
      places[i * ps] = places[(i - 1) * ps];
    }
    numbers[i * ns] = mine;
    places[i * ps] = static_cast<std::int32_t>(first + j);
  }
}
/// The K first of a vector of rows, in order. Without kHasNumbers the numbers are those of the keys, where -0 is 0.
template <int K, bool kHasNumbers>
struct Selection {
  I keys[K], places[K];
  V numbers[kHasNumbers ? K : 1];

  void add(V number, I key, I place) {
    I is_in{};  // once one is, those behind it move on
    for (int i = 0; i < K; ++i) {
      is_in |= key < keys[i];
      const I next = keys[i], there = places[i];
      keys[i] = is_in ? key : next;
      places[i] = is_in ? place : there;
      key = is_in ? next : key;
      place = is_in ? there : place;
      if constexpr (kHasNumbers) {
        const V other = numbers[i];
        numbers[i] = is_in ? number : other;
        number = is_in ? other : number;
      }
    }
  }
  V number(int i, bool is_largest) const {
    if constexpr (kHasNumbers)
      return numbers[i];
    else
      return number_of(keys[i], is_largest);
  }
};
/// The same of rows of a tile. kHasNumbers: the numbers are read, not only the places.
template <class T, int K, bool kHasNumbers>
inline void select_rows(std::int32_t* places, int ps, T* numbers, int ns, const T* x, int xs,
                        int count, std::int64_t first, bool is_largest, int n) {
  if constexpr (std::is_same_v<T, float>) {
    for (int r = 0; r < n; r += kLanes) {
      Selection<K, kHasNumbers> found;
      for (int i = 0; i < K; ++i) {
        const V number = load(numbers + i * ns + r);
        found.places[i] = load_of<std::int32_t, kLanes>(places + i * ps + r);
        found.keys[i] = found.places[i] < 0 ? whole(kTakenKey) : key_of(number, is_largest);
        if constexpr (kHasNumbers) found.numbers[i] = number;
      }
      const auto limit_of = [&] {
        const V last = found.number(K - 1, is_largest);
        return found.places[K - 1] < 0 ? all(NAN) : is_largest ? -last : last;
      };
      V limit = limit_of();
      for (int j = 0; j < count; ++j) {
        const V number = load(x + j * xs + r);
        if (!is_any_not_above(is_largest ? -number : number, limit)) continue;
        found.add(number, key_of(number, is_largest), whole(static_cast<int>(first) + j));
        limit = limit_of();
      }
      for (int i = 0; i < K; ++i) {
        store_of<std::int32_t, kLanes>(places + i * ps + r, found.places[i]);
        store(numbers + i * ns + r, found.number(i, is_largest));
      }
    }
  } else {
    for (int r = 0; r < n; ++r)
      select_one<T, K>(places + r, ps, numbers + r, ns, x + r, xs, count, first, is_largest);
  }
}

}  // namespace
