// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa.h"
#include "tensoa/core/queue.hpp"

struct tensoa_queue {
  tensoa::Queue queue;
};
