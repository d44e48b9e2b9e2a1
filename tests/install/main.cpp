// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The published interface, used from outside: binds columns and loads a model that does not exist.

#include <iostream>
#include <tensoa/tensoa.hpp>

template <template <class> class F>
struct SoAInputs {
  F<float> x, y, z;  // cm
};

template <template <class> class F>
struct SoAOutputs {
  F<float> m, n;
};

int main() {
  using namespace tensoa;
  const std::size_t batch_size = 10;
  PortableCollection<SoAInputs, Device> inputs_device(batch_size, Device::cpu());
  PortableCollection<SoAOutputs, Device> outputs_device(batch_size, Device::cpu());

  auto input_records = inputs_device.view().records();
  auto output_records = outputs_device.view().records();
  SoAMetadata<SoAInputs> inputs_metadata(batch_size);
  inputs_metadata.append_block("features", input_records.x(), input_records.y(), input_records.z());
  SoAMetadata<SoAOutputs> outputs_metadata(batch_size);
  outputs_metadata.append_block("preds", output_records.m(), output_records.n());
  ModelMetadata<SoAInputs, SoAOutputs> metadata(inputs_metadata, outputs_metadata);

  try {
    Model<CompilationType::kJustInTime> model("absent.pt");
    model.to(Queue(Device::cpu()));
    model.forward(metadata);
  } catch (const LoadError& error) {
    std::cout << "as expected: " << error.what() << '\n';
    return 0;
  }
  std::cerr << "a model that is not there was loaded\n";
  return 1;
}
