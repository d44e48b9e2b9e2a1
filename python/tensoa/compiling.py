# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa compile MODEL --out FILE.pt2 [--columns BLOCK=COLUMN,COLUMN… …] [--outputs BLOCK=COLUMN… …] [--example FILE]

Makes a package of a model for columns: of a network (all that python -m tensoa.export takes) or of decision trees (all that
python -m tensoa.import takes); the content of MODEL says which.

--columns has a block for each argument of the model, by its name:
  features=pt,eta,phi                [n, 3] of float32 columns
  charge=charge:int32                of another dtype
  x=r,phi,z@hits                     blocks of one collection, here "hits", have as many rows as each other
  edge_index.T=from,to:int64@edges   [2, n], as edge lists are
  field=field@call                   one number for the whole call, [n, 1] in rows of the first block
Without --columns they are those of --example, a Parquet or CSV file, where the model takes one argument; of trees the features
of the file. The rows of --example are also what the package is checked with.

--outputs names the results, in order: score, or score=signal,background. Without, they have the names that the model gives
them, else "output"; what was chosen is printed.

Exit status 2 with one line on stderr for what cannot be used. Without the program: python -m tensoa compile.

In Python: tensoa.compile(module, "model.pt2", columns=["features=pt,eta,phi"]), or columns={"features": ["pt", "eta", "phi"]}.
"""

import argparse
import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from tensoa.importers.trees import conifer, match
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
    if not isinstance(model, (nn.Module, str, PathLike)):
        raise InputError(f"the model is a {type(model).__name__}, expected a torch.nn.Module or the path of a file")
    asked, results = [*_words(columns)], [*_named(outputs)]
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


def _each(option: str, described: Described) -> Iterator[str]:
    """The texts, or the names of blocks. Raises InputError."""
    for one in described if isinstance(described, Iterable) else [described]:
        if not isinstance(one, str):
            raise InputError(
                f"{option}: got a {type(one).__name__}, expected texts BLOCK=COLUMN,COLUMN or {{block: names of its columns}}"
            )
        yield one


def _words(described: Described) -> Iterator[words.Words]:
    if isinstance(described, str):
        raise InputError(f"columns: got the text '{described}', expected a list of texts")
    for one in _each("columns", described):
        names = described[one] if isinstance(described, Mapping) else None
        if names is None or isinstance(names, str):
            yield words.words_of(one if names is None else f"{one}={names}")
        else:
            yield words.words_of_names(one, names)


def _named(described: Described) -> Iterator[_Result]:
    for one in [described] if isinstance(described, str) else _each("outputs", described):
        if isinstance(described, Mapping):
            names = described[one]
            yield _Result(one, (names,) if isinstance(names, str) else words.words_of_names(one, names, "outputs").columns)
        elif "=" in one:
            found = words.words_of(one, "outputs")
            if found.dtype or found.rows or found.is_transposed:
                raise InputError(f"outputs: got '{one}', expected names alone: dtypes and rows are those that the model gives")
            yield _Result(found.name, found.columns)
        elif "," in one:
            raise InputError(f"outputs: got '{one}', expected the name of a block, or BLOCK={one} for the names of its columns")
        else:
            yield _Result(one)


def _say_blocks(columns: Binding, report: Callable[[str], object]) -> None:
    for what, blocks in (("input", columns.inputs), ("output", columns.outputs)):
        for one in blocks:
            report(f"{what} {words.text_of(one)}")


# ---- networks


def _compile_module(
    model: Model, path: str | PathLike, asked: list[words.Words], results: list[_Result], rows: Example, options: export.Options
) -> None:
    module = model if isinstance(model, nn.Module) else load_module(str(model))
    if not isinstance(module, nn.Module):
        raise InputError(f"{model}: got a {type(module).__name__}, expected a torch.nn.Module")
    with contextlib.suppress(NotImplementedError):  # an exported program is in evaluation already
        module.eval()
    inputs = words.inputs_of(asked or [_only_argument(module, rows)], rows)
    _check_arguments(module, [block.name for block in inputs.inputs])
    columns = words.with_outputs(inputs, _outputs_of(module, _with_rows(inputs, rows), results))
    _say_blocks(columns, options.report)
    if not isinstance(model, nn.Module) and not str(model).rpartition(":")[0].endswith(".py"):
        module = load_module(str(model), columns)  # whose results and columns go by name
    export.export(module, _with_rows(columns, rows), path, options)


def _needed(module: nn.Module) -> list[str] | None:
    """The arguments that have no default; None where it takes any."""
    arguments = argument_names(module)
    if arguments is None or hasattr(module, "argument_names") or isinstance(module, torch.jit.ScriptModule):
        return arguments
    parameters = inspect.signature(module.forward).parameters
    return [name for name in arguments if parameters[name].default is inspect.Parameter.empty]


def _line(names: Sequence[str]) -> str:
    return " ".join(f"{name}=COLUMN,COLUMN,…" for name in names)


def _only_argument(module: nn.Module, rows: Example) -> words.Words:
    """The block that is all columns of the example. Raises InputError where that would be a guess."""
    needed = _needed(module)
    if needed is not None and len(needed) == 1 and rows:
        return words.Words(needed[0], tuple(rows))
    taken = "arguments of which it does not say the names" if needed is None else ", ".join(needed)
    line = _line(["BLOCK"] if needed is None else needed)
    raise InputError(f"columns: the model takes {taken}; expected the columns of each: --columns {line}")


def _check_arguments(module: nn.Module, names: list[str]) -> None:
    """Raises InputError for a block that is no argument, and an argument without a block."""
    arguments, needed = argument_names(module), _needed(module)
    if arguments is None or needed is None:
        return
    unknown = [name for name in names if name not in arguments]
    missing = [name for name in needed if name not in names]
    taken = f"columns: the model takes {', '.join(arguments)}; "
    if unknown:
        raise InputError(f"{taken}got {', '.join(unknown)}, expected the names of its arguments")
    if missing:
        raise InputError(f"{taken}expected the columns of {', '.join(missing)}, too: {_line(missing)}")


def _with_rows(columns: Binding, rows: Example) -> Binding:
    return examples.with_columns(columns, dict(rows)) if rows else columns


class _WithoutResults:
    """A model that gives nothing, to try what it takes before its results are known."""

    def __init__(self, module: nn.Module) -> None:
        self.module, self.argument_names = module, argument_names(module)

    def __call__(self, *tensors: torch.Tensor, **named: torch.Tensor) -> tuple:
        self.module(*tensors, **named)
        return ()


def _outputs_of(module: nn.Module, inputs: Binding, asked: list[_Result]) -> list[dict]:
    """The output blocks of a model, from what it gives for two numbers of rows of each collection."""
    if len(collections_of(inputs)) > len(FEW_ROWS) // 2:
        raise InputError(f"columns: got {len(collections_of(inputs))} collections, at most {len(FEW_ROWS) // 2} are possible")
    silent = _WithoutResults(module)
    trial = with_examples(silent, with_lengths(silent, inputs)[0])
    (first, is_dict), (second, _) = (_results(module, trial, at) for at in (0, 1))
    found = _in_order([name for name, _ in first], asked, is_dict)
    blocks: list[dict] = []
    counts: list[tuple[int, int]] = []
    for result, (_, one), (_, other) in zip(found, first, second):
        width = _width(result.name, one, other)
        if result.columns and len(result.columns) != width:
            raise InputError(
                f"outputs: {result.name} has {len(result.columns)} columns, expected {width}, as many as the model gives"
            )
        counts.append((one.shape[0], other.shape[0]))
        collection = [*dict.fromkeys(counts)].index(counts[-1])
        names = result.columns or ((result.name,) if width == 1 else tuple(f"{result.name}_{at}" for at in range(width)))
        blocks.append(words.block(result.name, collection, names, name_of(one.dtype)))
    return blocks


def _in_order(own: list[str | None], asked: list[_Result], is_dict: bool) -> list[_Result]:
    """For each result its block: of the name that the model gives it, where that is asked for; in order where it gives none."""
    names = [one.name for one in asked]
    if asked and len(asked) != len(own):
        raise InputError(f"outputs: got {', '.join(names)}; expected {len(own)} of them, as many as the model gives")
    if not asked:
        names = [name or ("output" if len(own) == 1 else f"output_{i}") for i, name in enumerate(own)]
        asked = [_Result(name) for name in names]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"outputs: there are two blocks called {twice}; name them: --outputs {' '.join('BLOCK' for _ in own)}")
    known = [name for name in own if name is not None]
    if len(known) == len(own) and set(known) == set(names):
        return [asked[names.index(name)] for name in known]
    if is_dict:
        raise InputError(f"outputs: got {', '.join(names)}; expected the names that the model gives: {', '.join(known)}")
    return asked


def _width(name: str, one: Any, other: Any) -> int:
    """How many columns a result is. Raises InputError where it is none."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        raise InputError(f'result "{name}": the model gave a {type(one).__name__}, expected a tensor')
    if name_of(one.dtype) not in DTYPES or one.dim() not in (1, 2) or one.shape[1:] != other.shape[1:]:
        shapes = f"{list(one.shape)} and {list(other.shape)}"
        raise InputError(
            f'result "{name}": the model gave {name_of(one.dtype)} of the shapes {shapes} for other numbers of rows; '
            "expected [n] or [n, k] of numbers, or a description of a C++ layout (python -m tensoa.export --binding)"
        )
    return 1 if one.dim() == 1 else one.shape[1]


def _results(module: nn.Module, inputs: Binding, at: int) -> tuple[list[tuple[str | None, Any]], bool]:
    """(name, tensor) of each, and whether the model gives a dict; the `at`-th of two numbers of rows."""
    rows = {collection: FEW_ROWS[at + 2 * i] for i, collection in enumerate(collections_of(inputs))}
    tensors = inputs.tensors(Columns(inputs, rows, (), "cpu").inputs)
    try:
        with as_exported():
            value = inputs.value(module, tensors)
    except InputError:
        raise
    except Exception as error:  # whatever the user's model throws
        taken = ", ".join(
            f"{block.name} {name_of(block.dtype)}{list(block.shape('n'))}".replace("'", "") for block in inputs.inputs
        )
        raise InputError(
            f"the model fails on {taken}: {first_line(error)}; expected as many columns of each block as it takes, and their "
            "dtype where it is another one, as in x=a,b:float64"
        ) from error
    found = named_results(value)
    own = getattr(module, "result_names", ())
    named = [name or (own[i] if len(own) == len(found) else None) for i, (name, _) in enumerate(found)]
    if isinstance(value, dict) and not all(isinstance(name, str) for name in named):
        raise InputError(f"the model gave a dict of {[*value]}, expected names as its keys")
    return [(name, tensor) for name, (_, tensor) in zip(named, found)], isinstance(value, dict)


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
    _say_blocks(columns, report)
    forest.write(imported, columns, path, report=report)


def _features(imported: Imported, rows: Example) -> words.Words:
    names, count = imported.ensemble.column_names, imported.ensemble.columns
    if names and (not rows or any(name in rows for name in names)):
        return words.Words("features", tuple(names), "float32")
    if names and not match.are_made_up(names):
        raise InputError(f"example: has none of the features {match.few(names)} of the model; it has {match.few([*rows])}")
    if len(rows) == count:
        return words.Words("features", tuple(rows), "float32")
    raise InputError(
        f"columns: the model has {count} features without names; expected these: --columns features=COLUMN,COLUMN,…"
        + (f"; the example has {len(rows)} columns: {match.few([*rows])}" if rows else "")
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
        prog="tensoa compile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
