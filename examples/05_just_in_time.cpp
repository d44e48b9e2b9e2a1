// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A model that PyTorch has saved, as TorchScript (linear.pt) or by torch.export (exported.pt2), without compiling; by the interface as
// first published, in its namespace cms::torch::alpaka. 05_just_in_time.py writes both files.
//
//     cmake --build build --target example_05_just_in_time && cd build/examples && ./05_just_in_time linear.pt [auto|cpu|cuda:N]
//
// Prints, for both:
//
//     m = 300, n = -40
//     m = 303, n = -40.25
//     m = 306, n = -40.5
//     m = 309, n = -40.75

#include <iostream>
#include <string>
#include <tensoa/tensoa.hpp>

// [alias]
namespace cms::torch {
namespace alpaka = ::tensoa;
}
// [/alias]

using namespace cms::torch::alpaka;

// [layouts]
template <template <class> class F>
struct SoAInputs {
  F<float> x, y, z;  // cm
};

template <template <class> class F>
struct SoAOutputs {
  F<float> m, n;
};
// [/layouts]

void fill(const Queue& queue, PortableCollection<SoAInputs>& inputs_device) {
  PortableCollection<SoAInputs> inputs(inputs_device.capacity(), Device::cpu());
  const auto view = inputs.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    view.x[i] = static_cast<float>(i);
    view.y[i] = view.x[i] + 100.F;
    view.z[i] = view.x[i] + 200.F;
  }
  copy(queue, inputs, inputs_device);
  queue.wait();
}

void print(const Queue& queue, const PortableCollection<SoAOutputs>& outputs_device) {
  PortableCollection<SoAOutputs> outputs(outputs_device.capacity(), Device::cpu());
  copy(queue, outputs_device, outputs);
  queue.wait();
  const auto view = outputs.const_view();
  for (std::size_t i = 0; i < view.size(); ++i)
    std::cout << "m = " << view.m[i] << ", n = " << view.n[i] << '\n';
}

void run(const std::string& m_path, Device device) {
  const Queue queue(device);
  const int batch_size = 4;

  // clang-format off
  // [snippet]
  PortableCollection<SoAInputs, Device> inputs_device(batch_size, device);
  PortableCollection<SoAOutputs, Device> outputs_device(batch_size, device);
  // [/snippet]
  fill(queue, inputs_device);
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

int main(int argc, char** argv) try {
  if (argc < 2) throw ConfigError("usage: 05_just_in_time MODEL [auto|cpu|cuda:N]");
  run(argv[1], parse_device(argc > 2 ? argv[2] : "auto"));
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
