// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tensoa/merge/event.hpp"

namespace tensoa::merge {

/// Which events generate() makes.
struct GeneratorOptions {
  std::uint64_t seed = 1;
  std::int64_t particles = 10;  ///< hard ones an event, 10 to 200 GeV
  std::int64_t pile_up = 0;     ///< other collisions an event, each about 20 soft particles
};

/// Makes one event of particles that shower in the two endcaps of a high-granularity calorimeter.
///
/// The calorimeter has 26 electromagnetic and 21 hadronic layers an endcap, 3.2 to 5.1 m from the
/// collisions, 1.5 < |eta| < 3. Two of five hard particles are photons, the others hadrons; two of five come close
/// to the one before, so that showers overlap. Photons shower along the usual gamma distribution;
/// hadrons fly on as a minimum-ionising track until they interact, and split there into photons and
/// hadrons that do the same. What they leave in a layer becomes clusters, and clusters become fragments
/// by density: each follows its nearest neighbour of higher density within five layers; one that has
/// none begins a fragment. So showers come in several fragments, and a fragment may have clusters of
/// several particles. It is not a physics simulation.
///
/// Coordinates are whole micrometres, energies whole keV and times whole picoseconds, so that all
/// compilers and mathematics libraries give the same event. Particle ids are 1 … particles for the
/// hard ones, then those of pile-up.
///
/// @param index event number; event i of a seed does not depend on the others.
/// @throws ConfigError unless 0 <= particles <= 10 000 and 0 <= pile_up <= 1000.
/// *Threads*: any.
Event generate(const GeneratorOptions& options, std::uint64_t index);

/// The name of that event: "showers-SEED-INDEX".
std::string generated_name(const GeneratorOptions& options, std::uint64_t index);

}  // namespace tensoa::merge
