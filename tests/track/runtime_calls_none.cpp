// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime_calls.hpp"

namespace tensoa::test {

RuntimeCalls runtime_calls() { return {}; }

}  // namespace tensoa::test
