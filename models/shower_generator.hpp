// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The columns of the model shower_generator (shower_generator.md).

namespace tensoa::models {

/// The parameters of a shower.
template <template <class> class F>
struct ShowerSeed {
  F<float> energy;              // GeV
  F<Vector<float, 16>> latent;  // random numbers of the standard normal distribution
};

template <template <class> class F>
struct Shower {
  F<Matrix<float, 12, 6>> cells;  // GeV, layers of 2 radiation lengths x rings
};

/// energy [n, 1], latent [n, 16] -> cells [n, 12, 6]
inline ModelMetadata<ShowerSeed, Shower> shower_generator(ConstView<ShowerSeed> seeds,
                                                          View<Shower> showers) {
  const auto seed = seeds.records();
  SoAMetadata<ShowerSeed> inputs(seeds.size());
  inputs.append_block("energy", seed.energy());
  inputs.append_block("latent", seed.latent());
  SoAMetadata<Shower> outputs(showers.size());
  outputs.append_block("cells", showers.records().cells());
  return {inputs, outputs};
}

}  // namespace tensoa::models
