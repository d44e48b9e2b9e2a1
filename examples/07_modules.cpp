// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Modules for many events at a time on oneTBB: each says what it reads and writes, and no thread waits for a GPU. The network is
// that of 01_first_program.py; on a GPU one of `tensoa compile … --target cuda`.
//
//     cmake --build build --target example_07_modules && cd build/examples && ./07_modules [network.pt2 [cpu|cuda:N]]
//
// Prints, in the order of the source, whichever event is done first:
//
//     event 0: 1 hits, best score 20.5
//     event 1: 11 hits, best score 40.5
//     event 2: 21 hits, best score 60.5
//     event 3: the file has no event 3
//     event 4: 41 hits, best score 100.5
//     4 events delivered, 1 failed

#include <tbb/task_arena.h>

#include <algorithm>
#include <iostream>
#include <tensoa/sched/module_graph.hpp>
#include <tensoa/tensoa.hpp>

using namespace tensoa;

template <template <class> class F>
struct Hit {
  F<float> x, y, z;
};

template <template <class> class F>
struct Score {
  F<float> score;
};

using Hits = PortableCollection<Hit>;
using Scores = PortableCollection<Score>;
constexpr std::size_t kEvents = 5, kMostHits = 100;

/// Make a collection for each event in flight.
template <class Collection>
constexpr auto kOnHost = [](const Queue&) { return Collection(kMostHits, Device::cpu()); };
template <class Collection>
constexpr auto kOnDevice = [](const Queue& queue) { return Collection(kMostHits, queue.device()); };

void read(std::size_t event, Hits& hits) {
  if (event == 3) throw InputError("the file has no event 3");
  hits.resize(10 * event + 1);
  const auto view = hits.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    view.x[i] = static_cast<float>(i);
    view.y[i] = 10.F;
    view.z[i] = -1.F;
  }
}

int main(int argc, char** argv) try {
  const Model<> model(argc > 1 ? argv[1] : "network.pt2");
  const Device device = parse_device(argc > 2 ? argv[2] : "cpu");
  // [graph]
  sched::ModuleGraph graph;
  const auto hits = graph.data<Hits>("hits", kOnHost<Hits>);
  const auto columns = graph.data<Hits>("columns", kOnDevice<Hits>);
  const auto scores = graph.data<Scores>("scores", kOnDevice<Scores>);
  const auto answers = graph.data<Scores>("answers", kOnHost<Scores>);

  graph.source({}, [next = std::size_t{0}](sched::EventView) mutable { return next++ < kEvents; });
  graph.module("read", {}, writes(hits),
               [=](sched::EventView event) { read(event.number(), event.write(hits)); });
  graph.module(
      "score", reads(hits), writes(columns, scores, answers),
      [=](sched::EventView event) -> sched::Task {
        copy(event.queue(), event.read(hits), event.write(columns));
        event.write(scores).resize(event.read(hits).size());
        const auto in = event.read(columns).const_view().records();
        model.forward(event.queue(), bind("input", in.x(), in.y(), in.z()),
                      bind("score", event.write(scores).view().records().score()));
        copy(event.queue(), event.read(scores), event.write(answers));
        co_await sched::done(event.queue());  // on a GPU the thread works on other events meanwhile
      });
  graph.sink(
      "print", reads(hits, answers), sched::Order::kInput,
      [=](sched::EventView event) {
        const auto view = event.read(answers).const_view();
        std::cout << "event " << event.number() << ": " << view.size() << " hits, best score "
                  << *std::max_element(view.score.data(), view.score.data() + view.size()) << '\n';
      },
      [](sched::EventView event, const sched::EventFailure& failure) {
        std::cout << "event " << event.number() << ": " << failure.message << '\n';
      });
  tbb::task_arena arena(2);
  const auto totals = arena.execute([&] { return graph.run({.devices = {device}}); });
  // [/graph]
  std::cout << totals.delivered << " events delivered, " << totals.failed << " failed\n";
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
