// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A model between two kernels of yours, on one queue, without a wait in between. 06_platform.hpp says whose queue it is: one source for
// alpaka on the CPU and on a GPU (programs 06_queues_alpaka_…), and for a CPU and CUDA without alpaka (06_queues_cpu, 06_queues_cuda).
// The model is that of 05_just_in_time.py.
//
//     cmake --build build --target example_06_queues_cpu && cd build/examples && ./06_queues_cpu linear.pt [cpu|cuda:N]
//
// Prints, on each of them:
//
//     row 0: m = 3000, n = 2960
//     row 10000: m = 303000, n = 300460
//     row 20000: m = 603000, n = 597960
//     row 30000: m = 903000, n = 895460

#include <iostream>
#include <string>

#include "06_platform.hpp"

namespace reco {

using namespace tensoa;  // Device and Queue are reco's own, of 06_platform.hpp

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

void run(const std::string& path, const Device& device) {
  constexpr std::size_t kRows = 40'000;
  Queue queue(device);
  PortableCollection<SoAOutputs> answers(kRows, tensoa::Device::cpu());

  // [queue]
  const Model<> model(path);
  PortableCollection<SoAInputs, Device> inputs(kRows, device);
  PortableCollection<SoAOutputs, Device> outputs(kRows, device);
  const auto in = inputs.view().records();
  const auto out = outputs.view().records();

  for_each_row(queue, kRows, Fill{inputs.view()});
  model.forward(queue, bind("features", in.x(), in.y(), in.z()), bind("preds", out.m(), out.n()));
  for_each_row(queue, kRows, Scale{outputs.view()});
  copy(queue, outputs, answers);
  wait(queue);
  // [/queue]

  const auto view = answers.const_view();
  for (std::size_t i = 0; i < kRows; i += 10'000)
    std::cout << "row " << i << ": m = " << view.m[i] << ", n = " << view.n[i] << '\n';
}

}  // namespace reco

int main(int argc, char** argv) try {
  if (argc < 2) throw tensoa::ConfigError("usage: 06_queues linear.pt [cpu|cuda:N]");
  const char* const anywhere = reco::kGpu ? "cuda:0" : "cpu";
  reco::run(argv[1], reco::device_of(tensoa::parse_device(argc > 2 ? argv[2] : anywhere)));
} catch (const tensoa::Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
