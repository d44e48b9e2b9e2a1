# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the packages of TorchInductor for the tests of pytorch/, for the CPU and, where there is one, for the GPU.

    python make_packages.py FOLDER              reads FOLDER/NAME.json, writes FOLDER/NAME-cpu.pt2 and FOLDER/NAME-cuda.pt2
    python make_packages.py FOLDER --network    the same for the edge network alone, and edge_network.pt: for tests/track

and without --network fused programs for both (sums-cpu.pt2 with sums by index, scattered_fused-cpu.pt2, …-cuda.pt2), and files
that are not packages, or are no longer packages.
"""

import hashlib
import sys
import zipfile
from pathlib import Path

import torch
from torch import nn

from make_models import Mlp
from tensoa import binding
from tensoa.export import Options
from tensoa.export import export as write_package
from tensoa.options import TARGETS
from tensoa.package import archive, gpu_check
from tensoa.package.manifest import GpuCheck, Manifest
from tensoa.tracking import interaction_network


class Kinds(nn.Module):
    """Takes every kind of column; its results follow the inputs in length, but for the last one."""

    def forward(self, uneven, even, times, layer, direction, jacobian, constants):
        moved = (jacobian @ direction.unsqueeze(2)).squeeze(2) + constants[:, :1]
        summary = torch.stack([times[0].sum(), times[1].sum()]).unsqueeze(0)
        return uneven * 2 + even, moved, (layer.long() * 10).squeeze(1), summary


class Graph(nn.Module):
    """The product of the charges along each edge, and for each node the sum of the masses at the other ends."""

    def forward(self, x, edge_index):
        source, target = edge_index[0], edge_index[1]
        charge, mass = x[:, 0], x[:, 1]
        total = torch.zeros_like(mass).index_add(0, target, mass[source])
        return {"total": total, "product": charge[source] * charge[target]}


class Scattered(nn.Module):
    """Reads rows of every kind, and rows at an index; exact for small whole numbers."""

    def forward(self, plain, vectors, matrix, wide, index, scalars):
        at = plain[index[:, 0]]
        sums = torch.cat([plain[:, :1] + 2 * plain[:, 2:3], at[:, 3:] * scalars[:, :1], plain[:, 1:2] - wide], dim=1)
        moved = vectors + scalars[:, 1:].unsqueeze(2)
        there = at[:, 2:3] + matrix[:, 0, :1] - 4 * matrix[:, 1, 1:]
        return sums, moved, there


class Synchronises(nn.Module):
    """Reads a number on the host in the middle of its run, which a CUDA graph cannot do."""

    def forward(self, x):
        return (x[:, :2] * 2 + x[:, 2:]) / (1 + x.abs().amax().long().item())


def edge_network():
    return interaction_network.load(Path(__file__).parents[2] / "models" / "interaction_network.safetensors")


MODELS = {"mlp": Mlp, "kinds": Kinds, "graph": Graph, "scattered": Scattered}
NETWORK = {"edge_network": edge_network}


def changed(package, edit):
    """The package with its manifest edited and a checksum that is right."""
    records, manifest = archive.read(package)
    edit(manifest, records)
    return records, manifest


def export(folder, name, model, columns, target):
    print(f"exporting {name} for {target}", flush=True)
    file = folder / f"{name}-{target}.pt2"
    write_package(model(), binding.load(folder / f"{columns}.json"), file, Options(target, fuse=False))
    return file


def write_graphs(folder, name, graphs, package):
    """A package that says of CUDA graphs on this GPU what `graphs` is, whether it is true or not."""
    files, text = archive.read(package)
    manifest = Manifest.from_json(text, str(package))
    (target,) = manifest.targets
    gpu_check.record_check(target, GpuCheck(target.gpu_architecture, target.gpu, {}, graphs))
    archive.write(folder / f"{name}-cuda.pt2", files, manifest.to_json())


def write_for_gpu(folder, models=MODELS):
    """The packages for CUDA."""
    for model, factory in models.items():
        file = export(folder, model, factory, model, "cuda")
        write_graphs(folder, f"{model}_graphs", True, file)
        if model == "mlp":
            write_graphs(folder, "mlp_no_graphs", "it cannot", file)
            file = export(folder, "synchronises", Synchronises, "mlp", "cuda")
            write_graphs(folder, "synchronises_graphs", True, file)


def write(folder, models):
    for name, model in models.items():
        export(folder, name, model, name, "cpu")
    if torch.cuda.is_available():
        write_for_gpu(folder, models)


def write_network(folder):
    write(folder, NETWORK)
    torch.jit.script(edge_network()).save(folder / "edge_network.pt")


def main(folder: Path):
    write(folder, MODELS)
    for target in TARGETS:
        columns = binding.load(folder / "graph.json")
        write_package(Graph(), columns, folder / f"sums-{target}.pt2", Options(target, deterministic=True))

        columns = binding.load(folder / "scattered.json")
        write_package(Scattered(), columns, folder / f"scattered_fused-{target}.pt2", Options(target))

    torch.jit.script(Scattered()).save(folder / "scattered.pt")

    whole = folder / "mlp-cpu.pt2"
    content = whole.read_bytes()
    (folder / "truncated.pt2").write_bytes(content[: len(content) // 2])
    (folder / "empty.pt2").write_bytes(b"")
    for name, place in (("first", 100), ("middle", len(content) // 2), ("last", len(content) - 1)):
        tampered = bytearray(content)
        tampered[place] ^= 1
        (folder / f"tampered_{name}.pt2").write_bytes(tampered)
    with zipfile.ZipFile(folder / "foreign.pt2", "w") as foreign:
        foreign.writestr("model/hello.txt", "hello")
    no_archive = b"\0" + archive.MARK + b"0" * 64
    digest = hashlib.sha256(no_archive[:-64]).hexdigest().encode()
    (folder / "no_archive.pt2").write_bytes(no_archive[:-64] + digest)

    edits = {
        "other_torch": lambda manifest, records: manifest.update(torch="1.13.1+cpu"),
        "other_schema": lambda manifest, records: manifest.update(schema=99),
        "other_machine": lambda manifest, records: manifest.update(machine="vax"),
        "other_processor": lambda manifest, records: manifest["cpu_flags"].append("quantum"),
        "other_target": lambda manifest, records: manifest.update(target="cuda"),
        "no_rows": lambda manifest, records: manifest.pop("rows"),
        "no_program": lambda manifest, records: [records.pop(name) for name in list(records) if name.endswith(".so")],
    }
    for name, edit in edits.items():
        archive.write(folder / f"{name}.pt2", *changed(whole, edit))


if __name__ == "__main__":
    (write_network if "--network" in sys.argv else main)(Path(sys.argv[1]))
