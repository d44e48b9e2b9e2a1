// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/soa/portable_collection.hpp"

// The description of a binding: refused with an InputError, or read so that writing it and reading it
// again gives the same, and comparable with a binding.

namespace {

using namespace tensoa;

template <template <class> class F>
struct Hit {
  F<float> x, y;
  F<Vector<float, 3>> u;
  F<Scalar<double>> field;
};

/// Of one block over each kind of column, and one to repack.
const Binding& some_binding() {
  static const PortableCollection<Hit> hits(5, Device::cpu());
  static const Binding binding = [] {
    const auto records = hits.const_view().records();
    SoAMetadata<Hit> inputs(hits.size());
    inputs.append_block("xy", records.x(), records.y());
    inputs.append_block("u", records.u());
    inputs.append_block("field", records.field());
    inputs.append_block(Repack{}, "repacked", records.y(), records.x());
    return ModelMetadata<Hit, Hit>(inputs, SoAMetadata<Hit>(hits.size())).binding();
  }();
  return binding;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const BindingDescription read = parse_binding({reinterpret_cast<const char*>(data), size});
    const std::string json = to_json(read);
    if (to_json(parse_binding(json)) != json) std::abort();
    for (const BlockDescription& block : read.inputs) {
      for (const BoundBlock& bound : some_binding().inputs) difference(block, bound);
    }
  } catch (const InputError&) {
  }
  return 0;
}
