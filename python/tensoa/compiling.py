# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tensoa compile MODEL --out FILE.pt2 [--columns BLOCK=COLUMN,COLUMN… …] [--outputs BLOCK=COLUMN… …] [--example FILE]

Makes a package of a model for columns: of a network (all that python -m tensoa.export takes) or of decision trees (all that
python -m tensoa.import takes); the content of MODEL says which.

--columns has a block for each argument of the model, by its name:
  features=pt,eta,phi                [n, 3] of float32 columns
  charge=charge:int32                of another dtype
  x=r,phi,z@hits                     blocks of one collection, here "hits", have as many rows as each other
  edge_index.T=from,to:int64@edges   [2, n], as edge lists are
Without --columns they are those of --example, a Parquet or CSV file, where the model takes one argument; of trees the features
of the file. The rows of --example are also what the package is checked with.

--outputs names the results, in order: score, or score=signal,background. Without, they have the names that the model gives
them, else "output"; what was chosen is printed.

Exit status 2 with one line on stderr for what cannot be used.

In Python: tensoa.compile(module, "model.pt2", columns=["features=pt,eta,phi"]), or columns={"features": ["pt", "eta", "phi"]}.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tensoa import export
from tensoa.binding import Binding, argument_names, examples, words
from tensoa.binding.blocks import named_results
from tensoa.binding.columns import FEW_ROWS, Columns, collections_of
from tensoa.binding.model import as_exported, with_examples, with_lengths
from tensoa.command import working
from tensoa.dtypes import DTYPES, name_of
from tensoa.errors import InputError, first_line
from tensoa.importers.files import load_module
from tensoa.importers.trees import conifer
from tensoa.importers.trees import files as trees
from tensoa.importers.trees.imported import Imported
from tensoa.package import forest

Model = nn.Module | str | PathLike
Described = Sequence[str] | Mapping[str, Sequence[str]]
Example = Mapping[str, torch.Tensor | None]


def compile(  # as in torch.compile, re.compile
    model: Model,
    path: str | PathLike,
    *,
    columns: Described = (),
    outputs: Described = (),
    example: Any = None,
    options: export.Options = export.Options(),
    of_trees: trees.ImportOptions = trees.ImportOptions(),
) -> None:
    """Writes the package of a model, whole or not at all.

    `model`: a module, or a file as the command takes it. `columns`, `outputs`: texts as of the command, or {block: names of its
    columns}; of outputs also names of blocks. `example`: the path of a Parquet or CSV file, a table of pyarrow, pandas or
    polars, or {name: numbers}. `options`: of networks, but for `report`. Raises InputError: what, got, expected.
    """
    asked, results = [*_words(columns, "columns")], [*_named(outputs)]
    rows = examples.columns_of(example) if example is not None else {}
    if isinstance(model, nn.Module) or not trees.is_ensemble(model):
        if of_trees != trees.ImportOptions():
            raise InputError(f"{model}: is no ensemble of trees; expected no options of trees")
        _compile_module(model, path, asked, results, rows, options)
    else:
        if options != replace(export.Options(), report=options.report):
            raise InputError(f"{model}: is an ensemble of trees, which run on any device; expected no options of networks")
        _compile_trees(trees.load(str(model), of_trees), path, asked, results, rows, options.report)


# ---- what was asked for


@dataclass(frozen=True)
class _Result:
    """An output block; no columns where only its name was given."""

    name: str
    columns: tuple[str, ...] = ()


def _words(described: Described, option: str) -> Iterator[words.Words]:
    texts = described
    if isinstance(described, str):
        raise InputError(f"{option}: got the text '{described}', expected a list of texts")
    if isinstance(described, Mapping):
        texts = [f"{name}={','.join([names] if isinstance(names, str) else names)}" for name, names in described.items()]
    yield from (words.words_of(text, option) for text in texts)


def _named(described: Described) -> Iterator[_Result]:
    for one in [described] if isinstance(described, str) else described:
        if "=" in one or isinstance(described, Mapping):
            (found,) = _words({one: described[one]} if isinstance(described, Mapping) else [one], "outputs")
            if found.dtype or found.rows or found.is_transposed:
                raise InputError(f"outputs: got '{one}', expected names alone: dtypes and rows are those that the model gives")
            yield _Result(found.name, found.columns)
        else:
            yield _Result(one)


# ---- networks


def _compile_module(
    model: Model, path: str | PathLike, asked: list[words.Words], results: list[_Result], rows: Example, options: export.Options
) -> None:
    is_module = isinstance(model, nn.Module)
    module = model if isinstance(model, nn.Module) else None
    if not asked:
        module = module or load_module(str(model))
        asked = [_only_argument(module, rows)]
    inputs = words.inputs_of(asked, rows)
    module = module or load_module(str(model), inputs)
    columns = words.with_outputs(inputs, _outputs_of(module.eval(), _with_rows(inputs, rows), results))
    for one in columns.outputs:
        options.report(f"output {words.text_of(one)}")
    if not is_module and not str(model).rpartition(":")[0].endswith(".py"):
        module = load_module(str(model), columns)  # whose results and columns go by name
    export.export(module, _with_rows(columns, rows), path, options)


def _only_argument(module: nn.Module, rows: Example) -> words.Words:
    """The block that is all columns of the example. Raises InputError where that would be a guess."""
    arguments = argument_names(module)
    if arguments is not None and len(arguments) == 1 and rows:
        return words.Words(arguments[0], tuple(rows))
    known = ["block"] if arguments is None else arguments
    taken = "arguments of which it does not say the names" if arguments is None else ", ".join(arguments)
    line = " ".join(f"{name}=COLUMN,COLUMN,…" for name in known)
    raise InputError(f"columns: the model takes {taken}; expected the columns of each: --columns {line}")


def _with_rows(columns: Binding, rows: Example) -> Binding:
    return examples.with_columns(columns, dict(rows)) if rows else columns


def _outputs_of(module: nn.Module, inputs: Binding, asked: list[_Result]) -> list[dict]:
    """The output blocks of a model, from what it gives for two numbers of rows of each collection."""
    trial, _ = with_lengths(module, inputs)
    trial = with_examples(module, trial)
    first, second = (_results(module, trial, at) for at in (0, 1))
    if asked and len(asked) != len(first):
        raise InputError(
            f"outputs: got {', '.join(one.name for one in asked)}; expected {len(first)} of them, as many as the model gives"
        )
    blocks, counts = [], []
    for i, ((own, one), (_, other)) in enumerate(zip(first, second)):
        name = asked[i].name if asked else own or ("output" if len(first) == 1 else f"output_{i}")
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            raise InputError(f"the model gave a {type(one).__name__}, expected tensors")
        if name_of(one.dtype) not in DTYPES or one.dim() not in (1, 2) or one.shape[1:] != other.shape[1:]:
            shapes = f"{list(one.shape)} and {list(other.shape)}"
            raise InputError(
                f'result "{name}": the model gave {name_of(one.dtype)} of the shapes {shapes} for other numbers of rows; '
                "expected [n] or [n, k] of numbers, or a description of a C++ layout (python -m tensoa.export --binding)"
            )
        width = 1 if one.dim() == 1 else one.shape[1]
        names = asked[i].columns if asked else ()
        if names and len(names) != width:
            raise InputError(f"outputs: {name} has {len(names)} columns, expected {width}, as many as the model gives")
        counts.append((one.shape[0], other.shape[0]))
        collection = [*dict.fromkeys(counts)].index(counts[-1])
        names = names or ((name,) if width == 1 else tuple(f"{name}_{at}" for at in range(width)))
        blocks.append(words.block(name, collection, names, name_of(one.dtype)))
    return blocks


def _results(module: nn.Module, inputs: Binding, at: int) -> list[tuple[str | None, Any]]:
    """(name, tensor) of each; the `at`-th of two numbers of rows."""
    rows = {collection: FEW_ROWS[at + 2 * i] for i, collection in enumerate(collections_of(inputs))}
    tensors = inputs.tensors(Columns(inputs, rows, (), "cpu").inputs)
    try:
        with as_exported():
            if inputs.goes_by_name(argument_names(module)):
                value = module(**{block.name: tensor for block, tensor in zip(inputs.inputs, tensors)})
            else:
                value = module(*tensors)
    except InputError:
        raise
    except Exception as error:  # whatever the user's model throws
        names, arguments = [block.name for block in inputs.inputs], argument_names(module)
        rest = [name for name in arguments or () if name not in names]
        if isinstance(error, TypeError) and rest and len(names) + len(rest) == len(arguments or ()):
            listed, line = ", ".join(f'"{name}"' for name in rest), " ".join(f"{name}=COLUMN,…" for name in rest)
            known = ", ".join(arguments or ())
            raise InputError(f"columns: the model takes {known}; expected the columns of {listed}, too: {line}") from error
        taken = ", ".join(f"{block.name} {list(block.shape('n'))}".replace("'", "") for block in inputs.inputs)
        more = f"; the model takes {', '.join(arguments)}" if arguments is not None else ""
        raise InputError(f"the model fails on {taken}: {first_line(error)}{more}") from error
    return named_results(value)


# ---- trees


def _compile_trees(
    imported: Imported,
    path: str | PathLike,
    asked: list[words.Words],
    results: list[_Result],
    rows: Example,
    report: Callable[[str], object],
) -> None:
    inputs = words.inputs_of(asked or [_features(imported, rows)], rows)
    columns = words.with_outputs(inputs, [_answers(imported, results)])
    for what, blocks in (("input", columns.inputs), ("output", columns.outputs)):
        for one in blocks:
            report(f"{what} {words.text_of(one)}")
    forest.write(imported, columns, path, report=report)


def _features(imported: Imported, rows: Example) -> words.Words:
    names, count = imported.ensemble.column_names, imported.ensemble.columns
    if names:
        return words.Words("features", tuple(names), "float32")
    if len(rows) == count:
        return words.Words("features", tuple(rows), "float32")
    raise InputError(
        f"columns: the model has {count} features without names; expected these: --columns features=COLUMN,COLUMN,…"
        + (f"; the example has {len(rows)} columns" if rows else "")
    )


def _answers(imported: Imported, results: list[_Result]) -> dict:
    ensemble = imported.ensemble
    if len(results) > 1:
        raise InputError(f"outputs: got {len(results)} blocks, expected one, for the answers of the trees")
    name = results[0].name if results else "score"
    names = results[0].columns if results else ()
    if not names:
        classes = ensemble.classes if len(ensemble.classes) == ensemble.outputs else []
        names = tuple(classes or ([name] if ensemble.outputs == 1 else [f"{name}_{i}" for i in range(ensemble.outputs)]))
    return words.block(name, 0, names, "float32")


# ---- the command


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tensoa compile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", metavar="MODEL", help="FILE.py:FACTORY, or a file")
    parser.add_argument("--out", metavar="FILE.pt2", required=True, help="the package to write")
    parser.add_argument("--columns", metavar="BLOCK=COLUMN,…", nargs="+", default=[], help="of each argument of the model")
    parser.add_argument("--outputs", metavar="BLOCK[=COLUMN,…]", nargs="+", default=[], help="names of the results, in order")
    parser.add_argument("--example", metavar="FILE", help="Parquet or CSV: names and dtypes of columns, rows to check with")
    parser.add_argument("--target", choices=export.TARGETS, default="cpu", help="of a network (default: cpu)")
    parser.add_argument("--program", metavar="PROGRAM", help="tensoa, to run a package for cuda on this machine's GPU")
    parser.add_argument(
        "--best-iteration", action="store_true", help="of XGBoost: the rounds up to the best one of early stopping"
    )
    parser.add_argument(
        "--trust-pickle", action="store_true", help="of scikit-learn: load a pickle, which runs code that is in it"
    )
    parser.add_argument(
        "--splitting", choices=conifer.CONVENTIONS, help="of conifer: what goes left, where the file does not say it"
    )
    given = parser.parse_args(arguments)
    if Path(given.out).suffix != ".pt2":
        raise InputError(f"--out {given.out}: a package is called FILE.pt2")
    with working(f"compiling {given.out}") as report:
        options = export.Options(target=given.target, program=given.program, report=report)
        compile(
            given.model,
            given.out,
            columns=given.columns,
            outputs=given.outputs,
            example=given.example,
            options=options,
            of_trees=trees.ImportOptions(given.best_iteration, given.trust_pickle, given.splitting),
        )
