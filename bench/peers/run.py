#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Our packages next to ONNX Runtime and SOFIE on this CPU, calls of one thread and of all, with the same weights.

    make bench-packages && .venv/bin/python bench/peers/run.py --out FILE.json [INPUT...]

INPUT: events for the graph network, as `tensoa graph` takes them (default: two generated ones of 2 000 and 60 000
edges). ONNX Runtime is the one of the environment that runs this, SOFIE comes from PyPI (environment.py); what is made of them lies in
build/peers. Nothing of it is committed.

How they are run: ONNX Runtime by its C API, values kept; SOFIE's code for each number of rows, compiled for this processor,
with OpenBLAS; one thread a call. Both get row-major tensors that lie there already, ONNX Runtime also with packing; our
packages read and write columns.
"""

import argparse
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "bench"))
import measuring  # noqa: E402

EVENTS = ("generate:1:77:50", "generate:1:77:475")


def write_models(packages, out):
    """ONNX files by torch.onnx, in this environment with the one of the peers behind it."""
    program = [sys.executable, HERE / "write_models.py", packages, out]
    subprocess.run(program, check=True, env=environment.behind_ours())


def compile_sofie(out):
    """SOFIE's code of the perceptron, one function for each number of rows, as a library."""
    blas = environment.site_packages() / "scipy_openblas32" / "lib"
    subprocess.run([environment.PYTHON, HERE / "write_sofie.py", out], check=True)
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=fast", "-std=c++17", "-shared", "-fPIC"]
    libraries = [f"-L{blas}", "-lscipy_openblas", f"-Wl,-rpath,{blas}"]
    subprocess.run(["g++", *flags, out / "sofie.cpp", "-o", out / "sofie.so", *libraries], check=True, cwd=out)


def extract_program(package, out):
    """The first fused program of the package that this processor can run."""
    flags = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split())
    with zipfile.ZipFile(package) as archive:
        manifest = json.loads(archive.read("model/extra/tensoa.json"))
        program = next(each for each in manifest["fused"]["cpu"] if flags.issuperset(each["cpu_flags"]))
        out.write_bytes(archive.read("model/" + program["file"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", metavar="INPUT", default=EVENTS)
    parser.add_argument("--out", required=True, metavar="FILE.json")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the project is built")
    options = parser.parse_args()
    packages, out = options.build / "bench_packages", options.build / "peers"
    if not (packages / "mlp-cpu-fused.pt2").exists():
        parser.error(f"{packages} has no packages; `make bench-packages` writes them")
    out.mkdir(exist_ok=True)
    if reason := environment.set_up(["SOFIE"]).get("SOFIE"):
        sys.exit(f"run.py: SOFIE cannot be installed into {environment.FOLDER}: {reason}")
    write_models(packages, out)
    compile_sofie(out)
    extract_program(packages / "mlp-cpu-fused.pt2", out / "mlp.so")
    subprocess.run(["cmake", "--build", options.build, "--target", "compare_peers"], check=True)
    runtime = measuring.onnxruntime_library()
    program = options.build / "bench" / "peers" / "compare_peers"
    one_thread = environment.behind_ours()
    if "avx512f" in Path("/proc/cpuinfo").read_text():  # OpenBLAS takes its kernels for AVX2 on some of AMD's processors
        one_thread["OPENBLAS_CORETYPE"] = "SkylakeX"
    command = [os.path.relpath(path) for path in (program, runtime, out, packages)] + [options.out, *options.inputs]
    sys.exit(subprocess.run(command, env=one_thread, check=False).returncode)


if __name__ == "__main__":
    main()
