// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/generator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"

// This file is compiled without contraction of a * b + c, so that all compilers round alike. For
// the same reason no expression draws two random numbers, unless in braces: the order of operands
// is the compiler's choice.

namespace tensoa::track {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kCurvature = 0.299792458e-3 * 2.0;  // 1/mm of a particle of 1 GeV in 2 T

// ---- the tracker
// -----------------------------------------------------------------------------------

// Common properties of the layers of one technology. Lengths in mm.
struct Technology {
  std::array<double, 2> barrel_sheets;  // modules are staggered: offsets in r of the two sheets
  double barrel_spread;                 // of a module around its sheet, as it is flat and tilted
  double barrel_overlap;                // probability that both sheets are hit
  std::array<double, 2> disk_sheets;    // the same for disks, offsets in z
  double disk_spread;
  double disk_overlap;
  double sigma_across;  // measurement error around the beam
  double range_along;   // half width of a strip along z (barrel) or r (disk)
  double material;      // thickness in radiation lengths at normal incidence
  double noise_barrel;  // noise hits per particle and mm of radius
  double noise_disk;    // noise hits per particle and disk
};

constexpr Technology kPixel{{-0.8, 1.2}, 0.5,  0.23, {-2.25, 2.25}, 0.25,  0.51,
                            0.012,       0.02, 0.02, 3.0e-4,        0.0105};
constexpr Technology kShortStrip{{-2.7, 3.0}, 1.8, 0.24,  {-3.0, 3.0}, 1.5,  0.10,
                                 0.02,        0.4, 0.018, 3.0e-4,      0.018};
constexpr Technology kLongStrip{{-2.7, 3.0}, 1.8, 0.20,  {-4.0, 4.0}, 1.5,  0.25,
                                0.06,        4.0, 0.018, 3.0e-4,      0.011};

struct BarrelLayer {
  double radius, half_length;
  std::int32_t id;
  const Technology* technology;
};

constexpr std::array<BarrelLayer, 10> kBarrel{{{32, 500, 8002, &kPixel},
                                               {72, 500, 8004, &kPixel},
                                               {116, 500, 8006, &kPixel},
                                               {172, 500, 8008, &kPixel},
                                               {260, 1085, 13002, &kShortStrip},
                                               {360, 1085, 13004, &kShortStrip},
                                               {500, 1085, 13006, &kShortStrip},
                                               {660, 1085, 13008, &kShortStrip},
                                               {820, 1085, 17002, &kLongStrip},
                                               {1020, 1085, 17004, &kLongStrip}}};

// A ring of the plane at |z|; the disks at -z have their own ids.
struct Ring {
  double r_min, r_max;
  std::int32_t id_plus, id_minus;
  const Technology* technology;
};

struct Plane {
  double z;
  std::array<std::optional<Ring>, 3> rings;
};

// Layer ids count along z, so that the innermost plane of a volume is 2 at +z and the last one at
// -z.
constexpr Ring pixel_ring(std::int32_t k) {
  return {30, 176, 9000 + 2 * k, 7000 + 2 * (8 - k), &kPixel};
}
constexpr Ring short_ring(std::int32_t k) {
  return {240, 700, 14000 + 2 * k, 12000 + 2 * (7 - k), &kShortStrip};
}
constexpr Ring long_ring(std::int32_t k) {
  return {755, 1017, 18000 + 2 * k, 16000 + 2 * (7 - k), &kLongStrip};
}

const std::array<Plane, 12> kPlanes{{{600, {pixel_ring(1)}},
                                     {700, {pixel_ring(2)}},
                                     {820, {pixel_ring(3)}},
                                     {960, {pixel_ring(4)}},
                                     {1100, {pixel_ring(5)}},
                                     {1220, {short_ring(1), long_ring(1)}},
                                     {1300, {pixel_ring(6)}},
                                     {1500, {pixel_ring(7), short_ring(2), long_ring(2)}},
                                     {1800, {short_ring(3), long_ring(3)}},
                                     {2150, {short_ring(4), long_ring(4)}},
                                     {2550, {short_ring(5), long_ring(5)}},
                                     {2950, {short_ring(6), long_ring(6)}}}};

constexpr double kEfficiency = 0.98;
constexpr double kAbsorption = 0.02;  // nuclear interaction, per layer

// ---- particles
// -------------------------------------------------------------------------------------

struct Vec3 {
  double x, y, z;
};

struct Track {
  Vec3 position;  // mm
  Vec3 momentum;  // GeV
  int charge;
};

double transverse(const Vec3& v) { return std::sqrt(v.x * v.x + v.y * v.y); }

Vec3 from_angles(double pt, double phi, double eta) {
  return {pt * std::cos(phi), pt * std::sin(phi), pt * std::sinh(eta)};
}

// Kinks the momentum by two independent angles of this width, rad.
Vec3 scattered(const Vec3& p, double sigma, events::Random& random) {
  const double pt = transverse(p);
  const double size = std::sqrt(pt * pt + p.z * p.z);
  const double phi = std::atan2(p.y, p.x) + random.normal(sigma) * size / pt;
  const double theta = std::clamp(std::atan2(pt, p.z) + random.normal(sigma), 1e-3, kPi - 1e-3);
  const double new_pt = size * std::sin(theta);
  return {new_pt * std::cos(phi), new_pt * std::sin(phi), size * std::cos(theta)};
}

// The helix of a track as a function of the angle by which it has turned, always positive.
class Helix {
 public:
  explicit Helix(const Track& track)
      : start_(track.position),
        radius_(transverse(track.momentum) / kCurvature),
        sign_(-track.charge),
        phi_(std::atan2(track.momentum.y, track.momentum.x)),
        dz_(track.momentum.z / kCurvature) {}

  Vec3 position(double angle) const {
    const double phi = phi_ + sign_ * angle;
    return {start_.x + sign_ * radius_ * (std::sin(phi) - std::sin(phi_)),
            start_.y - sign_ * radius_ * (std::cos(phi) - std::cos(phi_)), start_.z + dz_ * angle};
  }

  // The angle at which it first reaches the radius `r` again, if it does.
  std::optional<double> to_radius(double r) const {
    const double cx = start_.x - sign_ * radius_ * std::sin(phi_);
    const double cy = start_.y + sign_ * radius_ * std::cos(phi_);
    const double distance = std::sqrt(cx * cx + cy * cy);
    if (distance == 0) return std::nullopt;
    // Law of cosines in the triangle beam line, centre, point: the angle at the centre.
    const double cosine =
        (distance * distance + radius_ * radius_ - r * r) / (2 * distance * radius_);
    if (std::abs(cosine) > 1) return std::nullopt;
    const double half = std::acos(cosine);
    const double to_start = std::atan2(start_.y - cy, start_.x - cx);
    const double to_beam = std::atan2(-cy, -cx);
    return std::min(turn(to_start, to_beam + half), turn(to_start, to_beam - half));
  }

  // The angle at which it reaches the plane `z`, if it does.
  std::optional<double> to_plane(double z) const {
    const double angle = (z - start_.z) / dz_;
    if (!std::isfinite(angle) || angle < 0) return std::nullopt;
    return angle;
  }

 private:
  // From one direction seen from the centre to another, in the sense in which the track turns.
  double turn(double from, double to) const {
    constexpr double kHere = 1e-6;  // the point where it starts
    double angle = std::fmod(sign_ * (to - from), 2 * kPi);
    if (angle < kHere) angle += 2 * kPi;
    return angle < kHere ? 2 * kPi : angle;
  }

  Vec3 start_;
  double radius_;
  double sign_;
  double phi_;
  double dz_;
};

// ---- one event
// -------------------------------------------------------------------------------------

std::int32_t to_micrometres(double mm) {
  return static_cast<std::int32_t>(std::llround(mm * 1000));
}
float to_millimetres(std::int32_t micrometres) { return static_cast<float>(micrometres / 1000.0); }

struct MeasuredHit {
  std::int32_t layer, x, y, z;  // µm
  std::int64_t particle_id;

  friend auto operator<=>(const MeasuredHit&, const MeasuredHit&) = default;
};

class EventMaker {
 public:
  EventMaker(const GeneratorOptions& options, std::uint64_t index)
      : options_(options), random_(options.seed, index) {}

  void run() {
    make_vertices();
    tracks_.reserve(static_cast<std::size_t>(options_.particles));
    for (std::int64_t id = 1; id <= options_.particles; ++id) {
      tracks_.push_back(random_.chance(kSecondaries) ? secondary() : primary());
      trace(tracks_.back(), id);
    }
    add_noise();
    std::sort(hits_.begin(), hits_.end());
  }

  const std::vector<Track>& tracks() const { return tracks_; }
  const std::vector<MeasuredHit>& hits() const { return hits_; }

 private:
  static constexpr double kSecondaries = 0.18;

  void make_vertices() {
    vertices_.resize(static_cast<std::size_t>(1 + options_.particles / 4));
    for (Vec3& vertex : vertices_) {
      vertex = {random_.normal(0.012), random_.normal(0.012), random_.normal(49.0)};
    }
  }

  Vec3 any_vertex() {
    return vertices_[static_cast<std::size_t>(random_.below(std::ssize(vertices_)))];
  }

  int any_charge() { return random_.chance(0.5) ? 1 : -1; }
  double any_phi() { return random_.uniform(-kPi, kPi); }

  Track primary() {
    const double pt = 0.12 + 3.3 * std::expm1(random_.exponential(1.0) / 8.0);
    const double eta = random_.uniform(-4.0, 4.0);
    const double phi = any_phi();
    return {any_vertex(), from_angles(pt, phi, eta), any_charge()};
  }

  // Made where a straight, invisible parent decays, or meets the material of a layer or the beam
  // pipe.
  Track secondary() {
    constexpr std::array<double, 8> kMaterial{19, 32, 36, 72, 116, 172, 200, 260};
    const double r = random_.chance(0.6)
                         ? kMaterial[static_cast<std::size_t>(random_.below(std::ssize(kMaterial)))]
                         : std::exp(random_.uniform(std::log(2.0), std::log(950.0)));
    const double phi = any_phi();
    const double eta = random_.normal(0.9);
    const Vec3 vertex = any_vertex();
    const double pt = 0.1 + random_.exponential(0.18);
    const Vec3 momentum = scattered(from_angles(pt, phi, eta), 0.3, random_);
    return {
        {vertex.x + r * std::cos(phi), vertex.y + r * std::sin(phi), vertex.z + r * std::sinh(eta)},
        momentum,
        any_charge()};
  }

  // Follows a particle from surface to surface until it has turned by half a circle or is gone.
  void trace(Track track, std::int64_t id) {
    const auto outside = [&](const auto& surface, double here) { return surface < here; };
    auto barrel = static_cast<std::size_t>(
        std::lower_bound(
            kBarrel.begin(), kBarrel.end(), transverse(track.position),
            [&](const BarrelLayer& layer, double r) { return outside(layer.radius, r); }) -
        kBarrel.begin());  // the first layer outside
    const double side = track.momentum.z < 0 ? -1 : 1;
    auto plane = static_cast<std::size_t>(
        std::lower_bound(kPlanes.begin(), kPlanes.end(), side * track.position.z,
                         [&](const Plane& p, double z) { return outside(p.z, z); }) -
        kPlanes.begin());  // the next one ahead; those behind z = 0 are left out

    for (double turned = 0; turned < kPi;) {
      const Helix helix(track);
      constexpr double kNever = 2 * kPi;
      const double out = barrel < kBarrel.size()
                             ? helix.to_radius(kBarrel[barrel].radius).value_or(kNever)
                             : kNever;
      const double in =
          barrel > 0 ? helix.to_radius(kBarrel[barrel - 1].radius).value_or(kNever) : kNever;
      const double ahead = plane < kPlanes.size()
                               ? helix.to_plane(side * kPlanes[plane].z).value_or(kNever)
                               : kNever;
      const double angle = std::min({out, in, ahead});
      turned += angle;
      if (turned >= kPi) return;

      const Technology* crossed = nullptr;
      if (angle == ahead) {
        crossed = cross_plane(helix, angle, kPlanes[plane], side, id);
        ++plane;
      } else {
        crossed = cross_barrel(helix, angle, kBarrel[angle == out ? barrel : barrel - 1], id);
        angle == out ? ++barrel : --barrel;
      }
      track.position = helix.position(angle);
      track.momentum = helix_momentum(track, angle);
      if (crossed == nullptr) continue;
      if (random_.chance(kAbsorption)) return;
      scatter(track, *crossed, angle == ahead);
      // A kink may turn a grazing track back through the layer it is on; that is not followed.
    }
  }

  static Vec3 helix_momentum(const Track& track, double angle) {
    const double turn = -track.charge * angle;
    const double c = std::cos(turn);
    const double s = std::sin(turn);
    const Vec3& p = track.momentum;
    return {p.x * c - p.y * s, p.x * s + p.y * c, p.z};
  }

  // Highland's formula without its logarithm, for pions.
  void scatter(Track& track, const Technology& technology, bool disk) {
    constexpr double kPionMass = 0.13957;
    const double pt = transverse(track.momentum);
    const double size = std::sqrt(pt * pt + track.momentum.z * track.momentum.z);
    const double beta = size / std::sqrt(size * size + kPionMass * kPionMass);
    const double cosine = std::max((disk ? std::abs(track.momentum.z) : pt) / size, 0.05);
    const double sigma = 0.0136 / (beta * size) * std::sqrt(technology.material / cosine);
    track.momentum = scattered(track.momentum, std::min(sigma, 0.3), random_);
  }

  // The sheets that a particle hits: one of two, or both where modules overlap.
  struct Sheets {
    bool first, second;
  };
  Sheets hit_sheets(double overlap) {
    if (random_.chance(overlap)) return {true, true};
    const bool first = random_.chance(0.5);
    return {first, !first};
  }

  const Technology* cross_barrel(const Helix& helix, double angle, const BarrelLayer& layer,
                                 std::int64_t id) {
    if (std::abs(helix.position(angle).z) > layer.half_length) return nullptr;
    const Technology& technology = *layer.technology;
    const Sheets sheets = hit_sheets(technology.barrel_overlap);
    for (const std::size_t sheet : {std::size_t{0}, std::size_t{1}}) {
      if (!(sheet == 0 ? sheets.first : sheets.second) || !random_.chance(kEfficiency)) continue;
      const double offset = technology.barrel_sheets[sheet] +
                            random_.uniform(-technology.barrel_spread, technology.barrel_spread);
      // The module lies before or after the layer's radius: the nearer crossing of its radius.
      const Vec3 there = helix.position(near(helix, layer.radius + offset, angle));
      measure(there, technology, false, layer.id, id);
    }
    return &technology;
  }

  const Technology* cross_plane(const Helix& helix, double angle, const Plane& plane, double side,
                                std::int64_t id) {
    const double r = transverse(helix.position(angle));
    for (const auto& ring : plane.rings) {
      if (!ring || r < ring->r_min || r > ring->r_max) continue;
      const Technology& technology = *ring->technology;
      const Sheets sheets = hit_sheets(technology.disk_overlap);
      for (const std::size_t sheet : {std::size_t{0}, std::size_t{1}}) {
        if (!(sheet == 0 ? sheets.first : sheets.second) || !random_.chance(kEfficiency)) continue;
        const double offset =
            technology.disk_sheets[sheet] +
            (random_.chance(0.5) ? technology.disk_spread : -technology.disk_spread);
        const auto there = helix.to_plane(side * plane.z + offset);
        measure(helix.position(there.value_or(angle)), technology, true,
                side > 0 ? ring->id_plus : ring->id_minus, id);
      }
      return &technology;
    }
    return nullptr;
  }

  // The angle near `angle` where the helix has the radius `r`, by two secant steps along it.
  static double near(const Helix& helix, double r, double angle) {
    constexpr double kStep = 1e-4;
    for (int step = 0; step < 3; ++step) {
      const double here = transverse(helix.position(angle));
      const double slope = (transverse(helix.position(angle + kStep)) - here) / kStep;
      if (std::abs(slope) < 1) return angle;  // grazing: stay on the layer
      angle += std::clamp((r - here) / slope, -0.05, 0.05);
    }
    return angle;
  }

  void measure(const Vec3& at, const Technology& technology, bool disk, std::int32_t layer,
               std::int64_t id) {
    const double along = random_.uniform(-technology.range_along, technology.range_along);
    const double r = transverse(at) + (disk ? along : 0);
    const double z = at.z + (disk ? 0 : along);
    const double phi = std::atan2(at.y, at.x) + random_.normal(technology.sigma_across) / r;
    add_hit(r, phi, z, layer, id);
  }

  void add_hit(double r, double phi, double z, std::int32_t layer, std::int64_t id) {
    hits_.push_back({layer, to_micrometres(r * std::cos(phi)), to_micrometres(r * std::sin(phi)),
                     to_micrometres(z), id});
  }

  void add_noise() {
    const auto particles = static_cast<double>(options_.particles);
    const auto offset = [&](const std::array<double, 2>& sheets, double spread) {
      const double sheet = sheets[random_.chance(0.5) ? 1 : 0];
      return sheet + random_.uniform(-spread, spread);
    };
    for (const BarrelLayer& layer : kBarrel) {
      const Technology& technology = *layer.technology;
      const std::int64_t n = random_.poisson(particles * technology.noise_barrel * layer.radius);
      for (std::int64_t i = 0; i < n; ++i) {
        const double r = layer.radius + offset(technology.barrel_sheets, technology.barrel_spread);
        const double phi = any_phi();
        add_hit(r, phi, random_.uniform(-layer.half_length, layer.half_length), layer.id, 0);
      }
    }
    for (const Plane& plane : kPlanes) {
      for (const auto& ring : plane.rings) {
        if (!ring) continue;
        for (const double side : {-1.0, 1.0}) {
          const Technology& technology = *ring->technology;
          const std::int64_t n = random_.poisson(particles * technology.noise_disk);
          for (std::int64_t i = 0; i < n; ++i) {
            const double z =
                side * plane.z + offset(technology.disk_sheets, technology.disk_spread);
            const double phi = any_phi();
            add_hit(random_.uniform(ring->r_min, ring->r_max), phi, z,
                    side > 0 ? ring->id_plus : ring->id_minus, 0);
          }
        }
      }
    }
  }

  GeneratorOptions options_;
  events::Random random_;
  std::vector<Vec3> vertices_;
  std::vector<Track> tracks_;
  std::vector<MeasuredHit> hits_;
};

PortableCollection<Hit> to_columns(const std::vector<MeasuredHit>& measured) {
  PortableCollection<Hit> collection(measured.size(), Device::cpu());
  const View<Hit> hits = collection.view();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    hits.x[i] = to_millimetres(measured[i].x);
    hits.y[i] = to_millimetres(measured[i].y);
    hits.z[i] = to_millimetres(measured[i].z);
    hits.layer[i] = measured[i].layer;
    hits.hit_id[i] = static_cast<std::int64_t>(i) + 1;
    hits.particle_id[i] = measured[i].particle_id;
    hits.track_id[i] = -1;
  }
  return collection;
}

PortableCollection<Particle> to_columns(const std::vector<Track>& tracks) {
  PortableCollection<Particle> collection(tracks.size(), Device::cpu());
  const View<Particle> particles = collection.view();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const Track& track = tracks[i];
    particles.particle_id[i] = static_cast<std::int64_t>(i) + 1;
    std::tie(particles.vx[i], particles.vy[i], particles.vz[i]) =
        std::tuple(track.position.x, track.position.y, track.position.z);
    std::tie(particles.px[i], particles.py[i], particles.pz[i]) =
        std::tuple(track.momentum.x, track.momentum.y, track.momentum.z);
    particles.charge[i] = track.charge;
  }
  return collection;
}

}  // namespace

Event generate(const GeneratorOptions& options, std::uint64_t index) {
  if (options.particles < 0 || options.particles > 1'000'000) {
    throw ConfigError("generator: got " + std::to_string(options.particles) +
                      " particles, expected 0 to 1000000");
  }
  EventMaker maker(options, index);
  maker.run();
  return {generated_name(options, index), to_columns(maker.hits()), to_columns(maker.tracks()),
          true, true};
}

std::string generated_name(const GeneratorOptions& options, std::uint64_t index) {
  return "generated-" + std::to_string(options.seed) + "-" + std::to_string(index);
}

}  // namespace tensoa::track
