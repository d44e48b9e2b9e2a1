// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// In the role of a profiler: a library that NVTX loads because NVTX_INJECTION64_PATH names it
// (nvtx3/nvtxDetail/nvtxInit.h). It keeps the names of the ranges, nested ones with their depth.

#include <nvtx3/nvToolsExt.h>

#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string record;
thread_local int depth = 0;

int push(const char* name) {
  const std::lock_guard lock(mutex);
  record += std::to_string(depth) + name + '\n';
  return depth++;
}

int pop() { return --depth; }

}  // namespace

extern "C" {

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}

/// The ranges so far, a line each: depth and name.
const char* recorded_ranges() {
  const std::lock_guard lock(mutex);
  thread_local std::string copy;
  copy = record;
  return copy.c_str();
}

}  // extern "C"
