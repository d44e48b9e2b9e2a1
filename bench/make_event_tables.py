# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Events as tables, for `tensoa-bench pipeline FOLDER/rows.parquet …` and `tensoa track`: of random hits, or of the hits that
`tensoa graph generate:… --output GRAPHS` wrote: `make_event_tables.py FOLDER [GRAPHS]`.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

EVENTS, HITS, EVENTS_OF_PART = 400, 5500, 10


def random_hits():
    """Columns, and the hits of each event."""
    random = np.random.default_rng(1)
    n = EVENTS * HITS
    columns = {
        "hit_id": np.tile(np.arange(HITS), EVENTS),
        **{name: (300 * random.normal(size=n)).astype(np.float32) for name in "xyz"},
        "volume_id": random.integers(7, 15, n).astype(np.uint8),
        "layer_id": (2 * random.integers(1, 8, n)).astype(np.uint16),
        "particle_id": random.integers(0, 500, n),
    }
    return columns, np.full(EVENTS, HITS)


def hits_of(graphs):
    """The same of files NAME-hits.parquet."""
    names = ["hit_id", "x", "y", "z", "layer", "particle_id"]
    tables = [pq.read_table(file, columns=names) for file in sorted(graphs.glob("*-hits.parquet"))]
    whole = pa.concat_tables(tables)
    return {name: whole[name].to_numpy() for name in names}, np.array([len(table) for table in tables])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("graphs", type=Path, nargs="?")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    columns, hits = hits_of(arguments.graphs) if arguments.graphs else random_hits()
    events = np.arange(len(hits), dtype=np.uint32)
    rows = pa.table({"event_id": np.repeat(events, hits)} | columns)
    offsets = pa.array(np.concatenate([[0], np.cumsum(hits)]), pa.int32())
    rows_of_part = EVENTS_OF_PART * int(hits.mean())
    lists = pa.table(
        {"event_id": events} | {name: pa.ListArray.from_arrays(offsets, pa.array(values)) for name, values in columns.items()}
    )
    pq.write_table(rows, folder / "rows.parquet", row_group_size=rows_of_part)
    pq.write_table(lists, folder / "lists.parquet", row_group_size=EVENTS_OF_PART)
    with pa.ipc.new_file(folder / "rows.arrow", rows.schema) as file:
        file.write_table(rows, max_chunksize=rows_of_part)


if __name__ == "__main__":
    main()
