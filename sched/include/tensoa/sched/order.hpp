// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::sched {

/// The order in which a sink gets events.
enum class Order {
  kInput,       ///< that of the source; an event that is done waits for those before it
  kCompletion,  ///< as they are done
};

}  // namespace tensoa::sched
