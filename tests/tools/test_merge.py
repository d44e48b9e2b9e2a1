# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa merge`: features against NumPy, merged particles against a reference, figures, report, and input that it refuses."""

import json

import numpy as np
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
import torch

from conftest import names_in, refuse, save, succeed

NO_TIME = -99.0


class Near(torch.nn.Module):
    """Fragments whose clusters come near belong together."""

    def forward(self, x, edge_index, edge_attr):
        return torch.exp(-edge_attr[:, 3] / 50)


class OfOtherWidth(torch.nn.Module):
    """A network whose edges have another number of features."""

    def __init__(self, columns: int):
        super().__init__()
        self.columns = columns

    def forward(self, x, edge_index, edge_attr):
        return torch.sigmoid(edge_attr @ torch.ones(self.columns))


class Constant(torch.nn.Module):
    def __init__(self, value: float):
        super().__init__()
        self.value = value

    def forward(self, x, edge_index, edge_attr):
        return torch.full_like(edge_attr[:, 0], self.value)


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    return save(Near(), tmp_path_factory.mktemp("models") / "near.pt")


def random_clusters(seed=1, fragments=60):
    """Columns of an event: fragments of 1 to 100 clusters, clusters on none, in random order."""
    random = np.random.default_rng(seed)
    sizes = np.concatenate([[1, 1, 2, 100], random.integers(3, 30, fragments - 4)])
    fragment = np.repeat(np.arange(fragments), sizes)
    at = np.stack([random.uniform(-800, 800, fragments), random.uniform(-800, 800, fragments), random.choice([-1, 1], fragments) * random.uniform(3300, 4800, fragments)], 1)
    place = at[fragment] + random.normal(0, 1, (len(fragment), 3)) * random.uniform(5, 60, (fragments, 3))[fragment]
    n = len(fragment)
    energy = random.exponential(1, n) * np.where(fragment % 9 == 8, 0, 1)
    columns = {
        **dict(zip("xyz", place.T.astype(np.float32))),
        "energy": energy.astype(np.float32),
        "layer": random.integers(1, 48, n).astype(np.int32),
        "fragment_id": np.where(random.random(n) < 0.03, -1, fragment * 7).astype(np.int64),
        "time": np.where(random.random(n) < 0.3, NO_TIME, random.normal(0, 0.2, n)).astype(np.float32),
        "cells": random.integers(1, 9, n).astype(np.int32),
        "particle_id": (fragment % 6).astype(np.int64),
    }
    order = random.permutation(n)
    return {name: column[order] for name, column in columns.items()}


def write_clusters(path, columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def graph_of(folder, path):
    """The graph that the program makes of the one event of a file, as columns."""
    succeed("graph", "--of", "fragments", path, "--output", folder)
    tables = [pyarrow.parquet.read_table(next(folder.glob(f"*-{name}.parquet"))) for name in ("fragments", "edges")]
    return [{name: table[name].to_numpy() for name in table.column_names} for table in tables]


def expected_node(columns, rows):
    """The features of one fragment in float64, from their definitions in tensoa/merge/event.hpp."""
    place = np.stack([columns[name][rows] for name in "xyz"], 1).astype(np.float64)
    energy = columns["energy"][rows].astype(np.float64)
    weights = energy / energy.sum() if energy.sum() > 0 else np.full(len(rows), 1 / len(rows))
    centre = weights @ place
    moved = place - centre
    variances, axes = np.linalg.eigh((moved * weights[:, None]).T @ moved)
    axes = axes[:, ::-1]
    unit = centre / np.linalg.norm(centre)
    radius = np.linalg.norm(place - (place @ unit)[:, None] * unit, axis=1)
    axis = unit if len(rows) == 1 else axes[:, 0] * np.sign(axes[:, 0] @ centre)
    layer, time = columns["layer"][rows], columns["time"][rows].astype(np.float64)
    timed = time != NO_TIME
    sigmas = np.sqrt(((moved @ axes) ** 2).mean(axis=0))
    peak = np.argmax(energy)
    return {
        **dict(zip("xyz", centre)),
        "eta": np.arcsinh(centre[2] / np.hypot(*centre[:2])),
        "phi": np.arctan2(centre[1], centre[0]),
        **dict(zip(("axis_x", "axis_y", "axis_z"), axis)),
        **{f"variance_{k + 1}": max(variances[2 - k], 0) for k in range(3)},
        **({f"sigma_{k + 1}": sigmas[k] for k in range(3)} if len(rows) > 2 else {}),
        "clusters": len(rows),
        "cells": columns["cells"][rows].sum(),
        "energy": energy.sum(),
        "em_energy": energy[layer <= 26].sum(),
        "first_layer": layer.min(),
        "last_layer": layer.max(),
        "peak_layer": layer[peak],
        "peak_part": weights[peak],
        "core_part": weights[radius < 20].sum(),
        "mean_radius": weights @ radius,
        "z_min": np.abs(place[:, 2]).min(),
        "z_max": np.abs(place[:, 2]).max(),
        "cluster_density": len(rows) / (1 + layer.max() - layer.min()),
        "time": weights[timed] @ time[timed] / weights[timed].sum() if weights[timed].sum() > 0 else NO_TIME,
    }


@pytest.mark.parametrize("seed", range(3))
def test_node_features_are_those_of_numpy(seed, tmp_path):
    columns = random_clusters(seed)
    nodes, _ = graph_of(tmp_path / "graph", write_clusters(tmp_path / "e.parquet", columns))
    ids = np.unique(columns["fragment_id"])
    assert nodes["fragment_id"].tolist() == ids[ids >= 0].tolist()
    assert len(nodes) == 31  # 29 features, fragment_id, particle_id
    for row, fragment in enumerate(nodes["fragment_id"]):
        rows = np.flatnonzero(columns["fragment_id"] == fragment)
        for name, value in expected_node(columns, rows).items():
            # Absolute: variances and means of differences of numbers of some thousands.
            assert nodes[name][row] == pytest.approx(value, rel=2e-6, abs=2e-4 if name.startswith(("variance", "sigma", "mean")) else 1e-6), (fragment, name)


def test_edge_features_are_those_of_numpy(tmp_path):
    columns = random_clusters(7)
    nodes, edges = graph_of(tmp_path / "graph", write_clusters(tmp_path / "e.parquet", columns))
    assert len(edges["source"]) > 20
    rows_of = [np.flatnonzero(columns["fragment_id"] == fragment) for fragment in nodes["fragment_id"]]
    place = np.stack([columns[name] for name in "xyz"], 1).astype(np.float64)
    centre = np.stack([nodes[name] for name in "xyz"], 1).astype(np.float64)
    axis = np.stack([nodes[name] for name in ("axis_x", "axis_y", "axis_z")], 1).astype(np.float64)
    for e, (s, t) in enumerate(zip(edges["source"], edges["target"])):
        line = centre[t] - centre[s]
        has_times = nodes["time"][s] != NO_TIME and nodes["time"][t] != NO_TIME
        expected = {
            "energy_difference": abs(float(nodes["energy"][t]) - nodes["energy"][s]),
            "dz": abs(centre[t, 2]) - abs(centre[s, 2]),
            "transverse": np.linalg.norm((centre[t] - centre[s] * centre[t, 2] / centre[s, 2])[:2]),
            "time_difference": float(nodes["time"][t]) - nodes["time"][s] if has_times else 0,
            "cosine": line @ axis[s] / np.linalg.norm(line),
        }
        if max(len(rows_of[s]), len(rows_of[t])) <= 64:  # of larger ones some clusters are compared
            distances = np.linalg.norm(place[rows_of[s]][:, None] - place[rows_of[t]][None], axis=2)
            expected |= {"nearest": distances.min(), "farthest": distances.max()}
        for name, value in expected.items():
            assert edges[name][e] == pytest.approx(value, rel=2e-5, abs=1e-4), (e, name)
        particle = nodes["particle_id"][s]
        assert edges["truth"][e] == (particle != 0 and particle == nodes["particle_id"][t])


def merge(out, *arguments):
    """Runs `tensoa merge` with all outputs; returns the object of --json and the table."""
    succeed("merge", *arguments, "--output", out / "merged.parquet", "--report", out / "report.html", "--json", out / "run.json")
    assert names_in(out) == ["merged.parquet", "report.html", "run.json"]
    return json.loads((out / "run.json").read_text()), pyarrow.parquet.read_table(out / "merged.parquet")


def test_fragments_follow_their_best_edges(tmp_path, out, near):
    path = write_clusters(tmp_path / "e.parquet", random_clusters(3))
    nodes, edges = graph_of(tmp_path / "graph", path)
    run, table = merge(out, path, "--model", near, "--device", "cpu", "--cut", 0.3)
    score = np.exp(-edges["nearest"] / np.float32(50))
    parent = list(range(len(nodes["energy"])))
    best = [0.0] * len(parent)
    for e, (s, t) in enumerate(zip(edges["source"], edges["target"])):
        child, other = (s, t) if (nodes["energy"][s], -s) < (nodes["energy"][t], -t) else (t, s)
        if score[e] >= 0.3 and score[e] > best[child]:
            best[child], parent[child] = score[e], other

    def root(row):
        return row if parent[row] == row else root(parent[row])

    group = {fragment: root(row) for row, fragment in enumerate(nodes["fragment_id"])}
    merged = dict(zip(table["fragment_id"].to_pylist(), table["merged_id"].to_pylist()))
    assert merged.pop(-1) == -1
    assert run["merged"] == len(set(group.values())) == len(set(merged.values())) < len(parent)
    assert len({(group[f], merged[f]) for f in group}) == run["merged"]
    assert table.column_names == ["event", "x", "y", "z", "energy", "layer", "fragment_id", "merged_id"]
    assert set(table["event"].to_pylist()) == {"e"}


def test_figures_are_those_of_generated_events_with_any_number_of_threads(out, near):
    one, table = merge(out, "generate:6:3:10:2", "--model", near, "--device", "cpu", "--threads", 1)
    for path in out.iterdir():
        path.unlink()
    two, same = merge(out, "generate:6:3:10:2", "--model", near, "--device", "cpu", "--threads", 2)
    assert same.equals(table)
    for key in set(one) - {"seconds", "threads", "in_flight", "devices", "thread_moves", "lock_waits"}:
        assert one[key] == two[key], key
    assert one["events"] == 6 and one["clusters"] == table.num_rows and one["showers"] > 50
    for key in ("edge_auc", "edge_efficiency", "edge_purity", "merge_efficiency", "energy_purity", "shower_efficiency"):
        assert 0 < one[key] <= 1, key
    assert one["copies"] == {"bytes_in": 0, "bytes_out": 4 * one["edges"]}


def test_without_truth_there_are_no_figures_of_it(tmp_path, out, near):
    columns = {name: column for name, column in random_clusters().items() if name not in ("particle_id", "time", "cells")}
    run, _ = merge(out, write_clusters(tmp_path / "e.parquet", columns), "--model", near)
    assert [run[key] for key in ("merge_efficiency", "edge_auc", "showers", "true_edges")] == [None] * 4
    assert run["fragments"] == 60


def test_lists_and_rows_are_the_same_events(tmp_path, out, near):
    events = [random_clusters(seed, 20 + seed) for seed in range(3)]
    columns = {name: np.concatenate([event[name] for event in events]) for name in events[0]}
    number = np.repeat(np.arange(3), [len(event["x"]) for event in events])
    run, table = merge(out, write_clusters(tmp_path / "a.parquet", columns | {"event_id": number}), "--model", near)
    lists = {name: [event[name] for event in events] for name in events[0]}
    with pyarrow.ipc.new_file(tmp_path / "b.arrow", (rows := pyarrow.table(lists | {"event_id": np.arange(3)})).schema) as file:
        file.write_table(rows)
    for path in out.iterdir():
        path.unlink()
    again, same = merge(out, tmp_path / "b.arrow", "--model", near)
    assert same.drop(["event"]).equals(table.drop(["event"]))
    assert (run["events"], run["merged"]) == (again["events"], again["merged"]) == (3, run["merged"])


def test_small_and_flat_events_are_no_special_case(tmp_path, out, near):
    """An event without clusters, without fragments, of one cluster, and all on one layer."""
    whole = random_clusters(2, 10)
    (tmp_path / "in").mkdir()
    for name, rows in {"none": slice(0, 0), "one": slice(0, 1)}.items():
        write_clusters(tmp_path / "in" / f"{name}.parquet", {key: column[rows] for key, column in whole.items()})
    write_clusters(tmp_path / "in" / "alone.parquet", whole | {"fragment_id": np.full(len(whole["x"]), -1)})
    flat = whole | {"z": np.full(len(whole["x"]), 3300, np.float32), "layer": np.full(len(whole["x"]), 7, np.int32)}
    write_clusters(tmp_path / "in" / "flat.parquet", flat)
    run, _ = merge(out, tmp_path / "in", "--model", near)
    assert (run["events"], run["failed"]) == (3, 0)  # a file without rows has no events


def test_a_million_clusters_are_merged(tmp_path, near):
    """In few large fragments, whose pairs of clusters are not all compared."""
    random = np.random.default_rng(1)
    n = 1_000_000
    columns = {
        "x": random.normal(500, 30, n).astype(np.float32),
        "y": random.normal(500, 30, n).astype(np.float32),
        "z": random.uniform(3300, 4000, n).astype(np.float32),
        "energy": random.exponential(0.1, n).astype(np.float32),
        "layer": random.integers(1, 48, n),
        "fragment_id": random.integers(0, 40, n),
    }
    done = succeed("merge", write_clusters(tmp_path / "e.parquet", columns), "--model", near, "--device", "cpu")
    assert "1 000 000 clusters in 40 fragments, 780 candidate edges" in done.stdout


@pytest.mark.parametrize(
    ("name", "spoil", "says"),
    [
        ("x", lambda column: np.where(np.arange(len(column)) == 5, np.nan, column), ["cluster 5: got x = nan", "mm"]),
        ("z", lambda column: column / 10, ["got |z| = ", "expected 1000 to 100000 mm"]),
        ("energy", lambda column: -column - 1, ["cluster 0: got energy = -", "expected 0 to"]),
        ("layer", lambda column: 0 * column, ["got layer = 0, expected 1 to"]),
        ("fragment_id", lambda column: column - 9, ["got fragment_id = -", "-1 = on no fragment"]),
    ],
)
def test_a_bad_cluster_is_named_and_the_other_events_are_done(name, spoil, says, tmp_path, near):
    columns = random_clusters()
    good = write_clusters(tmp_path / "good.parquet", columns)
    bad = write_clusters(tmp_path / "bad.parquet", columns | {name: spoil(columns[name])})
    done = refuse("merge", good, bad, "--model", near, says=["event bad: ", *says])
    assert "1 event failed and left out" in done.stdout


def test_files_that_are_none_are_named(tmp_path, near):
    columns = random_clusters()
    del columns["energy"]
    path = write_clusters(tmp_path / "e.parquet", columns)
    refuse("merge", path, "--model", near, says=["wrong columns", "expected x, y, z, energy, layer, fragment_id"])
    refuse("merge", tmp_path / "no.parquet", "--model", near, says=["no.parquet", "no such file or folder"])
    refuse("merge", __file__, "--model", near, says=["is not a file of clusters, expected .parquet or .arrow"])
    refuse("merge", tmp_path / "..", "--model", near, "--cut", 2, says=["--cut: got 2, expected 0 to 1"])
    for text in ("generate:0", "generate:1:1:10001", "generate:1:1:1:1001", "generate:1:1:1:1:1"):
        refuse("merge", text, "--model", near, says=["expected generate:EVENTS[:SEED[:PARTICLES[:PILE_UP]]]"])


def test_models_that_do_not_fit_are_refused(model, our_model, tmp_path):
    expected = "expected forward(x [n, 29] float32, edge_index"
    refuse("merge", "generate:1", "--model", our_model, says=["failed while running", '"x" (29 columns) float32', "node_encoder.0.weight", expected])
    refuse("merge", "generate:1", "--model", model, says=["model ", "forward takes 2 tensors", expected])
    path = save(OfOtherWidth(4), tmp_path / "width.pt")
    refuse("merge", "generate:1", "--model", path, says=["failed while running", expected])
    for value in (2.0, float("nan")):
        path = save(Constant(value), tmp_path / "constant.pt")
        refuse("merge", "generate:1", "--model", path, says=["scores are outside [0, 1]; expected forward(x [n, 29]"])


def test_a_model_for_fragments_is_refused_by_track(tmp_path):
    path = save(OfOtherWidth(7), tmp_path / "width.pt")
    refuse("track", "generate:1:1:50", "--model", path, says=["expected forward(x [n_hits, 3] float32"])


def test_a_run_that_is_written_twice_is_refused(tmp_path, near):
    refuse("merge", "generate:1", "--model", near, "--json", tmp_path / "a", "--report", tmp_path / "a", says=["is named twice"])
    refuse("merge", "generate:1", "--model", near, "--output", tmp_path / "a.txt", says=["expected a file named .csv or .parquet"])
