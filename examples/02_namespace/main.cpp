// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The published interface by the name cms::torch::alpaka: 02_namespace MODEL.pt [auto|cpu|cuda:N]

#include <cstddef>
#include <iostream>
#include <string>
#include <tensoa/tensoa.hpp>

// [alias]
namespace cms::torch {
namespace alpaka = ::tensoa;
}
// [/alias]

namespace reco {

template <template <class> class F>
struct SoAInputs {
  F<float> x, y, z;  // cm
};

template <template <class> class F>
struct SoAOutputs {
  F<float> m, n;
};

/// Qualified names, as in a header.
// [qualified]
void fill(const cms::torch::alpaka::Queue& queue,
          cms::torch::alpaka::PortableCollection<SoAInputs>& inputs_device);
// [/qualified]
void print(const cms::torch::alpaka::Queue& queue,
           const cms::torch::alpaka::PortableCollection<SoAOutputs>& outputs_device);

void run(const std::string& m_path, cms::torch::alpaka::Device device) {
  // [directive]
  using namespace cms::torch::alpaka;
  // [/directive]
  const Queue queue(device);
  const int batch_size = 3;

  // As published: the same lines as in 01_snippet.
  // [snippet]
  PortableCollection<SoAInputs, Device> inputs_device(batch_size, device);
  PortableCollection<SoAOutputs, Device> outputs_device(batch_size, device);
  // [/snippet]

  fill(queue, inputs_device);

  // clang-format off
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

  print(queue, outputs_device);
}

void fill(const cms::torch::alpaka::Queue& queue,
          cms::torch::alpaka::PortableCollection<SoAInputs>& inputs_device) {
  using namespace cms::torch::alpaka;
  PortableCollection<SoAInputs> inputs(inputs_device.capacity(), Device::cpu());
  const auto view = inputs.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto value = static_cast<float>(i);
    view.x[i] = value;
    view.y[i] = 10.F * value;
    view.z[i] = 100.F * value;
  }
  copy(queue, inputs, inputs_device);
  queue.wait();
}

void print(const cms::torch::alpaka::Queue& queue,
           const cms::torch::alpaka::PortableCollection<SoAOutputs>& outputs_device) {
  using namespace cms::torch::alpaka;
  PortableCollection<SoAOutputs> outputs(outputs_device.capacity(), Device::cpu());
  copy(queue, outputs_device, outputs);
  queue.wait();
  const auto view = outputs.const_view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    std::cout << "m = " << view.m[i] << ", n = " << view.n[i] << '\n';
  }
}

}  // namespace reco

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: 02_namespace MODEL.pt [auto|cpu|cuda:N]\n";
    return 2;
  }
  try {
    reco::run(argv[1], cms::torch::alpaka::parse_device(argc > 2 ? argv[2] : "auto"));
  } catch (const cms::torch::alpaka::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
