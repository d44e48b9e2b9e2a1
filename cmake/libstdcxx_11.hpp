// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included first in all sources of the wheel and of make dist, which have to run with the C++ library of g++ 11 (Enterprise Linux 9,
// manylinux_2_34): takes the older of two versions of a function that are the same but for `noexcept`. make wheel and make binaries
// find others.

__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
