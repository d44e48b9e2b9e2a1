#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What a runtime costs before its first answer: start, memory and size on disk, each in a Python process of its own.

    python bench/peers/footprint.py build/bench_packages build/networks build/forest_models --json FILE

`start_ms`: processor time of the process from its start to the answer for one row, less that of a process that imports NumPy alone;
`memory_mb`: the largest resident memory, less the same; `disk_mb`: the files of the wheels that are needed next to NumPy (of tensoa
in a checkout: its Python files and its module), and `model_mb` the model's. The median of ROUNDS processes, in turns.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROUNDS = 3
ROOT = Path(__file__).resolve().parents[2]
TORCH = "torch sympy mpmath networkx jinja2 filelock fsspec typing_extensions"  # without what is for GPUs alone


# Each answers for one row with the file of its model.


def numpy_alone(_file):
    import numpy  # noqa: F401


def tensoa_network(file):
    import numpy as np

    import tensoa

    tensoa.Model(file)({name: np.ones(1, np.float32) for name in ("x", "y", "z")})


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


def torchscript(file):
    import torch

    with torch.inference_mode():
        torch.jit.load(file)(torch.ones(1, 3))


def torch_compile(file):
    import torch

    with torch.inference_mode():
        network = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
                                      torch.nn.Linear(64, 2))  # fmt: skip
        network.load_state_dict(torch.jit.load(file).state_dict())
        torch.compile(network)(torch.ones(1, 3))


def xgboost(file):
    import numpy as np
    import xgboost

    xgboost.Booster(model_file=file).inplace_predict(np.ones((1, 28), np.float32))


def lightgbm(file):
    import lightgbm
    import numpy as np

    lightgbm.Booster(model_file=file).predict(np.ones((1, 28), np.float32))


# Runtime, what it is compared by, its function, the file among the folders' ones, its wheels.
RUNTIMES = (
    ("tensoa", "network", tensoa_network, "mlp-cpu-fused.pt2", "tensoa"),
    ("onnxruntime", "network", onnxruntime_network, "mlp_3x64x64x2.onnx", "onnxruntime flatbuffers protobuf packaging"),
    ("torchscript", "network", torchscript, "mlp.pt", TORCH),
    ("torch.compile", "network", torch_compile, "mlp.pt", TORCH),
    ("tensoa", "trees", tensoa_trees, "xgboost-100x6.json", "tensoa"),
    ("onnxruntime", "trees", onnxruntime_trees, "xgboost-100x6.onnx", "onnxruntime flatbuffers protobuf packaging"),
    ("xgboost", "trees", xgboost, "xgboost-100x6.json", "xgboost-cpu scipy"),
    ("lightgbm", "trees", lightgbm, "xgboost-100x6.txt", "lightgbm scipy"),
)


def bytes_without_debug_information(library):
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, library], check=True)
        return Path(stripped.name).stat().st_size


def bytes_of_wheels(names):
    total = 0
    for name in names.split():
        if name == "tensoa":
            total += sum(map(bytes_without_debug_information, (ROOT / "build" / "python" / "tensoa").glob("*.so")))
            total += sum(path.stat().st_size for path in (ROOT / "python" / "tensoa").rglob("*.py"))
            continue
        files = metadata.files(name) or []
        total += sum(path.stat().st_size for path in {Path(file.locate()).resolve() for file in files} if path.is_file())
    return total


def child(number, file):
    (RUNTIMES[number][2] if number >= 0 else numpy_alone)(file)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"ms": (used.ru_utime + used.ru_stime) * 1e3, "mb": used.ru_maxrss / 1e3}))


def run_child(number, file):
    command = [sys.executable, __file__, "--child", str(number), str(file)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(int(sys.argv[2]), sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    found = {-1: ""}
    for number, (name, kind, _, file, _) in enumerate(RUNTIMES):
        path = next((folder / file for folder in arguments.folders if (folder / file).exists()), None)
        if path is None:
            print(f"left out: start of {name} with a {kind}, because there is no {file} in the folders")
        else:
            found[number] = path
    measured = {number: [] for number in found}
    for _ in range(ROUNDS):
        for number, path in list(found.items()):
            try:
                measured[number].append(run_child(number, path))
            except subprocess.CalledProcessError as error:
                name, kind = RUNTIMES[number][:2]
                print(f"left out: start of {name} with a {kind}, because {error.stderr.strip().splitlines()[-1]}")
                del found[number], measured[number]
    bare = {key: statistics.median(one[key] for one in measured[-1]) for key in ("ms", "mb")}
    rows = []
    for number, path in list(found.items())[1:]:
        name, kind, _, _, wheels = RUNTIMES[number]
        used = {key: statistics.median(one[key] for one in measured[number]) - bare[key] for key in bare}
        rows.append({"model": kind, "variant": name, "device": "cpu", "start_ms": used["ms"], "memory_mb": used["mb"],
                     "disk_mb": bytes_of_wheels(wheels) / 1e6, "model_mb": path.stat().st_size / 1e6})  # fmt: skip
        print(f"{kind:8} {name:12} start {used['ms']:7.0f} ms, memory {used['mb']:6.0f} MB, disk {rows[-1]['disk_mb']:6.0f} MB")
    result = {"bench": "footprint", "command": " ".join(["python", *sys.argv]), "rows": rows}
    arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
