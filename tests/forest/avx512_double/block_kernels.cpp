// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The kernels for AVX-512, compiled against the double of its instructions, under another name.
#include <immintrin.h>  // the double; the compiler's own header must not see what follows

#define __AVX512F__ 1
#define __AVX512BW__ 1
#define __AVX512DQ__ 1
#define __AVX512VL__ 1
#define __builtin_cpu_supports(name) 1
#define avx512_block_kernels doubled_avx512_block_kernels

#include "kernels/block_kernels_avx512.cpp"
