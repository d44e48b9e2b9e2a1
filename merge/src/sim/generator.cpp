// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/generator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "sim/fragments.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"

// As in the generator of track: no contraction of a * b + c, and no expression draws two random
// numbers, unless in braces.

namespace tensoa::merge {
namespace {

using events::Random;

constexpr int kLayers = 47;
constexpr double kFront = 3220;  // mm
constexpr double kPi = 3.14159265358979323846;

// Where a layer is: mm, and radiation and interaction lengths in front of it.
struct Layer {
  double z, radiation, interaction;
};

std::array<Layer, kLayers> make_layers() {
  std::array<Layer, kLayers> layers{};
  for (int k = 0; k < kLayers; ++k) {
    const int hadronic = std::max(0, k + 1 - kEmLayers);
    const int electromagnetic = k + 1 - hadronic;
    layers[static_cast<std::size_t>(k)] = {
        kFront + 13 * (electromagnetic - 1) + 75 * hadronic,
        1.0 * electromagnetic + 4.0 * hadronic,
        0.05 * electromagnetic + 0.42 * hadronic,
    };
  }
  return layers;
}

struct Vec3 {
  double x, y, z;
};

// A particle on its way through the layers, which lie at +z here; endcap -1 is mirrored at the end.
struct Shower {
  Vec3 at;         // mm
  Vec3 direction;  // per mm of z
  double energy;   // GeV
  double delay;    // ns
  int layer;       // the next one
};

struct Kind {
  std::int64_t particle_id;
  int endcap;
};

class EventMaker {
 public:
  EventMaker(const GeneratorOptions& options, std::uint64_t index)
      : options_(options), random_(options.seed, index), layers_(make_layers()) {}

  std::vector<MadeCluster> run() {
    double eta = 0;
    double phi = 0;
    int endcap = 1;
    const double z_of_hard = random_.normal(kVertexZ);
    const double time_of_hard = random_.normal(kVertexTime);
    for (std::int64_t i = 1; i <= options_.particles; ++i) {
      if (i > 1 && random_.chance(kNeighbours)) {
        const double angle = random_.uniform(0, 2 * kPi);
        const double distance = random_.uniform(0.05, 0.25);
        eta = std::clamp(eta + distance * std::cos(angle), 1.55, 2.95);
        phi += distance * std::sin(angle);
      } else {
        endcap = random_.chance(0.5) ? 1 : -1;
        eta = random_.uniform(1.6, 2.9);
        phi = random_.uniform(-kPi, kPi);
      }
      const double energy = 10 * std::exp(random_.uniform(0, std::log(20.0)));
      shoot(eta, phi, energy, z_of_hard, time_of_hard, {++particles_, endcap},
            random_.chance(kPhotons));
    }
    for (std::int64_t i = 0; i < options_.pile_up; ++i) add_collision();
    return std::move(clusters_);
  }

 private:
  static constexpr double kLight = 299.792458;  // mm/ns
  static constexpr double kInnerRadius = 250;   // mm
  static constexpr double kOuterRadius = 2700;
  static constexpr double kVertexZ = 50;
  static constexpr double kVertexTime = 0.18;  // ns
  static constexpr double kNeighbours = 0.3;
  static constexpr double kPhotons = 0.4;
  static constexpr double kMip = 0.02;         // GeV of a minimum-ionising particle in a layer
  static constexpr double kLeast = 0.01;       // GeV that a cluster needs
  static constexpr double kLeastShower = 0.6;  // GeV of a hadron that still interacts

  const Layer& layer(int k) const { return layers_[static_cast<std::size_t>(k)]; }

  void add_collision() {
    const double z = random_.normal(kVertexZ);
    const double time = random_.normal(kVertexTime);
    const std::int64_t n = random_.poisson(20);
    for (std::int64_t i = 0; i < n; ++i) {
      const double eta = random_.uniform(1.5, 3);
      const double phi = random_.uniform(-kPi, kPi);
      const int endcap = random_.chance(0.5) ? 1 : -1;
      const double pt = 0.15 + random_.exponential(0.4);
      shoot(eta, phi, pt * std::cosh(eta), z, time, {++particles_, endcap}, random_.chance(0.35));
    }
  }

  void shoot(double eta, double phi, double energy, double z, double time, const Kind& kind,
             bool is_photon) {
    const double slope = 1 / std::sinh(eta);
    const Vec3 direction{slope * std::cos(phi), slope * std::sin(phi), 1};
    const double way = kFront - kind.endcap * z;
    const double earlier = kind.endcap * z * std::tanh(eta) / kLight;  // than from the origin
    const Shower shower{
        {direction.x * way, direction.y * way, kFront}, direction, energy, time - earlier, 0};
    if (is_photon) {
      photon(shower, kind);
    } else {
      hadron(shower, kind, 0);
    }
  }

  // The longitudinal profile of Longo and Sestili (1975): dE/dt ~ t^(a - 1) exp(-b t).
  void photon(const Shower& shower, const Kind& kind) {
    constexpr double kB = 0.5;
    constexpr double kCritical = 0.01;  // GeV
    const double begin =
        (shower.layer > 0 ? layer(shower.layer - 1).radiation : 0) + random_.exponential(9.0 / 7);
    const double a = 1 + kB * (std::max(0.0, std::log(shower.energy / kCritical)) + 0.5);
    std::array<double, kLayers> parts{};
    double sum = 0;
    for (int k = shower.layer; k < kLayers; ++k) {
      const double before = k > 0 ? layer(k - 1).radiation : 0;
      const double from = std::max(before, begin);
      const double length = layer(k).radiation - from;
      if (length <= 0) continue;
      const double t = from + length / 2 - begin;
      parts[static_cast<std::size_t>(k)] = length * std::exp((a - 1) * std::log(t) - kB * t);
      sum += parts[static_cast<std::size_t>(k)];
    }
    if (sum <= 0) return;
    for (int k = shower.layer; k < kLayers; ++k) {
      const double mean = shower.energy * parts[static_cast<std::size_t>(k)] / sum;
      const double energy = mean + random_.normal(0.15) * std::sqrt(mean);
      if (energy > kLeast) deposit(shower, kind, k, energy, 8);
    }
  }

  // A track until it interacts; there photons and hadrons.
  void hadron(const Shower& shower, const Kind& kind, int generation) {
    const double depth =
        random_.exponential(1) + (shower.layer > 0 ? layer(shower.layer - 1).interaction : 0);
    int k = shower.layer;
    for (; k < kLayers && layer(k).interaction < depth; ++k) {
      add_cluster(shower, kind, k, kMip * (0.8 + random_.exponential(0.4)), 0);
    }
    if (k == kLayers) return;
    if (shower.energy < kLeastShower || generation == 8) {
      deposit(shower, kind, k, 0.7 * shower.energy, 15);
      return;
    }
    deposit(shower, kind, k, 0.05 * shower.energy, 15);
    double left = 0.85 * shower.energy;  // nuclear breakup takes some
    Shower next = shower;
    next.at = along(shower, k);
    next.layer = k + 1;
    while (left > 0.1) {
      next.energy = std::min(left, left * random_.uniform(0.15, 0.7) + 0.1);
      left -= next.energy;
      const double pt = random_.exponential(0.3);
      const double angle = std::min(1.0, pt / next.energy);
      const double around = random_.uniform(0, 2 * kPi);
      next.direction = {shower.direction.x + angle * std::cos(around),
                        shower.direction.y + angle * std::sin(around), 1};
      next.delay = shower.delay + random_.exponential(0.02);
      if (random_.chance(1.0 / 3)) {
        photon(next, kind);
      } else {
        hadron(next, kind, generation + 1);
      }
    }
  }

  Vec3 along(const Shower& shower, int k) const {
    const double way = layer(k).z - shower.at.z;
    return {shower.at.x + way * shower.direction.x, shower.at.y + way * shower.direction.y,
            layer(k).z};
  }

  // The energy of one cascade in a layer: a core, and clusters around it.
  void deposit(const Shower& shower, const Kind& kind, int k, double energy, double radius) {
    const std::int64_t around = random_.poisson(std::min(3.0, 0.4 * energy));
    double left = energy;
    for (std::int64_t i = 0; i < around; ++i) {
      const double part = 0.15 * energy * random_.uniform();
      left -= part;
      add_cluster(shower, kind, k, part, 2 * radius);
    }
    add_cluster(shower, kind, k, left, 0.2 * radius);
  }

  void add_cluster(const Shower& shower, const Kind& kind, int k, double energy, double radius) {
    if (energy < kLeast || k >= kLayers) return;
    const double angle = random_.uniform(0, 2 * kPi);
    const double distance = 1.5 + random_.exponential(radius);
    Vec3 at = along(shower, k);
    at.x += distance * std::cos(angle);
    at.y += distance * std::sin(angle);
    const double r = std::sqrt(at.x * at.x + at.y * at.y);
    const double sigma = 0.03 + 0.002 / energy;
    const double time = shower.delay + random_.normal(sigma);
    const std::int64_t cells = 1 + random_.poisson(std::min(30.0, 4 * std::sqrt(energy)));
    if (r < kInnerRadius || r > kOuterRadius) return;
    clusters_.push_back({.layer = k + 1,
                         .x = std::llround(at.x * 1000),
                         .y = std::llround(at.y * 1000),
                         .z = kind.endcap * std::llround(at.z * 1000),
                         .energy = std::llround(energy * 1e6),
                         .time = std::llround(time * 1000),
                         .has_time = energy > 3 * kMip,
                         .cells = static_cast<std::int32_t>(cells),
                         .particle_id = kind.particle_id});
  }

  const GeneratorOptions& options_;
  Random random_;
  const std::array<Layer, kLayers> layers_;
  std::int64_t particles_ = 0;
  std::vector<MadeCluster> clusters_;
};

/// @throws ConfigError
void require_between(const char* name, std::int64_t value, std::int64_t most) {
  if (value >= 0 && value <= most) return;
  throw ConfigError("generator: got " + std::to_string(value) + " " + name +
                    " an event, expected 0 to " + std::to_string(most));
}

}  // namespace

std::string generated_name(const GeneratorOptions& options, std::uint64_t index) {
  return "showers-" + std::to_string(options.seed) + "-" + std::to_string(index);
}

Event generate(const GeneratorOptions& options, std::uint64_t index) {
  require_between("particles", options.particles, 10'000);
  require_between("collisions of pile-up", options.pile_up, 1000);
  std::vector<MadeCluster> made = EventMaker(options, index).run();
  std::sort(made.begin(), made.end());
  find_fragments(made);
  PortableCollection<Cluster> clusters(made.size(), Device::cpu());
  const View<Cluster> view = clusters.view();
  for (std::size_t i = 0; i < made.size(); ++i) {
    const MadeCluster& from = made[i];
    view.x[i] = static_cast<float>(static_cast<double>(from.x) / 1e3);
    view.y[i] = static_cast<float>(static_cast<double>(from.y) / 1e3);
    view.z[i] = static_cast<float>(static_cast<double>(from.z) / 1e3);
    view.energy[i] = static_cast<float>(static_cast<double>(from.energy) / 1e6);
    view.time[i] =
        from.has_time ? static_cast<float>(static_cast<double>(from.time) / 1e3) : kNoTime;
    view.layer[i] = from.layer;
    view.cells[i] = from.cells;
    view.fragment_id[i] = from.fragment_id;
    view.particle_id[i] = from.particle_id;
  }
  return make_event(generated_name(options, index), clusters.const_view(), true);
}

}  // namespace tensoa::merge
