// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/copy_report.hpp"

#include <utility>

namespace tensoa {

std::string to_string(const CopyReport& report) {
  constexpr std::pair<CopyReason, const char*> kReasons[] = {
      {CopyReason::kInputIsWritten, "the model may write an input"},
      {CopyReason::kRepack, "a block is repacked"},
      {CopyReason::kRagged, "ragged data is made dense"},
      {CopyReason::kOwnOutput, "the engine allocates its outputs"},
      {CopyReason::kCudaGraph, "a CUDA graph works in its own memory"},
      {CopyReason::kOverlap, "a result, or an input, lay where an output is written"},
      {CopyReason::kService, "columns of a GPU pass through other memory to a service"},
      {CopyReason::kRowMajor, "the engine has row-major tensors alone"},
  };
  std::string text = std::to_string(report.bytes_in) + " bytes in, " +
                     std::to_string(report.bytes_out) + " bytes out";
  std::string why;
  for (const auto& [reason, words] : kReasons) {
    if (report.has(reason)) why += (why.empty() ? "" : ", ") + std::string(words);
  }
  return why.empty() ? text : text + " (" + why + ')';
}

}  // namespace tensoa
