// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The network of 01_first_program.py on a server, NVIDIA Triton or another one of KServe v2. Where no server answers, the same file
// runs in this process. `tensoa deploy network.pt2 --to models` prints the command that starts a server.
//
//     cmake --build build --target example_11_service && cd build/examples && ./11_service [grpc://HOST:PORT/network]
//
// Prints, where no server is:
//
//     score = 20.5
//     score = 22.5
//     127.0.0.1:1: answered 0 calls

#include <chrono>
#include <future>
#include <iostream>
#include <tensoa/remote/engines.hpp>
#include <tensoa/remote/options.hpp>
#include <tensoa/remote/statistics.hpp>
#include <tensoa/tensoa.hpp>

using namespace tensoa;
using namespace std::chrono_literals;

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

template <template <class> class F>
struct Score {
  F<float> score;
};

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "grpc://127.0.0.1:1/network";
  const std::string package = argc > 2 ? argv[2] : "network.pt2";
  PortableCollection<Point> points(2, Device::cpu());
  PortableCollection<Score> scores(2, Device::cpu());
  const auto view = points.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    view.x[i] = static_cast<float>(i);
    view.y[i] = 10.F;
    view.z[i] = -1.F;
  }

  // [call]
  remote::register_engines();
  const Model<> model(url,
                      remote::Options{.deadline = 2s, .load_deadline = 1s, .fallback = package});
  const auto point = points.view().records();
  const auto plan = model.plan(ModelMetadata(bind("input", point.x(), point.y(), point.z()),
                                             bind("score", scores.view().records().score())));
  std::promise<Result<CopyReport>> done;
  model.submit(Queue(Device::cpu()), plan, [&](Result<CopyReport> result) {
    done.set_value(std::move(result));  // called by a thread of the client: it only hands over
  });
  // this thread does other work meanwhile
  const Result<CopyReport> result = done.get_future().get();
  if (!result) throw EngineError(result.message());
  // [/call]

  for (std::size_t i = 0; i < scores.size(); ++i)
    std::cout << "score = " << scores.const_view().score[i] << '\n';
  for (const remote::ServerStatistics& server : remote::statistics())
    std::cout << server.server << ": answered " << server.latency.count() << " calls\n";
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
