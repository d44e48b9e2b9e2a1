// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/c/abi.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "fuzz/columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/interop/arrow_device.hpp"
#include "tensoa/soa/portable_collection.hpp"

// An exported batch with numbers changed: refused with a typed error, or, where no child says that it
// is longer than it is, columns in the exported memory; released once in any case.

namespace {

using namespace tensoa;

using Collection = PortableCollection<test::Kinds>;
constexpr const char* kFormats[] = {"", "+s", "c", "C", "s", "i", "l", "e", "S", "f", "g", "u"};

void change(ArrowArray& array, FuzzedDataProvider& bytes) {
  switch (bytes.ConsumeIntegralInRange<int>(0, 4)) {
    case 0:
      array.length = test::edgy<std::int64_t>(bytes);
      break;
    case 1:
      array.offset = test::edgy<std::int64_t>(bytes);
      break;
    case 2:
      array.null_count = test::edgy<std::int64_t>(bytes);
      break;
    case 3:
      array.n_buffers = bytes.ConsumeIntegralInRange<std::int64_t>(-1, array.n_buffers);
      break;
    default:
      array.n_children = bytes.ConsumeIntegralInRange<std::int64_t>(-1, array.n_children);
  }
}

void change(ArrowSchema& schema, FuzzedDataProvider& bytes) {
  switch (bytes.ConsumeIntegralInRange<int>(0, 2)) {
    case 0:
      schema.format = bytes.PickValueInArray(kFormats);
      break;
    case 1:
      schema.name = bytes.PickValueInArray({"x", "u.1", "", "m.0.1"});
      break;
    default:
      schema.n_children = bytes.ConsumeIntegralInRange<std::int64_t>(-1, schema.n_children);
  }
}

/// Changes the batch or one of its children.
void change(ArrowDeviceArray& array, ArrowSchema& schema, FuzzedDataProvider& bytes) {
  const auto child = bytes.ConsumeIntegralInRange<std::int64_t>(
      -1, std::max<std::int64_t>(array.array.n_children, 0) - 1);
  const bool is_batch = child < 0 || child >= schema.n_children;
  if (bytes.ConsumeProbability<float>() < 0.05F) {
    array.device_type = bytes.ConsumeIntegralInRange<int>(0, 3);
    array.device_id = test::edgy<std::int64_t>(bytes);
  } else if (bytes.ConsumeBool()) {
    change(is_batch ? array.array : *array.array.children[child], bytes);
  } else {
    change(is_batch ? schema : *schema.children[child], bytes);
  }
}

/// Whether the children lie in what was exported, `rows` rows of each.
bool is_honest(const ArrowArray& array, std::int64_t rows) {
  bool is_honest = true;
  for (std::int64_t i = 0; i < array.n_children; ++i) {
    const ArrowArray& child = *array.children[i];
    is_honest = is_honest && child.offset >= 0 && child.offset <= rows &&
                child.length <= rows - child.offset;
  }
  return is_honest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Queue queue(Device::cpu());
  FuzzedDataProvider bytes(data, size);
  const auto n = bytes.ConsumeIntegralInRange<std::int64_t>(0, 32);
  const auto owner = std::make_shared<Collection>(n, Device::cpu());
  const auto* const begin = owner->data();
  ArrowDeviceArray rows;
  ArrowSchema rows_schema;
  ArrowDeviceArray scalars;
  ArrowSchema scalars_schema;
  interop::to_arrow(owner->view(), owner, queue, {&rows, &rows_schema});
  interop::scalars_to_arrow(owner->view(), owner, queue, {&scalars, &scalars_schema});
  while (bytes.remaining_bytes() > 0) {
    const bool is_row = bytes.ConsumeBool();
    change(is_row ? rows : scalars, is_row ? rows_schema : scalars_schema, bytes);
  }
  const bool can_be_read = is_honest(rows.array, n) && is_honest(scalars.array, 1);
  try {
    const auto imported =
        interop::from_arrow<test::Kinds>(queue, {&rows, &rows_schema}, {&scalars, &scalars_schema});
    if (can_be_read) {
      test::for_each_element(imported.view, [&](const auto* element) {
        const auto* const at = reinterpret_cast<const std::byte*>(element);
        if (at < begin || at + sizeof(*element) > begin + owner->bytes()) std::abort();
      });
    }
  } catch (const Error&) {
  }
  if (owner.use_count() != 1) std::abort();
  return 0;
}
