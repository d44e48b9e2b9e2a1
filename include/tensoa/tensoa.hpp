// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// All that a program needs to run models on columns. Including it makes the engines known of the layers that the
/// program links: those of packages with `tensoa::package`, of trees, too, with `tensoa::forest`, of ONNX files with
/// `tensoa::onnx`, of torch, which is opened when a model needs it, with `tensoa::tensoa`, and of torch that is linked
/// with `tensoa::pytorch`. Programs that include single headers, or are built without CMake, call
/// `package::register_engines()`, `forest::register_engines()`, `onnx::register_engines()`,
/// `pytorch::register_engines_at_need()` or `pytorch::register_engines()` themselves.

#include "tensoa/core/device.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/dtype.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/result.hpp"
#include "tensoa/core/tensor_view.hpp"
#include "tensoa/core/version.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/soa/block_collection.hpp"
#include "tensoa/soa/foreign_view.hpp"
#include "tensoa/soa/group.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/slice.hpp"
#include "tensoa/soa/soa_metadata.hpp"

#ifdef TENSOA_HAS_ONNX  // of the CMake target, as the others below
#include "tensoa/onnx/engines.hpp"
#endif
#ifdef TENSOA_HAS_PYTORCH
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/pytorch/runtime.hpp"
#elif defined TENSOA_HAS_PYTORCH_AT_NEED
#include "tensoa/pytorch/at_need.hpp"
#endif

namespace tensoa::detail {

/// In each of the user's own translation units, with the layers that it is compiled for: there a static library's
/// linker cannot drop it.
[[maybe_unused]] const bool kEnginesRegistered = [] {
#ifdef TENSOA_HAS_PACKAGE
  package::register_engines();
#endif
#ifdef TENSOA_HAS_FOREST
  forest::register_engines();
#endif
#ifdef TENSOA_HAS_ONNX
  onnx::register_engines();
#endif
#ifdef TENSOA_HAS_PYTORCH
  pytorch::register_engines();
#elif defined TENSOA_HAS_PYTORCH_AT_NEED
  pytorch::register_engines_at_need();
#endif
  return true;
}();

}  // namespace tensoa::detail
