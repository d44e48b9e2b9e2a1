# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Networks that others have published, with their weights, on columns: what they read, and what their authors say they give.

The authors' modules run as they are, but for what counts rows in the data (the largest number of an index, bincount): a
program on columns has the number of rows of its columns, so that number is taken from a block.
"""

import ast
import contextlib
import csv
import importlib
import io
import sys
import tempfile
import types
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from sources import content_of
from tensoa import binding
from tensoa.binding import Binding
from tensoa.errors import InputError
from torch import nn


def block(name: str, columns: list[str], dtype: str, collection: int, shape: str = "rows") -> dict:
    text = {"name": name, "collection": collection, "shape": shape, "kind": "plain", "element": [], "column_dtype": dtype}
    return {**text, "dtype": dtype, "columns": [{"name": column, "plane": i} for i, column in enumerate(columns)]}


def parsed(inputs: list[dict], outputs: list[dict]) -> Binding:
    return binding.parse({"schema": 1, "match": "name", "inputs": inputs, "outputs": outputs})


def of(collection: int, name: str, columns: int, dtype: str = "float32") -> dict:
    """A block of a collection: [rows, columns]."""
    names = [name] if columns == 1 else [f"{name}_{i}" for i in range(columns)]
    return block(name, names, dtype, collection)


def edges(collection: int) -> dict:
    """edge_index [2, rows], as PyTorch Geometric has it."""
    return block("edge_index", ["source", "target"], "int64", collection, "columns")


@dataclass
class Batch:
    """Tensors for the input blocks, and the rows of each collection."""

    tensors: list[torch.Tensor]
    rows: list[int]


@dataclass
class Published:
    """An entry of models.toml, with the folder of repositories and the file that jets.py made."""

    name: str
    kind: str
    weights: str
    licence: str
    paper: str
    what: str
    published: str
    where: str
    unit: str
    tolerance: float
    changed: str
    repository: str = ""
    commit: str = ""
    package: str = ""
    mirrors: Path = Path()
    jets: Path = Path()

    def content(self, path: str) -> bytes:
        """A file of the repository at the commit. Raises InputError."""
        return content_of(self.mirrors, self.repository, self.commit, path)

    def installed(self, path: str) -> Path:
        """A file of the Python package. Raises InputError."""
        name, _, version = self.package.partition("==")
        try:
            found = distribution(name)
        except PackageNotFoundError as error:
            raise InputError(f"{name}: is not there; pip install {self.package}") from error
        if found.version != version:
            raise InputError(f"{name}: got {found.version}, expected {version}; pip install {self.package}")
        return Path(str(found.locate_file(path)))


# ---- ADMET-AI: properties of drugs, Chemprop's message passing over bonds


class Graph:
    """What Chemprop's message passing reads of its BatchMolGraph."""

    def __init__(self, atoms: torch.Tensor, bonds: torch.Tensor, edge_index: torch.Tensor, reverse: torch.Tensor) -> None:
        self.V, self.E, self.edge_index, self.rev_edge_index = atoms, bonds, edge_index, reverse


class Admet(nn.Module):
    """An ensemble of Chemprop networks: their mean."""

    def __init__(self, models: list[nn.Module]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    def forward(self, atoms, molecule, bonds, edge_index, reverse, molecules):
        graph, answers = Graph(atoms, bonds, edge_index, reverse[:, 0]), []
        for model in self.models:
            hidden = model.message_passing(graph)
            pooled = hidden.new_zeros(len(molecules), hidden.shape[1]).index_add(0, molecule[:, 0], hidden)
            answers.append(model.predictor(model.bn(pooled / model.agg.norm)))
        return torch.stack(answers, -1).mean(-1)


DRUGS = 100  # of 2 845, the first ones


class AdmetAi:
    def __init__(self, entry: Published) -> None:
        from chemprop.data import MoleculeDatapoint, MoleculeDataset
        from chemprop.models import load_model
        from chemprop.models.utils import load_output_columns
        from rdkit import Chem

        folder = entry.installed(entry.weights)
        paths = sorted(folder.glob("*.pt"))
        if not paths:
            raise InputError(f"{folder}: has no weights; expected model_0.pt and others")
        self.models = [load_model(path, multicomponent=False).eval() for path in paths]
        self.tasks = load_output_columns(paths[0])
        with entry.installed("admet_ai/resources/data/drugbank_approved.csv").open() as lines:
            drugs = list(csv.DictReader(lines))[:DRUGS]
        self.published = np.array([[float(drug[task]) for task in self.tasks] for drug in drugs])
        data = MoleculeDataset([MoleculeDatapoint(mol=Chem.MolFromSmiles(drug["smiles"])) for drug in drugs])
        self.graphs = [data[i].mg for i in range(len(data))]
        self.module = Admet(self.models).eval()
        self.count = len(drugs)

    def binding(self) -> Binding:
        inputs = [of(0, "atoms", self.graphs[0].V.shape[1]), of(0, "molecule", 1, "int64")]
        inputs += [of(1, "bonds", self.graphs[0].E.shape[1]), edges(1), of(1, "reverse", 1, "int64"), of(2, "molecules", 1)]
        return parsed(inputs, [of(3, "properties", len(self.tasks))])

    def _batch(self, chosen: range):
        from chemprop.data import BatchMolGraph

        return BatchMolGraph([self.graphs[i] for i in chosen])

    def batch(self, chosen: range) -> Batch:
        one = self._batch(chosen)
        tensors = [one.V, one.batch[:, None], one.E, one.edge_index, one.rev_edge_index[:, None], torch.zeros(len(chosen), 1)]
        return Batch(tensors, [len(one.V), len(one.E), len(chosen)])

    def theirs(self, chosen: range) -> list[np.ndarray]:
        one = self._batch(chosen)
        return [torch.stack([model(one) for model in self.models]).mean(0).numpy()]

    def compared(self, answers: list[np.ndarray]) -> list[dict]:
        """The largest difference, in standard deviations of a property over these drugs."""
        difference = np.abs(answers[0] - self.published) / self.published.std(0)
        number = f"{len(self.published)} drugs, {len(self.tasks)} properties"
        return [{"number": number, "difference": float(difference.max())}]


# ---- CHGNet: energies and magnetic moments of crystals


def _sums(crystals: int):
    """CHGNet's aggregate() and bincount() for a number of crystals that is not looked up in the data."""

    def aggregate(data, owners, *, average=True, num_owner=None):
        rows = crystals if num_owner is None else num_owner
        total = data.new_zeros(rows, data.shape[1]).index_add(0, owners, data)
        if not average:
            return total
        return total / data.new_zeros(rows).index_add(0, owners, data.new_ones(len(data))).clamp(min=1)[:, None]

    def bincount(owners):
        return torch.zeros(crystals).index_add(0, owners, torch.ones(len(owners)))

    return aggregate, bincount


class Chgnet(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, positions, element, crystal, edge_index, image, undirected, directed, angle, crystals):
        from chgnet.model.model import BatchedGraph

        model, element, crystal = self.model, element[:, 0], crystal[:, 0]
        aggregate, bincount = _sums(len(crystals))
        radial, radial_of_angles, vectors = model.bond_basis_expansion(
            center=positions[edge_index[0]],
            neighbor=positions[edge_index[1]],
            undirected2directed=directed[:, 0],
            image=image,
            lattice=torch.eye(3),
        )
        graph = BatchedGraph(
            atomic_numbers=element,
            bond_bases_ag=radial,
            bond_bases_bg=radial_of_angles,
            angle_bases=model.angle_basis_expansion(vectors[angle[:, 2]], vectors[angle[:, 4]]),
            batched_atom_graph=edge_index.t(),
            batched_bond_graph=torch.stack([angle[:, 0], angle[:, 1], angle[:, 3]], 1),
            atom_owners=crystal,
            directed2undirected=undirected[:, 0],
            atom_positions=[],
            strains=[],
            volumes=[],
        )
        sites: dict[str, torch.Tensor] = {}
        hooks = [
            model.mlp.register_forward_hook(lambda module, inputs, result: sites.update(energy=result)),
            model.atom_conv_layers[-2].register_forward_hook(lambda module, inputs, result: sites.update(features=result)),
        ]
        with mock.patch("chgnet.model.layers.aggregate", aggregate), mock.patch("torch.bincount", bincount):
            found = model._compute(graph)
        for hook in hooks:
            hook.remove()
        reference = model.composition_model.fc.weight[0][element - 1]
        shift = torch.zeros(len(crystals)).index_add(0, crystal, reference) / bincount(crystal)
        moments = model.site_wise(sites["features"]).abs()
        sites = torch.cat([sites["energy"] + reference[:, None], moments], 1)
        return (found["e"] + shift)[:, None], sites


class ChgnetCrystals:
    def __init__(self, entry: Published) -> None:
        from chgnet.model.model import CHGNet
        from pymatgen.core import Structure

        entry.installed(entry.weights)
        with contextlib.redirect_stdout(io.StringIO()):
            self.model = CHGNet.load(use_device="cpu", verbose=False)
        structure = Structure.from_str(entry.content("examples/mp-18767-LiMnO2.cif").decode(), fmt="cif")
        self.graph = self.model.graph_converter(structure)
        self.module = Chgnet(self.model).eval()
        self.count = 1
        self.numbers = _numbers_of_test(entry.content("tests/test_model.py").decode())

    def binding(self) -> Binding:
        inputs = [
            of(0, "positions", 3),
            of(0, "element", 1, "int64"),
            of(0, "crystal", 1, "int64"),
            edges(1),
            of(1, "image", 3),
        ]
        inputs += [of(1, "undirected", 1, "int64"), of(2, "directed", 1, "int64"), of(3, "angle", 5, "int64")]
        return parsed([*inputs, of(4, "crystals", 1)], [of(5, "energy", 1), of(6, "sites", 2)])

    def batch(self, chosen: range) -> Batch:
        """The crystal, once for each of `chosen`."""
        one, count = self.graph, len(chosen)
        sizes = [len(one.atomic_number), len(one.atom_graph), len(one.undirected2directed), len(one.bond_graph)]

        def numbered(index: torch.Tensor, *collections: int) -> torch.Tensor:
            steps = torch.tensor([sizes[collection] for collection in collections])
            return torch.cat([index.long().reshape(len(index), -1) + i * steps for i in range(count)])

        positions = (one.atom_frac_coord @ one.lattice).float()
        tensors = [
            positions.repeat(count, 1),
            one.atomic_number.long()[:, None].repeat(count, 1),
            torch.arange(count).repeat_interleave(sizes[0])[:, None],
            numbered(one.atom_graph, 0, 0).t().contiguous(),
            (one.neighbor_image @ one.lattice).float().repeat(count, 1),
            numbered(one.directed2undirected, 2),
            numbered(one.undirected2directed, 1),
            numbered(one.bond_graph, 0, 2, 1, 2, 1),
            torch.zeros(count, 1),
        ]
        return Batch(tensors, [*(size * count for size in sizes), count])

    def theirs(self, chosen: range) -> list[np.ndarray]:
        found = self.model.predict_graph([self.graph] * len(chosen), task="em", return_site_energies=True)
        found = found if isinstance(found, list) else [found]
        sites = [np.stack([one["site_energies"], one["m"]], 1) for one in found]
        return [np.array([[one["e"]] for one in found]), np.concatenate(sites)]

    def compared(self, answers: list[np.ndarray]) -> list[dict]:
        energy, sites = answers
        found = {"e": energy[:1, 0], "site_energies": sites[:, 0], "m": sites[:, 1]}
        names = {
            "e": "energy of LiMnO2, eV an atom",
            "site_energies": "energies of 8 sites, eV",
            "m": "8 magnetic moments, Bohr magnetons",
        }
        answers = []
        for name, wanted in self.numbers.items():
            one = {"number": names[name], "difference": float(np.abs(found[name][: len(wanted)] - wanted).max())}
            answers.append(one | ({"published": wanted[0], "found": float(found[name][0])} if len(wanted) == 1 else {}))
        return answers


def _numbers_of_test(text: str) -> dict[str, list[float]]:
    """The numbers that CHGNet's own test expects."""
    wanted: dict[str, list[float]] = {}
    (function,) = [node for node in ast.parse(text).body if getattr(node, "name", "") == "test_predict_structure"]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("magmom", "site_energies"):
            name = {"magmom": "m"}.get(node.targets[0].id, node.targets[0].id)
            wanted[name] = ast.literal_eval(node.value)
        elif isinstance(node, ast.Compare) and ast.unparse(node.left) == "out['e']":
            wanted["e"] = [ast.literal_eval(node.comparators[0].args[0])]
    if sorted(wanted) != ["e", "m", "site_energies"]:
        raise InputError(f"tests/test_model.py: has numbers for {sorted(wanted)}, expected e, m and site_energies")
    return wanted


# ---- LundNet: W jets by their Lund plane


def mean(rows: torch.Tensor, index: torch.Tensor, count: int) -> torch.Tensor:
    total = rows.new_zeros(count, rows.shape[1]).index_add(0, index, rows)
    return total / rows.new_zeros(count).index_add(0, index, rows.new_ones(len(index))).clamp(min=1)[:, None]


class DglGraph:
    """What LundNet calls of a graph of DGL, whose kernels are not operators of torch."""

    def __init__(self, edge_index: torch.Tensor, jet: torch.Tensor, jets: int) -> None:
        self.source, self.target, self.jet, self.jets = edge_index[0], edge_index[1], jet, jets
        self.ndata: dict[str, torch.Tensor] = {}
        self.edata: dict[str, torch.Tensor] = {}

    def local_scope(self):
        return contextlib.nullcontext()

    def apply_edges(self, function):
        ends = types.SimpleNamespace(
            src={name: rows[self.source] for name, rows in self.ndata.items()},
            dst={name: rows[self.target] for name, rows in self.ndata.items()},
        )
        self.edata.update(function(ends))

    def update_all(self, message, reduce):
        """copy_e and mean."""
        self.ndata[reduce] = mean(self.edata[message], self.target, len(self.ndata[reduce]))


class Lund(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, declusterings, jet, edge_index, jets):
        return self.model(DglGraph(edge_index, jet[:, 0], len(jets)), declusterings).softmax(1)[:, 1:]


class LundNet:
    """Of jets that jets.py has made."""

    def __init__(self, entry: Published) -> None:
        dgl, functions = types.ModuleType("dgl"), types.ModuleType("dgl.function")
        functions.copy_e, functions.mean = lambda rows, out: rows, lambda rows, out: out
        dgl.function, dgl.mean_nodes = functions, lambda graph, name: mean(graph.ndata[name], graph.jet, graph.jets)
        with tempfile.TemporaryDirectory(prefix="tensoa-lundnet-") as folder:
            for name in ("EdgeConv.py", "LundNet.py"):
                (Path(folder) / name).write_bytes(entry.content(f"src/lundnet/{name}"))
            package = types.ModuleType("lundnet")
            package.__path__ = [folder]
            with mock.patch.dict(sys.modules, {"dgl": dgl, "dgl.function": functions, "lundnet": package}):
                network = importlib.import_module("lundnet.LundNet")
        self.info = dict(
            line.split(": ", 1) for line in entry.content(entry.weights + "_INFO.txt").decode().splitlines()
        )
        self.model = network.LundNet(input_dims=5, num_classes=2, **ast.literal_eval(self.info["model_params"]))
        weights = io.BytesIO(entry.content(entry.weights + "_state.pt"))
        self.model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        self.module = Lund(self.model).eval()
        if not entry.jets.is_file():
            raise InputError(f"{entry.jets}: is not there; --jets FILE.npz, which bench/published/jets.py writes")
        with np.load(entry.jets) as file:
            self.rows = np.split(file["rows"], np.cumsum(file["rows_of"])[:-1])
            self.edges = np.split(file["edges"], np.cumsum(file["edges_of"])[:-1])
            self.is_w = file["is_w"]

    @property
    def count(self) -> int:
        return len(self.is_w)

    def binding(self) -> Binding:
        inputs = [of(0, "declusterings", 5), of(0, "jet", 1, "int64"), edges(1), of(2, "jets", 1)]
        return parsed(inputs, [of(3, "score", 1)])

    def batch(self, chosen: range) -> Batch:
        counts = [len(self.rows[i]) for i in chosen]
        jet = torch.arange(len(chosen)).repeat_interleave(torch.tensor(counts))
        first = np.cumsum([0, *counts])
        edge_index = np.concatenate([self.edges[i] + start for i, start in zip(chosen, first)]).T
        rows = torch.tensor(np.concatenate([self.rows[i] for i in chosen]))
        tensors = [rows, jet[:, None], torch.tensor(np.ascontiguousarray(edge_index)), torch.zeros(len(chosen), 1)]
        return Batch(tensors, [len(rows), edge_index.shape[1], len(chosen)])

    def theirs(self, chosen: range) -> list[np.ndarray]:
        rows, jet, edge_index, jets = self.batch(chosen).tensors
        return [self.model(DglGraph(edge_index, jet[:, 0], len(jets)), rows).softmax(1)[:, 1:].numpy()]

    def compared(self, answers: list[np.ndarray]) -> list[dict]:
        """Area under the curve and accuracy; difference in standard deviations for this number of jets."""
        score, is_w = answers[0][:, 0], self.is_w
        order = np.argsort(np.argsort(score))
        w, qcd = int(is_w.sum()), int((~is_w).sum())
        area = (order[is_w].sum() - w * (w - 1) / 2) / (w * qcd)
        wanted = float(self.info["auc"])
        first, second = wanted / (2 - wanted), 2 * wanted**2 / (1 + wanted)
        spread = wanted * (1 - wanted) + (w - 1) * (first - wanted**2) + (qcd - 1) * (second - wanted**2)
        accuracy, right = float(((score > 0.5) == is_w).mean()), float(self.info["accuracy"])
        deviation = (right * (1 - right) / len(is_w)) ** 0.5
        return [
            {"number": "area under the curve", "published": wanted, "found": area,
             "difference": abs(area - wanted) / (spread / (w * qcd)) ** 0.5},
            {"number": "accuracy", "published": right, "found": accuracy, "difference": abs(accuracy - right) / deviation},
        ]  # fmt: skip


KINDS = {"admet": AdmetAi, "chgnet": ChgnetCrystals, "lundnet": LundNet}
