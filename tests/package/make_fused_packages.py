# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes packages with fused programs that were compiled by hand (fused_fixture.cpp), and packages that are wrong.

    python make_fused_packages.py FOLDER WHOLE.so GRAPH.so OTHER_ABI.so NO_RUN.so

reads the bindings FOLDER/mlp.json and FOLDER/graph.json, writes FOLDER/fused*.pt2 and, of TorchInductor by its manifest, FOLDER/inductor.pt2.
"""

import array
import copy
import json
import platform
import sys
from pathlib import Path

from tensoa.errors import InputError
from tensoa.package import archive
from tensoa.package.manifest import ANALYSIS, SCHEMA, SCHEMA_OF_ONE_TARGET
from tensoa.compiler import cuda as nvrtc

RULES = {"mlp": [{"collection": 0}], "graph": [{"collection": 1}, {"collection": 0}]}
DOMAINS = {"mlp": [0], "graph": [0, 1]}
ROW_DEPENDENCE = {
    "mlp": {"answer": "independent", "analysis": ANALYSIS},
    "graph": {"answer": "dependent", "reason": "aten.index_add by an index of other rows, at model.py:3", "analysis": ANALYSIS},
}
KERNEL = {"name": "sums", "threads": 128, "shared_bytes": 0, "rows_per_block": 128, "blocks_per_sm": 0}
CUDA = {
    "kernels": [KERNEL],
    "buffers": [{"domain": 0, "row_bytes": 4}],
    "steps": [{"zero": 0}, {"kernel": 0, "domain": 0}],
    "weights": "fused/weights.bin",
    "code": [{"architecture": "sm_86", "file": "fused/sm_86.cubin", "status": "built, not run"}],
}

# The program of "mlp" in fused_fixture.cpp: the sum in a buffer, its coefficients from the weights.
SOURCE = """
struct Params {
  void* block[32]; long long pitch[32]; long long rows[8]; void* buffer[64]; const void* weights;
};
__device__ const float* input(const Params& p, int place) { return (const float*)p.block[0] + place * p.pitch[0]; }
__device__ float* output(const Params& p, int place) { return (float*)p.block[1] + place * p.pitch[1]; }
__device__ long long first() { return blockIdx.x * 128LL + threadIdx.x; }

extern "C" __global__ void add(const Params p) {
  extern __shared__ float coefficients[];
  if (threadIdx.x < 3) coefficients[12000 + threadIdx.x] = ((const float*)p.weights)[threadIdx.x];
  __syncthreads();
  for (long long i = first(); i < p.rows[0]; i += gridDim.x * 128LL)
    for (int c = 0; c < 3; ++c) ((float*)p.buffer[0])[i] += coefficients[12000 + c] * input(p, c)[i];
}

extern "C" __global__ void store(const Params p) {
  for (long long i = first(); i < p.rows[0]; i += gridDim.x * 128LL) {
    output(p, 1)[i] = input(p, 0)[i] * input(p, 1)[i] - input(p, 2)[i];
    output(p, 0)[i] = ((const float*)p.buffer[0])[i];
  }
}
"""
SUMS = {
    "kernels": [
        {"name": "add", "threads": 128, "shared_bytes": 49184, "rows_per_block": 128, "blocks_per_sm": 1},
        {"name": "store", "threads": 128, "shared_bytes": 0, "rows_per_block": 128, "blocks_per_sm": 0},
    ],
    "steps": [{"zero": 0}, {"kernel": 0, "domain": 0}, {"kernel": 1, "domain": 0}],
}
ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100"]


def compiled():
    """Code for GPUs by its file; none without a compiler for it."""
    try:
        return {f"{architecture}.cubin": nvrtc.compile(SOURCE, architecture) for architecture in ARCHITECTURES}
    except InputError as error:
        print(error)
        return {}


def variant(name, flags=()):
    return {"name": name, "file": f"fused/{name}.so", "cpu_flags": list(flags), "status": "checked"}


def main(folder, whole, graph, other_abi, no_run):
    folder = Path(folder)
    whole, graph, other_abi, no_run = (Path(file).read_bytes() for file in (whole, graph, other_abi, no_run))

    def write(name, files, edit=lambda manifest: None, model="mlp"):
        manifest = {
            "schema": SCHEMA_OF_ONE_TARGET,
            "binding": json.loads((folder / f"{model}.json").read_text()),
            "rows": RULES[model],
            "row_dependence": ROW_DEPENDENCE[model],
            "target": "cpu",
            "machine": platform.machine(),
            "cpu_flags": [],
            "torch": "0.0.0, which a fused program does not need",
            "checks": [],
            "fused": {"domains": DOMAINS[model], "stages": [], "cpu": [variant("plain")]},
        }
        edit(manifest)
        records = {f"model/{file if '/' in file else 'fused/' + file}": content for file, content in files.items()}
        archive.write(folder / f"{name}.pt2", records, manifest)

    def cpu(*variants):
        return lambda manifest: manifest["fused"].update(cpu=list(variants))

    def cuda(**change):
        def edit(manifest):
            manifest["target"] = "cuda"
            manifest["fused"].pop("cpu")
            manifest["fused"]["cuda"] = {**copy.deepcopy(CUDA), **change}

        return edit

    write("fused", {"plain.so": whole})
    write("fused_graph", {"plain.so": graph}, model="graph")

    def equal(manifest):
        manifest.update(lengths=[0, 0], rows=[{"collection": 0}] * 2)
        manifest["fused"].update(domains=[0, 0])

    write("fused_lengths", {"plain.so": graph}, equal, model="graph")
    write("fused_short_lengths", {"plain.so": graph}, lambda manifest: manifest.update(lengths=[0]), model="graph")

    def repeated(manifest):
        columns = manifest["binding"]["inputs"][0]["columns"]
        columns.insert(1, columns[0])

    write("fused_repeated", {"plain.so": whole}, repeated)
    best_first = cpu(variant("future", ["quantum"]), variant("plain"), variant("broken"))
    write("fused_variants", {"future.so": no_run, "plain.so": whole, "broken.so": no_run}, best_first)
    write("fused_future", {"future.so": whole, "far.so": whole}, cpu(variant("future", ["quantum", "sse2"]), variant("far", ["warp"])))
    write("fused_truncated", {"plain.so": whole[: len(whole) // 2]})
    write("fused_head_only", {"plain.so": whole[:100]})
    write("fused_no_library", {"plain.so": b"hello"})
    write("fused_no_file", {})
    write("fused_no_function", {"plain.so": no_run})
    write("fused_other_abi", {"plain.so": other_abi})
    write("fused_other_machine", {"plain.so": whole}, lambda manifest: manifest.update(machine="vax"))
    write("fused_no_domains", {"plain.so": whole}, lambda manifest: manifest["fused"].pop("domains"))
    write("fused_other_domain", {"plain.so": whole}, lambda manifest: manifest["fused"].update(domains=[3]))
    write("fused_no_rows", {"plain.so": whole}, lambda manifest: manifest.update(rows=[]))
    write("fused_other_rows", {"plain.so": whole}, lambda manifest: manifest.update(rows=[{"collection": 9}]))
    changes = {
        "later": {"analysis": ANALYSIS + 1},
        "corrected": {"analysis": ANALYSIS - 1},
        "other": {"answer": "maybe"},
        "unknown": {"answer": "unknown", "reason": "why"},
    }
    for name, change in changes.items():
        says = {**ROW_DEPENDENCE["mlp"], **change}
        write(f"fused_{name}_row_dependence", {"plain.so": whole}, lambda manifest, says=says: manifest.update(row_dependence=says))
    write("fused_no_row_dependence", {"plain.so": whole}, lambda manifest: manifest.pop("row_dependence"))
    write("fused_nothing", {}, lambda manifest: manifest.pop("fused"))

    gpu = {"weights.bin": b"\0" * 16, "sm_86.cubin": b"no code"}
    write("fused_gpu", gpu, cuda())
    codes = compiled()
    code = [{"architecture": Path(file).stem, "file": f"fused/{file}", "status": "checked"} for file in codes]
    files = {"weights.bin": array.array("f", [1, 2, 3]).tobytes(), "sm_86.cubin": b"no code", **codes}
    write("fused_gpu_sums", files, cuda(**SUMS, code=code or CUDA["code"]))
    write("fused_gpu_parts", files, cuda(**SUMS, code=code or CUDA["code"], rows_at_once=999))
    times = [{"kernel": 0, "domain": 0, "times": 3}]
    write("fused_gpu_times", gpu, cuda(steps=times, rows_at_once=16))
    write("fused_gpu_no_times", gpu, cuda(steps=[{**times[0], "times": 0}]))

    def two_domains(manifest):
        manifest["target"] = "cuda"
        manifest["fused"].pop("cpu")
        manifest["fused"]["cuda"] = {**copy.deepcopy(CUDA), "rows_at_once": 16}

    write("fused_gpu_two_parts", gpu, two_domains, model="graph")
    write("fused_gpu_domain", gpu, cuda(buffers=[{"domain": 1, "row_bytes": 4}]))
    write("fused_gpu_kernel", gpu, cuda(steps=[{"kernel": 1, "domain": 0}]))
    write("fused_gpu_threads", gpu, cuda(kernels=[{**KERNEL, "threads": 0}]))
    write("fused_gpu_buffers", gpu, cuda(buffers=[{"domain": 0, "row_bytes": 4}] * 65))
    write("fused_gpu_params", gpu, cuda(params={"blocks": 1, "domains": 1, "buffers": 1}))
    write("fused_gpu_long_params", gpu, cuda(params={"blocks": 33, "domains": 1, "buffers": 1}))

    def inductor(manifest):
        manifest.pop("fused")
        manifest["inputs"] = [[{"first": 0, "step": 1, "planes": 3}]]
        manifest["outputs"] = [[{"first": 0, "step": 1, "planes": 2}]]

    write("inductor", {"data/aotinductor/model/x.so": whole}, inductor)

    # For several targets: "fused", and "fused_gpu_sums" or TorchInductor's.
    def several(*targets, **change):
        def edit(manifest):
            own = {key: manifest.pop(key) for key in ("target", "cpu_flags", "checks", "fused")}
            manifest.update(schema=SCHEMA, targets=[{**own, **target} for target in targets], **change)

        return edit

    of_gpus = {"domains": DOMAINS["mlp"], "stages": [], "cuda": {**copy.deepcopy(CUDA), **SUMS, "code": code or CUDA["code"]}}
    for_gpus = {"target": "cuda", "fused": of_gpus}
    both = {"plain.so": whole, **files}
    write("both", both, several({}, for_gpus))
    write("both_reversed", both, several(for_gpus, {}))
    write("both_twice", both, several({}, {}, for_gpus))
    write("both_none", both, several())
    write("both_and_any", both, several({}, {"target": "any", "fused": {**of_gpus, "cuda": {**of_gpus["cuda"], "code": []}}}))
    write("both_tpu", both, several({}, {**for_gpus, "target": "tpu"}))
    write("both_exchanged", both, several({"fused": of_gpus}, for_gpus))
    planes = {"inputs": [[{"first": 0, "step": 1, "planes": 3}]], "outputs": [[{"first": 0, "step": 1, "planes": 2}]]}
    compiled_by_torch = {"plain.so": whole, "data/aotinductor/cuda/x.so": whole}

    def in_two_ways(manifest):
        several({}, {**for_gpus, "gpu_architecture": "sm_90"}, **planes)(manifest)
        manifest["targets"][1].pop("fused")

    write("both_ways", compiled_by_torch, in_two_ways)
    cut = {**both, "plain.so": whole[:64] + whole[4096:], "part.bin": whole[64:4096]}
    lacks = {"file": "fused/plain.so", "at": 64, "part": "fused/part.bin"}
    write("both_shared", cut, several({}, for_gpus, shared=[lacks]))
    write("both_shared_twice", cut, several({}, for_gpus, shared=[lacks, lacks]))
    write("both_shared_beyond", cut, several({}, for_gpus, shared=[{**lacks, "at": len(whole) - 4032 + 1}]))
    write("both_shared_nothing", cut, several({}, for_gpus, shared=[{**lacks, "part": "fused/none.bin"}]))
    write("both_not_whole", cut, several({}, for_gpus))


if __name__ == "__main__":
    main(*sys.argv[1:])
