// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "protobuf/decoder.hpp"

namespace tensoa::test {

/// Where a ModelInfer request says that a tensor is. Without a region: in the message.
struct Range {
  std::string region;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The ranges of the tensors of field `number`: 5 inputs, 6 outputs. Their parameters are in `field`.
inline std::vector<Range> ranges_of(const std::string& request, unsigned number,
                                    unsigned parameters) {
  std::vector<Range> ranges;
  const std::vector pieces{std::as_bytes(std::span(request))};
  for_each_field(remote::protobuf::Bytes(pieces), [&](const auto& tensor) {
    if (tensor.number != number) return;
    Range& range = ranges.emplace_back();
    for_each_field(tensor.bytes, [&](const auto& part) {
      if (part.number != parameters) return;
      std::string key;
      for_each_field(part.bytes, [&](const auto& entry) {
        if (entry.number == 1) key = entry.bytes.text();
        if (entry.number != 2) return;
        for_each_field(entry.bytes, [&](const auto& value) {
          if (key == "shared_memory_region") range.region = value.bytes.text();
          if (key == "shared_memory_offset") range.offset = value.value;
          if (key == "shared_memory_byte_size") range.bytes = value.value;
        });
      });
    });
  });
  return ranges;
}

}  // namespace tensoa::test
