// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/captured_graph.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

[[noreturn]] void refuse_graphs() { throw DeviceError("this build of tensoa has no CUDA graphs"); }

}  // namespace

struct CapturedGraph::Captured {};

CapturedGraph::CapturedGraph(const Queue& /*queue*/, const std::function<void()>& /*work*/) {
  refuse_graphs();
}
CapturedGraph::~CapturedGraph() = default;
void CapturedGraph::replay(const Queue& /*queue*/) const { refuse_graphs(); }

}  // namespace tensoa::pytorch
