// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The interface of another program to Python: collections as handles, for ctypes. A
// failing function returns null and leaves its message in last_error().

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/interop/arrow_device.hpp"
#include "tensoa/interop/dlpack.hpp"
#include "tensoa/interop/tensor_columns.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa {
namespace {

template <template <class> class F>
struct PythonHit {
  F<float> x, y, z;
  F<std::int32_t> layer;
  F<bool> is_good;
  F<BFloat16> weight;
  F<Vector<float, 3>> direction;
  F<Scalar<double>> field;
};

template <template <class> class F>
struct PythonPoint {
  F<float> x, y, z;
};

std::atomic<int> live_collections = 0;
thread_local std::string message;

struct Counted {
  PortableCollection<PythonHit> hits;
  Counted(std::int64_t n, Device device) : hits(n, device) { ++live_collections; }
  ~Counted() { --live_collections; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

/// The program's side: a shared collection and the queue that works on it.
struct Handle {
  std::shared_ptr<Counted> collection;
  Queue queue;
};

template <class Function>
auto guarded(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const Error& error) {
    message = error.what();
    return {};
  }
}

void fill(View<PythonHit> view) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto value = static_cast<float>(i);
    view.x[i] = value;
    view.y[i] = value + 0.25F;
    view.z[i] = value + 0.5F;
    view.layer[i] = static_cast<std::int32_t>(i) * 3;
    view.is_good[i] = i % 2 == 0;
    view.weight[i] = BFloat16{0x3F80};  // 1
    for (std::size_t k = 0; k < 3; ++k) view.direction[i][k] = 10 * value + static_cast<float>(k);
  }
  *view.field = 3.8;
}

double sum(const TensorView& tensor) {
  double total = 0;
  if (tensor.rank == 0) return *static_cast<const float*>(tensor.data);
  if (tensor.rank == 1) {
    for (std::int64_t i = 0; i < tensor.size_of_dim[0]; ++i) {
      total += static_cast<const float*>(tensor.data)[i * tensor.stride_of_dim[0]];
    }
    return total;
  }
  for (std::int64_t i = 0; i < tensor.size_of_dim[0]; ++i)
    total += sum(interop::select(tensor, 0, i));
  return total;
}

}  // namespace

extern "C" {

const char* last_error() { return message.c_str(); }
int count_live_collections() { return live_collections; }

/// @param cuda index of the device, -1 for the CPU
Handle* collection_new(std::int64_t n, int cuda) {
  return guarded([&]() -> Handle* {
    const Device device = cuda < 0 ? Device::cpu() : Device::cuda(cuda);
    const Queue queue(device);
    auto collection = std::make_shared<Counted>(n, device);
    Counted host(n, Device::cpu());
    fill(host.hits.view());
    copy(queue, host.hits, collection->hits);
    queue.wait();
    return new Handle{collection, queue};
  });
}
void collection_delete(Handle* handle) { delete handle; }
void* collection_queue(const Handle* handle) { return handle->queue.native_handle(); }

const void* collection_address(const Handle* handle, int field) {
  return handle->collection->hits.data() +
         MemoryPlan<PythonHit>(handle->collection->hits.capacity())
             .offset_of[static_cast<std::size_t>(field)];
}
float collection_read_x(const Handle* handle, std::int64_t i) {
  return handle->collection->hits.const_view().x[static_cast<std::size_t>(i)];
}
void collection_write_x(const Handle* handle, std::int64_t i, float value) {
  handle->collection->hits.view().x[static_cast<std::size_t>(i)] = value;
}

/// Columns x, y, z as a tensor [n, 3]; `stream` as Python gives it, null for None.
DLManagedTensorVersioned* collection_to_dlpack(const Handle* handle, bool read_only,
                                               const std::int64_t* stream) {
  return guarded([&]() -> DLManagedTensorVersioned* {
    const auto records = handle->collection->hits.view().records();
    SoAMetadata<PythonHit> blocks(handle->collection->hits.size());
    blocks.append_block("position", records.x(), records.y(), records.z());
    TensorView tensor = blocks.blocks()[0].tensor;
    tensor.read_only = read_only;
    return interop::to_dlpack(tensor, handle->collection, handle->queue,
                              stream == nullptr ? std::nullopt : interop::DLPackStream(*stream))
        .release();
  });
}
void dlpack_release(DLManagedTensorVersioned* tensor) { interop::ReleaseDLPack()(tensor); }

interop::ImportedTensor* tensor_import(DLManagedTensorVersioned* tensor) {
  return guarded([&] { return new interop::ImportedTensor(interop::from_dlpack(tensor)); });
}
void tensor_delete(interop::ImportedTensor* tensor) { delete tensor; }
const void* tensor_address(const interop::ImportedTensor* tensor) { return tensor->view.data; }
bool tensor_is_read_only(const interop::ImportedTensor* tensor) { return tensor->view.read_only; }
bool tensor_is_copied(const interop::ImportedTensor* tensor) { return tensor->is_copied; }
double tensor_sum(const interop::ImportedTensor* tensor) { return sum(tensor->view); }

/// Rows of a tensor [n, 3] as columns: z = x + y.
bool tensor_add_columns(const interop::ImportedTensor* tensor) {
  return guarded([&] {
    // [columns]
    std::vector<TensorView> columns;
    for (int k = 0; k < 3; ++k) columns.push_back(interop::select(tensor->view, 1, k));
    const View<PythonPoint> points = interop::view_of<PythonPoint>(columns);
    for (std::size_t i = 0; i < points.size(); ++i) points.z[i] = points.x[i] + points.y[i];
    // [/columns]
    return true;
  });
}

bool collection_to_arrow(const Handle* handle, ArrowDeviceArray* array, ArrowSchema* schema) {
  return guarded([&] {
    interop::to_arrow(handle->collection->hits.view(), handle->collection, handle->queue,
                      {array, schema});
    return true;
  });
}
bool collection_scalars_to_arrow(const Handle* handle, ArrowDeviceArray* array,
                                 ArrowSchema* schema) {
  return guarded([&] {
    interop::scalars_to_arrow(handle->collection->hits.view(), handle->collection, handle->queue,
                              {array, schema});
    return true;
  });
}

using Columns = interop::ImportedColumns<PythonHit>;

Columns* columns_import(ArrowDeviceArray* rows, ArrowSchema* rows_schema, ArrowDeviceArray* scalars,
                        ArrowSchema* scalars_schema) {
  return guarded([&] {
    return new Columns(interop::from_arrow<PythonHit>(Queue(Device::cpu()), {rows, rows_schema},
                                                      {scalars, scalars_schema}));
  });
}
void columns_delete(Columns* columns) { delete columns; }
std::int64_t columns_size(const Columns* columns) {
  return static_cast<std::int64_t>(columns->view.size());
}
const void* columns_x(const Columns* columns) { return columns->view.x.data(); }
double columns_sum_of_x(const Columns* columns) {
  double total = 0;
  for (std::size_t i = 0; i < columns->view.size(); ++i) total += columns->view.x[i];
  return total;
}
double columns_field(const Columns* columns) { return *columns->view.field; }

}  // extern "C"
}  // namespace tensoa
