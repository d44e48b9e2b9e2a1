# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of the peers, bench/peers/.venv, from PyPI and GitHub; torch, ONNX Runtime, XGBoost, LightGBM and our exporter are
those of the environment that runs this.

A file of SOURCES that already lies in bench/peers/.venv/sources/PEER is not downloaded: a machine without access to GitHub can get it
that way.
"""

import os
import subprocess
import sys
import urllib.request
import venv
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = HERE / ".venv"
PYTHON = FOLDER / "bin" / "python"
# What no wheel has: repository of GitHub, commit, files.
SOURCES = {
    "FastForest": (
        "guitargeek/XGBoost-FastForest",
        "557e523f71bc632599877af37bcaccc8f66cfb27",
        "include/fastforest.h src/common_details.h src/common_details.cpp src/fastforest.cpp src/fastforest_functions.cpp",
    ),
    "RBDT": (
        "root-project/root",
        "02b83faabf7a713c5f00ab1d6e2ad766d0cc4f02",
        "tmva/tmva/inc/TMVA/RBDT.hxx tmva/tmva/inc/TMVA/RTensor.hxx tmva/tmva/src/RBDT.cxx",
    ),
}
# What is installed together: with its dependencies, or (--no-deps) next to the torch and NumPy that are there.
WHEELS = {
    "SOFIE": "--no-deps sofie==0.1.0 scipy-openblas32==0.3.34.481.3 onnx==1.23.2 numpy==2.4.6 protobuf ml_dtypes typing_extensions",
    "tl2cgen": "tl2cgen==1.0.0 treelite==4.8.1",
    "lleaves": "lleaves==1.3.0 llvmlite==0.43.0",
    "ExecuTorch": "--no-deps executorch==1.2.0 flatbuffers ruamel.yaml tabulate torchao==0.17.0 pyyaml",
    "RBDT": "--no-deps root==0.1a12",  # ROOT without TMVA: the headers and libraries that RBDT needs
}
# Distributions whose versions count, those of a GPU machine too.
LIBRARIES = (
    "torch onnxruntime onnxruntime-gpu sofie scipy-openblas32 executorch xgboost-cpu xgboost lightgbm tl2cgen treelite lleaves llvmlite root "
    "nvforest-cu13 cupy-cuda13x tritonclient nvidia-pytriton"
).split()


def sources(peer):
    return FOLDER / "sources" / peer


def _fetch(peer):
    """Downloads the sources that are missing. Raises OSError."""
    repository, commit, files = SOURCES[peer]
    for name in files.split():
        file = sources(peer) / name
        if file.exists():
            continue
        address = f"https://raw.githubusercontent.com/{repository}/{commit}/{name}"
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                content = answer.read()
        except OSError as error:
            raise OSError(f"{address} cannot be read: {getattr(error, 'reason', error)}") from error
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _install(peer):
    """Installs the wheels. Raises OSError with the last line of pip."""
    wheels, stamp = WHEELS[peer], FOLDER / f"{peer}.done"
    if stamp.exists() and stamp.read_text() == wheels:
        return
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wheels.split()]
    done = subprocess.run(pip, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"pip: {done.stderr.strip().splitlines()[-1]}")
    stamp.write_text(wheels)


def set_up(peers=(*SOURCES, *WHEELS)):
    """Installs what is not there of these. Returns the reason for each peer that cannot be had."""
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True, symlinks=True)
    missing = {}
    for peer in dict.fromkeys(peers):
        try:
            if peer in SOURCES:
                _fetch(peer)
            if peer in WHEELS:
                _install(peer)
        except OSError as error:
            missing[peer] = str(error)
    return missing


def site_packages():
    return next((FOLDER / "lib").glob("python3*/site-packages"), FOLDER)


def behind_ours():
    """The environment variables of a process with torch and our exporter first, and the peers behind them; one thread a call."""
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", ""), str(site_packages())]
    programs = f"{os.environ.get('PATH', '')}{os.pathsep}{PYTHON.parent}"  # flatc of ExecuTorch
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **one_thread, "PATH": programs, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def versions():
    """The version of each library that is measured and installed here, and the commit of sources; of a duplicate the first one."""
    service = Path(os.environ.get("TENSOA_SERVICE_VENV") or ROOT / ".venv-service")
    folders = [*sys.path, str(site_packages()), *map(str, service.glob("lib/python3*/site-packages"))]
    found = {}
    for one in metadata.distributions(path=folders):
        found.setdefault(one.metadata["Name"].lower().replace("_", "-"), one.version)
    made = {name: found[name] for name in LIBRARIES if name in found}
    return made | {peer: commit[:8] for peer, (_, commit, _) in SOURCES.items() if sources(peer).exists()}
