// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Runs a model on three columns and gets two columns back:
//     01_snippet MODEL [auto|cpu|cuda:N [BINDING.json]]
// With BINDING.json it also writes what python -m tensoa.export needs to make a package of the model.

#include <iostream>
#include <string>
#include <tensoa/tensoa.hpp>

using namespace tensoa;

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

/// Fills the columns on the host and takes them to the device; at home this is the code that makes
/// the data.
void fill(const Queue& queue, PortableCollection<SoAInputs>& inputs_device) {
  PortableCollection<SoAInputs> inputs(inputs_device.capacity(), Device::cpu());
  const auto view = inputs.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto value = static_cast<float>(i);
    view.x[i] = value;
    view.y[i] = value + 100.F;
    view.z[i] = value + 200.F;
  }
  copy(queue, inputs, inputs_device);
  queue.wait();
}

void print(const Queue& queue, const PortableCollection<SoAOutputs>& outputs_device) {
  PortableCollection<SoAOutputs> outputs(outputs_device.capacity(), Device::cpu());
  copy(queue, outputs_device, outputs);
  queue.wait();
  const auto view = outputs.const_view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    std::cout << "m = " << view.m[i] << ", n = " << view.n[i] << '\n';
  }
}

void run(const std::string& m_path, Device device, const std::string& binding_path) {
  const Queue queue(device);
  const int batch_size = 4;

  // The regions called snippet are one piece of code in the documentation, and stay as published.
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

  // Every call says what it copied: nothing into the model; out of it the answer of TorchScript, or
  // nothing where the model is a package.
  const CopyReport report = model.forward(metadata);
  std::cout << "bytes copied: " << report.bytes_in << " in, " << report.bytes_out << " out\n";

  // [binding]
  if (!binding_path.empty()) write_file(binding_path, describe(metadata));
  // [/binding]
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: 01_snippet MODEL [auto|cpu|cuda:N [BINDING.json]]\n";
    return 2;
  }
  try {
    run(argv[1], parse_device(argc > 2 ? argv[2] : "auto"), argc > 3 ? argv[3] : "");
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
