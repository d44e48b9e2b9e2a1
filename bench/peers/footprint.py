#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What a runtime costs before its first answer: start, memory and size on disk, each in a separate Python process.

    python bench/peers/footprint.py FOLDER... [--device cuda] --json FILE

FOLDERS have the files of the models: build/bench_packages, build/networks, build/peers and build/forest_models, in which the other
programs of this folder leave them. `start_ms`: processor time of the process from its start to the answer for one row, less that of a
process that imports NumPy alone; `memory_mb`: the largest resident memory of the host, less the same; `disk_mb`: the files of the
wheels that are needed next to NumPy (of tensoa in a checkout: its Python files and its module), and `model_mb` the model's: of tl2cgen
and lleaves that of the code that they generate, of SOFIE the weights that its code reads. The median of ROUNDS processes, in turns.
"""

import argparse
import ctypes
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

ROUNDS = 3
ROOT = Path(__file__).resolve().parents[2]
TORCH = "torch sympy mpmath networkx jinja2 filelock fsspec typing_extensions"  # without what is for GPUs alone
ONNXRUNTIME = "onnxruntime flatbuffers protobuf packaging"


# Each answers for one row with the file of its model.


def numpy_alone(_file):
    import numpy  # noqa: F401


def tensoa_network(file):
    import numpy as np

    import tensoa

    tensoa.Model(file)({name: np.ones(1, np.float32) for name in ("x", "y", "z")})


class GpuColumn:
    """A number of float32 in memory of the GPU, by the driver alone."""

    def __init__(self):
        driver, context, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
        for name, *arguments in (
            ("cuInit", 0),
            ("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0),
            ("cuCtxSetCurrent", context),
            ("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4)),
        ):
            if status := driver[name](*arguments):
                raise RuntimeError(f"{name}: status {status} of the CUDA driver")
        self.__cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (address.value, False), "version": 3}


def tensoa_on_gpu(file):
    import tensoa

    answers = tensoa.Model(file, device="cuda:0")({name: GpuColumn() for name in ("x", "y", "z")})
    answers["m"].__cuda_array_interface__  # waits for the call


def tensoa_trees(file):
    import numpy as np

    import tensoa

    model = tensoa.Model(file)
    model({f"f{i}": np.ones(1, np.float32) for i in range(28)})


def onnxruntime_network(file, width=3):
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    session.run(None, {session.get_inputs()[0].name: np.ones((1, width), np.float32)})


def onnxruntime_trees(file):
    onnxruntime_network(file, 28)


def sofie(file):
    import numpy as np

    library, numbers = ctypes.CDLL(str(Path(file).with_name("sofie.so"))), [np.ones(size, np.float32) for size in (3, 2)]
    library.sofie_mlp_1_open.restype = ctypes.c_void_p
    session = ctypes.c_void_p(library.sofie_mlp_1_open())
    library.sofie_mlp_1(session, *(ctypes.c_void_p(one.ctypes.data) for one in numbers))


def executorch(file):
    import torch
    from executorch.runtime import Runtime

    Runtime.get().load_program(file).load_method("forward").execute([torch.ones(1, 3)])


def torchscript(file, device="cpu"):
    import torch

    with torch.inference_mode():
        torch.jit.load(file, map_location=device)(torch.ones(1, 3, device=device)).cpu()


def torchscript_on_gpu(file):
    torchscript(file, "cuda")


def torch_compile(file, device="cpu"):
    import torch

    with torch.inference_mode():
        network = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
                                      torch.nn.Linear(64, 2)).to(device)  # fmt: skip
        network.load_state_dict(torch.jit.load(file).state_dict())
        torch.compile(network)(torch.ones(1, 3, device=device)).cpu()


def torch_compile_on_gpu(file):
    torch_compile(file, "cuda")


def xgboost(file):
    import numpy as np
    import xgboost

    xgboost.Booster(model_file=file).inplace_predict(np.ones((1, 28), np.float32))


def lightgbm(file):
    import lightgbm
    import numpy as np

    lightgbm.Booster(model_file=file).predict(np.ones((1, 28), np.float32))


def tl2cgen(file):
    import numpy as np
    import tl2cgen

    tl2cgen.Predictor(file).predict(tl2cgen.DMatrix(np.ones((1, 28), np.float32)))


def lleaves(file):
    import lleaves
    import numpy as np

    model = lleaves.Model(model_file=file.removesuffix(".lleaves.o") + ".txt")
    model.compile(cache=file, raw_score=True)  # which loads the file
    model.predict(np.ones((1, 28)))


# By device: runtime, what it is compared by, its function, the file among the folders' ones, its wheels.
RUNTIMES = {
    "cpu": (
        ("tensoa", "network", tensoa_network, "mlp-cpu-fused.pt2", "tensoa"),
        ("onnxruntime", "network", onnxruntime_network, "mlp_3x64x64x2.onnx", ONNXRUNTIME),
        ("sofie", "network", sofie, "mlp_1.dat", "scipy-openblas32"),
        (
            "executorch",
            "network",
            executorch,
            "mlp-1.pte",
            f"executorch flatbuffers ruamel.yaml tabulate torchao pyyaml {TORCH}",
        ),
        ("torchscript", "network", torchscript, "mlp.pt", TORCH),
        ("torch.compile", "network", torch_compile, "mlp.pt", TORCH),
        ("tensoa", "trees", tensoa_trees, "xgboost-100x6.json", "tensoa"),
        ("onnxruntime", "trees", onnxruntime_trees, "xgboost-100x6.onnx", ONNXRUNTIME),
        ("xgboost", "trees", xgboost, "xgboost-100x6.json", "xgboost-cpu scipy"),
        ("lightgbm", "trees", lightgbm, "xgboost-100x6.txt", "lightgbm scipy"),
        ("tl2cgen", "trees", tl2cgen, "xgboost-100x6.tl2cgen.so", "tl2cgen treelite scipy packaging"),
        ("lleaves", "trees", lleaves, "xgboost-100x6.lleaves.o", "lleaves llvmlite"),
    ),
    "cuda": (
        ("tensoa", "network", tensoa_on_gpu, "mlp-cuda-fused.pt2", "tensoa nvidia-cuda-runtime*"),
        ("torchscript", "network", torchscript_on_gpu, "mlp.pt", f"{TORCH} triton nvidia-*"),
        ("torch.compile", "network", torch_compile_on_gpu, "mlp.pt", f"{TORCH} triton nvidia-*"),
    ),
}


def bytes_without_debug_information(library):
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, library], check=True)
        return Path(stripped.name).stat().st_size


def bytes_of_wheels(names):
    total = 0
    for name in names.split():
        if name == "tensoa":
            from tensoa import _runtime

            total += bytes_without_debug_information(_runtime.__file__)
            total += sum(path.stat().st_size for path in (ROOT / "python" / "tensoa").rglob("*.py"))
            continue
        matching = [one.name for one in metadata.distributions() if fnmatch(one.name, name)] if "*" in name else [name]
        files = [file for one in matching for file in metadata.files(one) or []]
        total += sum(path.stat().st_size for path in {Path(file.locate()).resolve() for file in files} if path.is_file())
    return total


def child(device, number, file):
    (RUNTIMES[device][number][2] if number >= 0 else numpy_alone)(file)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"ms": (used.ru_utime + used.ru_stime) * 1e3, "mb": used.ru_maxrss / 1e3}))


def run_child(device, number, file):
    command = [sys.executable, __file__, "--child", device, str(number), str(file)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def files_of(runtimes, folders):
    """{number of a runtime: its file}; -1 is NumPy alone."""
    found = {-1: ""}
    for number, (name, kind, _, file, _) in enumerate(runtimes):
        path = next((folder / file for folder in folders if (folder / file).exists()), None)
        if path is None:
            print(f"left out: start of {name} with a {kind}, because there is no {file} in the folders")
        else:
            found[number] = path
    return found


def measured_medians(device, found):
    """{number: {"ms", "mb"}} of what runs, the medians of its processes."""
    measured = {number: [] for number in found}
    for _ in range(ROUNDS):
        for number in list(measured):
            try:
                measured[number].append(run_child(device, number, found[number]))
            except subprocess.CalledProcessError as error:
                name, kind = RUNTIMES[device][number][:2]
                print(f"left out: start of {name} with a {kind}, because {error.stderr.strip().splitlines()[-1]}")
                del measured[number]
    return {number: {key: statistics.median(one[key] for one in of) for key in ("ms", "mb")} for number, of in measured.items()}


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--device", choices=RUNTIMES, default="cpu")
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    found = files_of(RUNTIMES[arguments.device], arguments.folders)
    medians = measured_medians(arguments.device, found)
    bare, rows = medians.pop(-1), []
    for number, used in medians.items():
        name, kind, _, _, wheels = RUNTIMES[arguments.device][number]
        rows.append({"model": kind, "variant": name, "device": arguments.device, "start_ms": used["ms"] - bare["ms"],
                     "memory_mb": used["mb"] - bare["mb"], "disk_mb": bytes_of_wheels(wheels) / 1e6,
                     "model_mb": found[number].stat().st_size / 1e6})  # fmt: skip
        print(
            "{model:8} {variant:14} start {start_ms:7.0f} ms, memory {memory_mb:6.0f} MB, disk {disk_mb:6.0f} MB".format(
                **rows[-1]
            )
        )
    result = {"bench": "footprint", "command": " ".join(["python", *sys.argv]), "rows": rows}
    arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
