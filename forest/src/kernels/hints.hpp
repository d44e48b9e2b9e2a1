// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// UNROLL stands before a loop over up to 8 trees or rows, so that arrays of them stay in registers. NO_UNROLL and NO_INLINE keep
// kernels short: fetching their instructions is a good part of the time of a call with few rows.

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TENSOA_UNROLL _Pragma("unroll")
#define TENSOA_NO_UNROLL _Pragma("unroll 1")
#define TENSOA_NO_INLINE __noinline__
#else
#define TENSOA_UNROLL _Pragma("GCC unroll 8")
#define TENSOA_NO_UNROLL
#define TENSOA_NO_INLINE
#endif
