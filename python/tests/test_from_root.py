# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa.from_root: branches become columns, jagged ones lists."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from tensoa import from_root
from tensoa.errors import InputError


@pytest.fixture
def root_file(tmp_path):
    uproot = pytest.importorskip("uproot")
    awkward = pytest.importorskip("awkward")
    path = tmp_path / "events.root"
    with uproot.recreate(path) as file:
        file.mktree("Events", {"event": "int32", "pt": "var * float32"})
        file["Events"].extend({"event": np.array([1, 2, 3], "i4"), "pt": awkward.Array([[0.0, 1.0], [], [2.0]])})
    return path


def test_jagged_branches_become_lists(root_file, tmp_path):
    from_root.main([str(root_file), "Events", str(tmp_path / "out.parquet"), "--branches", "event", "pt"])
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["event"].to_pylist() == [1, 2, 3] and table["pt"].to_pylist() == [[0, 1], [], [2]]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Trees"], "has no tree Trees; there are Events"),
        (["Events", "--branches", "eta"], "has no branch eta; there are"),
    ],
)
def test_what_is_absent_is_named(root_file, tmp_path, arguments, says):
    tree, *options = arguments
    with pytest.raises(InputError, match=says):
        from_root.main([str(root_file), tree, str(tmp_path / "out.parquet"), *options])
    assert not (tmp_path / "out.parquet").exists()


def test_other_files_are_refused(tmp_path):
    pytest.importorskip("uproot")
    path = tmp_path / "noise.root"
    path.write_bytes(b"noise" * 100)
    with pytest.raises(InputError, match="cannot be read"):
        from_root.main([str(path), "Events", str(tmp_path / "out.parquet")])
    with pytest.raises(InputError, match="expected a file named .parquet"):
        from_root.main([str(path), "Events", str(tmp_path / "out.csv")])
