// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

// The names of fields, those inside of Subs included. Included by fields.hpp, where the layout's
// members are counted and named.

namespace tensoa {
namespace detail {

/// Joins the names of members and of the fields inside them: "origin" and "vertex" are
/// "origin.vertex". The characters are the layout's own.
template <template <template <class> class> class Layout>
struct FieldNames {
  struct Parts {
    std::string_view member;
    std::string_view inside;  ///< empty where the member is a field itself
    constexpr std::size_t size() const {
      return member.size() + (inside.empty() ? 0 : 1 + inside.size());
    }
  };

  template <class Field>
  static constexpr std::array<std::string_view, 1> inside(Tag<Field>) {
    return {};
  }
  template <template <template <class> class> class Inner>
  static constexpr const auto& inside(const Inner<Tagged>&) {
    return FieldNames<Inner>::kNames;
  }

  static constexpr std::array<Parts, kFieldCount<Layout>> kParts = [] {
    std::array<Parts, kFieldCount<Layout>> parts{};
    std::size_t field = 0;
    std::size_t member = 0;
    apply_fields<kMemberCount<Layout>>(Layout<Tagged>{}, [&](const auto&... tags) {
      const auto add = [&](const auto& names) {
        for (const std::string_view name : names) {
          parts[field++] = {kMemberNames<Layout>[member], name};
        }
        ++member;
      };
      (add(inside(tags)), ...);
    });
    return parts;
  }();

  static constexpr std::size_t kLength = [] {
    std::size_t length = 0;
    for (const Parts& parts : kParts) length += parts.size();
    return length;
  }();

  static constexpr std::array<char, kLength> kText = [] {
    std::array<char, kLength> text{};
    char* to = text.data();
    for (const Parts& parts : kParts) {
      to = std::copy(parts.member.begin(), parts.member.end(), to);
      if (!parts.inside.empty()) *to++ = '.';
      to = std::copy(parts.inside.begin(), parts.inside.end(), to);
    }
    return text;
  }();

  static constexpr std::array<std::string_view, kFieldCount<Layout>> kNames = [] {
    std::array<std::string_view, kFieldCount<Layout>> names{};
    const char* from = kText.data();
    for (std::size_t field = 0; field < names.size(); ++field) {
      names[field] = {from, kParts[field].size()};
      from += names[field].size();
    }
    return names;
  }();
};

}  // namespace detail

}  // namespace tensoa
