// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::pytorch {

/// Limits torch's pools to one thread, because the caller owns the threads: the inter-op pool of the
/// process, and the intra-op pool of the calling thread (torch keeps its size per thread). Call it
/// before each use of torch; only the first call in a thread has an effect.
void pin_torch_to_one_thread();

}  // namespace tensoa::pytorch
