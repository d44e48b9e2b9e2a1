# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Small models of other shapes than tracking, each with its generator, its columns and its training.

    calorimeter_clusters   graph, node and edge columns in, two outputs: which fragments of a shower belong together
    jet_images             residual CNN on images [n, 3, 12, 12], bound from matrix columns
    trigger_autoencoder    57 columns in, 57 and an anomaly score out
    shower_generator       random numbers are a column: energy and latent vector in, cells out

Every module has the same parts:

    model()                the network with the weights of models/NAME.safetensors, in eval mode
    binding()              its columns, as describe() of models/NAME.hpp writes them (JSON as a dict)
    train(seed, steps)     a network trained on generated data only
    evaluate(network, seed) figures against the truth of the generator, a dict
    examples(seed)         tuples of input tensors, one per call of the network

`python -m tensoa.models` trains and exports them. The generators are toys with the right scales, no simulations.
"""

from importlib import import_module

NAMES = ("calorimeter_clusters", "jet_images", "trigger_autoencoder", "shower_generator")


def module(name):
    """The module of a model, by name."""
    return import_module(f"tensoa.models.{name}")
