// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA for tests without a GPU: every thread of a block is a fiber. The lanes of a warp take turns, and go on from a
// warp-wide instruction when all of them have come to it; where they come to different ones, the process ends with a
// word. Blocks run one after another. Warps run in order from barrier to barrier, or, where TENSOA_WARPS_BACKWARDS is set in
// the environment, the last one first: what a warp reads of another one without a barrier is wrong in one of both.
//
// Tensor cores: products of pieces are exact; they and the accumulator are cut off at 2^-24 of the largest one, added,
// and cut off to float32. GPUs keep as much or more (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA
// tensor cores", 2021), so what is right here is right there.
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define __device__
#define __forceinline__ inline
#define __noinline__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__

namespace cuda_on_cpu {

enum class Wait { kWarp, kBlock, kNever };

struct Lane {
  ucontext_t context;
  std::vector<char> stack;
  Wait waits;
  int what;  // it waits for
  unsigned turn;
  std::uint64_t word[2][8];  // what it gives to the others, by turns
};

inline ucontext_t scheduler;
inline std::vector<Lane> lanes;
inline Lane* current;
inline std::function<void()> kernel;
inline int rounds_of_few;  // of a kernel that has one form for few rows and one for many

inline void pause(Wait waits, int what) {
  current->waits = waits;
  current->what = what;
  swapcontext(&current->context, &scheduler);
}

inline void run_lane() {
  kernel();
  current->waits = Wait::kNever;
  swapcontext(&current->context, &scheduler);
}

inline Lane& other(int lane) { return (&lanes[0])[(current - &lanes[0]) / 32 * 32 + lane]; }

// Gives `mine` to the warp; of(lane) is then what another lane gave.
template <class T>
struct Together {
  static_assert(sizeof(T) <= sizeof(Lane::word[0]));
  unsigned turn;
  Together(int what, const T& mine) : turn(current->turn++ & 1) {
    std::memcpy(current->word[turn], &mine, sizeof(T));
    pause(Wait::kWarp, what);
  }
  T of(int lane) const {
    T result;
    std::memcpy(&result, other(lane).word[turn], sizeof(T));
    return result;
  }
};

struct Index3 {
  int x;
};

}  // namespace cuda_on_cpu

inline cuda_on_cpu::Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace cuda_on_cpu {

inline void run_block(int threads) {
  if (static_cast<int>(lanes.size()) < threads) lanes.resize(threads);
  for (int i = 0; i < threads; ++i) {
    Lane& lane = lanes[i];
    lane.stack.resize(256 * 1024);
    lane.waits = Wait::kWarp;
    lane.what = 0;
    lane.turn = 0;
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.data();
    lane.context.uc_stack.ss_size = lane.stack.size();
    makecontext(&lane.context, run_lane, 0);
  }
  const bool is_backwards = std::getenv("TENSOA_WARPS_BACKWARDS") != nullptr;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (int i = 0; i < threads; i += 32) {
      const int warp = is_backwards ? threads - 32 - i : i;
      if (lanes[warp].waits == Wait::kNever) continue;
      do {
        for (int i = warp; i < warp + 32; ++i) {
          current = &lanes[i];
          threadIdx.x = i;
          swapcontext(&scheduler, &current->context);
        }
        for (int i = warp; i < warp + 32; ++i) {
          if (lanes[i].waits != lanes[warp].waits || lanes[i].what != lanes[warp].what) {
            std::fprintf(stderr, "lanes of a warp part: %d and %d\n", lanes[i].what,
                         lanes[warp].what);
            std::abort();
          }
        }
      } while (lanes[warp].waits == Wait::kWarp);
      goes_on = goes_on || lanes[warp].waits == Wait::kBlock;
    }
  }
}

inline void run(int blocks, int threads, void* shared, std::size_t shared_bytes,
                const std::function<void()>& body) {
  kernel = body;
  rounds_of_few = std::getenv("TENSOA_MANY_ROWS") != nullptr ? 0 : 1 << 30;
  blockDim.x = threads;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    std::memset(shared, 0xFF, shared_bytes);
    run_block(threads);
  }
}

}  // namespace cuda_on_cpu

// ---- built-in functions

struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

using std::max;
using std::min;
inline float rsqrtf(float x) { return 1.f / std::sqrt(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32);
}
inline int __double2loint(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x)); }
inline long long __float2ll_rn(float x) { return std::llrint(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __ffs(unsigned x) { return x == 0 ? 0 : std::countr_zero(x) + 1; }
inline int __clz(unsigned x) { return std::countl_zero(x); }

template <class T>
T atomicAdd(T* to, T x) {
  const T before = *to;
  *to += x;
  return before;
}
template <class T>
T atomicMax(T* to, T x) {
  const T before = *to;
  *to = std::max(before, x);
  return before;
}
template <class T>
T atomicMin(T* to, T x) {
  const T before = *to;
  *to = std::min(before, x);
  return before;
}
template <class T>
T atomicCAS(T* to, T expected, T x) {
  const T before = *to;
  if (before == expected) *to = x;
  return before;
}

template <class T>
T __shfl_sync(unsigned, T x, int lane) {
  return cuda_on_cpu::Together<T>(1, x).of(lane & 31);
}
template <class T>
T __shfl_xor_sync(unsigned, T x, int mask) {
  return cuda_on_cpu::Together<T>(2, x).of((threadIdx.x & 31) ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T x, int by) {
  const int lane = threadIdx.x & 31;
  return cuda_on_cpu::Together<T>(3, x).of(lane < by ? lane : lane - by);
}
template <class T>
T __shfl_down_sync(unsigned, T x, int by) {
  const int lane = threadIdx.x & 31;
  return cuda_on_cpu::Together<T>(4, x).of(lane + by > 31 ? lane : lane + by);
}
inline unsigned __ballot_sync(unsigned, bool x) {
  const cuda_on_cpu::Together<int> all(5, x);
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane) result |= static_cast<unsigned>(all.of(lane)) << lane;
  return result;
}
template <class T>
unsigned __match_any_sync(unsigned, T x) {
  const cuda_on_cpu::Together<T> all(6, x);
  unsigned result = 0;
  for (int lane = 0; lane < 32; ++lane) result |= static_cast<unsigned>(all.of(lane) == x) << lane;
  return result;
}
inline void __syncwarp() { cuda_on_cpu::pause(cuda_on_cpu::Wait::kWarp, 7); }
inline void __syncthreads() { cuda_on_cpu::pause(cuda_on_cpu::Wait::kBlock, 8); }

// ---- the functions of cuda_instructions.cuh

inline int with_its_sign(int x) { return x; }
inline float minimum(float a, float b) { return a != a ? a : b < a || b != b ? b : a; }
inline float maximum(float a, float b) { return a != a ? a : b > a || b != b ? b : a; }
inline float half_to_float(unsigned short bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}
inline unsigned to_halves(float x, float y) {
  const _Float16 two[2] = {static_cast<_Float16>(x), static_cast<_Float16>(y)};
  return std::bit_cast<unsigned>(two);
}
inline void copy_to_shared(void* to, const void* from) { std::memcpy(to, from, 16); }
inline void wait_for_copies() {}
inline const char* read_again(const char* from) { return from; }
inline void let_next_kernel_begin() {}  // kernels run one after another
inline void wait_for_work_before() {}
inline unsigned to_finite_halves(float x, float y) {
  const auto finite = [](float z) { return z != z ? z : std::clamp(z, -65504.f, 65504.f); };
  return to_halves(finite(x), finite(y));
}
inline unsigned to_bfloats(float x, float y) {
  const auto rounded = [](float z) {
    const unsigned bits = __float_as_uint(z);
    return z != z ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  };
  return rounded(x) | rounded(y) << 16;
}
inline void add_to(float* to, float x) { *to += x; }
inline void add_to(float* to, float x, float y) {
  add_to(to, x);
  add_to(to + 1, y);
}
inline void add_to(float* to, float x, float y, float z, float w) {
  add_to(to, x, y);
  add_to(to + 2, z, w);
}

namespace cuda_on_cpu {

inline double towards_zero(double x, int exponent) {  // a multiple of 2^exponent
  return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent);
}

// c + the sum of a[k] * b[k] as a tensor core has it.
template <int K>
float tensor_core(float c, const float (&a)[K], const float (&b)[K]) {
  double terms[K + 1], sum = 0;
  terms[K] = c;
  for (int k = 0; k < K; ++k) terms[k] = static_cast<double>(a[k]) * b[k];
  double largest = 0;
  for (const double term : terms) {
    sum += term;
    largest = std::max(largest, std::fabs(term));
  }
  if (!std::isfinite(sum) || largest == 0) return static_cast<float>(sum);
  const int exponent = std::max(std::ilogb(largest) - 24, -149);
  sum = 0;
  for (const double term : terms) sum += towards_zero(term, exponent);
  return sum == 0 ? 0.f
                  : static_cast<float>(towards_zero(sum, std::max(std::ilogb(sum) - 23, -149)));
}

// One piece of a register: of 16 bits, or of 32.
struct HalfPiece {
  static float at(unsigned x, int i) {
    return half_to_float(static_cast<unsigned short>(x >> 16 * i));
  }
};
struct BfloatPiece {
  static float at(unsigned x, int i) { return __uint_as_float(x >> 16 * i << 16); }
};
struct Tf32Piece {
  static float at(unsigned x, int) { return __uint_as_float(x); }
};

// m16n8k(P * 4 * (Registers of b)); P pieces in a register. Register r of a is row group + 8 * (r % 2), and that of b
// column group, numbers 4 P * (r / 2) + P * quad of the depth.
template <class Piece, int P, int R>
void mma(float (&c)[4], const unsigned* a, const unsigned (&b)[R]) {
  struct Registers {
    unsigned a[2 * R], b[R];
  } mine;
  std::copy(a, a + 2 * R, mine.a);
  std::copy(b, b + R, mine.b);
  const Together<Registers> all(100 + 10 * R + P, mine);
  const int group = (threadIdx.x & 31) / 4, quad = threadIdx.x & 3;
  float rows[2][4 * P * R], columns[2][4 * P * R];
  for (int t = 0; t < 4; ++t) {
    const Registers of_row = all.of(4 * group + t);
    const Registers of_column[2] = {all.of(4 * (2 * quad) + t), all.of(4 * (2 * quad + 1) + t)};
    for (int r = 0; r < R; ++r) {
      for (int i = 0; i < P; ++i) {
        const int k = 4 * P * r + P * t + i;
        for (int two = 0; two < 2; ++two) {
          rows[two][k] = Piece::at(of_row.a[2 * r + two], i);
          columns[two][k] = Piece::at(of_column[two].b[r], i);
        }
      }
    }
  }
  for (int i = 0; i < 4; ++i) c[i] = tensor_core(c[i], rows[i / 2], columns[i % 2]);
}

}  // namespace cuda_on_cpu

inline void mma_tf32(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  cuda_on_cpu::mma<cuda_on_cpu::Tf32Piece, 1, 2>(c, a, {b0, b1});
}
inline void mma_f16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  cuda_on_cpu::mma<cuda_on_cpu::HalfPiece, 2, 2>(c, a, {b0, b1});
}
inline void mma_f16(float (&c)[4], const unsigned (&a)[2], unsigned b) {
  cuda_on_cpu::mma<cuda_on_cpu::HalfPiece, 2, 1>(c, a, {b});
}
inline void mma_bf16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  cuda_on_cpu::mma<cuda_on_cpu::BfloatPiece, 2, 2>(c, a, {b0, b1});
}
inline void mma_bf16(float (&c)[4], const unsigned (&a)[2], unsigned b) {
  cuda_on_cpu::mma<cuda_on_cpu::BfloatPiece, 2, 1>(c, a, {b});
}
