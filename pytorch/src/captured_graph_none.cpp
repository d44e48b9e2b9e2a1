// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "captured_graph.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

[[noreturn]] void refuse() { throw DeviceError("this build of tensoa has no CUDA graphs"); }

}  // namespace

struct CapturedGraph::Captured {};

CapturedGraph::CapturedGraph(const Queue& /*queue*/, const std::function<void()>& /*work*/) {
  refuse();
}
CapturedGraph::~CapturedGraph() = default;
void CapturedGraph::replay(const Queue& /*queue*/) const { refuse(); }

void copy_lines(const Queue& /*queue*/, std::byte* /*to*/, std::size_t /*to_pitch*/,
                const std::byte* /*from*/, std::size_t /*from_pitch*/, std::size_t /*bytes*/,
                std::size_t /*lines*/) {
  refuse();
}

}  // namespace tensoa::pytorch
