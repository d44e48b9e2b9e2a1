// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The columns of the model trigger_autoencoder (trigger_autoencoder.md).

namespace tensoa::models {

/// The objects of an event: pt in GeV, phi in rad; objects of one kind by falling pt, 0 where one
/// is missing.
template <template <class> class F>
struct TriggerObjects {
  F<float> met_pt, met_eta, met_phi;
  F<float> ele0_pt, ele0_eta, ele0_phi;
  F<float> ele1_pt, ele1_eta, ele1_phi;
  F<float> ele2_pt, ele2_eta, ele2_phi;
  F<float> ele3_pt, ele3_eta, ele3_phi;
  F<float> mu0_pt, mu0_eta, mu0_phi;
  F<float> mu1_pt, mu1_eta, mu1_phi;
  F<float> mu2_pt, mu2_eta, mu2_phi;
  F<float> mu3_pt, mu3_eta, mu3_phi;
  F<float> jet0_pt, jet0_eta, jet0_phi;
  F<float> jet1_pt, jet1_eta, jet1_phi;
  F<float> jet2_pt, jet2_eta, jet2_phi;
  F<float> jet3_pt, jet3_eta, jet3_phi;
  F<float> jet4_pt, jet4_eta, jet4_phi;
  F<float> jet5_pt, jet5_eta, jet5_phi;
  F<float> jet6_pt, jet6_eta, jet6_phi;
  F<float> jet7_pt, jet7_eta, jet7_phi;
  F<float> jet8_pt, jet8_eta, jet8_phi;
  F<float> jet9_pt, jet9_eta, jet9_phi;
};

template <template <class> class F>
struct Anomaly {
  F<float> score;  // how badly the event is described; larger is more unusual
};

/// All 57 columns as one block.
template <class Metadata, class Records>
void append_objects(Metadata& metadata, const char* name, const Records& object) {
  metadata.append_block(
      name, object.met_pt(), object.met_eta(), object.met_phi(), object.ele0_pt(),
      object.ele0_eta(), object.ele0_phi(), object.ele1_pt(), object.ele1_eta(), object.ele1_phi(),
      object.ele2_pt(), object.ele2_eta(), object.ele2_phi(), object.ele3_pt(), object.ele3_eta(),
      object.ele3_phi(), object.mu0_pt(), object.mu0_eta(), object.mu0_phi(), object.mu1_pt(),
      object.mu1_eta(), object.mu1_phi(), object.mu2_pt(), object.mu2_eta(), object.mu2_phi(),
      object.mu3_pt(), object.mu3_eta(), object.mu3_phi(), object.jet0_pt(), object.jet0_eta(),
      object.jet0_phi(), object.jet1_pt(), object.jet1_eta(), object.jet1_phi(), object.jet2_pt(),
      object.jet2_eta(), object.jet2_phi(), object.jet3_pt(), object.jet3_eta(), object.jet3_phi(),
      object.jet4_pt(), object.jet4_eta(), object.jet4_phi(), object.jet5_pt(), object.jet5_eta(),
      object.jet5_phi(), object.jet6_pt(), object.jet6_eta(), object.jet6_phi(), object.jet7_pt(),
      object.jet7_eta(), object.jet7_phi(), object.jet8_pt(), object.jet8_eta(), object.jet8_phi(),
      object.jet9_pt(), object.jet9_eta(), object.jet9_phi());
}

/// objects [n, 57] -> reconstruction [n, 57], score [n]
inline ModelMetadata<TriggerObjects, TriggerObjects, Anomaly> trigger_autoencoder(
    ConstView<TriggerObjects> objects, View<TriggerObjects> reconstruction, View<Anomaly> anomaly) {
  SoAMetadata<TriggerObjects> inputs(objects.size());
  append_objects(inputs, "objects", objects.records());
  SoAMetadata<TriggerObjects, Anomaly> outputs(reconstruction.size(), anomaly.size());
  append_objects(outputs, "reconstruction", reconstruction.records());
  outputs.append_block("score", anomaly.records().score());
  return {inputs, outputs};
}

}  // namespace tensoa::models
