// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The published program between kernels of your own, on one queue: 03_alpaka MODEL.pt [DEVICE]
// The same source for alpaka on the CPU, alpaka on a GPU, and no alpaka at all: platform.hpp.

#include <iostream>
#include <string>

#include "platform.hpp"

namespace reco {

using namespace tensoa;  // Device and Queue are reco's own, of platform.hpp

template <template <class> class F>
struct SoAInputs {
  F<float> x, y, z;  // cm
};

template <template <class> class F>
struct SoAOutputs {
  F<float> m, n;
};

// [kernels]
/// Runs before the model.
struct Fill {
  View<SoAInputs> inputs;

  RECO_FN void operator()(std::size_t i) const {
    const auto value = static_cast<float>(i);
    inputs.x[i] = value;
    inputs.y[i] = value + 100.F;
    inputs.z[i] = value + 200.F;
  }
};

/// Runs after it, on its answers.
struct Scale {
  View<SoAOutputs> outputs;

  RECO_FN void operator()(std::size_t i) const {
    outputs.m[i] *= 10.F;
    outputs.n[i] += outputs.m[i];
  }
};
// [/kernels]

void print(Queue& queue, const PortableCollection<SoAOutputs, Device>& outputs_device) {
  PortableCollection<SoAOutputs> outputs(outputs_device.capacity(), tensoa::Device::cpu());
  copy(queue, outputs_device, outputs);
  wait(queue);
  const auto view = outputs.const_view();
  for (std::size_t i = 0; i < view.size(); i += view.size() / 4) {
    std::cout << "row " << i << ": m = " << view.m[i] << ", n = " << view.n[i] << '\n';
  }
}

void run(const std::string& m_path, const Device& device) {
  Queue queue(device);
  const int batch_size = 40'000;

  // As published: the same lines as in 01_snippet.
  // clang-format off
  // [snippet]
  PortableCollection<SoAInputs, Device> inputs_device(batch_size, device);
  PortableCollection<SoAOutputs, Device> outputs_device(batch_size, device);
  // [/snippet]

  // [before]
  for_each_row(queue, batch_size, Fill{inputs_device.view()});
  // [/before]

  // [snippet]

  auto model = Model<CompilationType::kJustInTime>(m_path);          // or kAheadOfTime
  model.to(queue);

  auto input_records = inputs_device.view().records();
  auto output_records = outputs_device.view().records();
  SoAMetadata<SoAInputs> inputs_metadata(batch_size);
  inputs_metadata.append_block("features", input_records.x(), input_records.y(), input_records.z());
  SoAMetadata<SoAOutputs> outputs_metadata(batch_size);
  outputs_metadata.append_block("preds", output_records.m(), output_records.n());
  ModelMetadata<SoAInputs, SoAOutputs> metadata(inputs_metadata, outputs_metadata);

  model.forward(metadata);
  // [/snippet]
  // clang-format on

  // [after]
  for_each_row(queue, batch_size, Scale{outputs_device.view()});
  // [/after]

  print(queue, outputs_device);
}

}  // namespace reco

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: 03_alpaka MODEL.pt [cpu|cuda:N]\n";
    return 2;
  }
  try {
    const char* const anywhere = reco::kGpu ? "cuda:0" : "cpu";
    reco::run(argv[1], reco::device_of(tensoa::parse_device(argc > 2 ? argv[2] : anywhere)));
  } catch (const tensoa::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
