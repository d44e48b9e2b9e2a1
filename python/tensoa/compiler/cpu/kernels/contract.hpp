// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Sums of products in blocks of registers, of which each result goes through a function (the epilogue): bias, activation,
/// residual and the store are applied to accumulators. Terms have two summed axes, K1 by K2. A bias is added to the sum: small
/// terms that were added to a large bias would each be rounded.

#include "numbers.hpp"

/// Of a function whose arguments must be in registers: GCC passes what a lambda has captured in memory.
#define TENSOA_INLINE __attribute__((always_inline))

namespace {

/// The most terms that are added one after another; more are added in parts, because the error of rounding grows with their number.
constexpr int kMostTerms = 96;

/// `add(part, first1, end1, first2, end2)` of k1 by k2 terms in parts, which are added to `sum`, zeros.
template <int NO, int NV, class F>
[[gnu::always_inline]] inline void add_in_parts(V (&sum)[NO][NV], int k1, int k2, F add) {
  if (__builtin_constant_p(k1 * k2) && k1 * k2 <= kMostTerms) return add(sum, 0, k1, 0, k2);
  const int most2 = std::max(std::min(k2, kMostTerms), 1), most1 = kMostTerms / most2;
  for (int i = 0; i < k1; i += most1)
    for (int k = 0; k < k2; k += most2) {
      V part[NO][NV] = {};
      add(part, i, std::min(i + most1, k1), k, std::min(k + most2, k2));
#pragma GCC unroll 8
      for (int j = 0; j < NO; ++j)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[j][v] += part[j][v];
    }
}

// ---- vectors of rows

/// O outputs of weights that all rows have, packed as constants.py packs them. `epilogue(accumulator, output, row)`.
template <int NV, int O, int K1, int K2, class E>
[[gnu::always_inline]] inline void contract_group(const float* a, int s1, int s2, const float* w,
                                                  E epilogue) {
  constexpr int stride = (K1 * K2 + 1) * kBlock, per = kOutputs;
  const auto block = [=]<int NO>(std::integral_constant<int, NO>, int o) TENSOA_INLINE {
    const float *const bias = w + o / kBlock * stride + o % kBlock, *b = bias;
    V sum[NO][NV] = {};
    add_in_parts(sum, K1, K2, [&](auto& part, int k1, int end1, int k2, int end2) TENSOA_INLINE {
      for (; k1 < end1; ++k1) {
        const float* from = a + k1 * s1 + k2 * s2;
        for (int k = k2; k < end2; ++k, from += s2) {
          b += kBlock;
          add_products(part, from, b);
        }
      }
    });
#pragma GCC unroll 16
    for (int j = 0; j < NO; ++j)
#pragma GCC unroll 3
      for (int v = 0; v < NV; ++v) epilogue(sum[j][v] + all(bias[j]), o + j, v * kLanes);
  };
  int o = 0;
  for (; o + per <= O; o += per) block(std::integral_constant<int, per>{}, o);
  if constexpr (O % per != 0) block(std::integral_constant<int, O % per>{}, o);
}

/// At most 3 vectors of rows at a time, as registers allow.
template <int NV, int O, int K1, int K2, class E>
[[gnu::always_inline]] inline void contract_rows(const float* a, int s1, int s2, const float* w,
                                                 E epilogue) {
  constexpr int NG = NV < 3 ? NV : 3;
  for (int g = 0; g < NV; g += NG)
    contract_group<NG, O, K1, K2>(a + g * kLanes, s1, s2, w,
                                  [&](V x, int o, int r) { epilogue(x, o, r + g * kLanes); });
}

/// Compiled once for all products of these sizes whose results are only stored, `step` from output to output.
template <int NV, int O, int K1, int K2>
[[gnu::noinline]] void contract_rows_to(const float* a, int s1, int s2, const float* w, float* to,
                                        int step) {
  contract_rows<NV, O, K1, K2>(a, s1, s2, w,
                               [=](V x, int o, int r) { store(to + o * step + r, x); });
}

/// The same of factors that each row has its own of, `bo` from output to output.
template <int NV, int O, int K1, int K2, class E>
[[gnu::always_inline]] inline void contract_group_own(const float* a, int s1, int s2,
                                                      const float* b, int b1, int b2, int bo,
                                                      E epilogue) {
  constexpr int per = 4;
  const auto block = [=]<int NO>(std::integral_constant<int, NO>, int o) TENSOA_INLINE {
    V sum[NO][NV] = {};
    add_in_parts(sum, K1, K2, [&](auto& part, int k1, int end1, int k2, int end2) TENSOA_INLINE {
      for (; k1 < end1; ++k1)
        for (int k = k2; k < end2; ++k) {
          const float *x = a + k1 * s1 + k * s2, *y = b + k1 * b1 + k * b2 + o * bo;
          V in[NV];
#pragma GCC unroll 3
          for (int v = 0; v < NV; ++v) in[v] = load(x + v * kLanes);
#pragma GCC unroll 4
          for (int j = 0; j < NO; ++j)
#pragma GCC unroll 3
            for (int v = 0; v < NV; ++v)
              part[j][v] = fused(in[v], load(y + j * bo + v * kLanes), part[j][v]);
        }
    });
#pragma GCC unroll 4
    for (int j = 0; j < NO; ++j)
#pragma GCC unroll 3
      for (int v = 0; v < NV; ++v) epilogue(sum[j][v], o + j, v * kLanes);
  };
  int o = 0;
  for (; o + per <= O; o += per) block(std::integral_constant<int, per>{}, o);
  if constexpr (O % per != 0) block(std::integral_constant<int, O % per>{}, o);
}

template <int NV, int O, int K1, int K2, class E>
[[gnu::always_inline]] inline void contract_rows_own(const float* a, int s1, int s2, const float* b,
                                                     int b1, int b2, int bo, E epilogue) {
  constexpr int NG = NV < 3 ? NV : 3;
  for (int g = 0; g < NV; g += NG)
    contract_group_own<NG, O, K1, K2>(a + g * kLanes, s1, s2, b + g * kLanes, b1, b2, bo,
                                      [&](V x, int o, int r) { epilogue(x, o, r + g * kLanes); });
}

/// The same of factors that are the same for all rows, `bo` from output to output. Counts may be known when it runs only.
template <int NV, int NO, class E>
[[gnu::always_inline]] inline void contract_block_common(const float* a, int s1, int s2,
                                                         const float* b, std::int64_t b1,
                                                         std::int64_t b2, std::int64_t bo, int k1,
                                                         int k2, E epilogue) {
  V sum[NO][NV] = {};
  add_in_parts(sum, k1, k2, [&](auto& part, int i, int end1, int first2, int end2) TENSOA_INLINE {
    for (; i < end1; ++i)
      for (int k = first2; k < end2; ++k) {
        const float *x = a + i * s1 + k * s2, *y = b + i * b1 + k * b2;
        V in[NV];
#pragma GCC unroll 3
        for (int v = 0; v < NV; ++v) in[v] = load(x + v * kLanes);
#pragma GCC unroll 8
        for (int j = 0; j < NO; ++j) {
          const V number = all(y[j * bo]);
#pragma GCC unroll 3
          for (int v = 0; v < NV; ++v) part[j][v] = fused(in[v], number, part[j][v]);
        }
      }
  });
#pragma GCC unroll 8
  for (int j = 0; j < NO; ++j)
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) epilogue(sum[j][v], j, v * kLanes);
}
template <int NV, class E>
[[gnu::always_inline]] inline void contract_rows_common(const float* a, int s1, int s2,
                                                        const float* b, std::int64_t b1,
                                                        std::int64_t b2, std::int64_t bo,
                                                        int outputs, int k1, int k2, E epilogue) {
  constexpr int NG = NV < 3 ? NV : 3;
  for (int g = 0; g < NV; g += NG) {
    int o = 0;
    const auto store = [&](V x, int j, int r) { epilogue(x, o + j, r + g * kLanes); };
    const float* x = a + g * kLanes;
    for (; o + kOutputs <= outputs; o += kOutputs)
      contract_block_common<NG, kOutputs>(x, s1, s2, b + o * bo, b1, b2, bo, k1, k2, store);
    for (; o < outputs; ++o)
      contract_block_common<NG, 1>(x, s1, s2, b + o * bo, b1, b2, bo, k1, k2, store);
  }
}

// ---- vectors of outputs

/// `w`: packed (kPacked), or rows of memory b1 and b2 apart. COUNT items share the weights: they are `sa` apart in `a`.
/// `epilogue(accumulator, item, output)`.
template <int COUNT, int O, int K1, int K2, bool kPacked, class E>
[[gnu::always_inline]] inline void contract_outputs(const float* a, int sa, int s1, int s2,
                                                    const float* w, int b1, int b2, E epilogue) {
  constexpr int vectors = (O + kLanes - 1) / kLanes, most = vectors < 4 ? vectors : 4,
                together = COUNT < kFewRows ? COUNT : kFewRows;
  constexpr int stride = (K1 * K2 + 1) * kBlock;
  const auto block = [=]<int NI, int NV>(std::integral_constant<int, NI>,
                                         std::integral_constant<int, NV>, int i,
                                         int o) TENSOA_INLINE {
    constexpr int chains = NI * NV >= 8 ? 1 : NI * NV >= 4 ? 2 : 4;
    const auto at = [=](int v) {
      const int first = o + v * kLanes;
      return kPacked ? w + first / kBlock * stride + first % kBlock : w + first;
    };
    V total[NI][NV] = {};
    add_in_parts(total, K1, K2, [&](auto& part, int k1, int end1, int k2, int end2) TENSOA_INLINE {
      V sum[chains][NI][NV] = {};
      for (; k1 < end1; ++k1) {
        const auto add = [&](int chain, int k) {
          const float* from = a + i * sa + k1 * s1 + k * s2;
          const std::int64_t along = kPacked ? (k1 * K2 + k + 1) * kBlock : k1 * b1 + k * b2;
#pragma GCC unroll 4
          for (int v = 0; v < NV; ++v) {
            V weight = load(at(v) + along);
            // Once in a register for all items; GCC would load it again with each product.
            if constexpr (NI > 1) asm("" : "+v"(weight));
#pragma GCC unroll 4
            for (int r = 0; r < NI; ++r)
              sum[chain][r][v] = fused(all(from[r * sa]), weight, sum[chain][r][v]);
          }
        };
        int k = k2;
        for (; k + chains <= end2; k += chains) {
#pragma GCC unroll 4
          for (int c = 0; c < chains; ++c) add(c, k + c);
        }
        for (; k < end2; ++k) add(0, k);
      }
#pragma GCC unroll 4
      for (int r = 0; r < NI; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
          part[r][v] = sum[0][r][v];
#pragma GCC unroll 4
          for (int c = 1; c < chains; ++c) part[r][v] += sum[c][r][v];
        }
    });
#pragma GCC unroll 4
    for (int r = 0; r < NI; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        V x = total[r][v];
        if constexpr (kPacked) x += load(at(v));
        epilogue(x, i + r, o + v * kLanes);
      }
  };
  const auto items = [=]<int NI>(std::integral_constant<int, NI> n, int i) TENSOA_INLINE {
    int o = 0;
    for (; o + most * kLanes <= vectors * kLanes; o += most * kLanes)
      block(n, std::integral_constant<int, most>{}, i, o);
    if constexpr (vectors % most != 0)
      block(n, std::integral_constant<int, vectors % most>{}, i, o);
  };
  int i = 0;
  for (; i + together <= COUNT; i += together) items(std::integral_constant<int, together>{}, i);
  if constexpr (COUNT % together != 0) items(std::integral_constant<int, COUNT % together>{}, i);
}

/// Compiled once for all products of these sizes whose results are only stored, `step` from item to item.
template <int COUNT, int O, int K1, int K2, bool kPacked>
[[gnu::noinline]] void contract_outputs_to(const float* a, int sa, int s1, int s2, const float* w,
                                           int b1, int b2, float* to, int step) {
  contract_outputs<COUNT, O, K1, K2, kPacked>(a, sa, s1, s2, w, b1, b2, [=](V x, int i, int o) {
    store_of<float, kLanes>(to + i * step + o, x, O - o);
  });
}

}  // namespace
