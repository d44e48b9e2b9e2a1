// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/c/dlpack_abi.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <vector>

#include "fuzz/columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/interop/dlpack.hpp"
#include "tensoa/interop/tensor_columns.hpp"

// Tensors that fit Kinds, one for each field, with numbers changed: refused with a typed error, or a
// view whose elements do not share memory and, where the tensors lie in it, lie in the memory.

namespace {

using namespace tensoa;

alignas(64) std::array<std::byte, 4096> memory;

struct Foreign {
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> strides{};
  DLManagedTensorVersioned managed{};
  int released = 0;

  void set(std::size_t place, DLDataType dtype, std::vector<std::int64_t> size,
           std::vector<std::int64_t> stride) {
    std::ranges::copy(size, sizes.begin());
    std::ranges::copy(stride, strides.begin());
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.manager_ctx = &released;
    managed.deleter = [](auto* self) { ++*static_cast<int*>(self->manager_ctx); };
    managed.dl_tensor = {&memory[place],
                         {kDLCPU, 0},
                         static_cast<int>(size.size()),
                         dtype,
                         sizes.data(),
                         strides.data(),
                         0};
  }

  void change(FuzzedDataProvider& bytes) {
    DLTensor& tensor = managed.dl_tensor;
    const auto dim = bytes.ConsumeIntegralInRange<std::size_t>(0, kMaxRank - 1);
    switch (bytes.ConsumeIntegralInRange<int>(0, 7)) {
      case 0:
        sizes[dim] = test::edgy<std::int64_t>(bytes);
        break;
      case 1:
        strides[dim] = test::edgy<std::int64_t>(bytes);
        break;
      case 2:
        tensor.byte_offset = test::edgy<std::uint64_t>(bytes);
        break;
      case 3:
        tensor.ndim = test::edgy<std::int32_t>(bytes);
        break;
      case 4:
        tensor.dtype = {bytes.ConsumeIntegral<std::uint8_t>(), 32, 1};
        break;
      case 5:
        tensor.device.device_type = bytes.ConsumeBool() ? kDLCUDA : kDLCUDAHost;
        break;
      case 6:
        (bytes.ConsumeBool() ? tensor.shape : tensor.strides) = nullptr;
        break;
      default:
        managed.flags = bytes.ConsumeIntegral<std::uint8_t>();
    }
  }
};

bool is_inside(const TensorView& tensor) {
  auto last = static_cast<__int128>(reinterpret_cast<std::uintptr_t>(tensor.data));
  const auto begin = static_cast<__int128>(reinterpret_cast<std::uintptr_t>(memory.data()));
  if (tensor.elements() == 0) return true;
  if (last < begin) return false;
  for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
    last += static_cast<__int128>(tensor.size_of_dim[dim] - 1) * tensor.stride_of_dim[dim] *
            static_cast<__int128>(size_of(tensor.dtype));
  }
  return last + static_cast<__int128>(size_of(tensor.dtype)) <=
         begin + static_cast<__int128>(memory.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  std::array<Foreign, 4> tensors;
  const auto n = bytes.ConsumeIntegralInRange<std::int64_t>(0, 32);
  tensors[0].set(0, {kDLFloat, 32, 1}, {n}, {1});
  tensors[1].set(256, {kDLFloat, 32, 1}, {n, 3}, {1, 64});
  tensors[2].set(1024, {kDLFloat, 64, 1}, {n, 2, 2}, {1, 64, 128});
  tensors[3].set(4032, {kDLInt, 32, 1}, {1}, {1});
  while (bytes.remaining_bytes() > 0) {
    tensors[bytes.ConsumeIntegralInRange<std::size_t>(0, 3)].change(bytes);
  }
  std::vector<TensorView> views;
  std::vector<std::shared_ptr<void>> owners;
  try {
    for (Foreign& tensor : tensors) {
      const interop::ImportedTensor imported = interop::from_dlpack(&tensor.managed);
      views.push_back(imported.view);
      owners.push_back(imported.owner);
    }
    for (const TensorView& view : views) {
      const interop::ImportedTensor again =
          interop::from_dlpack(interop::to_dlpack(view, nullptr).release());
      if (to_string(again.view) != to_string(view)) std::abort();
      for (std::size_t dim = 0; dim < view.rank; ++dim) {
        if (view.size_of_dim[dim] > 0) interop::select(view, dim, view.size_of_dim[dim] - 1);
      }
    }
    const auto columns = interop::view_of<test::Kinds>(views);
    if (std::ranges::all_of(views, is_inside)) {
      test::for_each_element(columns, [](auto* element) { *element = 0; });
      test::for_each_element(columns, [](auto* element) {
        if (*element != 0) std::abort();  // written before: it shares memory with another
        *element = 1;
      });
    }
  } catch (const Error&) {
  }
  owners.clear();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].released > 1 || (i < views.size() && tensors[i].released != 1)) std::abort();
  }
  return 0;
}
