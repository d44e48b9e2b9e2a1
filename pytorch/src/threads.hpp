// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::pytorch {

/// Holds torch's pools at one thread, because parallelism is the caller's: the inter-op pool of the
/// process, and the intra-op pool of the calling thread, whose property it is. Called before each use
/// of torch; only the first in a thread does anything.
void hold_torch_threads();

}  // namespace tensoa::pytorch
