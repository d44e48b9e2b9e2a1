# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""ParticleNet and ParticleTransformer of weaver-core, as jet-universe/particle_transformer makes them for JetClass."""

import torch
from weaver.nn.model.ParticleNet import ParticleNet
from weaver.nn.model.ParticleTransformer import ParticleTransformer


def _particle_net(inputs: int, weights: str) -> torch.nn.Module:
    conv_params = [(16, (64, 64, 64)), (16, (128, 128, 128)), (16, (256, 256, 256))]
    model = ParticleNet(inputs, 10, conv_params, [(256, 0.1)], use_fusion=False, use_fts_bn=True, use_counts=True)
    states = torch.load(weights, map_location="cpu", weights_only=True)
    model.load_state_dict({name.removeprefix("mod."): tensor for name, tensor in states.items()})
    return model.eval()


def particle_net_kin() -> torch.nn.Module:
    return _particle_net(7, "ParticleNet_kin.pt")


def particle_net_kinpid() -> torch.nn.Module:
    return _particle_net(13, "ParticleNet_kinpid.pt")


def particle_net_full() -> torch.nn.Module:
    return _particle_net(17, "ParticleNet_full.pt")


def particle_transformer_kin() -> torch.nn.Module:
    torch.manual_seed(0)
    return ParticleTransformer(7, num_classes=10, pair_input_dim=4, fc_params=[], trim=True).eval()
