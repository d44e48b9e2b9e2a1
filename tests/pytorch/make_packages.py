# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the packages of TorchInductor for the tests of pytorch/, for the CPU and, where there is one, for the GPU.

    python make_packages.py FOLDER     reads FOLDER/NAME.json, writes FOLDER/NAME-cpu.pt2 and FOLDER/NAME-cuda.pt2

and files that are no packages, or are packages no more.
"""

import hashlib
import json
import sys
import zipfile
from pathlib import Path

import torch
from torch import nn

from make_models import Mlp
from tensoa import aot, binding, interaction_network


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


def edge_network():
    return interaction_network.load(Path(__file__).parents[2] / "models" / "interaction_network.safetensors")


MODELS = {"mlp": Mlp, "kinds": Kinds, "graph": Graph, "edge_network": edge_network}


def changed(package, edit):
    """The package with its manifest edited and a checksum that is right."""
    with zipfile.ZipFile(package) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(records["model/" + aot.RECORD])
    edit(manifest, records)
    records.pop("model/" + aot.RECORD)
    return records, manifest


def main(folder: Path):
    targets = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for name, model in MODELS.items():
        for target in targets:
            print(f"exporting {name} for {target}", flush=True)
            file = folder / f"{name}-{target}.pt2"
            aot.export(model(), binding.load(folder / f"{name}.json"), file, target, fuse=False)

    torch.jit.script(edge_network()).save(folder / "edge_network.pt")

    whole = folder / "mlp-cpu.pt2"
    content = whole.read_bytes()
    (folder / "truncated.pt2").write_bytes(content[: len(content) // 2])
    (folder / "empty.pt2").write_bytes(b"")
    for name, place in (("first", 100), ("middle", len(content) // 2), ("last", len(content) - 1)):
        tampered = bytearray(content)
        tampered[place] ^= 1
        (folder / f"tampered_{name}.pt2").write_bytes(tampered)
    with zipfile.ZipFile(folder / "foreign.pt2", "w") as archive:
        archive.writestr("model/hello.txt", "hello")
    no_archive = aot.MARK + b"0" * 64
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
        aot.write(folder / f"{name}.pt2", *changed(whole, edit))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
