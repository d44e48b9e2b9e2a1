// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The columns of the model jet_images (jet_images.md).

namespace tensoa::models {

/// Images of a jet, transverse momentum in GeV in cells of 0.1 x 0.1 (eta, phi) about its axis.
template <template <class> class F>
struct JetImage {
  F<Matrix<float, 12, 12>> charged, photons, neutrals;
};

template <template <class> class F>
struct JetTag {
  F<float> score;  // two prongs, 0 to 1
};

/// images [n, 3, 12, 12] -> score [n]
inline ModelMetadata<JetImage, JetTag> jet_images(ConstView<JetImage> images, View<JetTag> tags) {
  const auto image = images.records();
  SoAMetadata<JetImage> inputs(images.size());
  inputs.append_block("images", image.charged(), image.photons(), image.neutrals());
  SoAMetadata<JetTag> outputs(tags.size());
  outputs.append_block("score", tags.records().score());
  return {inputs, outputs};
}

}  // namespace tensoa::models
