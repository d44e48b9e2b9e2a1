// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bodies of foreign_view.hpp. Each source becomes a ForeignColumn; foreign_view.cpp checks them.

namespace tensoa::detail {

[[noreturn]] void throw_other_device(std::string_view name, Device there, Device device);

template <class Source>
using ForeignSourceOf = ForeignSource<std::remove_cvref_t<Source>>;

template <class Source>
concept HasForeignSource =
    requires(std::remove_reference_t<Source>& source) { ForeignSourceOf<Source>::get(source); };

template <class Source>
inline constexpr bool kIsPlanes = false;
template <class T>
inline constexpr bool kIsPlanes<Planes<T>> = true;

/// SoAParametersImpl and SoAConstParametersImpl of cms-sw/cmssw, DataFormats/SoATemplate.
template <class Source>
concept ForeignRecord = requires(const Source& record) {
  typename Source::ValueType;
  Source::columnType;
  record.addr_;
};

template <class Source>
inline constexpr bool kIsSizedForeignRecord = false;
template <ForeignRecord Source, std::integral Size>
inline constexpr bool kIsSizedForeignRecord<std::tuple<Source, Size>> = true;

template <class Source>
concept EigenLike = requires(std::remove_reference_t<Source>& source) {
  source.data();
  source.rows();
  source.cols();
  source.innerStride();
  source.outerStride();
  static_cast<bool>(std::remove_cvref_t<Source>::IsRowMajor);
};

/// Eigen's Matrix and Array, which own their elements, name themselves as their PlainObject.
template <class Source>
concept OwningEigenLike =
    std::same_as<std::remove_cvref_t<Source>, typename std::remove_cvref_t<Source>::PlainObject>;

template <class T>
constexpr bool has_dtype(DType dtype) {
  if constexpr (Element<T>) return kDTypeOf<T> == dtype;
  return false;
}

/// Adds the address, once its type is right.
template <FieldInfo kField, bool kConst, class T>
constexpr ForeignColumn foreign_column(T* data, ForeignColumn column) noexcept {
  static_assert(has_dtype<T>(kField.dtype),
                "foreign_view: the elements of a source must have exactly the type of its field; "
                "nothing is converted");
  static_assert(kConst || !std::is_const_v<T>,
                "foreign_view: a source is const; use foreign_const_view, or pass memory that may "
                "be written");
  column.data = const_cast<std::remove_const_t<T>*>(data);
  return column;
}

template <FieldInfo kField, bool kConst, ForeignRecord Source>
constexpr ForeignColumn foreign_record(const Source& record, std::int64_t rows) noexcept {
  using Type = std::remove_const_t<decltype(Source::columnType)>;
  constexpr ColumnKind kKind = kField.kind;
  constexpr bool kIsEigen = Source::columnType == Type::eigen;
  static_assert((kKind == ColumnKind::kScalar) == (Source::columnType == Type::scalar) &&
                    (kKind == ColumnKind::kPlain) == (Source::columnType == Type::column),
                "foreign_view: the kind of a record must be that of its field: scalar for a "
                "Scalar, column for a plain column, eigen for a Vector or Matrix");
  ForeignColumn column;
  if constexpr (kKind != ColumnKind::kScalar) column.rows = rows;
  if constexpr (kIsEigen) {
    // Component planes follow the storage order of the element type.
    using Value = typename Source::ValueType;
    column.pitch = count_of(record.stride_);
    column.element_rows = Value::RowsAtCompileTime;
    column.element_columns = Value::ColsAtCompileTime;
    column.row_major = static_cast<bool>(Value::IsRowMajor) && column.element_rows > 1;
  }
  // A record of const Eigen elements has a pointer to mutable ones; it is its own ConstType.
  if constexpr (requires { requires std::same_as<Source, typename Source::ConstType>; }) {
    using Address = std::remove_reference_t<decltype(*record.addr_)>;
    return foreign_column<kField, kConst>(static_cast<const Address*>(record.addr_), column);
  } else {
    return foreign_column<kField, kConst>(record.addr_, column);
  }
}

template <FieldInfo kField, bool kConst, class Source>
constexpr ForeignColumn read_source(Source&& source) {
  using Plain = std::remove_cvref_t<Source>;
  constexpr ColumnKind kKind = kField.kind;
  constexpr bool kHasPlanes = kKind == ColumnKind::kVector || kKind == ColumnKind::kMatrix;

  if constexpr (HasForeignSource<Source>) {
    return read_source<kField, kConst>(ForeignSourceOf<Source>::get(source));
  } else if constexpr (kIsPlanes<Plain>) {
    static_assert(kHasPlanes,
                  "foreign_view: Planes are for a Vector or Matrix; a plain column takes a pointer "
                  "or a range, a Scalar a pointer");
    return foreign_column<kField, kConst>(source.data(),
                                          {.elements = source.elements(), .pitch = source.pitch()});
  } else if constexpr (kIsSizedForeignRecord<Plain>) {
    return foreign_record<kField, kConst>(std::get<0>(source), count_of(std::get<1>(source)));
  } else if constexpr (ForeignRecord<Plain>) {
    return foreign_record<kField, kConst>(source, ForeignColumn::kUnbounded);
  } else if constexpr (EigenLike<Source>) {
    static_assert(kKind != ColumnKind::kScalar, "foreign_view: a Scalar takes a pointer");
    static_assert(std::is_lvalue_reference_v<Source> || !OwningEigenLike<Source>,
                  "foreign_view: a source is a temporary that owns its memory; keep it in a "
                  "variable that outlives the view");
    return foreign_column<kField, kConst>(source.data(),
                                          {.rows = count_of(source.rows()),
                                           .pitch = count_of(source.outerStride()),
                                           .inner_stride = count_of(source.innerStride()),
                                           .planes = count_of(source.cols()),
                                           .row_major = static_cast<bool>(Plain::IsRowMajor)});
  } else if constexpr (ForeignPointer<Source>) {
    static_assert(!kHasPlanes,
                  "foreign_view: a Vector or Matrix needs to know where its planes lie; pass "
                  "Planes{pointer, pitch}, or a column-major Eigen matrix of n rows");
    return foreign_column<kField, kConst>(source, {});
  } else if constexpr (ForeignRange<Source>) {
    static_assert(kKind != ColumnKind::kScalar, "foreign_view: a Scalar takes a pointer");
    static_assert(!kHasPlanes,
                  "foreign_view: a Vector or Matrix needs to know where its planes lie; pass "
                  "Planes{range, pitch}, or a column-major Eigen matrix of n rows");
    static_assert(std::ranges::borrowed_range<Source>,
                  "foreign_view: a source is a temporary that owns its memory; keep it in a "
                  "variable that outlives the view");
    return foreign_column<kField, kConst>(std::ranges::data(source),
                                          {.rows = count_of(std::ranges::size(source))});
  } else {
    static_assert(sizeof(Plain) == 0,
                  "foreign_view: a source is none of: pointer, contiguous range, Planes, Eigen "
                  "matrix, CMSSW column record; specialise ForeignSource for its type");
    return {};
  }
}

/// @throws BindingError where a source stores a device other than that of the view
template <class Source>
void require_on(const Source& source, Device device, std::string_view name) {
  if constexpr (requires {
                  { ForeignSourceOf<Source>::device(source) } -> std::same_as<Device>;
                }) {
    const Device there = ForeignSourceOf<Source>::device(source);
    if (there != device) throw_other_device(name, there, device);
  }
}

template <template <template <class> class> class Layout, template <class> class Policy,
          bool kConst, class... Sources>
BasicView<Layout<Policy>, Layout, kConst> make_foreign_view(std::int64_t n, Device device,
                                                            Sources&&... sources) {
  constexpr std::size_t kCount = kFieldCount<Layout>;
  static_assert(sizeof...(Sources) == kCount,
                "foreign_view: takes one source for each field of the layout, in declaration "
                "order");
  if constexpr (sizeof...(Sources) == kCount) {
    auto found = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (require_on(sources, device, kFieldNames<Layout>[kIndex]), ...);
      return std::array<ForeignColumn, kCount>{
          read_source<kFieldInfo<Layout>[kIndex], kConst>(std::forward<Sources>(sources))...};
    }(std::make_index_sequence<kCount>{});
    check_foreign_columns("foreign_view", found, kFieldInfo<Layout>, kFieldNames<Layout>, n);
    return view_over(std::type_identity<BasicView<Layout<Policy>, Layout, kConst>>{}, found,
                     static_cast<std::size_t>(n), device);
  }
}

}  // namespace tensoa::detail
