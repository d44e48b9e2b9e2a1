# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The notebooks in examples/notebooks/ run from the first cell to the last, and give the outputs that are in their files.

python python/tests/test_notebooks.py      runs them, and writes the outputs into the files
"""

import copy
import os
import tempfile

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def run(notebook, folder):
    """Runs a copy in a folder, with one thread and the package of this tree. Warnings are not outputs."""
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    ran = copy.deepcopy(notebook)
    folders = {"metadata": {"path": str(folder)}}
    client = NotebookClient(ran, timeout=120, kernel_name="python3", coalesce_streams=True, resources=folders)
    client.execute(env=environment)
    for cell in code_cells(ran):
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        cell.metadata.pop("execution", None)
    return ran


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell):
    """The text that a cell prints, and the kinds of its outputs."""
    text = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    kinds = [sorted(output.data) for output in cell.outputs if output.output_type != "stream"]
    return text, kinds


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_in_its_file(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for before, now in zip(code_cells(notebook), code_cells(run(notebook, tmp_path)), strict=True):
        assert printed(now) == printed(before), now.source
    assert any(kinds for _, kinds in map(printed, code_cells(notebook))), "no plot"


def test_a_cell_that_fails_is_an_error(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import tensoa; tensoa.Model('no.pt2')")])
    with pytest.raises(CellExecutionError, match="no.pt2"):
        run(notebook, tmp_path)


if __name__ == "__main__":
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run(nbformat.read(path, as_version=4), folder), path)
