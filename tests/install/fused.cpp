// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A program that runs a fused package, without torch:
//   outside --describe FILE    writes what the package is to be made for
//   outside PACKAGE            runs the package of model.py, and compares it with the same by a loop

#include <sys/resource.h>

#include <array>
#include <cmath>
#include <iostream>
#include <string>
#include <tensoa/tensoa.hpp>

namespace {

using namespace tensoa;

template <template <class> class F>
struct Inputs {
  F<float> x, y, z;
};

template <template <class> class F>
struct Outputs {
  F<float> m, n;
};

int run(const std::string& first, const std::string& second) {
  constexpr std::size_t kRows = 1000;
  PortableCollection<Inputs> in(kRows, Device::cpu());
  PortableCollection<Outputs> out(kRows, Device::cpu());
  for (std::size_t i = 0; i < kRows; ++i) {
    in.view().x[i] = static_cast<float>(i % 7) - 3;
    in.view().y[i] = static_cast<float>(i % 11) - 5;
    in.view().z[i] = static_cast<float>(i % 13) - 6;
  }
  SoAMetadata<Inputs> inputs(kRows);
  inputs.append_block("features", in.view().records().x(), in.view().records().y(),
                      in.view().records().z());
  SoAMetadata<Outputs> outputs(kRows);
  outputs.append_block("preds", out.view().records().m(), out.view().records().n());
  const ModelMetadata<Inputs, Outputs> metadata(inputs, outputs);
  if (first == "--describe") {
    write_file(second, describe(metadata));
    return 0;
  }

  const Model<CompilationType::kAheadOfTime> model(first);
  const CopyReport copies = model.forward(Queue(Device::cpu()), metadata.binding());
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto [x, y, z] = std::array{in.view().x[i], in.view().y[i], in.view().z[i]};
    if (std::abs(out.view().m[i] - (x + 2 * y + 3 * z)) > 1e-5F ||
        std::abs(out.view().n[i] - (x * y - z)) > 1e-5F) {
      std::cerr << "row " << i << " is wrong\n";
      return 1;
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << "as expected: " << kRows << " rows, " << copies.bytes_in + copies.bytes_out
            << " bytes copied, " << usage.ru_maxrss << " kB of memory\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  } catch (const tensoa::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
