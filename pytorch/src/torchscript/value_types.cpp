// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/value_types.hpp"

#include <algorithm>
#include <cstdint>

namespace tensoa::pytorch {
namespace {

using c10::TypeKind;

/// Numbers, strings and the like: values that have no second name through which they could be written.
bool is_immutable(TypeKind kind) {
  switch (kind) {
    case TypeKind::BoolType:
    case TypeKind::ComplexType:
    case TypeKind::DeviceObjType:
    case TypeKind::EnumType:
    case TypeKind::FloatType:
    case TypeKind::FunctionType:
    case TypeKind::IntType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
    case TypeKind::NoneType:
    case TypeKind::NumberType:
    case TypeKind::QSchemeType:
    case TypeKind::ScalarTypeType:
    case TypeKind::StreamObjType:
    case TypeKind::StringType:
      return true;
    default:
      return false;
  }
}

enum class Lists : std::uint8_t { kWhole, kElements };

/// Whether `is_it` is true of the kind of a mutable part of a value of `type`. Parts are the members of
/// tuples, optionals and unions; a list or dict is one part (kWhole), or its elements are (kElements).
template <class Predicate>
bool any_part(const c10::Type& type, Lists lists, Predicate is_it) {
  const TypeKind kind = type.kind();
  const bool is_list = kind == TypeKind::ListType || kind == TypeKind::DictType;
  if (kind == TypeKind::OptionalType || kind == TypeKind::TupleType ||
      kind == TypeKind::UnionType || (is_list && lists == Lists::kElements)) {
    return std::ranges::any_of(type.containedTypes(),
                               [&](const auto& inner) { return any_part(*inner, lists, is_it); });
  }
  return !is_immutable(kind) && is_it(kind);
}

bool is_any(TypeKind /*kind*/) { return true; }
bool is_no_tensor(TypeKind kind) { return kind != TypeKind::TensorType; }

}  // namespace

bool is_plain(const c10::Type& type) { return !any_part(type, Lists::kWhole, is_any); }

bool holds_container(const c10::Type& type) { return any_part(type, Lists::kWhole, is_no_tensor); }

bool holds_tensor(const c10::Type& type) { return any_part(type, Lists::kElements, is_any); }

bool holds_object(const c10::Type& type) { return any_part(type, Lists::kElements, is_no_tensor); }

}  // namespace tensoa::pytorch
