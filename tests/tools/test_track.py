# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""`tensoa track` on events that it can use: its answer, its figures and its report."""

import contextlib
import hashlib
import html.parser
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
import torch

from conftest import (
    PROGRAM,
    ROOT,
    csv,
    hits_csv,
    large_radius_csv,
    names_in,
    outputs,
    package,
    refuse,
    save,
    straight_tracks,
    succeed,
    tensoa,
    truth_csv,
    write,
    write_event,
)

COUNTS = {"particles": int, "found": int, "efficiency": float, "efficiency_low": float, "efficiency_high": float}
OF_EDGES = {"with_edges": int, "findable": int, "findable_found": int, "ceiling": float, "technical_efficiency": float}
CATEGORY = COUNTS | OF_EDGES | {"min_hits": int, "min_pt": float}
AGAINST_TRUTH = {
    "definitions": {},
    "events": int,
    "events_with_particles": int,
    "events_with_edges": int,
    "tracks": int,
    "fakes": int,
    "duplicates": int,
    "fake_rate": float,
    "duplicate_rate": float,
    "all": {"min_hits_3": CATEGORY, "min_hits_5": CATEGORY, "min_pt_0_5_gev": type(None), "min_pt_1_gev": type(None)},
    "primary": type(None),
    "against_pt": type(None),
    "against_eta": type(None),
    "unlisted": int,
    "notes": list,
}
KEYS = {
    "events": int,
    "failed": int,
    "hits": int,
    "edges": int,
    "true_edges": int,
    "edge_auc": float,
    "edge_efficiency": float,
    "edge_purity": float,
    "tracks": int,
    "done_again": int,
    "cuda_graphs": int,
    "track_efficiency": float,
    "tracks_against_truth": AGAINST_TRUTH,
    "score_cut": float,
    "seconds": {
        "read": float,
        "graph": float,
        "infer": float,
        "tracks": float,
        "all_stages": float,
        "wall_clock": float,
        "latency_p50": float,
        "latency_p99": float,
        "latency_p999": float,
    },
    "copies": {"bytes_in": int, "bytes_out": int},
    "transfers": {"bytes_to_device": int, "bytes_to_host": int},
    "threads": int,
    "cores": int,
    "wait": str,
    "in_flight": int,
    "rerun": int,
    "thread_moves": int,
    "lock_waits": int,
    "devices": list,
    "device": str,
    "model": str,
    "graph_rules": type(None),
    "servers": list,
}
FROM_TRUTH = {"true_edges", "edge_auc", "edge_efficiency", "edge_purity", "track_efficiency", "tracks_against_truth"}


def track(out, *arguments):
    """Runs `tensoa track` with all outputs; returns the object of --json."""
    succeed("track", *arguments, *outputs(out))
    assert names_in(out) == ["report.html", "run.json", "tracks.csv"]
    return json.loads((out / "run.json").read_text())


def types_of(value):
    return {key: types_of(member) for key, member in value.items()} if isinstance(value, dict) else type(value)


def read_csv(path):
    types = {"event": "string", "hit_id": "int64", "x": "float", "y": "float", "z": "float", "track_id": "int64"}
    table = pyarrow.csv.read_csv(path, convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    assert table.column_names == list(types)
    return table


def test_the_way_of_waiting_and_the_placement_change_no_answer(tmp_path, out, model):
    write_event(tmp_path, "one", straight_tracks(1))
    write_event(tmp_path, "two", straight_tracks(2))
    answers = []
    ways = [["--wait", way] for way in ("polling", "callback", "blocking", "threads")]
    for more in (*ways, ["--deterministic-placement"]):
        tracks = out / "tracks.csv"
        succeed("track", tmp_path, "--model", model, "--device", "cpu", "--threads", 2, "--output", tracks, *more)
        answers.append(tracks.read_bytes())
    assert answers == answers[:1] * 5


def test_more_threads_than_cores_are_in_the_table(tmp_path, model):
    for name in "abcdefgh":
        write_event(tmp_path, name, straight_tracks(1))
    cores = os.cpu_count()
    said = f"with 8 threads on {cores} core"
    assert (said in succeed("track", tmp_path, "--model", model, "--device", "cpu", "--threads", 8).stdout) == (cores < 8)


def test_figures_have_these_keys_and_types(tmp_path, out, model):
    write_event(tmp_path, "one", straight_tracks(1))
    write_event(tmp_path, "two", straight_tracks(2))
    run = track(out, tmp_path, "--model", model, "--device", "cpu", "--threads", 2, "--cut", 0.25)
    assert run["tracks_against_truth"]["definitions"].keys() > {"found", "primary", "fake", "duplicate", "ceiling"}
    run["tracks_against_truth"]["definitions"] = {}
    assert types_of(run) == KEYS
    hits = 2 * len(straight_tracks()["x"])
    assert (run["events"], run["failed"], run["hits"], run["threads"], run["score_cut"]) == (2, 0, hits, 2, 0.25)
    assert (run["device"], run["model"]) == ("cpu", str(model))
    assert run["copies"] == {"bytes_in": 0, "bytes_out": 4 * run["edges"]}
    assert [of.keys() for of in run["devices"]] == [{"device", "events", "is_lost", "places", "ready_seconds"}]
    assert (run["devices"][0]["device"], run["devices"][0]["events"], run["wait"]) == ("cpu", 2, "polling")
    assert run["transfers"] == {"bytes_to_device": 0, "bytes_to_host": 0}
    assert 0 < run["true_edges"] < run["edges"]
    assert all(0 <= run[key] <= 1 for key in ("edge_auc", "edge_efficiency", "edge_purity", "track_efficiency"))
    assert all(seconds >= 0 for seconds in run["seconds"].values())


@pytest.mark.parametrize("layout", ["rows", "lists"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_tables_of_events_give_the_tracks_of_the_same_events_as_csv(layout, ending, tmp_path, out, model):
    """Six events in row groups of two and a half."""
    events = [straight_tracks(seed) for seed in range(1, 7)]
    (tmp_path / "csv").mkdir()
    for number, event in enumerate(events):
        write_event(tmp_path / "csv", f"event_{number}", event)
    expected = track(out, tmp_path / "csv", "--model", model, "--threads", 2)
    answers = read_csv(out / "tracks.csv")

    names = {"hit_id": np.int64, "x": np.float32, "y": np.float32, "z": np.float32, "volume_id": np.int32, "layer_id": np.int32, "particle_id": np.int64}
    events = [event | {"volume_id": np.full(len(event["x"]), 8)} for event in events]
    columns = {name: [np.asarray(event[name], kind) for event in events] for name, kind in names.items()}
    if layout == "rows":
        hits = len(columns["x"][0])
        table = pyarrow.table({name: np.concatenate(values) for name, values in columns.items()})
        table = table.append_column("event_id", pyarrow.array(np.repeat(np.arange(6, dtype=np.uint32), hits)))
        rows = 5 * hits // 2
    else:
        table = pyarrow.table({"event_id": np.arange(6)} | columns)
        rows = 2
    path = tmp_path / f"event.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=rows)
    else:
        with pyarrow.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=rows)
    for answer in out.iterdir():
        answer.unlink()
    run = track(out, path, "--model", model, "--threads", 2)
    assert read_csv(out / "tracks.csv").equals(answers)
    # Truth is there, particles are not: what does not need them is the same.
    for key in ("events", "failed", "hits", "edges", "tracks", "true_edges", "edge_auc"):
        assert run[key] == expected[key], key


def test_a_truncated_table_between_others_loses_its_events_alone(tmp_path, out, model):
    event = straight_tracks()
    table = pyarrow.table({"x": [event["x"]] * 3, "y": [event["y"]] * 3, "z": [event["z"]] * 3})
    for name in ("a", "b", "c"):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    data = (tmp_path / "b.parquet").read_bytes()
    write(tmp_path / "b.parquet", data[: len(data) // 2])
    done = refuse("track", tmp_path, "--model", model, *outputs(out), says=["event b: ", "b.parquet: is not a Parquet file, or is damaged or truncated"])
    assert "1 event failed and left out" in done.stdout
    run = json.loads((out / "run.json").read_text())
    assert (run["events"], run["failed"]) == (6, 1)
    assert set(read_csv(out / "tracks.csv")["event"].to_pylist()) == {f"{name}_{i}" for name in "ac" for i in range(3)}


@pytest.mark.parametrize("kind", ["large_radius", "without_truth"])
def test_figures_without_truth_are_null(kind, tmp_path, out, model):
    event = straight_tracks()
    if kind == "large_radius":
        path = write(tmp_path / "evt_1.csv.gz", large_radius_csv(event))
    else:
        path = write(tmp_path / "event-hits.csv.gz", hits_csv(event))
    run = track(out, path, "--model", model)
    assert types_of(run) == KEYS | dict.fromkeys(FROM_TRUTH, type(None))
    assert run["hits"] == len(event["x"]) and run["edges"] > 0 and run["tracks"] > 0


def test_figures_of_truth_leave_out_events_without(tmp_path, out, model):
    write(tmp_path / "a.csv", large_radius_csv(straight_tracks(1)))
    with_truth = write_event(tmp_path, "b", straight_tracks(2))
    mixed = track(out, tmp_path, "--model", model)
    alone = track(out, with_truth, "--model", model)
    assert mixed["events"] == 2 and mixed["edges"] > alone["edges"]
    assert {key: mixed[key] for key in FROM_TRUTH} == {key: alone[key] for key in FROM_TRUTH}


def write_particles(folder, name, event, ids, **columns):
    """Writes the particle table of an event: positive particles of 0.6 GeV from the beam line, unless `columns` has others."""
    made = {"vx": 0, "vy": 0, "vz": 0, "px": 0.6, "py": 0, "pz": 0.1, "q": 1} | columns
    values = [np.broadcast_to(value, len(ids)) for value in made.values()]
    write(folder / f"{name}-particles.csv", csv(",".join(["particle_id", *made]), ids, *values))
    return write_event(folder, name, event)


def test_particles_are_counted_by_what_their_table_says(tmp_path, out, model):
    event = straight_tracks(3, noise=0)
    ids = np.unique(event["particle_id"])
    path = write_particles(tmp_path, "e", event, ids, vx=np.where(ids == ids[0], 3, 0), px=np.where(ids == ids[1], 1.5, 0.6))
    run = track(out, path, "--model", model)["tracks_against_truth"]
    assert run["primary"].keys() == run["all"].keys() and types_of(run["primary"]["min_hits_3"]) == CATEGORY
    assert [category["particles"] for category in run["all"].values()] == [8, 8, 8, 1]
    assert [category["particles"] for category in run["primary"].values()] == [7, 7, 7, 1]
    assert [category["ceiling"] for category in run["primary"].values()] == [1] * 4
    assert (run["notes"], run["events_with_particles"], run["events_with_edges"]) == ([], 1, 1)
    assert (sum(run["against_pt"]["particles"]), sum(run["against_eta"]["found"])) == (7, 7)
    assert [len(run[bins]["edges"]) for bins in ("against_pt", "against_eta")] == [21, 17]


def test_particles_that_the_table_lacks_are_said(tmp_path, model):
    event = straight_tracks(3)
    ids = np.unique(event["particle_id"])[1:]
    path = write_particles(tmp_path, "e", event, ids[1:])
    done = succeed("track", path, "--model", model, "--json", tmp_path / "run.json")
    assert "\nnot in the particle table of their event: 1 of 8 particles with at least 3 hits; " in done.stdout
    run = json.loads((tmp_path / "run.json").read_text())["tracks_against_truth"]
    assert (run["unlisted"], len(run["notes"])) == (1, 1)
    assert (run["all"]["min_hits_3"]["particles"], run["primary"]["min_hits_3"]["particles"]) == (8, 7)


def test_a_particle_table_with_a_particle_twice_is_refused(tmp_path, model):
    event = straight_tracks(3)
    ids = np.unique(event["particle_id"])[1:]
    path = write_particles(tmp_path, "e", event, [*ids, ids[2]])
    refuse("track", path, "--model", model, says=["event e: ", f"particle_id {ids[2]} is duplicated in the particle table"])


def test_tracks_are_the_particles_of_an_easy_event(tmp_path, out, model):
    """Hits of one phi share a track; a file of several events has one row a hit, in the order of the files."""
    events = {"evt_10": straight_tracks(10, noise=0), "evt_2": straight_tracks(2, noise=0)}
    for name, event in events.items():
        write_event(tmp_path, name, event)
    run = track(out, tmp_path, "--model", model)
    assert (run["edge_efficiency"], run["track_efficiency"]) == (1.0, 1.0)
    table = read_csv(out / "tracks.csv")
    first = 0
    for name in ("evt_2", "evt_10"):
        event = events[name]
        rows = table.slice(first, len(event["x"]))
        first += rows.num_rows
        assert set(rows["event"].to_pylist()) == {name}
        np.testing.assert_array_equal(rows["hit_id"], event["hit_id"])
        for axis in "xyz":
            np.testing.assert_array_equal(rows[axis], event[axis].astype(np.float32))
        pairs = set(zip(rows["track_id"].to_pylist(), event["particle_id"].tolist()))
        assert len(pairs) == len(set(event["particle_id"])) == len({track_id for track_id, _ in pairs})
        assert {track_id for track_id, _ in pairs} == set(range(8))
    assert first == table.num_rows == run["hits"]


def test_csv_and_parquet_hold_the_same(tmp_path, model):
    for ending in ("csv", "parquet"):
        succeed("track", "generate:3:5:40", "--model", model, "--output", tmp_path / f"tracks.{ending}")
    text, parquet = read_csv(tmp_path / "tracks.csv"), pyarrow.parquet.read_table(tmp_path / "tracks.parquet")
    assert parquet.cast(text.schema).equals(text)
    assert text["track_id"].to_numpy().min() == -1 and text["track_id"].to_numpy().max() > 5


def test_counters_are_written_for_prometheus(tmp_path, model):
    good = write_event(tmp_path, "good")
    bad = write(tmp_path / "bad-hits.csv", "hit_id,x,y\n1,2,3\n")
    done = tensoa("track", good, bad, "generate:2:5", "--model", model, "--device", "cpu", "--metrics", tmp_path / "m.prom")
    assert done.returncode == 2 and "bad-hits.csv" in done.stderr
    lines = (tmp_path / "m.prom").read_text().splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert all(re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})?', name) for name in samples)
    assert samples['tensoa_events_total{device="cpu"}'] == "4"
    assert samples["tensoa_events_failed_total"] == "1"
    assert samples["tensoa_event_latency_seconds_count"] == "4"
    assert float(samples['tensoa_event_latency_seconds{quantile="0.99"}']) > 0
    assert float(samples['tensoa_memory_peak_bytes{device="cpu",purpose="collections"}']) > 0
    described = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert described == {name.partition("{")[0].removesuffix("_count") for name in samples}
    refuse("track", good, "--model", model, "--metrics", tmp_path / "none" / "m.prom", says=["none/m.prom"])


def test_number_of_threads_and_of_events_in_flight_changes_nothing(tmp_path, model):
    runs, tracks = [], []
    for threads, each in ((1, 1), (2, 2), (2, 5)):
        folder = tmp_path / f"{threads}_{each}"
        folder.mkdir()
        run = track(folder, "generate:8:3:60", "--model", model, "--threads", threads, "--streams", threads * each)
        assert run.pop("threads") == threads and run.pop("seconds")["wall_clock"] > 0
        assert run.pop("in_flight") == min(threads * each, 8)
        assert 1 <= run["devices"][0].pop("places") <= threads * each
        assert run["devices"][0].pop("ready_seconds") > 0 and run.pop("lock_waits") >= 0
        runs.append(run)
        tracks.append((folder / "tracks.csv").read_bytes())
    assert runs[0] == runs[1] == runs[2]
    assert tracks[0] == tracks[1] == tracks[2]


def test_package_finds_the_tracks_of_the_torchscript_file(tmp_path, our_model):
    compiled, found = package("edge_network-cpu.pt2"), {}
    for model in (our_model, compiled):
        folder = tmp_path / model.suffix
        folder.mkdir()
        run = track(folder, "generate:3:3:100", "--model", model, "--device", "cpu")
        found[model] = (run["tracks"], run["edge_efficiency"], (folder / "tracks.csv").read_bytes())
    assert found[our_model] == found[compiled] and found[compiled][0] > 100
    assert run["copies"] == {"bytes_in": 0, "bytes_out": 0}


def test_rules_copy_the_model_are_its_candidate_edges(tmp_path, out, our_model):
    rules = ROOT / "models" / "interaction_network.graph.json"
    alone = track(out, "generate:2:3:100", "--model", our_model, "--device", "cpu")
    assert alone["graph_rules"] is None
    asked = track(out, "generate:2:3:100", "--model", our_model, "--device", "cpu", "--graph", rules)
    assert asked["graph_rules"] == str(rules)
    model = shutil.copy(our_model, tmp_path / "mine.pt")
    copy = shutil.copy(rules, tmp_path / "mine.graph.json")
    found = track(out, "generate:2:3:100", "--model", model, "--device", "cpu")
    assert found["graph_rules"] == str(copy)
    figures = ("edges", "true_edges", "tracks", "edge_auc", "track_efficiency")
    assert [found[key] for key in figures] == [asked[key] for key in figures]
    assert found["track_efficiency"] > alone["track_efficiency"]
    says = succeed("track", "generate:1:3:100", "--model", model, "--device", "cpu").stdout
    assert f"candidate edges by {copy}" in says


def test_rules_that_are_none_are_refused(tmp_path, model):
    rules = write(tmp_path / "rules.json", '{"cuts": {"max_phi": 1}}')
    refuse("track", "generate:1", "--model", model, "--graph", rules, says=["rules.json", '"max_phi"', "max_dphi"])


def test_a_layer_that_the_rules_do_not_name_fails_its_event_alone(tmp_path, out, our_model):
    rules = ROOT / "models" / "interaction_network.graph.json"
    write_event(tmp_path, "other_detector", straight_tracks(1))
    command = ("track", tmp_path, "generate:1:3:100", "--model", our_model, "--device", "cpu", "--graph", rules)
    done = tensoa(*command, "--json", out / "run.json")
    assert done.returncode == 2 and "other_detector: hit row" in done.stderr and "got layer" in done.stderr
    assert json.loads((out / "run.json").read_text())["events"] == 1


def test_cut_joins_edges_of_at_least_that_score(tmp_path, out):
    class Half(torch.nn.Module):
        def forward(self, x, edge_index, edge_attr):
            return 0.5 + 0 * edge_attr[:, :1]

    path = save(Half(), tmp_path / "half.pt")
    event = write_event(tmp_path, "event")
    for cut, selected in ((0.5, 1.0), (0.51, 0.0)):
        run = track(out, event, "--model", path, "--cut", cut)
        assert (run["edge_efficiency"], run["edge_auc"]) == (selected, 0.5)
    assert (run["edge_purity"], run["tracks"]) == (None, 0)


def test_packed_files_are_read_alike(tmp_path, out, model):
    event = straight_tracks()
    plain = track(out, write_event(tmp_path, "plain", event), "--model", model)
    write(tmp_path / "packed-truth.csv.gz", truth_csv(event))
    packed = track(out, write(tmp_path / "packed-hits.csv.gz", hits_csv(event)), "--model", model)
    for run in (plain, packed):
        assert run.pop("seconds") and run["devices"][0].pop("ready_seconds") >= 0 and run.pop("lock_waits") >= 0
    assert plain == packed


def test_same_events_every_time(tmp_path, out, model):
    first = track(out, "generate:2:9:30", "--model", model)
    first_tracks = (out / "tracks.csv").read_bytes()
    again = track(out, "generate:2:9:30", "--model", model)
    assert first["edges"] == again["edges"] and first_tracks == (out / "tracks.csv").read_bytes()
    other = track(out, "generate:2:10:30", "--model", model)
    assert other["edges"] != first["edges"]


def test_summary_on_stdout_has_stages_and_figures(tmp_path, model):
    done = succeed("track", write_event(tmp_path, "event"), "--model", model)
    for part in ("read", "build graph", "infer", "tracks", "events/s", "edges/s", "0 B in", "edge AUC"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout and "\r" not in done.stdout


def test_figures_go_into_a_pipe(tmp_path, model):
    for name in ("-", "/dev/stdout"):
        done = tensoa("track", write_event(tmp_path, "event"), "--model", model, "--json", name)
        assert done.returncode == 0 and json.loads(done.stdout)["events"] == 1
        assert "wall clock" in done.stderr


def test_figures_go_into_a_redirected_file_behind_what_is_there(tmp_path, model):
    path = tmp_path / "log"
    event = write_event(tmp_path, "event")
    with path.open("w") as log:
        log.write("before\n")
        log.flush()
        command = [PROGRAM, "track", event, "--model", model, "--json", "-"]
        subprocess.run(command, stdout=log, stderr=subprocess.DEVNULL, check=True)
        log.write("after\n")
    first, *lines, last = path.read_text().splitlines()
    assert (first, last) == ("before", "after") and json.loads("".join(lines))["events"] == 1


def test_stages_and_wall_clock_are_reported_separately(tmp_path, out, model):
    done = succeed("track", "generate:3:1:50", "--model", model, "--threads", 2, *outputs(out))
    seconds = json.loads((out / "run.json").read_text())["seconds"]
    stages = ("read", "graph", "infer", "tracks")
    assert seconds["all_stages"] == pytest.approx(sum(seconds[stage] for stage in stages))
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[5:7]] == ["all stages", "wall clock"]
    page = (out / "report.html").read_text()
    assert "wall clock" in page and "total time" not in page


# Signals


def interrupted(signal_number, action, out, model, then=()):
    """(exit status, stderr) of a run to which a signal is sent once its first events are written, and others immediately."""
    command = [PROGRAM, "track", "generate:100000:1:200", "--model", model, *map(str, outputs(out))]
    options = {"stdout": subprocess.DEVNULL, "text": True, "preexec_fn": lambda: signal.signal(signal_number, action)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, **options) as run:
        for _ in range(600):
            files = {path.name: path.stat().st_size for path in out.iterdir()}
            if len(files) == 3 and max(files.values()) > 1000:  # more than the header: the first events are written
                break
            time.sleep(0.1)
        assert sorted(path.name.rpartition(".tensoa")[0] for path in out.iterdir()) == [
            ".report.html",
            ".run.json",
            ".tracks.csv",
        ]
        for number in (signal_number, *then):
            run.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=60 if action == signal.SIG_DFL else 1)
        run.kill()
        return run.wait(), run.stderr.read()


def test_a_hang_up_removes_what_is_not_finished(out, model):
    status, says = interrupted(signal.SIGHUP, signal.SIG_DFL, out, model)
    assert (status, says) == (-signal.SIGHUP, "tensoa: ended by SIGHUP; outputs that were not finished are removed\n")
    assert list(out.iterdir()) == []


def test_the_second_signal_removes_what_is_not_finished(out, model):
    status, says = interrupted(signal.SIGINT, signal.SIG_DFL, out, model, then=[signal.SIGTERM])
    first, second = "SIGINT", "SIGTERM"
    if status == -signal.SIGINT:  # on a loaded machine the thread that was given the later one may be faster
        first, second = second, first
    else:
        assert status == -signal.SIGTERM
    assert says.splitlines() == [
        f"tensoa: {first}: finishing the events in flight; once more to end now",
        f"tensoa: ended by {second}; outputs that were not finished are removed",
    ]
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_stopped_writes_what_is_done_and_is_resumed(name, out, model, tmp_path):
    number, events = getattr(signal, name), 100000
    status, says = interrupted(number, signal.SIG_DFL, out, model)
    assert status == -number
    done = json.loads((out / "run.json").read_text())["events"]
    assert f"tensoa: {done} of {events} events are done; the same command with --resume" in says
    resume = out / "tracks.csv.resume"
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "run.json", "tracks.csv", resume.name]
    last = read_csv(out / "tracks.csv")["event"].to_pylist()[-1]
    assert last == f"generated-1-{done - 1}"
    left = json.loads(resume.read_text())
    assert (left["events_done"], left["events"]) == (done, events)
    resume.write_text(json.dumps({**left, "events_done": events - 2}))
    rest = tmp_path / "rest.json"
    inputs = [f"generate:{events}:1:200", "--model", model]
    succeed("track", *inputs, "--json", rest, "--resume", resume)
    assert json.loads(rest.read_text())["events"] == 2
    refuse("track", *inputs, "--output", out / "tracks.csv", "--resume", resume, says=["tracks.csv", "first part"])
    for wrong in [{}, {**left, "events_done": events + 1}, {**left, "events_done": -1}]:
        resume.write_text(json.dumps(wrong))
        refuse("track", *inputs, "--resume", resume, says=["is not a file that `tensoa track` left"])


class Closer(torch.nn.Module):
    """Takes fewer edges than the model of the other tests."""

    def forward(self, x, edge_index):
        return torch.exp(-900 * (x[edge_index[0], 1] - x[edge_index[1], 1]).abs())


def test_resume_refuses_another_run(out, model, tmp_path):
    """Of which the two parts would not fit each other."""
    folder = tmp_path / "events"
    folder.mkdir()
    for i in range(300):
        write_event(folder, f"e{i:03}", straight_tracks(i, particles=40))
    command = [PROGRAM, "track", folder, "--model", model, "--threads", "1", "--output", out / "a.csv"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not any(path.stat().st_size > 1000 for path in out.iterdir()):
            assert run.poll() is None
            time.sleep(0.001)
        run.send_signal(signal.SIGINT)
    resume = out / "a.csv.resume"
    if not resume.exists():
        pytest.skip("all events were done before the signal came")

    def resumed(*inputs, model=model, cut=0.5, run=refuse, **says):
        return run("track", *inputs, "--model", model, "--cut", cut, "--output", out / "b.csv", "--resume", resume, **says)

    other = save(Closer(), tmp_path / "other.pt")
    resumed(folder, cut=0.9, says=["a.csv.resume had --cut 0.5 (now 0.9)", "expected the same model, graph rules, cut and inputs"])
    resumed(folder, model=other, says=["another model"])
    rules = ROOT / "models" / "interaction_network.graph.json"
    resumed(folder, "--graph", rules, says=["other graph rules"])
    if "\n  top " in succeed("--help").stdout:  # built with remote/
        left, url = json.loads(resume.read_text()), "grpc://127.0.0.1:1/m"
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        resume.write_text(json.dumps({**left, "model": f"{url} {digest}"}))
        for changed in [(other, url), (model, url + "2")]:
            resumed(folder, "--fallback", changed[0], model=changed[1], says=["another model"])
        resumed("generate:300", "--fallback", model, model=url, says=["had other inputs"])
        resume.write_text(json.dumps(left))
    resumed(*sorted(folder.glob("*-hits.csv"))[:-1], says=["300 events (now 299)"])
    resumed("generate:300", says=["other inputs"])
    hits = folder / "e299-hits.csv"
    text = hits.read_text()
    hits.write_text(text[:-8] + ("1" if text[-8] != "1" else "2") + text[-7:])  # as long
    resumed(folder, says=["other inputs"])
    hits.write_text(text)
    moved = folder.rename(tmp_path / "moved")
    resumed(moved, run=succeed)
    done, rest = (read_csv(out / name)["event"].unique().to_pylist() for name in ("a.csv", "b.csv"))
    assert done + rest == [f"e{i:03}" for i in range(300)]


@pytest.mark.parametrize("change", [{}, {"seed": 2}, {"particles": 60}])
def test_resume_refuses_other_generated_events(change, out, model):
    run = {"seed": 1, "particles": 50, **change}
    left = out / "r.json"
    sources = "generate:{}:{seed}:{particles}"
    command = [PROGRAM, "track", sources.format(100000, seed=1, particles=50), "--model", model, "--json", out / "a.json", "--output", out / "a.csv"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as stopped:
        while not any(path.stat().st_size > 1000 for path in out.iterdir()):
            time.sleep(0.01)
        stopped.send_signal(signal.SIGINT)
    progress = json.loads((out / "a.csv.resume").read_text())
    left.write_text(json.dumps({**progress, "events_done": 99999}))
    again = ["track", sources.format(100000, **run), "--model", model, "--resume", left]
    if change:
        refuse(*again, says=["other inputs"])
    else:
        succeed(*again)


def test_a_signal_that_is_ignored_stays_ignored(out, model):
    """As by nohup: it is our SIGKILL that ends it."""
    assert interrupted(signal.SIGHUP, signal.SIG_IGN, out, model) == (-signal.SIGKILL, "")


def test_a_file_beyond_the_limit_of_sizes_is_an_error(out, model):
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))}
    says = [f"cannot write {out / 'tracks.csv'}: ", "File too large"]
    refuse("track", "generate:3:1:200", "--model", model, "--output", out / "tracks.csv", says=says, **limit)
    assert list(out.iterdir()) == []


class Links(html.parser.HTMLParser):
    """Collects what a page would load or lead to."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]


def test_report_is_one_page_that_needs_nothing_else(tmp_path, out, model):
    name = "<b>&'\"event"
    track(out, write_event(tmp_path, name), "--model", model)
    page = (out / "report.html").read_text()
    links = Links()
    links.feed(page)
    assert page.lower().startswith("<!doctype html>") and links.tags.count("html") == 1
    assert not {"link", "iframe", "object", "embed", "base"} & set(links.tags)
    assert all(link.startswith(("#", "data:")) for link in links.links)
    assert not re.search(r"https?://|@import|url\((?!['\"]?data:)|\bfetch\(|XMLHttpRequest", page)
    assert "b" not in links.tags and name not in page
    for word in ("ROC", "Efficiency", "read", "infer", "Tracks against the truth"):
        assert word.lower() in page.lower()
