// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// What the kernels that cuda.py writes are made of. Compiled by NVRTC, so without any header.
//
// A warp (or, where `Warp::parts` > 1, the warps of a block together) owns a tile of 16 rows. A
// value of those rows lies in registers as the accumulators of mma.sync lie: numbers are cut into
// tiles of 8; lane 4 g + t holds, of tile n, the numbers 8 n + 2 t and 8 n + 2 t + 1 of row g
// (elements 0, 1) and of row g + 8 (elements 2, 3). In this order the result of one layer is,
// unmoved, the left operand of the next one (for tf32 the weights are packed in another order to
// fit). Values wider than the registers hold live in local memory: same code, loops that are not
// unrolled.
//
// Rows of buffers lie in memory so that a lane reads its numbers of two tiles at once: position 16
// q + 4 t + i is element i & 1 of tile 2 q + i / 2 (a last, odd tile is in order). Rows past the
// last one of the domain are computed as that row, and never written.
//
// An index that names none of the rows that it is for becomes -1 where it is loaded, once; whatever
// is read there is NaN, and nothing is added there, as in programs for CPUs.

using int64 = long long;

// What a kernel is launched with. A block is planes `pitch` elements apart, from the first in
// memory. The lengths stand before this text: as many as the program has, because the driver copies
// all of it with every launch.
struct Params {
  void* block[kBlocks];
  int64 pitch[kBlocks];
  int64 rows[kDomains];
  void* buffer[kBuffers];
  const void* weights;
};

constexpr int kTileRows = 16;
constexpr unsigned kAll = 0xffffffffu;

// How often loops over `tiles` tiles are unrolled: fully while a value fits in registers.
constexpr int unroll(int tiles) { return tiles <= 24 ? tiles : 1; }

struct Warp {
  int lane, group, quad;  // lane = 4 * group + quad
  int part, parts;        // which of the warps that own the tile together; 0 and 1 where one does

  __device__ Warp(int part, int parts)
      : lane(threadIdx.x & 31), group(lane >> 2), quad(lane & 3), part(part), parts(parts) {}

  // Whether this warp writes tile pair q, that all warps of the tile hold.
  __device__ bool writes(int q) const { return parts == 1 || q % parts == part; }
};

struct Tile {
  int64 row[2];
  bool inside[2];

  __device__ Tile(int64 tile, int64 rows, const Warp& warp) {
    for (int r = 0; r < 2; ++r) {
      const int64 at = tile * kTileRows + 8 * r + warp.group;
      inside[r] = at < rows;
      row[r] = inside[r] ? at : rows - 1;
    }
  }
};

template <int T>
struct Fragment {
  static constexpr int tiles = T;
  float at[T][4];

  __device__ void pair(int q, float (&x)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = at[2 * q + i / 4][i % 4];
  }
  __device__ void last(float (&x)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = at[T - 1][i];
  }
};

struct Scalar {  // one number for each row, in all lanes of the row
  float at[2];
};

struct Index {  // a row each, or -1: none
  int at[2];
};

__device__ __forceinline__ bool is_row(int at) { return at >= 0; }
__device__ __forceinline__ bool is_row(int64) { return true; }  // the row of a tile
__device__ __forceinline__ float not_a_number() { return __int_as_float(0x7fffffff); }

__device__ constexpr int64 kFirstRow[2] = {0, 0};  // of scalar columns

// The same numbers in every row, in the order of the tiles.
struct Vector {
  const float* numbers;
  int quad;
  __device__ float at(int n, int i) const {
    const float2 two = reinterpret_cast<const float2*>(numbers)[4 * n + quad];
    return i & 1 ? two.y : two.x;
  }
};

// Which positions of each tile hold numbers: bit c of valid(n). The others are padding, zero where a
// value is "clean". What follows from infinities is not: zero times an infinity is no number.
template <class Layout>
__device__ __forceinline__ bool is_valid(int n, int i, int quad) {
  return Layout::valid(n) == 0xffu || (Layout::valid(n) >> (2 * quad + (i & 1)) & 1u);
}

template <class Layout, int T>
__device__ __forceinline__ void clear_padding(Fragment<T>& x, const Warp& warp, float padding = 0.f,
                                              int first = 0) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (!is_valid<Layout>(first + n, i, warp.quad)) x.at[n][i] = padding;
    }
  }
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAll, x, 1);
  return x + __shfl_xor_sync(kAll, x, 2);
}

// ---- functions of numbers, as torch defines them (NaN stays NaN) ----

__device__ __forceinline__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }

__device__ __forceinline__ float power_of_two(int exponent) {  // -126 ... 127
  return __uint_as_float(unsigned(exponent + 127) << 23);
}
// Exact at powers of two, at whole numbers, and at powers of ten: the function that CUDA has is only
// asked where that follows from its values at 1 and 0, or from float64.
__device__ __forceinline__ float exact_log2(float x) {
  const unsigned bits = __float_as_uint(x);
  if (bits - 1u >= 0x7f800000u - 1u) return log2f(x);  // no finite number above zero
  const bool is_small = bits < 0x00800000u;
  const unsigned wide = is_small ? __float_as_uint(x * 8388608.f) : bits;
  // The number as 2^exponent times what is near 1: from sqrt(1/2) on.
  const int exponent = int(wide - 0x3f3504f3u) >> 23;
  const float near_one = __uint_as_float(wide - (unsigned(exponent) << 23));
  return float(exponent - (is_small ? 23 : 0)) + log2f(near_one);
}
__device__ __forceinline__ float exact_log10(float x) { return float(log10(double(x))); }
__device__ __forceinline__ float exact_exp2(float x) {
  const float whole = rintf(fminf(fmaxf(x, -200.f), 200.f));
  const int half = int(whole) / 2;  // in two steps: results may be subnormal
  return exp2f(x - whole) * power_of_two(half) * power_of_two(int(whole) - half);
}

// ---- maps ----

template <int T>
__device__ __forceinline__ float element(const Fragment<T>& x, int n, int i) {
  return x.at[n][i];
}
__device__ __forceinline__ float element(const Scalar& x, int, int i) { return x.at[i >> 1]; }
__device__ __forceinline__ float element(const Vector& x, int n, int i) { return x.at(n, i); }
__device__ __forceinline__ float element(float x, int, int) { return x; }

template <int T, class Function, class... Arguments>
__device__ __forceinline__ Fragment<T> map(Function function, const Arguments&... arguments) {
  Fragment<T> result;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) result.at[n][i] = function(element(arguments, n, i)...);
  }
  return result;
}

template <class Function, class... Arguments>
__device__ __forceinline__ Scalar map_scalar(Function function, const Arguments&... arguments) {
  return {{function(element(arguments, 0, 0)...), function(element(arguments, 0, 2)...)}};
}

// ---- moving numbers between places of the tiles ----

// Number `column` of all rows, for all lanes.
template <int T>
__device__ __forceinline__ Scalar take(const Fragment<T>& x, int column, const Warp& warp) {
  const int source = (warp.lane & ~3) | (column % 8 / 2), n = column / 8, odd = column & 1;
  return {{__shfl_sync(kAll, x.at[n][odd], source), __shfl_sync(kAll, x.at[n][2 + odd], source)}};
}

template <int T>
__device__ __forceinline__ void put(Fragment<T>& x, int column, const Scalar& number,
                                    const Warp& warp) {
  const int n = column / 8, odd = column & 1;
  if (warp.quad == column % 8 / 2) {
    x.at[n][odd] = number.at[0];
    x.at[n][2 + odd] = number.at[1];
  }
}

// Tiles of `from` become those of `to` from tile `first` on.
template <int N, int T>
__device__ __forceinline__ void place(Fragment<N>& to, int first, const Fragment<T>& from) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) to.at[first + n][i] = from.at[n][i];
  }
}

template <int First, int T, int N>
__device__ __forceinline__ Fragment<T> cut(const Fragment<N>& from) {
  Fragment<T> result;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) result.at[n][i] = from.at[First + n][i];
  }
  return result;
}

// ---- planes of blocks ----

struct Half {
  unsigned short bits;
};
struct Bfloat16 {
  unsigned short bits;
};

template <class T>
__device__ __forceinline__ float to_float(T x) {
  return static_cast<float>(x);
}
__device__ __forceinline__ float to_float(bool x) { return x ? 1.f : 0.f; }
__device__ __forceinline__ float to_float(Half x) { return half_to_float(x.bits); }
__device__ __forceinline__ float to_float(Bfloat16 x) {
  return __uint_as_float(unsigned{x.bits} << 16);
}

// Numbers of planes. `places`: the plane of each position of the tiles, -1 for padding; or nullptr:
// the first `width` positions are the planes from `first` on.
struct Planes {
  int first, width;
  const int* places;
  __device__ int place(int column) const {
    return places ? places[column] : column < width ? first + column : -1;
  }
};

template <class T>
struct Columns {
  T* data;
  int64 pitch;
  Planes planes;
  __device__ T at(int plane, int64 row) const { return data[plane * pitch + row]; }
};

// Columns of integers whose numbers are first changed by `step`.
template <class Number, class F>
struct Stepped {
  Columns<const Number> from;
  F step;
  Planes planes;
  __device__ int64 at(int plane, int64 row) const { return step(from.at(plane, row)); }
};
template <class Number, class F>
__device__ __forceinline__ Stepped<Number, F> stepped(const Columns<const Number>& from, F step) {
  return {from, step, from.planes};
}

// A number as an element of a column; what is no number is the integer 0.
template <class T>
__device__ __forceinline__ T element(float x) {
  return x == x ? static_cast<T>(x) : T{};
}
template <>
__device__ __forceinline__ float element<float>(float x) {
  return x;
}

// Rows are those of a tile, or of an Index.
template <int T, class From, class Row>
__device__ __forceinline__ Fragment<T> load(const From& from, const Row (&row)[2],
                                            const Warp& warp) {
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int plane = from.planes.place(8 * n + 2 * warp.quad + (i & 1));
      const Row at = row[i >> 1];
      x.at[n][i] = plane < 0    ? 0.f
                   : is_row(at) ? to_float(from.at(plane, at))
                                : not_a_number();
    }
  }
  return x;
}

template <class From, class Row>
__device__ __forceinline__ Scalar scalar_of(const From& from, const Row (&row)[2]) {
  const int plane = from.planes.first;
  return {{is_row(row[0]) ? to_float(from.at(plane, row[0])) : not_a_number(),
           is_row(row[1]) ? to_float(from.at(plane, row[1])) : not_a_number()}};
}

template <class Number, class Row>
__device__ __forceinline__ Scalar load_scalar(const Columns<const Number>& from,
                                              const Row (&row)[2]) {
  return scalar_of(from, row);
}
template <class Number, class F, class Row>
__device__ __forceinline__ Scalar load_scalar(const Stepped<Number, F>& from,
                                              const Row (&row)[2]) {
  return scalar_of(from, row);
}

// What names one of `rows` rows; they are fewer than 2^31.
template <class From>
__device__ __forceinline__ Index load_index(const From& from, const int64 (&row)[2], int64 rows) {
  Index index;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int64 at = static_cast<int64>(from.at(from.planes.first, row[r]));
    const bool is_inside =
        static_cast<unsigned long long>(at) < static_cast<unsigned long long>(rows);
    index.at[r] = is_inside ? static_cast<int>(at) : -1;
  }
  return index;
}

template <int T, class Number>
__device__ __forceinline__ void write(const Columns<Number>& to, const Fragment<T>& x,
                                      const Tile& tile, const Warp& warp) {
#pragma unroll(unroll(T))
  for (int n = 0; n < T; ++n) {
    if (!warp.writes(n / 2)) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int plane = to.planes.place(8 * n + 2 * warp.quad + (i & 1));
      if (plane >= 0 && tile.inside[i >> 1])
        to.data[plane * to.pitch + tile.row[i >> 1]] = element<Number>(x.at[n][i]);
    }
  }
}

template <class Number>
__device__ __forceinline__ void write(const Columns<Number>& to, const Scalar& x, const Tile& tile,
                                      const Warp& warp) {
  Number* plane = to.data + to.planes.first * to.pitch;
  if (warp.quad != 0 || warp.part != 0) return;
  for (int r = 0; r < 2; ++r) {
    if (tile.inside[r]) plane[tile.row[r]] = element<Number>(x.at[r]);
  }
}

// ---- rows of buffers ----

// Two rows of a buffer of T tiles, read where they are used: they occupy no registers before.
template <int T>
struct Rows {
  static constexpr int tiles = T;
  const float* row[2];

  __device__ Rows(const void* buffer, const int64 (&at)[2], const Warp& warp) : odd(2 * warp.quad) {
    for (int r = 0; r < 2; ++r)
      row[r] = static_cast<const float*>(buffer) + at[r] * (8 * T) + 4 * warp.quad;
  }
  // `none`: the row that is read where the index names none.
  __device__ Rows(const void* buffer, const Index& index, const void* none, const Warp& warp)
      : odd(2 * warp.quad) {
    for (int r = 0; r < 2; ++r) {
      const float* const numbers = static_cast<const float*>(buffer);
      row[r] = (is_row(index.at[r]) ? numbers + int64{index.at[r]} * (8 * T)
                                    : static_cast<const float*>(none)) +
               4 * warp.quad;
    }
  }
  __device__ void pair(int q, float (&x)[8]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float4 four = *reinterpret_cast<const float4*>(row[r] + 16 * q);
      x[2 * r] = four.x;
      x[2 * r + 1] = four.y;
      x[4 + 2 * r] = four.z;
      x[5 + 2 * r] = four.w;
    }
  }
  __device__ void last(float (&x)[4]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float2 two = *reinterpret_cast<const float2*>(row[r] + 8 * (T - 1) - odd);
      x[2 * r] = two.x;
      x[2 * r + 1] = two.y;
    }
  }

 private:
  int odd;
};

template <class Source>
__device__ __forceinline__ Fragment<Source::tiles> load(const Source& from) {
  constexpr int T = Source::tiles;
  Fragment<T> x;
#pragma unroll(unroll(T))
  for (int q = 0; q < T / 2; ++q) {
    float eight[8];
    from.pair(q, eight);
#pragma unroll
    for (int i = 0; i < 8; ++i) x.at[2 * q + i / 4][i % 4] = eight[i];
  }
  if constexpr (T % 2) {
    float four[4];
    from.last(four);
#pragma unroll
    for (int i = 0; i < 4; ++i) x.at[T - 1][i] = four[i];
  }
  return x;
}

template <class Row>
__device__ __forceinline__ Scalar load_scalar(const void* buffer, const Row (&row)[2]) {
  const float* numbers = static_cast<const float*>(buffer);
  return {{is_row(row[0]) ? numbers[row[0]] : not_a_number(),
           is_row(row[1]) ? numbers[row[1]] : not_a_number()}};
}

template <int T>
__device__ __forceinline__ void store(void* buffer, const Fragment<T>& x, const Tile& tile,
                                      const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (!tile.inside[r]) continue;
    float* row = static_cast<float*>(buffer) + tile.row[r] * (8 * T);
#pragma unroll(unroll(T))
    for (int q = 0; q < T / 2; ++q) {
      if (!warp.writes(q)) continue;
      *reinterpret_cast<float4*>(row + 16 * q + 4 * warp.quad) =
          make_float4(x.at[2 * q][2 * r], x.at[2 * q][2 * r + 1], x.at[2 * q + 1][2 * r],
                      x.at[2 * q + 1][2 * r + 1]);
    }
    if (T % 2 && warp.writes(T / 2)) {
      *reinterpret_cast<float2*>(row + 8 * (T - 1) + 2 * warp.quad) =
          make_float2(x.at[T - 1][2 * r], x.at[T - 1][2 * r + 1]);
    }
  }
}

__device__ __forceinline__ void store(void* buffer, const Scalar& x, const Tile& tile,
                                      const Warp& warp) {
  if (warp.quad != 0 || warp.part != 0) return;
  for (int r = 0; r < 2; ++r) {
    if (tile.inside[r]) static_cast<float*>(buffer)[tile.row[r]] = x.at[r];
  }
}

// Rows of a sum start at zero.
template <int T>
__device__ __forceinline__ void clear(void* buffer, const Tile& tile, const Warp& warp) {
  store(buffer, map<T>([](float zero) { return zero; }, 0.f), tile, warp);
}
__device__ __forceinline__ void clear_scalar(void* buffer, const Tile& tile, const Warp& warp) {
  store(buffer, Scalar{{0.f, 0.f}}, tile, warp);
}

// Adds rows to the rows `index` of a buffer of sums. Where neighbouring rows have one index (edges
// grouped by a node), they are summed in the warp before.
template <class Layout, int T>
__device__ __forceinline__ void scatter(void* buffer, Fragment<T> x, const Index& index,
                                        const Tile& tile, const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int before = __shfl_up_sync(kAll, index.at[r], 4);
    const bool is_first = warp.group == 0 || before != index.at[r];
    const unsigned firsts = __ballot_sync(kAll, is_first);
    bool adds = tile.inside[r] && is_row(index.at[r]);
    if (__popc(firsts) <= 4 * 4) {  // at most four runs among eight rows
      const int run = __popc(firsts & (kAll >> (31 - warp.lane)) & (0x11111111u << warp.quad));
      bool is_same[3];
#pragma unroll
      for (int step = 0; step < 3; ++step) {
        is_same[step] =
            __shfl_down_sync(kAll, run, 4 << step) == run && warp.group + (1 << step) < 8;
      }
#pragma unroll(unroll(T))
      for (int n = 0; n < T; ++n) {
        if (!warp.writes(n / 2)) continue;
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 2; ++i) {
          float sum = tile.inside[r] ? x.at[n][i] : 0.f;
#pragma unroll
          for (int step = 0; step < 3; ++step) {
            const float other = __shfl_down_sync(kAll, sum, 4 << step);
            sum += is_same[step] ? other : 0.f;
          }
          x.at[n][i] = sum;
        }
      }
      adds = adds && is_first;
    }
    if (!adds) continue;
    float* row = static_cast<float*>(buffer) + int64{index.at[r]} * (8 * T);
#pragma unroll(unroll(T))
    for (int q = 0; q < T / 2; ++q) {
      if (!warp.writes(q)) continue;
      if (!(is_valid<Layout>(2 * q, 0, warp.quad) || is_valid<Layout>(2 * q + 1, 0, warp.quad) ||
            is_valid<Layout>(2 * q, 1, warp.quad) || is_valid<Layout>(2 * q + 1, 1, warp.quad))) {
        continue;
      }
      add_to(row + 16 * q + 4 * warp.quad, x.at[2 * q][2 * r], x.at[2 * q][2 * r + 1],
             x.at[2 * q + 1][2 * r], x.at[2 * q + 1][2 * r + 1]);
    }
    if (T % 2 && warp.writes(T / 2) &&
        (is_valid<Layout>(T - 1, 0, warp.quad) || is_valid<Layout>(T - 1, 1, warp.quad))) {
      add_to(row + 8 * (T - 1) + 2 * warp.quad, x.at[T - 1][2 * r], x.at[T - 1][2 * r + 1]);
    }
  }
}

__device__ __forceinline__ void scatter_scalar(void* buffer, const Scalar& x, const Index& index,
                                               const Tile& tile, const Warp& warp) {
  if (warp.quad != 0 || warp.part != 0) return;
  for (int r = 0; r < 2; ++r) {
    if (tile.inside[r] && is_row(index.at[r]))
      add_to(static_cast<float*>(buffer) + index.at[r], x.at[r]);
  }
}

// ---- sums that are the same bits at every call ----
//
// Without atomics on floats. For each row of a sum there is a list of the rows that are added to it,
// and one thread adds them. Only the order in a list, and that of the lists, depends on who came
// first, and sums do not depend on it: numbers become integers of 62 bits, multiples of one power of
// two that leaves room for as many as there are (the pre-rounding of Demmel and Nguyen, "Fast
// reproducible floating-point summation", 2013, with integers). A sum is off by less than 2^-61 of
// its largest number, times the square of its count, and rounded once.

// For each of `rows` rows: how many members its list has, and where they begin; then how many there
// are in all lists. `at`: which of those that share a buffer.
struct Lists {
  int* data;
  int64 rows;
  __device__ Lists(void* buffer, int64 rows, int at)
      : data(static_cast<int*>(buffer) + 3 * rows * at), rows(rows) {}
  __device__ int& count(int64 row) const { return data[row]; }
  __device__ int& first(int64 row) const { return data[rows + row]; }
  __device__ int& total() const { return data[2 * rows]; }
};

// Counts the rows of a tile into the lists that their index names (zero before), and keeps the place
// of each in its list.
__device__ __forceinline__ void count(const Lists& lists, void* places, const Index& index,
                                      const Tile& tile, const Warp& warp) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const bool counts = warp.quad == 0 && tile.inside[r] && is_row(index.at[r]);
    const unsigned same = __match_any_sync(kAll, counts ? index.at[r] : -1);
    const int leader = __ffs(same) - 1;
    int place = 0;
    if (counts && warp.lane == leader) place = atomicAdd(&lists.count(index.at[r]), __popc(same));
    place = __shfl_sync(kAll, place, leader) + __popc(same & ((1u << warp.lane) - 1u));
    if (counts) static_cast<int*>(places)[tile.row[r]] = place;
  }
}

// Says where the lists of a tile begin.
__device__ __forceinline__ void allocate(const Lists& lists, const Tile& tile, const Warp& warp) {
  if (warp.part != 0) return;
  const int64 row = warp.quad == 0 ? tile.row[0] : tile.row[1];
  const bool is_mine = warp.quad < 2 && (warp.quad == 0 ? tile.inside[0] : tile.inside[1]);
  const int mine = is_mine ? lists.count(row) : 0;
  int until = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(kAll, until, step);
    if (warp.lane >= step) until += before;
  }
  int first = 0;
  if (warp.lane == 31) first = atomicAdd(&lists.total(), until);
  first = __shfl_sync(kAll, first, 31);
  if (is_mine) lists.first(row) = first + until - mine;
}

// Enters the rows of a tile into the lists that their index names.
__device__ __forceinline__ void enter(const Lists& lists, void* members, const void* places,
                                      const Index& index, const Tile& tile, const Warp& warp) {
  if (warp.quad != 0 || warp.part != 0) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (!tile.inside[r] || !is_row(index.at[r])) continue;
    const int place = static_cast<const int*>(places)[tile.row[r]];
    static_cast<int*>(members)[lists.first(index.at[r]) + place] = static_cast<int>(tile.row[r]);
  }
}

template <int K>
struct alignas(4 * K) Numbers {
  float at[K];
};

// K numbers each of the members `start`, `start + step`, ... of n. Several are on their way at a
// time; where these are all, they stay in registers.
template <int K>
struct Members {
  static constexpr int kAtOnce = 8;
  const Numbers<K>* from;
  int stride;
  const int* members;
  int n, start, step;
  Numbers<K> x[kAtOnce];

  __device__ void load(int64 at) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int64 place = at + i * step;
      x[i] = place < n ? from[int64{members[place]} * stride] : Numbers<K>{};
    }
  }
  // body(k, number); zeros are among them. `is_first`: nothing was loaded before.
  template <class Body>
  __device__ void each(bool is_first, Body body) {
    for (int64 at = start; at < n; at += kAtOnce * step) {
      if (is_first || n > kAtOnce * step) load(at);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int k = 0; k < K; ++k) body(k, x[i].at[k]);
      }
    }
  }
};

// The sum of a list. Where `step` is 32, of what the lanes of a warp have of it.
template <int K>
__device__ __forceinline__ Numbers<K> sum_of(Members<K> list) {
  constexpr unsigned kInfinity = 0x7f800000u;
  const auto magnitude = [](float x) { return __float_as_uint(x) & 0x7fffffffu; };
  unsigned largest[K] = {};
  bool is_finite = true;
  list.each(true, [&](int k, float x) { largest[k] = max(largest[k], magnitude(x)); });
  int half[K], rest[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    for (int lane = list.step / 2; lane > 0; lane /= 2)
      largest[k] = max(largest[k], __shfl_xor_sync(kAll, largest[k], lane));
    is_finite = is_finite && largest[k] < kInfinity;
    // Numbers are below 2^(e - 126), n below 2^(32 - clz): 62 bits and the sign. Two factors, as one
    // may be no float.
    const int exponent = 62 - (32 - __clz(list.n)) - (int(largest[k] >> 23) - 126);
    half[k] = exponent / 2;
    rest[k] = exponent - half[k];
  }
  long long sum[K] = {};
  list.each(false, [&](int k, float x) {
    sum[k] += __float2ll_rn(x * power_of_two(half[k]) * power_of_two(rest[k]));
  });
  Numbers<K> result;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    for (int lane = list.step / 2; lane > 0; lane /= 2)
      sum[k] += __shfl_xor_sync(kAll, sum[k], lane);
    result.at[k] = __ll2float_rn(sum[k]) * power_of_two(-half[k]) * power_of_two(-rest[k]);
  }
  if (is_finite) return result;
  float special[K] = {};  // infinities and NaN add as they are, without the others
  list.each(false, [&](int k, float x) { special[k] += magnitude(x) < kInfinity ? 0.f : x; });
#pragma unroll
  for (int k = 0; k < K; ++k) {
    for (int lane = list.step / 2; lane > 0; lane /= 2)
      special[k] += __shfl_xor_sync(kAll, special[k], lane);
    if (largest[k] >= kInfinity)
      result.at[k] = special[k] == special[k] ? special[k] : not_a_number();
  }
  return result;
}

// Rows of a tile become the sums of their lists; C times K numbers each. For all threads that own
// the tile, which may read the rows afterwards.
template <int K, int C>
__device__ __forceinline__ void total(void* to, const void* from, const void* members,
                                      const Lists& lists, int tile, const Warp& warp) {
  constexpr int kLong = 256;  // from here on a warp sums together
  const int64 begin = int64{tile} * kTileRows;
  const auto sum = [&](int64 row, int column, int start, int step) {
    return sum_of(Members<K>{static_cast<const Numbers<K>*>(from) + column, C,
                             static_cast<const int*>(members) + lists.first(row), lists.count(row),
                             start, step});
  };
  const auto at = [&](int64 row, int column) -> Numbers<K>& {
    return static_cast<Numbers<K>*>(to)[row * C + column];
  };
  for (int i = warp.part * 32 + warp.lane; i < kTileRows * C; i += warp.parts * 32) {
    const int64 row = begin + i / C;
    if (row >= lists.rows) break;
    if (lists.count(row) < kLong) at(row, i % C) = sum(row, i % C, 0, 1);
  }
  const int64 mine = begin + warp.lane;
  const bool is_long = warp.lane < kTileRows && mine < lists.rows && lists.count(mine) >= kLong;
  for (unsigned left = __ballot_sync(kAll, is_long); left != 0; left &= left - 1) {
    const int64 row = begin + __ffs(left) - 1;
    for (int column = warp.part; column < C; column += warp.parts) {
      const Numbers<K> numbers = sum(row, column, warp.lane, 32);
      if (warp.lane == 0) at(row, column) = numbers;
    }
  }
  if (warp.parts == 1) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

// ---- over the numbers of a row ----

template <int T, class Function>
__device__ __forceinline__ Scalar reduce(const Fragment<T>& x, float start, Function function) {
  Scalar result;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = start;
#pragma unroll(unroll(T))
    for (int n = 0; n < T; ++n) sum = function(function(sum, x.at[n][2 * r]), x.at[n][2 * r + 1]);
    sum = function(sum, __shfl_xor_sync(kAll, sum, 1));
    result.at[r] = function(sum, __shfl_xor_sync(kAll, sum, 2));
  }
  return result;
}

// Layer normalisation; padding of x, gain and shift is zero. `Centered`: the mean of x is zero.
template <class Layout, bool Centered, int T>
__device__ __forceinline__ Fragment<T> norm(Fragment<T> x, Vector gain, Vector shift, int width,
                                            float epsilon, const Warp& warp) {
  const float share = 1.f / static_cast<float>(width);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = 0.f, squares = 0.f, mean = 0.f;
    if constexpr (!Centered) {
#pragma unroll(unroll(T))
      for (int n = 0; n < T; ++n) sum += x.at[n][2 * r] + x.at[n][2 * r + 1];
      mean = quad_sum(sum) * share;
    }
#pragma unroll(unroll(T))
    for (int n = 0; n < T; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        if (!Centered) x.at[n][i] = is_valid<Layout>(n, i, warp.quad) ? x.at[n][i] - mean : 0.f;
        squares = fmaf(x.at[n][i], x.at[n][i], squares);
      }
    }
    const float scale = rsqrtf(fmaf(quad_sum(squares), share, epsilon));
#pragma unroll(unroll(T))
    for (int n = 0; n < T; ++n) {
#pragma unroll
      for (int i = 2 * r; i < 2 * r + 2; ++i)
        x.at[n][i] = fmaf(x.at[n][i] * scale, gain.at(n, i), shift.at(n, i));
    }
  }
  return x;
}

// ---- linear layers ----
//
// A scheme multiplies two tiles of 16 rows, 8 or 16 numbers deep, with the packed weights of C
// tiles of outputs, from tile `first` on. _pack() of cuda.py has the same orders of the weights.

struct Packed {
  const char* weights;
  int tiles, depth,
      outputs;  // tiles of inputs; how many of their numbers there are; tiles of outputs

  // Past the last tile of outputs the last one is computed again, and dropped: no branch keeps
  // loads from running ahead.
  __device__ int tile(int n) const { return min(n, outputs - 1); }
};

// The nearest tf32 number by integer arithmetic: conversions run at a quarter of the rate. The bits of
// a NaN would carry over into a zero.
__device__ __forceinline__ unsigned to_tf32(float x) {
  return x == x ? (__float_as_uint(x) + 0x1000u) & 0xffffe000u : 0x7fffe000u;
}

struct Tf32 {
  static constexpr int kMostTiles = 24;
  template <int C>
  static __device__ __forceinline__ void one(float (&c)[C][4], const float* x, const Packed& w,
                                             int k, int first, const Warp& warp) {
    const unsigned a[4] = {to_tf32(x[0]), to_tf32(x[2]), to_tf32(x[1]), to_tf32(x[3])};
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint2 b = reinterpret_cast<const uint2*>(
          w.weights)[(k * w.outputs + w.tile(first + n)) * 32 + warp.lane];
      mma_tf32(c[n], a, b.x, b.y);
    }
  }
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    one(c, x, w, 2 * q, first, warp);
    one(c, x + 4, w, 2 * q + 1, first, warp);
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    one(c, x, w, w.tiles - 1, first, warp);
  }
};

// Three products of float16 pieces, high * high + high * low + low * high: float32's accuracy. x is
// Scaled. The high piece of an infinity is finite: its low piece is infinite, and is multiplied with the
// high piece of the weight, which is zero only where the weight is.
struct Half3 {
  static constexpr int kMostTiles = 24;
  static __device__ __forceinline__ void split(float x, float y, unsigned& high, unsigned& low) {
    high = to_finite_halves(x, y);
    low = to_halves(x - half_to_float(static_cast<unsigned short>(high)),
                    y - half_to_float(static_cast<unsigned short>(high >> 16)));
  }
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    unsigned high[4], low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(x[2 * i], x[2 * i + 1], high[i], low[i]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint4 b = reinterpret_cast<const uint4*>(
          w.weights)[(q * w.outputs + w.tile(first + n)) * 32 + warp.lane];
      mma_f16(c[n], low, b.x, b.y);
      mma_f16(c[n], high, b.z, b.w);
      mma_f16(c[n], high, b.x, b.y);
    }
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    const uint2* from = reinterpret_cast<const uint2*>(w.weights + w.tiles / 2 * w.outputs * 512);
    unsigned high[2], low[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) split(x[2 * i], x[2 * i + 1], high[i], low[i]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint2 b = from[w.tile(first + n) * 32 + warp.lane];
      mma_f16(c[n], low, b.x);
      mma_f16(c[n], high, b.y);
      mma_f16(c[n], high, b.x);
    }
  }
};

struct Bf16 {
  static constexpr int kMostTiles = 24;
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    unsigned a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = to_bfloats(x[2 * i], x[2 * i + 1]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      const uint2 b = reinterpret_cast<const uint2*>(
          w.weights)[(q * w.outputs + w.tile(first + n)) * 32 + warp.lane];
      mma_bf16(c[n], a, b.x, b.y);
    }
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    const unsigned* from =
        reinterpret_cast<const unsigned*>(w.weights + w.tiles / 2 * w.outputs * 256);
    unsigned a[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) a[i] = to_bfloats(x[2 * i], x[2 * i + 1]);
#pragma unroll
    for (int n = 0; n < C; ++n) {
      mma_bf16(c[n], a, from[w.tile(first + n) * 32 + warp.lane]);
    }
  }
};

// float32 multiply and add: numbers of x go round the quad. For "ieee", and for few inputs, where
// it is the fastest.
struct Fma {
  static constexpr int kMostTiles =
      2;  // of inputs, whose loop is unrolled: the code would grow without end
  template <int C>
  static __device__ __forceinline__ void one(float (&c)[C][4], const float* x, const Packed& w,
                                             int k, int first, const Warp& warp) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (8 * k + i >= w.depth) break;
      const int source = (warp.lane & ~3) | (i / 2);
      const float x0 = __shfl_sync(kAll, x[i & 1], source),
                  x1 = __shfl_sync(kAll, x[2 + (i & 1)], source);
#pragma unroll
      for (int n = 0; n < C; ++n) {
        const float2 b = reinterpret_cast<const float2*>(
            w.weights)[((8 * k + i) * w.outputs + w.tile(first + n)) * 4 + warp.quad];
        c[n][0] = fmaf(x0, b.x, c[n][0]);
        c[n][1] = fmaf(x0, b.y, c[n][1]);
        c[n][2] = fmaf(x1, b.x, c[n][2]);
        c[n][3] = fmaf(x1, b.y, c[n][3]);
      }
    }
  }
  template <int C>
  static __device__ __forceinline__ void pair(float (&c)[C][4], const float (&x)[8],
                                              const Packed& w, int q, int first, const Warp& warp) {
    one(c, x, w, 2 * q, first, warp);
    one(c, x + 4, w, 2 * q + 1, first, warp);
  }
  template <int C>
  static __device__ __forceinline__ void last(float (&c)[C][4], const float (&x)[4],
                                              const Packed& w, int first, const Warp& warp) {
    one(c, x, w, w.tiles - 1, first, warp);
  }
};

// A power of two for each row that brings its largest number to 2^13 ... 2^14, and its inverse: then
// pieces of float16 hold every float32 number of the row to 2^-38 of the largest one, or to 2^-22 of
// itself. `unit`: the inverse of what the weights were multiplied by, a Vector with one for each
// output, or One, where it is part of `inverse`.
struct One {};
__device__ __forceinline__ float element(One, int, int) { return 1.f; }

template <class Unit>
struct Scale {
  float factor[2], inverse[2];
  Unit unit;

  // `most`: of the factor's exponent, with that of floats.
  __device__ Scale(const Scalar& largest, Unit unit, float back, int most) : unit(unit) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int exponent = min(267 - int(__float_as_uint(largest.at[r]) >> 23), most);
      factor[r] = __uint_as_float(unsigned(exponent) << 23);
      inverse[r] = __uint_as_float(unsigned(254 - exponent) << 23) * back;
    }
  }
};

struct Unscaled {};

template <class Source, class Scale>
struct Scaled {
  static constexpr int tiles = Source::tiles;
  const Source& from;
  const Scale& scale;

  __device__ void pair(int q, float (&x)[8]) const {
    from.pair(q, x);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] *= scale.factor[i / 2 % 2];
  }
  __device__ void last(float (&x)[4]) const {
    from.last(x);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= scale.factor[i / 2];
  }
};

template <class Source, class Scale>
__device__ __forceinline__ Scaled<Source, Scale> scaled(const Source& from, const Scale& scale) {
  return {from, scale};
}

// Numbers times one for each place of the row.
template <class Source>
struct Balanced {
  static constexpr int tiles = Source::tiles;
  const Source& from;
  Vector factors;

  __device__ void pair(int q, float (&x)[8]) const {
    from.pair(q, x);
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] *= factors.at(2 * q + i / 4, i);
  }
  __device__ void last(float (&x)[4]) const {
    from.last(x);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= factors.at(tiles - 1, i);
  }
};

template <class Source>
__device__ __forceinline__ Balanced<Source> balanced(const Source& from, Vector factors) {
  return {from, factors};
}

// Takes what this lane holds of x into the largest absolute value of each row.
template <class Source>
__device__ __forceinline__ void widen(Scalar& largest, const Source& x) {
  constexpr int T = Source::tiles;
#pragma unroll(unroll(T))
  for (int q = 0; q < T / 2; ++q) {
    float eight[8];
    x.pair(q, eight);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      largest.at[i / 2 % 2] = fmaxf(largest.at[i / 2 % 2], fabsf(eight[i]));
  }
  if constexpr (T % 2) {
    float four[4];
    x.last(four);
#pragma unroll
    for (int i = 0; i < 4; ++i) largest.at[i / 2] = fmaxf(largest.at[i / 2], fabsf(four[i]));
  }
}

__device__ __forceinline__ Scalar of_quad(Scalar largest) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    largest.at[r] = fmaxf(largest.at[r], __shfl_xor_sync(kAll, largest.at[r], 1));
    largest.at[r] = fmaxf(largest.at[r], __shfl_xor_sync(kAll, largest.at[r], 2));
  }
  return largest;
}

constexpr int kMostExponent = 253;  // its inverse is a float
__device__ __forceinline__ Scale<One> scale_of(const Scalar& largest, float back, int most) {
  return {of_quad(largest), One{}, back, min(most, kMostExponent)};
}
__device__ __forceinline__ Scale<Vector> scale_of(const Scalar& largest, Vector units) {
  return {of_quad(largest), units, 1.f, kMostExponent};
}

// Adds to C tiles of outputs, from tile `first` on, what the numbers of x contribute.
template <class Scheme, int C, class Source>
__device__ __forceinline__ void accumulate(Fragment<C>& c, const Source& x, const Packed& w,
                                           int first, const Warp& warp) {
  constexpr int T = Source::tiles;
#pragma unroll(Scheme::kMostTiles < T ? 1 : unroll(T))
  for (int q = 0; q < T / 2; ++q) {
    float eight[8];
    x.pair(q, eight);
    Scheme::pair(c.at, eight, w, q, first, warp);
  }
  if constexpr (T % 2) {
    float four[4];
    x.last(four);
    Scheme::last(c.at, four, w, first, warp);
  }
}

// C tiles of outputs from tile `first` on, of `outputs`: the bias and what `body(c, first)`
// accumulates.
template <int C, class Body>
__device__ __forceinline__ Fragment<C> part_of_linear(int outputs, Vector bias, Unscaled, int first,
                                                      Body body) {
  Fragment<C> c;
#pragma unroll
  for (int n = 0; n < C; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) c.at[n][i] = bias.at(min(first + n, outputs - 1), i);
  }
  body(c, first);
  return c;
}

template <int C, class Unit, class Body>
__device__ __forceinline__ Fragment<C> part_of_linear(int outputs, Vector bias,
                                                      const Scale<Unit>& scale, int first,
                                                      Body body) {
  Fragment<C> c{};
  body(c, first);
#pragma unroll
  for (int n = 0; n < C; ++n) {
    const int at = min(first + n, outputs - 1);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c.at[n][i] =
          fmaf(c.at[n][i] * element(scale.unit, at, i), scale.inverse[i / 2], bias.at(at, i));
    }
  }
  return c;
}

// N tiles of outputs, C at a time.
template <int N, int C, class Scaling, class Body>
__device__ __forceinline__ Fragment<N> linear(Vector bias, const Scaling& scaling, Body body) {
  Fragment<N> result;
#pragma unroll(unroll(N))
  for (int first = 0; first < N; first += C) {
    const Fragment<C> c = part_of_linear<C>(N, bias, scaling, first, body);
#pragma unroll
    for (int n = 0; n < C; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (first + n < N) result.at[first + n][i] = c.at[n][i];
      }
    }
  }
  return result;
}

// The same by all warps of a tile together, in rounds of C tiles of outputs each. `exchange` has two
// rooms of `room` tiles, which take turns, from `turn` on: a warp may still read the last one while
// another writes.
template <int N, int C, class Scaling, class Body>
__device__ __forceinline__ Fragment<N> linear_together(Vector bias, const Scaling& scaling,
                                                       float4 (*exchange)[32], int room, int turn,
                                                       const Warp& warp, Body body) {
  Fragment<N> result;
  for (int begin = 0; begin < N; begin += C * warp.parts, turn ^= 1) {
    float4(*const mine)[32] = exchange + turn * room;
    const int first = begin + warp.part * C;
    if (first < N) {
      const Fragment<C> c = part_of_linear<C>(N, bias, scaling, first, body);
#pragma unroll
      for (int n = 0; n < C; ++n) {
        if (first + n < N)
          mine[first + n - begin][warp.lane] =
              make_float4(c.at[n][0], c.at[n][1], c.at[n][2], c.at[n][3]);
      }
    }
    __syncthreads();
#pragma unroll(unroll(N))
    for (int n = begin; n < min(N, begin + C * warp.parts); ++n) {
      const float4 four = mine[n - begin][warp.lane];
      result.at[n][0] = four.x;
      result.at[n][1] = four.y;
      result.at[n][2] = four.z;
      result.at[n][3] = four.w;
    }
  }
  return result;
}

// The same where the outputs are only stored, as rows of a buffer: C is even, and nothing is
// exchanged. `turn`: the warp that begins.
template <class Layout, int N, int C, class Scaling, class Body>
__device__ __forceinline__ void linear_stored(void* buffer, Vector bias, const Scaling& scaling,
                                              int turn, const Tile& tile, const Warp& warp,
                                              Body body) {
  for (int at = (warp.part + turn) % warp.parts; at * C < N; at += warp.parts) {
    const int first = at * C;
    Fragment<C> c = part_of_linear<C>(N, bias, scaling, first, body);
    clear_padding<Layout>(c, warp, 0.f, first);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (!tile.inside[r]) continue;
      float* row = static_cast<float*>(buffer) + tile.row[r] * (8 * N) + 8 * first;
#pragma unroll
      for (int n = 0; n < C; n += 2) {
        if (first + n + 1 < N) {
          *reinterpret_cast<float4*>(row + 8 * n + 4 * warp.quad) = make_float4(
              c.at[n][2 * r], c.at[n][2 * r + 1], c.at[n + 1][2 * r], c.at[n + 1][2 * r + 1]);
        } else if (first + n < N) {
          *reinterpret_cast<float2*>(row + 8 * n + 2 * warp.quad) =
              make_float2(c.at[n][2 * r], c.at[n][2 * r + 1]);
        }
      }
    }
  }
}

// One output: this lane's share of the sum. finish() adds those of the quad.
template <class Source>
__device__ __forceinline__ void dot(Scalar& sum, const Source& x, Vector weights) {
  constexpr int T = Source::tiles;
#pragma unroll(unroll(T))
  for (int q = 0; q < T / 2; ++q) {
    float eight[8];
    x.pair(q, eight);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      sum.at[i / 2 % 2] = fmaf(eight[i], weights.at(2 * q + i / 4, i), sum.at[i / 2 % 2]);
    }
  }
  if constexpr (T % 2) {
    float four[4];
    x.last(four);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum.at[i / 2] = fmaf(four[i], weights.at(T - 1, i), sum.at[i / 2]);
  }
}

__device__ __forceinline__ Scalar finish(const Scalar& sum, float bias) {
  return {{quad_sum(sum.at[0]) + bias, quad_sum(sum.at[1]) + bias}};
}

// Brings `bytes` (a multiple of 16) of packed weights into the block's shared memory.
__device__ __forceinline__ void stage_weights(char* shared, const char* weights, int bytes) {
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) {
    reinterpret_cast<uint4*>(shared)[i] = reinterpret_cast<const uint4*>(weights)[i];
  }
  __syncthreads();
}
