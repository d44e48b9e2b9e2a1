// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// What reads all rows of a memory: attention by the online softmax (Milakov and Gimelshein, 2018), in blocks of rows
/// (FlashAttention, Dao and others, 2022), and the rows with the least scores.

#include "few.hpp"

namespace {

constexpr int kKeys = 64;     // rows of a block, whose scores stay in the first level of the cache
constexpr int kNearest = 64;  // rows that are kept in order

enum class Weights { kSum, kSoftmax, kSafe };  // safe: all zero where all scores are -infinity

/// 2^r for |r| <= 1/2.
constexpr float kExp2[] = {1.0f,           0.693147182f,   0.240226462f,   0.0555032864f,
                           0.00961848907f, 0.00133999309f, 0.000153458124f};

/// e^x for x <= 0, and 0 where it is no normal number: with fewer instructions than f_exp().
inline V exp_of_negative(V x) {
  x *= all(kLog2E);
  const V n = f_round(x), y = polynomial(kExp2, x - n);
#ifdef __AVX512F__
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, all(-126), _CMP_NLT_UQ), y, n);
#else
  return x < -126 ? V{} : from_bits(bits(y) + (__builtin_convertvector(n, I) << 23));
#endif
}

/// A score is `f`, of numbers of both rows and of `kSums` sums over `count` numbers from `query` and from `key` on.
struct SumOf {
  bool is_distance;  // of squares of differences, or of products
  int query, key, count;
};
template <int kSums, class F>
struct Score {
  SumOf sums[kSums ? kSums : 1];
  F f;
};
template <int kSums, class F>
inline auto score(const SumOf (&sums)[kSums], F f) {
  Score<kSums, F> result{{}, f};
  std::copy_n(sums, kSums, result.sums);
  return result;
}
template <class F>
inline Score<0, F> score(F f) {
  return {{}, f};
}

/// Numbers of a group in its own row, in all rows of the keys and in those of the values.
struct Widths {
  int query, key, value;
};

template <class L>
struct Pairs;

// ---- many rows: vectors of them, against one key after the other

template <>
struct Pairs<Tile> {
  static constexpr int F = Tile::kFeature;

  /// One vector of rows, and a key.
  struct Pair {
    const float *q, *k, *sums;
    int stride;  // from each sum to the next one
    V query(int i) const { return load(q + i * F); }
    V key(int i) const { return all(k[i]); }
    V sum(int i) const { return load(sums + i * stride); }
  };

  /// A sum, of kVectors of rows and kCount keys.
  template <int kVectors, int kCount, bool kIsDistance>
  static void sum_block(float* to, const float* q, const float* k, std::int64_t pitch, int count) {
    V sum[kCount][kVectors] = {};
    for (int c = 0; c < count; ++c, q += F, ++k) {
      V in[kVectors];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) in[v] = load(q + v * kLanes);
#pragma GCC unroll 8
      for (int j = 0; j < kCount; ++j) {
        const V number = all(k[j * pitch]);
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) {
          const V difference = in[v] - number;
          sum[j][v] = kIsDistance ? fused(difference, difference, sum[j][v])
                                  : fused(in[v], number, sum[j][v]);
        }
      }
    }
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) store(to + (j * kVectors + v) * kLanes, sum[j][v]);
  }

  template <int kVectors, bool kIsDistance>
  [[gnu::noinline]] static void sums(float* to, const float* q, const float* k, std::int64_t pitch,
                                     int count, int keys) {
    int j = 0;
    for (; j + kOutputs <= keys; j += kOutputs)
      sum_block<kVectors, kOutputs, kIsDistance>(to + j * kVectors * kLanes, q, k + j * pitch,
                                                 pitch, count);
    for (; j < keys; ++j)
      sum_block<kVectors, 1, kIsDistance>(to + j * kVectors * kLanes, q, k + j * pitch, pitch,
                                          count);
  }

  /// The scores of a block of keys, [keys, vectors]; room for those of all sums.
  template <int kVectors, int kSums, class G>
  static void scores(float* block, const float* q, const float* k, std::int64_t pitch, int keys,
                     const Score<kSums, G>& score) {
    constexpr int kStride = kKeys * kVectors * kLanes;
    for (int s = 0; s < kSums; ++s) {
      const SumOf& sum = score.sums[s];
      const auto run = sum.is_distance ? sums<kVectors, true> : sums<kVectors, false>;
      run(block + s * kStride, q + sum.query * F, k + sum.key, pitch, sum.count, keys);
    }
    float* to = block;
    for (int j = 0; j < keys; ++j, k += pitch)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v, to += kLanes)
        store(to, score.f(Pair{q + v * kLanes, k, to, kStride}));
  }

  /// y = y * factor + the sum of the values of a block of keys by their weights.
  template <int kVectors, int kWidth>
  static void weigh_block(float* y, const V (&factor)[kVectors], const float* weights,
                          const float* values, std::int64_t pitch, int keys) {
    V sum[kWidth][kVectors] = {};
    for (int j = 0; j < keys; ++j, values += pitch, weights += kVectors * kLanes) {
      Tile::add_products(sum, weights, values);
    }
#pragma GCC unroll 8
    for (int o = 0; o < kWidth; ++o)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        float* const to = y + o * F + v * kLanes;
        store(to, fused(load(to), factor[v], sum[o][v]));
      }
  }

  template <int kVectors>
  [[gnu::noinline]] static void weigh(float* y, const V (&factor)[kVectors], const float* weights,
                                      const float* values, std::int64_t pitch, int width,
                                      int keys) {
    for (int o = 0; o < width; o += kOutputs)
      with_constant<kOutputs>(std::min(kOutputs, width - o), [&](auto some) {
        weigh_block<kVectors, some>(y + o * F, factor, weights, values + o, pitch, keys);
      });
  }

  /// Scores become weights, at most 1 and relative to `most`, the largest one so far; `total`: their sum.
  template <int kVectors>
  [[gnu::noinline]] static void soften(float* block, int keys, V (&most)[kVectors],
                                       V (&total)[kVectors], V (&factor)[kVectors]) {
    V next[kVectors], sum[kVectors] = {};
    for (int v = 0; v < kVectors; ++v) next[v] = most[v];
    for (int j = 0; j < keys; ++j)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v)
        next[v] = largest(next[v], load(block + (j * kVectors + v) * kLanes));
    for (int v = 0; v < kVectors; ++v) {
      const V shift = next[v] == -INFINITY ? V{} : next[v];
      factor[v] = exp_of_negative(most[v] - shift);
      most[v] = next[v];
      next[v] = shift;
    }
    for (int j = 0; j < keys; ++j)
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        float* const at = block + (j * kVectors + v) * kLanes;
        const V weight = exp_of_negative(load(at) - next[v]);
        store(at, weight);
        sum[v] += weight;
      }
    for (int v = 0; v < kVectors; ++v) total[v] = fused(total[v], factor[v], sum[v]);
  }

  template <int kVectors, Weights kWeights, class S>
  static void attend_group(float* y, const float* q, const float* k, std::int64_t k_pitch,
                           const float* values, std::int64_t v_pitch, std::int64_t rows, int width,
                           const S& score) {
    constexpr int kSums = sizeof(score.sums) / sizeof(SumOf);
    alignas(64) float block[kSums * kKeys * kVectors * kLanes];
    V most[kVectors], total[kVectors] = {}, factor[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      most[v] = all(-INFINITY);
      factor[v] = all(1);
    }
    for (int o = 0; o < width; ++o)
      for (int v = 0; v < kVectors; ++v) store(y + o * F + v * kLanes, V{});
    for (std::int64_t first = 0; first < rows; first += kKeys) {
      const int keys = static_cast<int>(std::min<std::int64_t>(kKeys, rows - first));
      scores<kVectors>(block, q, k + first * k_pitch, k_pitch, keys, score);
      if constexpr (kWeights != Weights::kSum) soften<kVectors>(block, keys, most, total, factor);
      weigh<kVectors>(y, factor, block, values + first * v_pitch, v_pitch, width, keys);
    }
    if (kWeights == Weights::kSum || rows == 0) return;
    for (int v = 0; v < kVectors; ++v) {
      const I is_zero = (total[v] == 0) & whole(kWeights == Weights::kSafe ? -1 : 0);
      for (int o = 0; o < width; ++o) {
        float* const to = y + o * F + v * kLanes;
        store(to, is_zero ? load(to) : load(to) / total[v]);  // 0 * infinity is not 0
      }
    }
  }

  template <Weights kWeights, class S>
  static void attend(float* y, const float* q, const Memory& k, const Memory& values, int times,
                     Widths widths, const S& score, int n) {
    for (int t = 0; t < times; ++t)
      for (int v = 0; v < Tile::vectors(n); v += Tile::kGroup)
        with_constant<Tile::kGroup>(std::min(Tile::kGroup, Tile::vectors(n) - v), [&](auto group) {
          attend_group<group, kWeights>(
              y + t * widths.value * F + v * kLanes, q + t * widths.query * F + v * kLanes,
              k.data + t * widths.key, k.pitch, values.data + t * widths.value, values.pitch,
              k.rows, widths.value, score);
        });
  }

  /// Of each row the keys with the least scores, as order.hpp has them, and their places.
  struct List {
    I keys[kNearest], places[kNearest];

    void add(I key, I place, int count) {
      I is_before{};  // once one is, those behind it move on
      for (int i = 0; i < count; ++i) {
        is_before |= key < keys[i];
        const I next = keys[i], at = places[i];
        keys[i] = is_before ? key : next;
        places[i] = is_before ? place : at;
        key = is_before ? next : key;
        place = is_before ? at : place;
      }
    }
  };

  template <bool kIsLargest, class S>
  static void nearest(float* y, const float* q, const Memory& k, int count, const S& score, int n) {
    constexpr int kSums = sizeof(score.sums) / sizeof(SumOf);
    alignas(64) float block[kSums * kKeys * kLanes];
    for (int r = 0; r < n; r += kLanes) {
      List list;
      std::fill_n(list.keys, count, whole(kTakenKey));
      std::fill_n(list.places, count, whole(-1));
      V limit = all(NAN);
      for (std::int64_t first = 0; first < k.rows; first += kKeys) {
        const int keys = static_cast<int>(std::min<std::int64_t>(kKeys, k.rows - first));
        scores<1>(block, q + r, k.data + first * k.pitch, k.pitch, keys, score);
        for (int j = 0; j < keys; ++j) {
          const V number = load(block + j * kLanes);
          if (!is_any_not_above(kIsLargest ? -number : number, limit)) continue;
          list.add(key_of(number, kIsLargest), whole(static_cast<int>(first) + j), count);
          const V last = number_of(list.keys[count - 1], kIsLargest);
          limit = kIsLargest ? -last : last;
        }
      }
      for (int i = 0; i < count; ++i)
        store(y + i * F + r, __builtin_convertvector(list.places[i], V));
    }
  }
};

// ---- few rows: one after the other, against vectors of keys

template <int kPitch>
struct Pairs<Few<kPitch>> {
  struct Pair {
    const float *q, *k;
    const SumOf* sums;
    I rows;  // of the keys, from k on
    V query(int i) const { return all(q[i]); }
    V key(int i) const { return gathered(k + i, rows); }
    V sum(int i) const {
      const SumOf& of = sums[i];
      V result{};
      for (int c = 0; c < of.count; ++c) {
        const V x = all(q[of.query + c]), y = key(of.key + c), difference = x - y;
        result = of.is_distance ? fused(difference, difference, result) : fused(x, y, result);
      }
      return result;
    }
  };

  /// Of a block of keys; behind the last one its score again.
  template <class S>
  static void scores(float* block, const float* q, const float* k, std::int64_t pitch, int keys,
                     const S& score) {
    for (int j = 0; j < keys; j += kLanes) {
      const I lane = lanes() < keys - j ? lanes() : whole(keys - j - 1);
      store(block + j, score.f(Pair{q, k + j * pitch, score.sums, lane * static_cast<int>(pitch)}));
    }
  }

  template <Weights kWeights, class S>
  static void attend_row(float* y, const float* q, const float* k, std::int64_t k_pitch,
                         const float* values, std::int64_t v_pitch, std::int64_t rows, int width,
                         const S& score) {
    alignas(64) float block[kKeys];
    float most = -INFINITY, total = 0, factor = 1;
    for (int o = 0; o < width; o += kLanes) store(y + o, V{});
    for (std::int64_t first = 0; first < rows; first += kKeys) {
      const int keys = static_cast<int>(std::min<std::int64_t>(kKeys, rows - first));
      scores(block, q, k + first * k_pitch, k_pitch, keys, score);
      if constexpr (kWeights != Weights::kSum) {
        float next = most;
        for (int j = 0; j < keys; ++j)
          next = block[j] > next || block[j] != block[j] ? block[j] : next;
        const float shift = next == -INFINITY ? 0 : next;
        factor = exp_of_negative(all(most - shift))[0];
        most = next;
        V sum{};
        for (int j = 0; j < keys; j += kLanes) {
          const V weight = exp_of_negative(load(block + j) - all(shift));
          store(block + j, lanes() < keys - j ? weight : V{});
          sum += load(block + j);
        }
        total = total * factor + sum_of(sum);
      }
      const float* from = values + first * v_pitch;
      for (int o = 0; o < width; o += kLanes) {
        V sum{};
        for (int j = 0; j < keys; ++j)
          sum = fused(all(block[j]), load(from + j * v_pitch + o), sum);
        store(y + o, fused(load(y + o), all(factor), sum));
      }
    }
    if (kWeights == Weights::kSum || rows == 0) return;
    if (kWeights == Weights::kSafe && total == 0) return;
    for (int o = 0; o < width; o += kLanes) store(y + o, load(y + o) / all(total));
  }

  template <Weights kWeights, class S>
  static void attend(float* y, const float* q, const Memory& k, const Memory& values, int times,
                     Widths widths, const S& score, int n) {
    for (int r = 0; r < n; ++r, y += kPitch, q += kPitch)
      for (int t = 0; t < times; ++t)
        attend_row<kWeights>(y + t * widths.value, q + t * widths.query, k.data + t * widths.key,
                             k.pitch, values.data + t * widths.value, values.pitch, k.rows,
                             widths.value, score);
  }

  template <bool kIsLargest, class S>
  static void nearest(float* y, const float* q, const Memory& k, int count, const S& score, int n) {
    alignas(64) float block[kKeys];
    for (int r = 0; r < n; ++r, y += kPitch, q += kPitch) {
      std::int64_t list[kNearest];  // the key, and then the place
      std::fill_n(list, count, INT64_MAX);
      for (std::int64_t first = 0; first < k.rows; first += kKeys) {
        const int keys = static_cast<int>(std::min<std::int64_t>(kKeys, k.rows - first));
        scores(block, q, k.data + first * k.pitch, k.pitch, keys, score);
        for (int j = 0; j < keys; ++j) {
          const std::int64_t key = key_of(all(block[j]), kIsLargest)[0];
          const std::int64_t mine = key * (std::int64_t{1} << 32) + first + j;
          int i = count;
          for (; i > 0 && mine < list[i - 1]; --i)
            if (i < count) list[i] = list[i - 1];
          if (i < count) list[i] = mine;
        }
      }
      for (int i = 0; i < count; ++i)
        y[i] = list[i] == INT64_MAX ? -1 : static_cast<float>(list[i] & 0xffffffff);
    }
  }
};

}  // namespace
