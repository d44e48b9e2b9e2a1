# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Events of random hits as tables, for `tensoa bench pipeline FOLDER/rows.parquet …`: `make_event_tables.py FOLDER`."""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

EVENTS, HITS, EVENTS_OF_PART = 400, 5500, 10


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    n = EVENTS * HITS
    columns = {
        "hit_id": np.tile(np.arange(HITS), EVENTS),
        **{name: (300 * random.normal(size=n)).astype(np.float32) for name in "xyz"},
        "volume_id": random.integers(7, 15, n).astype(np.uint8),
        "layer_id": (2 * random.integers(1, 8, n)).astype(np.uint16),
        "particle_id": random.integers(0, 500, n),
    }
    events = np.arange(EVENTS, dtype=np.uint32)
    rows = pa.table({"event_id": np.repeat(events, HITS)} | columns)
    offsets = pa.array(HITS * np.arange(EVENTS + 1), pa.int32())
    lists = pa.table({"event_id": events} | {name: pa.ListArray.from_arrays(offsets, pa.array(values)) for name, values in columns.items()})
    pq.write_table(rows, folder / "rows.parquet", row_group_size=EVENTS_OF_PART * HITS)
    pq.write_table(lists, folder / "lists.parquet", row_group_size=EVENTS_OF_PART)
    with pa.ipc.new_file(folder / "rows.arrow", rows.schema) as file:
        file.write_table(rows, max_chunksize=EVENTS_OF_PART * HITS)


if __name__ == "__main__":
    main()
