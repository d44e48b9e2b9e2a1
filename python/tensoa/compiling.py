# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""tensoa.compile, and what `tensoa compile` does with its options (tensoa.options): packages of networks and of trees."""

import argparse
import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tensoa import export
from tensoa.binding import Binding, argument_names, examples, require_binding, words
from tensoa.binding.blocks import absent_results, named_results
from tensoa.binding.columns import FEW_ROWS, Columns, collections_of, is_integer, trial_rows
from tensoa.binding.defaults import (
    MOST_COLUMNS,
    MOST_PLACES,
    Sizes,
    left_out,
    line_of,
    needed_arguments,
    taken_by_file,
    taken_text,
    unnamed_text,
    words_of_model,
)
from tensoa.binding.evaluation import evaluated
from tensoa.binding.model import WithoutResults, as_exported, takes_rows, with_examples, with_lengths
from tensoa.binding.parse import SCHEMA, parse
from tensoa.binding.parse import load as load_binding
from tensoa.budget import within
from tensoa.carried import Carried, state_of, with_state
from tensoa.command import working
from tensoa.dtypes import DTYPES, name_of
from tensoa.errors import InputError, Unsupported, first_line
from tensoa.importers import checkpoints, own_runtime
from tensoa.importers.files import load_module
from tensoa.importers.trees import files as trees
from tensoa.importers.trees import match
from tensoa.importers.trees.imported import Imported
from tensoa.importers.trees.sklearn import NotTrees
from tensoa.package import forest
from tensoa.program_kinds import PACKAGE, NoProgram
from tensoa.rows_axis import RowsFirst, calls_as_said, rows_first
from tensoa.settled import settled

TRIED_ROWS, MOST_TRIED_ROWS = (1, 2, 33, 307), 10_000
Model = nn.Module | str | PathLike
Described = Sequence[str] | Mapping[str, Sequence[str]]
Example = examples.Example


def compile(  # as in torch.compile, re.compile
    model: Model,
    path: str | PathLike,
    *,
    columns: Described = (),
    outputs: Described = (),
    example: Any = None,
    binding: Binding | str | PathLike | None = None,
    target: str | Sequence[str] = "cpu",
    precision: str | None = None,
    deterministic: bool = False,
    fuse: bool = True,
    just_in_time: bool = False,
    program: str | PathLike | None = None,
    seconds: float | None = None,
    memory: float | None = None,
    timing: bool = True,
    margin: bool = False,
    best_iteration: bool = False,
    trust_pickle: bool = False,
    splitting: str | None = None,
    weights: str | PathLike | None = None,
    report: Callable[[str], object] = print,
) -> None:
    """Writes the package of a model, whole or not at all.

    `model`: a module, or a file as the command takes it. `columns`, `outputs`: texts as of the command, or {block: names of its
    columns}; of outputs also names of blocks. `example`: the path of a Parquet, Arrow or CSV file, a table of pyarrow, pandas
    or polars, a structured array of NumPy, an array of Awkward Array, or {name: numbers}. `binding`: the description of a C++
    layout, or the path of one, which replaces `columns` and `outputs`. `target` to `memory` are options of networks
    (tensoa.export.Options; `target`: "cpu", "cuda", or both: "cpu,cuda"; `just_in_time`: a program of torch.export), `margin`
    to `splitting` those of trees (tensoa.importers.trees.files.ImportOptions; `margin`: sums of leaves; `trust_pickle`: modules
    of torch.save, too). `weights`: a file of safetensors or torch.save, whose tensors a FILE.py:FACTORY gets. `report` is
    called with lines for people. A module stays as it is: modes, gradients, devices. Raises InputError: what, got, expected.

    Where no package can be made, or `seconds` or `memory` are used up, the file is a program that runs just in time, or that
    of the model itself; a line says which, and why (tensoa.program_kinds). Unsupported where none can be. A file of ONNX for
    CPUs stays that, too, where ONNX Runtime is clearly faster than the package, unless `timing` is false.
    """
    if not isinstance(model, (nn.Module, str, PathLike)):
        raise InputError(f"the model is a {type(model).__name__}, expected a torch.nn.Module or the path of a file")
    asked, results = [*_words(columns)], [*_named(outputs)]
    described = load_binding(binding) if isinstance(binding, (str, PathLike)) else binding
    if described is not None:
        require_binding(described)
        if asked or results:
            raise InputError("binding: expected no columns and no outputs, which it describes")
    rows = examples.columns_of(example) if example is not None else None
    if rows is not None and not rows:
        raise InputError(f"example: has no columns of numbers; it has {rows.listed}")
    of_network = export.Options(target, precision, fuse, deterministic, program, report, seconds, memory, timing)
    of_trees = trees.ImportOptions(best_iteration, trust_pickle, splitting)
    if weights is not None:
        model = _with_weights(model, str(weights))
    elif trust_pickle and not isinstance(model, nn.Module) and checkpoints.saved_object(model):
        model, of_trees = checkpoints.unpickled(model), replace(of_trees, trust_pickle=False)
    own = None if isinstance(model, nn.Module) else _as_it_is(own_runtime.of(str(model)), model, path, of_network)
    source: Any = model
    if not isinstance(model, nn.Module) and trees.is_ensemble(model):
        try:
            with _or_as_it_is(own):
                imported = trees.load(str(model), of_trees)
                given = _given(of_network) + ["just_in_time"] * just_in_time
                if given:
                    raise InputError(
                        f"{model}: is an ensemble of trees, which run on any device; expected no options of networks, "
                        f"got {', '.join(given)}"
                    )
                _compile_trees(imported, path, described or (asked, results), rows, margin, report)
            return
        except NotTrees as error:
            report(first_line(error))
            estimator, of_trees = _estimator(error, str(model)), trees.ImportOptions()
        if not (results or described):
            results = [_Result(estimator.result, tuple(estimator.classes))]
        own, source = _as_it_is(estimator.own_runtime(), model, path, of_network), estimator
    named = "the model" if isinstance(model, nn.Module) else str(model)
    given = _given(of_trees) + ["margin"] * margin
    if given:
        raise InputError(f"{named}: is not an ensemble of trees; expected no options of trees, got {', '.join(given)}")
    with _or_as_it_is(own):
        module = source if source is model else source.module()
        _compile_module(module, path, described or (asked, results), rows, of_network, just_in_time, own)


def _as_it_is(
    runtime: own_runtime.OwnRuntime | None, model: Model, path: str | PathLike, options: export.Options
) -> own_runtime.AsItIs | None:
    """The file of the model, where its runtime runs on all that is requested."""
    if runtime is None or not {*options.targets} <= {*runtime.targets}:
        return None
    return own_runtime.AsItIs(runtime, str(model), path, options.report)


def _estimator(found: NotTrees, path: str) -> Any:
    """Raises InputError."""
    try:
        from tensoa.importers import estimators
    except ImportError as error:
        raise InputError(f"{first_line(found)}; others need the package {error.name}, which is not here") from found
    return estimators.of_model(found.model, path, found.notes)


def _with_weights(model: Model, weights: str) -> nn.Module:
    if isinstance(model, nn.Module) or not str(model).rpartition(":")[0].endswith(".py"):
        got = type(model).__name__ if isinstance(model, nn.Module) else model
        raise InputError(f"weights {weights}: got the model {got}, expected FILE.py:FACTORY")
    module = load_module(str(model))
    if not isinstance(module, nn.Module):
        raise InputError(f"{model}: got a {type(module).__name__}, expected a torch.nn.Module")
    return checkpoints.with_weights(module, weights)


@contextlib.contextmanager
def _or_as_it_is(own: own_runtime.AsItIs | None) -> Iterator[None]:
    """Where the block raises Unsupported, writes the file of the model itself, unless that was tried already."""
    try:
        yield
    except Unsupported as error:
        reasons = error.reasons if isinstance(error, NoProgram) else {PACKAGE: first_line(error)}
        if own is None or own.kind in reasons:
            raise
        own.write(reasons)


def _given(options: export.Options | trees.ImportOptions) -> list[str]:
    """The names of the options that are not as without them."""
    return [one.name for one in fields(options) if one.name != "report" and getattr(options, one.name) != one.default]


# ---- what was requested


@dataclass(frozen=True)
class _Result:
    """An output block; no columns where only its name was given."""

    name: str
    columns: tuple[str, ...] = ()


_InWords = tuple[list[words.Words], list[_Result]]  # of inputs and outputs


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


def _say_blocks(
    columns: Binding, asked: Sequence[words.Words], report: Callable[[str], object], sizes: Sequence[Sizes] = ()
) -> None:
    """`asked`: the words of the input blocks. `sizes`: of the outputs, which stand for the names of many columns."""
    for one, its in zip(columns.inputs, asked):
        report(f"input {words.text_of(one, its.rows, its.sizes)}")
    for result, shape in zip(columns.outputs, sizes or [()] * len(columns.outputs)):
        report(f"output {words.text_of(result, sizes=shape if len(result.columns) > MOST_PLACES else ())}")


# ---- networks


def _compile_module(
    model: Model,
    path: str | PathLike,
    described: Binding | _InWords,
    rows: Example | None,
    options: export.Options,
    is_just_in_time: bool,
    own: own_runtime.AsItIs | None,
) -> None:
    """`own`: what is written where what is tried before a package takes all that one may (tensoa.budget)."""
    is_file = not isinstance(model, nn.Module) and not str(model).rpartition(":")[0].endswith(".py")
    if isinstance(model, nn.Module):
        module = model
    elif isinstance(described, Binding):
        module = load_module(str(model), described)
    else:
        module = _with_results(str(model), described[1], _sizes(described[0])) if is_file else load_module(str(model))
    if not isinstance(module, nn.Module):
        raise InputError(f"{model}: got a {type(module).__name__}, expected a torch.nn.Module")
    asked = [] if isinstance(described, Binding) else described[0]
    numbers = _numbers_of(module, asked)
    if not isinstance(described, Binding):
        described = [one for one in asked if one.name not in numbers], described[1]
        _fix(module, numbers, asked)
    budget = export.budget(module, options)
    limit = contextlib.nullcontext if own is None else functools.partial(within, budget)
    with evaluated(module), limit():
        if isinstance(described, Binding):
            sizes: dict[str, Sizes] = {}
            columns = _with_rows(module, described, rows, options.report)
        else:
            sizes = _sizes(described[0])
            columns = _in_words(module, *described, rows, options.report)
    if is_file and not isinstance(described, Binding) and not _is_for(module, columns):
        module = load_module(str(model), columns, sizes)  # whose results and columns go by name
        _fix(module, numbers, asked)
    with evaluated(module), limit():
        module = with_state(module, [block.name for block in columns.inputs])
        module, lines = rows_first(module, columns, sizes)
    if own is not None:
        own.module = module
    with evaluated(module), limit():  # whose buffers are as they were before
        module, others = settled(module, columns)
    for line in [*lines, *others]:
        options.report(line)
    faster = own if own is not None and own.runtime.is_faster else None
    export.write(module, columns, path, options, is_just_in_time, budget, faster)


def _is_for(module: nn.Module, columns: Binding) -> bool:
    """Whether the file of the module, which was read without a binding, is the same with this one."""
    dtypes = {name: taken.dtype for name, taken in taken_by_file(module).items()}
    blocks = [(block.name, block.dtype) for block in columns.inputs]
    results = [block.name for block in columns.outputs]
    takes_any_order = not hasattr(module, "order_by")
    return takes_any_order and results == [*getattr(module, "result_names", ())] and blocks == [*dtypes.items()]


def _numbers_of(module: nn.Module, asked: Sequence[words.Words]) -> dict[str, float]:
    """The words x=NUMBER of arguments that are one number for a call."""
    of_call = {name for name, taken in taken_by_file(module).items() if taken.shape == ()}
    found = {}
    for one in asked:
        if one.name in of_call and len(one.columns) == 1 and not (one.sizes or one.rows):
            with contextlib.suppress(ValueError):
                found[one.name] = float(one.columns[0])
    return found


def _fix(module: nn.Module, numbers: Mapping[str, float], asked: Sequence[words.Words]) -> None:
    """Makes them constants, and others that no columns were given for, where the file says which."""
    fix = getattr(module, "fix", None)  # of files of ONNX
    if fix is not None:
        fix(numbers, [one.name for one in asked if one.name not in numbers])


def _with_results(model: str, results: Sequence[_Result], sizes: Mapping[str, Sizes]) -> nn.Module:
    """The module of a file, which gives the results that were requested where the file has values by name
    (tensoa.importers.outputs).
    """
    names = {one.name for one in results}
    try:
        module = load_module(model, sizes=sizes)
    except InputError:
        if not names:
            raise
        module = None  # what is behind these results may be what cannot be read
    own = [] if module is None else getattr(module, "result_names", [])
    if module is not None and (not own or not names or names == {*own}):
        return module
    labels = getattr(module, "labels", {})  # of LWTNN, the columns of each
    blocks = [words.block(one.name, 0, one.columns or labels.get(one.name) or (one.name,), "float32") for one in results]
    return load_module(model, parse({"schema": SCHEMA, "match": "auto", "inputs": [], "outputs": blocks}), sizes)


def _in_words(
    module: nn.Module, asked: list[words.Words], results: list[_Result], rows: Example | None, report: Callable[[str], object]
) -> Binding:
    """The blocks that were requested, else the columns that the file of the model or the example names, and all results."""
    blocks = asked or words_of_model(module, rows)
    _require_columns(blocks, rows)
    inputs = words.inputs_of(blocks, rows or {})
    lines: list[str] = []
    module = with_state(module, [one.name for one in blocks])
    _check_arguments(module, [block.name for block in inputs.inputs])
    if not isinstance(module, Carried):
        names = state_of(module, calls_as_said(module, inputs, _sizes(blocks)))
        module = with_state(module, names)
        blocks = [*blocks, *_words_of_state(module, names, blocks[0].rows)]
        inputs = words.inputs_of(blocks, rows or {})
    if isinstance(module, Carried):
        lines += module.lines()
    module, _ = rows_first(module, inputs, _sizes(blocks))
    inputs = _with_rows(module, inputs, rows, lines.append)
    try:
        outputs, sizes_of_outputs = _outputs_of(module, inputs, results, lines.append)
        columns = words.with_outputs(inputs, outputs)
    except InputError as error:
        if asked or rows is None or not rows.others:
            raise
        kinds = ", ".join(f"{name} ({kind})" for name, kind in rows.others.items())
        raise InputError(f"{error}; left out of the example: {kinds}{examples.way_out(rows.others.values())}") from error
    _say_blocks(columns, blocks, report, sizes_of_outputs)
    others = left_out(blocks, rows) if rows is not None and not asked else []
    unnamed = [] if asked else [one for one in blocks if one.is_counted]
    for line in [
        *([unnamed_text(unnamed)] if unnamed else []),
        *lines,
        *([f"example: no argument takes {', '.join(others)}"] if others else []),
    ]:
        report(line)
    return replace(columns, inputs=inputs.inputs)  # with the rows of the example


def _sizes(blocks: Sequence[words.Words]) -> dict[str, Sizes]:
    return {one.name: one.sizes for one in blocks if one.sizes}


def _words_of_state(module: nn.Module, names: Sequence[str], rows: str) -> list[words.Words]:
    """Blocks of the collection `rows` for a state that the caller keeps."""
    taken = taken_by_file(module)
    blocks = []
    for name in names:
        shape = taken[name].shape or ()
        if math.prod(size or 1 for size in shape) > MOST_COLUMNS or name_of(taken[name].dtype) not in DTYPES:
            raise Unsupported(
                f"the model keeps {taken[name]} between calls, which columns cannot hold; expected at most {MOST_COLUMNS}"
            )
        blocks.append(words.Words(name, words.counted(name, shape), name_of(taken[name].dtype), rows, sizes=shape))
    return blocks


def _require_columns(blocks: Sequence[words.Words], rows: Example | None) -> None:
    """Raises InputError for columns that an example does not have."""
    if rows is not None:
        for one in blocks:
            words.require_columns(one, rows)


def _check_arguments(module: nn.Module, names: list[str]) -> None:
    """Raises InputError for a block that is not an argument, and an argument without a block."""
    arguments, needed = argument_names(module), needed_arguments(module)
    if arguments is None or needed is None:
        return
    unknown = [name for name in names if name not in arguments]
    missing = [name for name in needed if name not in names]
    taken = f"columns: the model takes {taken_text(module, arguments)}; "
    if unknown:
        raise InputError(f"{taken}got {', '.join(unknown)}, expected the names of its arguments")
    if missing:
        raise InputError(f"{taken}expected the columns of {', '.join(missing)}, too: {line_of(module, missing)}")


def _with_rows(module: nn.Module, columns: Binding, rows: Example | None, report: Callable[[str], object]) -> Binding:
    """With the rows of an example, but for indices: these count the rows of their own call, and the package is checked with
    other numbers of rows.
    """
    if rows is None:
        return columns
    found = examples.with_columns(columns, rows)
    missing = [block.name for block in found.inputs if block.examples is None]
    if missing:
        report(f"example: rows of {', '.join(missing)} are made up: it has none of the columns")
    integers = [i for i, block in enumerate(found.inputs) if block.examples is not None and is_integer(block.column_dtype)]
    silent = WithoutResults(module)
    if not integers or takes_rows(silent, found, TRIED_ROWS):
        return found
    for chosen in [*([i] for i in integers), integers]:
        blocks = [replace(block, examples=None) if i in chosen else block for i, block in enumerate(found.inputs)]
        candidate = replace(found, inputs=tuple(blocks))
        if takes_rows(silent, candidate, TRIED_ROWS) and _are_indices(silent, found, chosen):
            names = ", ".join(found.inputs[i].name for i in chosen)
            report(f"example: rows of {names} are made up: those of the example are indices, which need all rows of their call")
            return candidate
    return found  # it fails for another reason, which is said when the package is checked


def _are_indices(module: WithoutResults, columns: Binding, chosen: Sequence[int]) -> bool:
    """Whether the model accepts the examples of these blocks, which count its rows; not tried where they count very many."""
    largest = max(int(columns.inputs[i].examples.max()) for i in chosen)
    return largest >= MOST_TRIED_ROWS or takes_rows(module, columns, (largest + 1,))


def _outputs_of(
    module: nn.Module, inputs: Binding, asked: list[_Result], report: Callable[[str], object]
) -> tuple[list[dict], list[Sizes]]:
    """(the output blocks of a model, their sizes), from what it gives for two numbers of rows of each collection."""
    if len(collections_of(inputs)) > len(FEW_ROWS) // 2:
        raise InputError(f"columns: got {len(collections_of(inputs))} collections, at most {len(FEW_ROWS) // 2} are possible")
    silent = WithoutResults(module)
    trial = with_examples(silent, with_lengths(silent, inputs)[0])
    values = [_value(module, trial, at) for at in (0, 1)]
    first, second = (_results(module, value) for value in values)
    absent = absent_results(module.own_value() if isinstance(module, RowsFirst) else values[0])
    if len(first) != len(second):
        raise InputError(
            f"the model gave {len(first)} and {len(second)} results for other numbers of rows, expected the same number"
        )
    if not first:
        raise InputError("the model gave no results, expected one or more")
    found = _in_order([name for name, _ in first], asked, isinstance(values[0], dict))
    if absent:
        report(f"outputs: {', '.join(absent)} of the model: None, left out")
    blocks: list[dict] = []
    counts: list[tuple[int, int]] = []
    sizes = (
        module.sizes_of_results()
        if isinstance(module, RowsFirst)
        else [tuple(one.shape[1:]) if isinstance(one, torch.Tensor) else () for _, one in first]
    )
    for result, (_, one), (_, other), its in zip(found, first, second, sizes):
        width = _width(result.name, one, other)
        if result.columns and len(result.columns) != width:
            raise InputError(
                f"outputs: {result.name} has {len(result.columns)} columns, expected {width}, the number that the model returns"
            )
        counts.append((one.shape[0], other.shape[0]))
        collection = [*dict.fromkeys(counts)].index(counts[-1])
        names = result.columns or words.counted(result.name, (None, *its))
        blocks.append(words.block(result.name, collection, names, name_of(one.dtype)))
    return blocks, [(None, *its) for its in sizes]


def _in_order(own: list[str | None], asked: list[_Result], is_dict: bool) -> list[_Result]:
    """For each result its block: of the name that the model gives it, where that is requested; in order where it gives none."""
    names = [one.name for one in asked]
    if asked and len(asked) != len(own):
        raise InputError(f"outputs: got {', '.join(names)}; expected {len(own)} of them, the number of results of the model")
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
            "expected [n] or [n, k] of numbers, or a description of a C++ layout (--binding)"
        )
    return 1 if one.dim() == 1 else one.shape[1]


def _value(module: nn.Module, inputs: Binding, at: int) -> Any:
    """The model's result for the `at`-th of two numbers of rows. Raises InputError."""
    few_rows = trial_rows(inputs, FEW_ROWS)
    rows = {collection: few_rows[at + 2 * i] for i, collection in enumerate(collections_of(inputs))}
    tensors = inputs.tensors(Columns(inputs, rows, (), "cpu").inputs)
    try:
        with as_exported():
            return inputs.value(module, tensors)
    except InputError:
        raise
    except Exception as error:  # whatever the user's model throws
        taken = ", ".join(
            f"{block.name} {name_of(block.dtype)}{list(block.shape('n'))}".replace("'", "") for block in inputs.inputs
        )
        raise InputError(
            f"the model fails on {taken}: {first_line(error)}; expected the columns that it takes for each block, and their "
            "dtype where it is another one, as in x=a,b:float64"
        ) from error


def _results(module: nn.Module, value: Any) -> list[tuple[str | None, Any]]:
    """(name, tensor) of each."""
    found = named_results(value)
    own = getattr(module, "result_names", ())
    named = [name or (own[i] if len(own) == len(found) else None) for i, (name, _) in enumerate(found)]
    if isinstance(value, dict) and not all(isinstance(name, str) for name in named):
        raise InputError(f"the model gave a dict of {[*value]}, expected names as its keys")
    return [(name, tensor) for name, (_, tensor) in zip(named, found)]


# ---- trees


def _compile_trees(
    imported: Imported,
    path: str | PathLike,
    described: Binding | _InWords,
    rows: Example | None,
    margin: bool,
    report: Callable[[str], object],
) -> None:
    if isinstance(described, Binding):
        columns = described
    else:
        asked, results = described
        blocks = asked or _features(imported, rows or Example())
        _require_columns(blocks, rows)
        columns = words.with_outputs(words.inputs_of(blocks, rows or {}), [_answers(imported, results)])
        _say_blocks(columns, blocks, report)
        if not asked and not imported.ensemble.column_names and rows is None:
            report(unnamed_text(blocks))
    if rows is not None:
        report("example: its names and dtypes are taken, not its rows: trees are checked at their thresholds")
    forest.write(imported, columns, path, margin, report)


def _features(imported: Imported, rows: Example) -> list[words.Words]:
    """The columns that the file names, or the example; where neither does, those of the inputs of a file of ONNX, else those
    that the framework makes up.
    """
    names, count = imported.ensemble.column_names, imported.ensemble.columns
    if names and (not rows or any(name in rows for name in names)):
        return [words.Words("features", tuple(names), "float32")]
    if names and not match.are_made_up(names):
        raise InputError(f"example: has none of the features {match.few(names)} of the model; it has {match.few([*rows])}")
    if len(rows) == count:
        return [words.Words("features", tuple(rows), "float32")]
    if not rows and imported.inputs:
        sizes = {name: (None, width) for name, width in imported.inputs}
        return [words.Words(name, words.counted(name, its), "float32", sizes=its) for name, its in sizes.items()]
    if not rows:
        return [words.Words("features", tuple(match.made_up(imported.ensemble.source, count)), "float32")]
    raise InputError(
        f"columns: the model has {count} features without names; expected these: --columns features=COLUMN,COLUMN,…; the "
        f"example has {len(rows)} columns: {match.few([*rows])}"
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


def main(given: argparse.Namespace) -> None:
    """Does what the options of the command say (tensoa.options.of_compile). Raises InputError."""
    if export.has_checked(given):
        return
    if Path(given.out).suffix != ".pt2":
        if given.columns or given.outputs or given.binding or given.example or not export.is_weights(given.model):
            raise InputError(
                f"--out {given.out}: a package is called FILE.pt2; FILE.pt is TorchScript, made of nothing but "
                "FILE.safetensors or weights of Exa.TrkX"
            )
        export.write_torchscript(given.model, given.out)
        return
    with working(f"compiling {given.out}") as report:
        compile(
            given.model,
            given.out,
            columns=given.columns,
            outputs=given.outputs,
            example=given.example,
            binding=given.binding,
            target=given.target,
            precision=given.precision,
            deterministic=given.deterministic,
            fuse=not given.no_fuse,
            just_in_time=given.just_in_time,
            program=given.program,
            seconds=given.seconds,
            memory=given.memory,
            timing=not given.no_timing,
            margin=given.margin,
            best_iteration=given.best_iteration,
            trust_pickle=given.trust_pickle,
            splitting=given.splitting,
            weights=given.weights,
            report=report,
        )
