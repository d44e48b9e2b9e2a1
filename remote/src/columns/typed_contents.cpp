// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "columns/typed_contents.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace tensoa::remote {
namespace {

using protobuf::Bytes;
using protobuf::DecodeError;
using protobuf::Field;

/// The field of InferTensorContents that has numbers of a type; 0: no field has them.
unsigned field_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
      return 2;
    case DType::kI64:
      return 3;
    case DType::kU8:
      return 4;
    case DType::kF32:
      return 6;
    case DType::kF64:
      return 7;
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  return 0;
}

/// Appends bytes to elements whose number is known.
class Elements {
 public:
  Elements(std::size_t size, std::size_t count) : size_(size), bytes_(size * count) {}

  void append(Bytes fixed) {
    if (fixed.size() > bytes_.size() - used_)
      throw DecodeError{"there are more numbers than elements"};
    fixed.for_each_part([&](protobuf::Piece part) {
      std::memcpy(bytes_.data() + used_, part.data(), part.size());
      used_ += part.size();
    });
  }

  /// Little-endian, as this machine is: the lower bytes of the number.
  void append(std::uint64_t number) {
    if (used_ == bytes_.size()) throw DecodeError{"there are more numbers than elements"};
    std::memcpy(bytes_.data() + used_, &number, size_);
    used_ += size_;
  }

  std::vector<std::byte> take() {
    if (used_ != bytes_.size()) throw DecodeError{"there are fewer numbers than elements"};
    return std::move(bytes_);
  }

 private:
  std::size_t size_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
};

}  // namespace

std::vector<std::byte> raw_of(Bytes typed, DType dtype, std::size_t elements) {
  const unsigned wanted = field_of(dtype);
  if (wanted == 0) throw DecodeError{"numbers of this type are not in raw bytes"};
  // A number takes a byte at least: no sizes of a server's choice make an allocation.
  if (elements > typed.size()) throw DecodeError{"there are fewer numbers than elements"};
  const bool is_fixed = dtype == DType::kF32 || dtype == DType::kF64;
  Elements result(size_of(dtype), elements);
  for_each_field(typed, [&](const Field& field) {
    if (field.number != wanted) return;
    if (is_fixed) return result.append(field.bytes);
    if (field.type == protobuf::WireType::kVarint) return result.append(field.value);
    Bytes packed = field.bytes;
    while (!packed.empty()) result.append(packed.varint());
  });
  return result.take();
}

}  // namespace tensoa::remote
