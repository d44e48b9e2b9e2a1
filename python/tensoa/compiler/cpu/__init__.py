# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""From typed programs to C++ for one thread of a CPU, and to a shared library.

    source = cpu.generate(passes.simplified(program))
    cpu.build(source, "x86-64-v4", "program.so")

The library needs libm and libc only, keeps no state, allocates nothing, throws nothing and has this C interface:

    typedef struct { void* data; int64_t pitch; } tensoa_block;
    int64_t tensoa_program_abi(void);                          // 1
    int64_t tensoa_program_workspace(const int64_t* rows);     // bytes for rows[i] rows in collection i
    void tensoa_program_run(const tensoa_block* blocks, const int64_t* rows, void* workspace);

`blocks`: of the inputs, then of the outputs: the first plane in memory and the elements from one plane to the next;
columns may lie at any address that suits their elements. `rows`: of each collection, 0 and more. `workspace`: aligned to
64 bytes, of one call at a time. Inputs are never written; of the outputs only their rows are. Sums are made in the
order of the rows, so results do not change from call to call. An index outside of the rows that it refers to reads
NaN and adds nothing, where torch would throw: that costs one comparison a row, and a library without exceptions
cannot throw.
"""

from tensoa.compiler.cpu.generate import ABI, described, dump, generate, schedule
from tensoa.compiler.cpu.library import LEVELS, build
from tensoa.compiler.cpu.source import Source

__all__ = ["ABI", "LEVELS", "Source", "build", "described", "dump", "generate", "schedule"]
