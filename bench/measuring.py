# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What programs of bench/ share: the machine, the commit, models as their peers read them, the program compare_width, results."""

import contextlib
import fcntl
import io
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPARE = ROOT / "build" / "bench" / "peers" / "compare_width"


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))


def processor_and_level() -> str:
    """For example AMD EPYC (AVX-512)."""
    return f"{processor()} ({'AVX-512' if 'avx512f' in Path('/proc/cpuinfo').read_text() else 'AVX2'})"


def about(device: str = "cpu") -> dict:
    """The machine and the versions, as pages name them."""
    import onnxruntime
    import torch

    machine = torch.cuda.get_device_name() if device == "cuda" else processor_and_level()
    return {"machine": machine, "torch": torch.__version__, "onnxruntime": onnxruntime.__version__, "commit": commit()}


def commit() -> str:
    """The last one that changed a program; where scripts/carry.sh copied the tree, the one of the copy."""
    carried = ROOT / ".carry" / "commit"
    return last_commit("*.cpp", "*.hpp", "*.cu", "*.cuh", "*.py") or (carried.read_text().strip() if carried.exists() else "")


def last_commit(*files: str) -> str:
    """The last one that changed any of these, patterns of git; empty where the tree was copied without its history."""
    command = ["git", "log", "-1", "--format=%h", "--", *files]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def without_folders(text: str, *folders: Path) -> str:
    """A command without these folders and those of this machine."""
    here = {os.path.relpath(ROOT)} - {"."}  # "./" is also in "../shared"
    for folder in (*folders, ROOT, *here):
        text = text.replace(f"{folder}/", "")
    return text.replace(sys.executable, "python")


def onnxruntime_library() -> Path:
    import onnxruntime

    return next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*"))


def write_peers(module, tensors: tuple, inputs: list, outputs: list, folder: Path) -> None:
    """model.pt and model.onnx of a module on these tensors, those that can be written. `inputs`, `outputs`: blocks of a binding."""
    import torch

    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):  # torch throws many kinds
        torch.jit.trace(module, tensors, strict=False, check_trace=False).save(str(folder / "model.pt"))
    names, results = ([block.name for block in blocks] for blocks in (inputs, outputs))
    free = {block.name: {1 if block.is_transposed else 0: f"n{block.collection}"} for block in inputs}
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(module, tensors, str(folder / "model.onnx"), input_names=names, output_names=results,
                          dynamic_axes=free, opset_version=18, dynamo=False)  # fmt: skip


def compare_width(program, device: str, folder: Path, rows) -> dict:
    """What the program (bench/peers/width.cpp) prints: times, and notes on what cannot run the model. One at a time on a GPU.

    Raises InputError with its message where it fails.
    """
    from tensoa.errors import InputError

    library = onnxruntime_library() if device == "cpu" else "none"
    with Path(__file__).open() as lock:
        if device == "cuda":
            fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([program, device, library, folder, *map(str, rows)], capture_output=True, text=True, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    if done.returncode != 0:
        raise InputError(done.stderr.strip())
    return json.loads(done.stdout)


def chosen(names, parts: list[str]) -> list[str]:
    """Those that have one of the parts in them; all where `parts` is empty."""
    return [name for name in names if not parts or any(part in name for part in parts)]


def read(file: Path, empty: dict) -> dict:
    return json.loads(file.read_text()) if file.exists() else empty


def write(file: Path, results: dict) -> None:
    file.write_text(json.dumps(results, indent=1) + "\n")
