# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Event files that cannot be used: one line, status 2, no files; the others of a batch still come out."""

import gzip
import json

import pyarrow.parquet
import pytest

from conftest import (
    hits_csv,
    large_radius_csv,
    names_in,
    outputs,
    refuse,
    straight_tracks,
    succeed,
    tensoa,
    truth_csv,
    write,
    write_event,
)

HEADER = "hit_id,x,y,z,volume_id,layer_id\n"
EVENT = straight_tracks()
HITS, TRUTH, LARGE_RADIUS = hits_csv(EVENT), truth_csv(EVENT), large_radius_csv(EVENT)
TWO_HITS = HEADER + "1,32,0,0,8,2\n2,72,0,0,8,4\n"
PARTICLES = "particle_id,vx,vy,vz,px,py,pz,q\n"


def cut(text):
    """Its last row ends after two fields."""
    return text[: text.rindex("\n", 0, -1)] + "\n9,1"


def replaced(field, value):
    """The good hits, with one coordinate replaced in the third row (line 4)."""
    event = {name: column.astype(object) for name, column in EVENT.items()}
    event[field][2] = value
    return hits_csv(event)


# Name of the case: the files of an event, the first of them its hits, and what the line must say.
BAD = {
    "empty": ({"e-hits.csv": ""}, ["e-hits.csv", "empty", "expected CSV"]),
    "empty_gzip": ({"e-hits.csv.gz": ""}, ["e-hits.csv.gz", "empty", "expected CSV"]),
    "zero_bytes_named_gz": ({"e-hits.csv.gz": None}, ["e-hits.csv.gz", "empty"]),
    "truncated": ({"e-hits.csv": cut(HITS)}, ["e-hits.csv", "6 columns", "got 2"]),
    "truncated_large_radius": ({"e.csv": cut(LARGE_RADIUS)}, ["e.csv", "3 columns", "got 2"]),
    "truncated_gzip": ({"e-hits.csv.gz": gzip.compress(HITS.encode())[:-200]}, ["e-hits.csv.gz", "truncated gzip"]),
    "truncated_gzip_of_hits_only_in_checksum": (
        {"e-hits.csv.gz": gzip.compress(HITS.encode())[:-4]},
        ["e-hits.csv.gz", "truncated gzip"],
    ),
    "damaged_gzip": (
        {"e-hits.csv.gz": gzip.compress(HITS.encode())[:100] + b"\x55" * 100},
        ["e-hits.csv.gz", "damaged"],
    ),
    "too_much_in_gzip": (
        {"e-hits.csv.gz": gzip.compress(b"0" * 2**20) * 257},
        ["e-hits.csv.gz", "more than 256 MiB of text, unpacked"],
    ),
    "plain_named_gz": ({"e-hits.csv.gz": HITS.encode()}, ["e-hits.csv.gz", "not gzip"]),
    "binary": ({"e-hits.csv": bytes(range(256)) * 8}, ["e-hits.csv", "got binary data", "expected CSV"]),
    "image": ({"e.csv": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"}, ["e.csv", "got binary data", "expected CSV"]),
    "text": ({"e.csv": "These are not the hits.\nNone at all.\n"}, ["got These are not", "expected hit_id, x, y, z"]),
    "html": ({"e.csv": "<html>\n<p>404</p>\n"}, ["e.csv", "got <html>", "expected hit_id, x, y, z"]),
    "column_missing": (
        {"e-hits.csv": HITS.replace("layer_id", "module_id")},
        ["wrong columns", "got hit_id, x, y, z, volume_id, module_id", "layer_id"],
    ),
    "column_twice": ({"e-hits.csv": HITS.replace("x,y", "x,x")}, ["wrong columns", "got hit_id, x, x", "each once"]),
    "two_columns_without_header": ({"e.csv": "0.1,0.2\n0.1,0.3\n"}, ["e.csv", "3 columns"]),
    "word_for_a_number": ({"e-hits.csv": replaced("y", "left")}, ["e-hits.csv", "numbers", "left"]),
    "number_missing": ({"e-hits.csv": replaced("y", "")}, ["e-hits.csv", "numbers"]),
    "nan": ({"e-hits.csv": replaced("x", "nan")}, ["line 4", "x = NaN", "expected a finite number"]),
    "infinity": ({"e-hits.csv": replaced("y", "-inf")}, ["line 4", "y = infinity", "expected a finite number"]),
    "beyond_float32": ({"e-hits.csv": replaced("z", "1e39")}, ["z", "e-hits.csv"]),
    "nan_large_radius": ({"e.csv": "0.1,nan,0.2\n0.1,0.1,0.1\n"}, ["line 1", "phi = NaN"]),
    "infinity_large_radius": ({"e.csv": "0.1,0.2,0.3\n0.1,0.1,inf\n"}, ["line 2", "z = infinity"]),
    "hit_twice": ({"e-hits.csv": HEADER + "4,1,2,3,8,2\n4,5,6,7,8,4\n"}, ["hit_id 4 is duplicated"]),
    "layer_out_of_range": ({"e-hits.csv": HEADER + "4,1,2,3,8,1000\n"}, ["line 2", "layer_id 1000", "0 to 999"]),
    "one_hit": ({"e-hits.csv": HEADER + "1,32,0,0,8,2\n"}, ["1 hit ", "without a candidate edge"]),
    "two_far_hits": (
        {"e-hits.csv": HEADER + "1,32,0,0,8,2\n2,0,72,0,8,4\n"},
        ["2 hits", "without a candidate edge", "in mm"],
    ),
    "hits_in_metres": ({"e.csv": "0.0001,0,0\n0.0002,0,0\n"}, ["2 hits", "in mm"]),
    "truth_misses_a_hit": (
        {"e-hits.csv": TWO_HITS, "e-truth.csv": "hit_id,particle_id\n1,5\n"},
        ["e-truth.csv", "got no row for hit_id 2", "each of the 2 hits"],
    ),
    "truth_of_another_event": (
        {"e-hits.csv": TWO_HITS, "e-truth.csv": "hit_id,particle_id\n101,5\n102,5\n"},
        ["e-truth.csv", "got no row for hit_id 1"],
    ),
    "truth_twice": (
        {"e-hits.csv": TWO_HITS, "e-truth.csv": "hit_id,particle_id\n1,5\n2,5\n2,6\n"},
        ["e-truth.csv", "hit_id 2 is duplicated"],
    ),
    "truth_with_wrong_columns": (
        {"e-hits.csv": TWO_HITS, "e-truth.csv": "hit_id,weight\n1,0.5\n2,0.5\n"},
        ["e-truth.csv", "got hit_id, weight", "expected hit_id, particle_id"],
    ),
    "truth_empty": ({"e-hits.csv": TWO_HITS, "e-truth.csv": ""}, ["e-truth.csv", "empty"]),
    "truth_truncated": (
        {"e-hits.csv": HITS, "e-truth.csv.gz": gzip.compress(TRUTH.encode())[:-50]},
        ["e-truth.csv.gz", "truncated gzip"],
    ),
    "particles_with_words": (
        {"e-hits.csv": TWO_HITS, "e-particles.csv": PARTICLES + "5,0,0,0,1,1,fast,1\n"},
        ["e-particles.csv", "numbers", "fast"],
    ),
}


# Those that run alone as well: one of each kind.
ALONE = ["empty", "truncated", "truncated_gzip", "binary", "text", "column_missing", "nan", "infinity"]
ALONE += ["one_hit", "two_far_hits", "truth_misses_a_hit"]


def write_case(folder, case):
    """Writes the files of a case; returns the first."""
    folder.mkdir(exist_ok=True)
    files, _ = BAD[case]
    for name, contents in files.items():
        if isinstance(contents, str):
            write(folder / name, contents)
        else:
            (folder / name).write_bytes(contents or b"")
    return folder / next(iter(files))


@pytest.mark.parametrize("case", ALONE)
def test_bad_event_is_refused(case, tmp_path, out, model):
    path = write_case(tmp_path, case)
    done = refuse("track", path, "--model", model, *outputs(out), says=["event e: ", *BAD[case][1]])
    assert "1 event failed and left out" in done.stdout
    assert names_in(out) == []


@pytest.fixture(scope="module")
def good_events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    return [write_event(folder, f"good{seed}", straight_tracks(seed)) for seed in range(3)]


@pytest.fixture(scope="module")
def batch(good_events, model, tmp_path_factory):
    """A run over all bad events and, among them, good ones; and the folder of its outputs."""
    folder = tmp_path_factory.mktemp("bad")
    inputs = [write_case(folder / case, case) for case in BAD]
    for place, path in zip((0, 7, len(inputs)), good_events):
        inputs.insert(place, path)
    out = tmp_path_factory.mktemp("out")
    return tensoa("track", *inputs, "--model", model, "--threads", 2, *outputs(out)), out


@pytest.mark.parametrize("case", BAD)
def test_line_says_what_is_wrong(case, batch):
    """One line for each bad event of a batch, in order of the inputs."""
    lines = batch[0].stderr.splitlines()
    assert len(lines) == len(BAD)
    line = lines[list(BAD).index(case)]
    assert line.startswith(f"tensoa: event {case}_e: ") and len(line) < 800
    for part in BAD[case][1]:
        assert part in line


def test_good_events_of_a_batch_come_out(batch, good_events, tmp_path, model):
    done, out = batch
    assert done.returncode == 2
    assert f"{len(BAD)} events failed and left out" in done.stdout
    assert names_in(out) == ["report.html", "run.json", "tracks.csv"]
    run = json.loads((out / "run.json").read_text())
    assert (run["events"], run["failed"]) == (3, len(BAD))

    # The answers are those of a run without the bad ones.
    alone = tmp_path / "alone.csv"
    succeed("track", *good_events, "--model", model, "--output", alone)
    assert alone.read_bytes() == (out / "tracks.csv").read_bytes()


def test_missing_input_is_refused(tmp_path, out, model):
    """Inputs that the call names must exist; the other inputs of the call still come out."""
    good = write_event(tmp_path, "good")
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "notes.txt", "no events")
    for name, says in {
        "none-hits.csv": ["none-hits.csv", "no such file or folder", "expected"],
        "folder": ["folder", "no events", "expected files *.csv[.gz], *.parquet"],
        "folder/notes.txt": ["notes.txt", "expected NAME-hits.csv"],
        "good-truth.csv": ["good-truth.csv", "not a file of hits"],
    }.items():
        refuse("track", tmp_path / name, "--model", model, *outputs(out), says=says)
        assert names_in(out) == []
    refuse("track", good, tmp_path / "none", "--model", model, *outputs(out), says=["none", "no such file"])
    run = json.loads((out / "run.json").read_text())
    assert (run["events"], run["failed"]) == (1, 1)


def test_graph_refuses_bad_events_and_writes_the_others(tmp_path, out):
    write_event(tmp_path, "good")
    write_case(tmp_path, "nan")
    done = refuse("graph", tmp_path, "--output", out, says=["event e: ", "line 4", "x = NaN"])
    assert "1 graph" in done.stdout
    assert names_in(out) == ["good-edges.parquet", "good-hits.parquet"]


def test_events_of_one_name_are_distinguished_by_their_folders(tmp_path, out, model):
    folders = [tmp_path / "a", tmp_path / "b"]
    for seed, folder in enumerate(folders):
        folder.mkdir()
        write_event(folder, "same", straight_tracks(seed))
    succeed("graph", *folders, "--output", out / "graphs")
    assert names_in(out / "graphs") == [f"{f}_same-{kind}.parquet" for f in "ab" for kind in ("edges", "hits")]
    succeed("track", *folders, "--model", model, "--output", out / "tracks.csv")
    rows = [line.split(",")[0].strip('"') for line in (out / "tracks.csv").read_text().splitlines()[1:]]
    hits = len(straight_tracks()["x"])
    assert rows == ["a_same"] * hits + ["b_same"] * hits


def test_an_event_that_is_named_twice_is_refused(tmp_path, out, model):
    event = write_event(tmp_path, "same")
    for command in (["graph", "--output", out / "graphs"], ["track", "--model", model, *outputs(out)]):
        refuse(*command, tmp_path, event, says=["two events are called", f"same: {event} and {event}; rename"])
    assert names_in(out) == []


def test_a_device_that_is_named_twice_is_refused(tmp_path, out, model):
    event = write_event(tmp_path, "good")
    says = ["--devices: cpu is named twice", "--streams"]
    refuse("track", event, "--model", model, "--devices", "cpu,cpu", *outputs(out), says=says)
    assert names_in(out) == []


def test_files_named_twice_are_refused(tmp_path, out, model):
    event = write_event(tmp_path, "good")
    before = event.read_bytes()
    refuse("track", event, "--model", model, "--output", event, says=["named twice"])
    refuse("track", event, "--model", model, "--output", out / "x.csv", "--json", out / "x.csv", says=["named twice"])
    assert event.read_bytes() == before
    assert names_in(out) == []


@pytest.mark.parametrize("contents", [HEADER, HEADER.rstrip("\n")])
def test_event_without_hits_gives_an_empty_answer(contents, tmp_path, out, model):
    path = write(tmp_path / "none-hits.csv", contents)
    succeed("track", path, "--model", model, *outputs(out))
    run = json.loads((out / "run.json").read_text())
    assert (run["events"], run["failed"], run["hits"], run["edges"], run["tracks"]) == (1, 0, 0, 0, 0)
    assert run["edge_auc"] is None
    assert (out / "tracks.csv").read_text().splitlines() == ['"event","hit_id","x","y","z","track_id"']
    assert names_in(out) == ["report.html", "run.json", "tracks.csv"]


def test_event_without_hits_in_a_batch(tmp_path, out, model):
    """Packed, and with truth: still no rows for it."""
    write(tmp_path / "none-hits.csv.gz", HEADER)
    write(tmp_path / "none-truth.csv.gz", "hit_id,particle_id\n")
    write_event(tmp_path, "some")
    succeed("track", tmp_path, "--model", model, "--output", out / "tracks.parquet", "--json", out / "run.json")
    table = pyarrow.parquet.read_table(out / "tracks.parquet")
    assert set(table["event"].to_pylist()) == {"some"} and table.num_rows == len(EVENT["x"])
    run = json.loads((out / "run.json").read_text())
    assert (run["events"], run["failed"]) == (2, 0)
    succeed("graph", tmp_path / "none-hits.csv.gz", "--output", out)
    assert pyarrow.parquet.read_table(out / "none-edges.parquet").num_rows == 0
