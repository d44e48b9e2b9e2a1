// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::detail {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError(
      "this build of tensoa has no GPU support; configure with -DTENSOA_DEVICE=cuda or hip");
}

}  // namespace

int gpu_count() noexcept { return 0; }
std::string gpu_problem() { return ""; }
std::string gpu_name(int) { refuse(); }
DeviceMemory gpu_memory(int) { refuse(); }
int gpu_device_of(const void*) { return -1; }
void gpu_wait(int) { refuse(); }
int gpu_enter(int) { refuse(); }
void gpu_leave(int) noexcept {}
void* gpu_stream_create(int) { refuse(); }
void gpu_stream_destroy(int, void*) noexcept {}
void gpu_stream_wait(int, void*) { refuse(); }
void gpu_stream_when_done(int, void*, std::function<void(std::exception_ptr)>) { refuse(); }
int gpu_stream_device(int, void*) { refuse(); }
void* gpu_event_create(int) { refuse(); }
void gpu_event_destroy(int, void*) noexcept {}
void gpu_event_record(int, void*, void*) { refuse(); }
bool gpu_event_is_reached(int, void*) { refuse(); }
void gpu_event_wait(int, void*) { refuse(); }
void gpu_stream_wait_event(int, void*, void*) { refuse(); }
void* gpu_allocate(int, std::size_t) { refuse(); }
void gpu_free(int, void*) noexcept {}
void* gpu_allocate_in_order(int, void*, std::size_t) { refuse(); }
void gpu_free_in_order(int, void*, void*) noexcept {}
MemoryHandle gpu_export(int, void*) { refuse(); }
void* gpu_import(int, const MemoryHandle&) { refuse(); }
void gpu_import_end(int, void*) noexcept {}
void* gpu_allocate_pinned(int, std::size_t) { refuse(); }
void gpu_free_pinned(int, void*) noexcept {}
void gpu_copy(int, void*, void*, const void*, std::size_t) { refuse(); }
void gpu_copy_2d(int, void*, void*, std::size_t, const void*, std::size_t, std::size_t,
                 std::size_t) {
  refuse();
}
void gpu_zero(int, void*, void*, std::size_t) { refuse(); }

}  // namespace tensoa::detail
