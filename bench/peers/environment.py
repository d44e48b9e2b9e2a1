# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of the peers, bench/peers/.venv, from PyPI; torch and our exporter are those of the environment that runs this."""

import os
import subprocess
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = HERE / ".venv"
PYTHON = FOLDER / "bin" / "python"
# What is installed together: with what it depends on, or (--no-deps) beside the torch and NumPy that are there.
WHEELS = {
    "ONNX Runtime": "onnxruntime==1.31.0 onnx==1.23.2 numpy==2.4.6 scipy-openblas32==0.3.34.481.3",
    "SOFIE": "--no-deps sofie==0.1.0",
    "tl2cgen": "tl2cgen==1.0.0 treelite",
    "lleaves": "lleaves==1.3.0 llvmlite==0.43.0",
    "matplotlib": "matplotlib==3.11.2",
    "ExecuTorch": "--no-deps executorch==1.2.0 flatbuffers ruamel.yaml tabulate torchao==0.17.0 pyyaml",
}


def set_up():
    """Installs what is not there. Returns for each peer that pip could not install its last line."""
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True, symlinks=True)
    missing = {}
    for peer, wheels in WHEELS.items():
        stamp = FOLDER / f"{peer}.done"
        if stamp.exists() and stamp.read_text() == wheels:
            continue
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels.split()]
        done = subprocess.run(pip, check=False, capture_output=True, text=True)
        if done.returncode:
            missing[peer] = f"pip: {done.stderr.strip().splitlines()[-1]}"
        else:
            stamp.write_text(wheels)
    return missing


def site_packages():
    return next((FOLDER / "lib").glob("python3*/site-packages"))


def behind_ours():
    """The environment variables of a process with torch and our exporter first, and the peers behind them; one thread a call."""
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", ""), str(site_packages())]
    programs = f"{os.environ.get('PATH', '')}{os.pathsep}{PYTHON.parent}"  # flatc of ExecuTorch
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **one_thread, "PATH": programs, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
