# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Generators and weights of tensoa.models: the physics that they claim. Their packages are run by tests/models."""

import gzip
import math

import pytest
import torch

from conftest import shared
from tensoa import binding, models
from tensoa.command import run
from tensoa.errors import InputError
from tensoa.models import __main__ as command
from tensoa.models import calorimeter_clusters, jet_images, shower_generator, trigger_autoencoder

# ---- all of them


@pytest.mark.parametrize("name", models.NAMES)
def test_results_are_those_of_the_binding(name):
    module = models.module(name)
    network, columns = module.model(), binding.parse(module.binding())
    with torch.no_grad():
        for tensors in module.examples():
            assert all(torch.isfinite(tensor).all() for tensor in tensors)
            for block, tensor in zip(columns.inputs, tensors, strict=True):
                block.check_result(tensor)
            for block, result in zip(columns.outputs, columns.results(network(*tensors)), strict=True):
                block.check_result(result)


@pytest.mark.parametrize("name", models.NAMES)
def test_training_is_made_again_from_its_seed(name):
    module = models.module(name)
    first, same, other = (module.train(seed=seed, steps=2).state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(first[key], same[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


def test_command_writes_weights_that_load(tmp_path, capsys, monkeypatch):
    path = tmp_path / "shower_generator.safetensors"
    assert run(lambda: command.main(["train", "shower_generator", "--steps", "2", "--out", str(path)])) == 0
    assert "response_10_gev" in capsys.readouterr().out
    monkeypatch.setattr("tensoa.models.common.WEIGHTS", tmp_path)
    shower_generator.model()
    path.write_bytes(b"no weights")
    with pytest.raises(InputError, match="expected weights of the shower_generator"):
        shower_generator.model()


def test_unwritable_weights_end_before_the_training(tmp_path, capsys):
    (tmp_path / "file").touch()
    out = str(tmp_path / "file" / "weights.safetensors")
    assert run(lambda: command.main(["train", "jet_images", "--out", out])) == 2
    assert "cannot write" in capsys.readouterr().err


# ---- calorimeter clusters


def test_cluster_truth_is_consistent():
    data = calorimeter_clusters.event(7)
    x, (source, target), edge_attr = data["inputs"]
    noise = data["particle"] < 0
    assert noise.sum() == 40 and (data["fraction"][noise] == 0).all()
    assert (data["fraction"][~noise] > 0).all() and (data["fraction"] <= 1).all()
    assert (x[:, 0] > 0).all() and (x[:, 2] >= 1).all() and (x[:, 2] <= 47).all()
    # A particle leaves about its energy, hadrons less.
    own = torch.zeros(25).index_add(0, data["particle"][~noise], (x[:, 0] * data["fraction"])[~noise])
    assert 0.75 < (own / data["energy"]).median() < 1.05
    # Each near pair once, from more energy to less.
    assert (x[source, 0] > x[target, 0]).all()
    assert (edge_attr[:, :2].square().sum(dim=1) < calorimeter_clusters.MAX_DISTANCE**2).all()
    same = (data["particle"][source] == data["particle"][target]) & ~noise[source]
    assert torch.equal(same, data["same"]) and 0.2 < same.float().mean() < 0.9


def test_candidate_pairs_cross_the_seam_in_phi():
    x = torch.tensor([[5.0, 2.0, 10.0, 0.0, 0.01, 3.0], [1.0, 2.0, 10.0, 0.0, 0.01, 3.0]])
    edge_index, edge_attr = calorimeter_clusters.candidate_edges(x, torch.tensor([math.pi - 0.05, 0.05 - math.pi]))
    assert edge_index.tolist() == [[0], [1]] and edge_attr[0, 1] == pytest.approx(0.1, abs=1e-6)


def test_groups_are_the_connected_clusters():
    edge_index = torch.tensor([[4, 1, 5, 2], [3, 2, 4, 0]])
    kept = torch.tensor([True, True, True, False])
    assert calorimeter_clusters.merged(edge_index, kept, 6).tolist() == [0, 1, 1, 3, 3, 3]


def test_merging_repairs_the_energies():
    figures = calorimeter_clusters.evaluate(calorimeter_clusters.model(), seed=11, events=10)
    assert figures["edge_auc"] > 0.97 and figures["edge_efficiency"] > 0.9 and figures["edge_purity"] > 0.88
    assert figures["energy_spread_merged"] < 0.65 * figures["energy_spread_clustered"]
    assert abs(figures["energy_median_merged"] - figures["energy_median_truth"]) < 0.15
    assert figures["noise_rms_left_gev"] < 0.6 * figures["noise_rms_gev"]


def test_order_of_clusters_does_not_matter():
    x, edge_index, edge_attr = calorimeter_clusters.event(3)["inputs"]
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    network = calorimeter_clusters.model()
    with torch.no_grad():
        merge, fraction = network(x, edge_index, edge_attr)
        other_merge, other_fraction = network(x[order], order.argsort()[edge_index], edge_attr)
    assert torch.allclose(merge, other_merge, atol=1e-5) and torch.allclose(fraction[order], other_fraction, atol=1e-5)


# ---- jet images


def test_two_prongs_have_the_mass_of_the_boson():
    images, has_two = jet_images.images(4000, 5)
    cells = (images - 0.3).clamp(min=0).sum(dim=1)
    centre = (torch.arange(jet_images.SIZE) + 0.5 - jet_images.SIZE / 2) * jet_images.CELL
    total = cells.sum(dim=(1, 2))
    eta, phi = (cells.sum(dim=dim) @ centre / total for dim in (2, 1))
    distance = (centre - eta.unsqueeze(1)).square().unsqueeze(2) + (centre - phi.unsqueeze(1)).square().unsqueeze(1)
    mass = (total * (cells * distance).sum(dim=(1, 2))).sqrt()
    assert 70 < mass[has_two].median() < 110  # radiation and pile-up add to it
    assert mass[~has_two].median() < 0.8 * mass[has_two].median()
    assert 240 < total.median() < 500


def test_images_tell_the_jets_apart():
    figures = jet_images.evaluate(jet_images.model(), seed=11, jets=2000)
    assert figures["auc"] > 0.92 and figures["one_prong_at_50_percent"] < 0.1


# ---- trigger objects


def test_objects_are_sorted_and_balanced():
    events = trigger_autoencoder.usual(2000, 5).view(-1, 19, 3)
    for kind in trigger_autoencoder.KINDS.values():
        momenta = events[:, kind, 0]
        assert (momenta.diff(dim=1) <= 0).all() and (momenta >= 0).all()
        assert (events[:, kind][momenta == 0] == 0).all()
    assert (events[:, 0, 1] == 0).all() and events[:, 0, 0].median() < 100
    assert events[:, 1:, 2].abs().max() <= math.pi + 1e-6


def test_unusual_events_stand_out():
    figures = trigger_autoencoder.evaluate(trigger_autoencoder.model(), seed=11, events=1000)
    assert figures["auc_four_leptons"] > 0.98 and figures["auc_many_jets"] > 0.98


def test_columns_are_those_of_the_recorded_events():
    events = trigger_autoencoder.read(shared("cms_open/hzz_l1like_57.csv.gz"))
    assert events.shape[1] == 57 and len(events) > 2000
    with torch.no_grad():
        reconstruction, score = trigger_autoencoder.model()(events)
    assert torch.isfinite(reconstruction).all() and torch.isfinite(score).all() and (reconstruction[:, 0] >= 0).all()
    # They have leptons more often than the events that it was trained on, and leptons alone make an event unusual.
    with torch.no_grad():
        usual = trigger_autoencoder.model()(trigger_autoencoder.usual(2000, 9))[1]
    assert score.median() > 2 * usual.median()


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "events.csv.gz"
    path.write_bytes(gzip.compress(b"met_pt,met_phi\n1,2\n"))
    with pytest.raises(InputError, match="got the columns met_pt, met_phi"):
        trigger_autoencoder.read(path)
    path.write_bytes(b"plain")
    with pytest.raises(InputError, match="expected packed CSV with numbers"):
        trigger_autoencoder.read(path)


# ---- showers


def of_energy(giga, make, n=2000):
    random = torch.Generator().manual_seed(4)
    energy = torch.full((n, 1), giga)
    return shower_generator.figures(make(energy, random), energy).tolist()


def test_showers_grow_deeper_with_the_logarithm_of_energy():
    low, middle, high = (of_energy(giga, shower_generator.showers) for giga in (10.0, 40.0, 160.0))
    for figures in (low, middle, high):
        assert 0.9 < figures[0] < 1.0  # leakage at the back and the sides
    per_doubling = [b[2] - a[2] for a, b in ((low, middle), (middle, high))]
    assert per_doubling[0] == pytest.approx(per_doubling[1], rel=0.3) and per_doubling[0] > 0.4
    assert high[1] < 0.5 * low[1]  # sampling: about 1/sqrt(E)


@pytest.mark.parametrize("giga", [10.0, 40.0, 150.0])
def test_made_showers_are_like_true_ones(giga):
    network = shower_generator.model()

    def made(energy, random):
        with torch.no_grad():
            return network(energy, torch.randn(len(energy), shower_generator.LATENT, generator=random))

    got, true = of_energy(giga, made), of_energy(giga, shower_generator.showers)
    assert got[0] == pytest.approx(true[0], rel=0.02)
    assert got[2] == pytest.approx(true[2], rel=0.05) and got[3] == pytest.approx(true[3], rel=0.3)
    assert got[4] == pytest.approx(true[4], rel=0.05)
