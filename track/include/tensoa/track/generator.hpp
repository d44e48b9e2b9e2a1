// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tensoa/track/event.hpp"

namespace tensoa::track {

/// Which events generate() makes.
struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::int64_t particles = 470;  ///< charged particles an event, secondaries included
};

/// Makes one event of charged particles in a tracker.
///
/// The tracker is the public generic one of the TrackML challenge: ten barrel layers and thirteen
/// pairs of endcap disks in a solenoid of 2 T, with its volume and layer ids. Particles come from
/// several primary vertices (sigma_z 49 mm) with a steeply falling transverse momentum above 0.12
/// GeV and flat pseudorapidity within 4; about a fifth are secondaries made at some radius. Each
/// follows a helix until it turns back, leaves or is absorbed, with a kink by multiple scattering
/// at each layer. Layers have two staggered sheets of modules that overlap, 2 % inefficiency and
/// measurement errors by type; noise hits grow with the number of particles. The spectra follow the
/// event of the TrackML data set that is used as a test, not a physics generator.
///
/// Coordinates are whole micrometres, so that all compilers and mathematics libraries give the same
/// event. Hits are in order of layer, then of coordinates; particle ids are 1 .. particles.
///
/// @param index event number; event i of a seed does not depend on the others.
/// @throws ConfigError unless 0 <= particles <= 1 000 000.
/// *Threads*: any.
Event generate(const GeneratorOptions& options, std::uint64_t index);

/// The name of that event: "generated-SEED-INDEX".
std::string generated_name(const GeneratorOptions& options, std::uint64_t index);

}  // namespace tensoa::track
