# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a model before it is compiled, and of a program after that."""

import contextlib
import copy
from dataclasses import replace

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tensoa.columns import (
    FEW_ROWS, LARGE, NORMAL, ROWS, SMALL, SPECIAL, Columns, all_of, as_double, bits, collections_of, is_integer, rows_by,
)  # fmt: skip
from tensoa.command import InputError, first_line, step

TOLERANCE = 1e-5  # relative, of float32; of other dtypes as much coarser as they are
MOST_ROWS = 1000
# 0 rows: of models with a fixed number of result rows; of others nothing runs then.
CASES = (*((NORMAL, rows) for rows in (0, 1, 2, 33, MOST_ROWS)), (SMALL, 100), (LARGE, 100), (SPECIAL, 100))
LIMITS = (100, 64, 50, 32, 20, 16, 10, 8, 6, 5, 4, 3, 2)  # numbers of rows of tables, those that are tried
ROUGH = 1e-2  # an error of the model's own precision above which it says nothing of a program
# How much larger than the model's own error a program's may be. On numbers that are hard both are large, and which is the
# larger is chance: the worst of hundreds of planes may have it several times.
MARGIN, MARGIN_OF_HARD_NUMBERS = 4, 16
WRONG_CHOICES = 2e-3  # of integers and truth values: the share that may differ, where two numbers may be as good: not of
# models that take no floats, and give the same in float64

# Relative, ||a - b|| / ||b||, of a program on another machine, by the precision of its matrix products.
RECORDED_TOLERANCE = {None: 3e-5, "ieee": 3e-5, "tf32x3": 3e-5, "tf32": 3e-3, "bf16": 3e-2}
RECORDED_BYTES = 256 << 10  # of all recorded numbers together


@contextlib.contextmanager
def _as_exported():
    """Encoder layers of torch calculate as torch.export sees them: their fast path, which it does not, gives other numbers
    for rows that a mask leaves out.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def results_of(module, binding, columns):
    """The results of the module itself. Raises InputError for what it cannot take or should not give."""
    before = [tensor.clone() for tensor in columns.memory]
    try:
        with _as_exported():
            results = binding.call(module, columns.inputs)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001: whatever the user's model throws
        rows = " and ".join(dict.fromkeys(str(tensor.shape[1]) for tensor in columns.inputs))
        raise InputError(
            f"the model fails on columns of the binding with {rows} rows: {first_line(error)}; expected a model that takes "
            + ", ".join(f"{block.name} {list(block.shape('n'))}".replace("'", "") for block in binding.inputs)
            + " with any number of rows n"
        ) from error
    if any(not torch.equal(bits(a), bits(b)) for a, b in zip(before, columns.memory)):
        raise InputError("the model writes one of its inputs; expected one that leaves them alone: clone() it there")
    for block, result in zip(binding.outputs, results):
        block.check_result(result)
    return results


class _WithoutNegativeIndices(TorchDispatchMode):
    """Raises IndexError for a negative index, which torch counts from the end in some places, and programs do not."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        named = {argument.name: value for argument, value in zip(function._schema.arguments, args)} | kwargs
        for name in ("index", "indices"):
            found = named.get(name)
            for index in found if isinstance(found, (list, tuple)) else [found]:
                if isinstance(index, torch.Tensor) and is_integer(index.dtype) and index.numel() and index.min() < 0:
                    raise IndexError("a negative index")
        return function(*args, **kwargs)


def with_lengths(module, binding):
    """(the binding, lengths): collections that the model needs to be of one length become the first of them. `lengths`: for
    each collection the first that has as many rows.
    """
    collections = collections_of(binding)
    few = [replace(block, integers=(0, 0) if is_integer(block.column_dtype) else None) for block in binding.inputs]

    def of(lengths):
        return [replace(block, collection=lengths[block.collection]) for block in few]

    def runs(lengths):
        rows = {collection: FEW_ROWS[2 * i] for i, collection in enumerate(collections)}
        try:
            candidate = replace(binding, inputs=tuple(of(lengths)))
            with _as_exported():
                candidate.call(module, Columns(candidate, rows, (), "cpu").inputs)
        except Exception:  # noqa: BLE001: whatever the user's model throws
            return False
        return True

    each = {collection: collection for collection in collections}
    if not 1 < len(collections) <= len(ROWS) // 2:
        return binding, each
    found = next((lengths for lengths in _partitions(collections) if runs(lengths)), each)
    inputs = [replace(block, collection=found[block.collection]) for block in binding.inputs]
    return replace(binding, inputs=tuple(inputs)), found


def _partitions(collections):
    """All ways to say which collections have as many rows as which: {collection: the first of its group}; those with the
    most groups first.
    """
    ways = [{}]
    for collection in collections:
        ways = [{**way, collection: first} for way in ways for first in (*dict.fromkeys(way.values()), collection)]
    return sorted(ways, key=lambda way: -len(set(way.values())))


def with_examples(module, binding):
    """The binding, with the range of made-up integers for each block: all of the dtype where the model takes that; rows of
    the smallest collection where it takes those, as for an index; else the largest range of LIMITS, as for a table that
    is read with a column and has fewer rows, which may begin below zero.
    """
    chosen = [i for i, block in enumerate(binding.inputs) if is_integer(block.column_dtype) and block.examples is None]
    collections = collections_of(binding)
    if not chosen or len(collections) > len(ROWS) // 2:
        return binding
    step("which integers the model takes")
    ranges = {i: None for i in chosen}

    def limited(ranges):
        inputs = [replace(block, integers=ranges.get(i)) for i, block in enumerate(binding.inputs)]
        return replace(binding, inputs=tuple(inputs))

    def runs(all_rows=FEW_ROWS, numbers=NORMAL, **changed):
        candidate = limited({**ranges, **{int(i.removeprefix("block")): range for i, range in changed.items()}})
        rows = {collection: all_rows[2 * i] for i, collection in enumerate(collections)}
        try:
            with _as_exported(), _WithoutNegativeIndices():
                candidate.call(module, Columns(candidate, rows, (), "cpu", numbers=numbers).inputs)
        except Exception:  # noqa: BLE001: whatever the user's model throws
            return False
        return True

    if not runs(ROWS):
        ranges = {i: (0, 0) for i in chosen}
        if not runs():
            return binding  # it fails for another reason, which result_rows() tells
    for i in chosen:
        dtype = binding.inputs[i].column_dtype
        if all(runs(numbers=numbers, **{f"block{i}": all_of(dtype)}) for numbers in (SPECIAL, LARGE, NORMAL)):
            ranges[i] = all_of(dtype)
        elif ranges[i] is not None:
            below = next((b for b in LIMITS if runs(**{f"block{i}": (0, b - 1)})), 1)
            is_signed = torch.iinfo(dtype).min < 0
            low = next((1 - b for b in LIMITS if is_signed and runs(**{f"block{i}": (1 - b, below - 1)})), 0)
            ranges[i] = (low, below - 1)
    return limited(ranges)


def result_rows(module, binding, device):
    """The number of rows of each output: the position of the input collection that it follows, or a number."""
    collections = collections_of(binding)
    if not binding.inputs or not binding.outputs:
        raise InputError("the binding has no inputs or no outputs; expected at least one block of each")
    if len(collections) > len(ROWS) // 2:
        raise InputError(f"the binding has {len(collections)} input collections, at most {len(ROWS) // 2} are possible")
    step("how many rows the model gives")
    seen = []
    for first in (0, 1):
        rows = {collection: FEW_ROWS[first + 2 * i] for i, collection in enumerate(collections)}
        results = results_of(module, binding, Columns(binding, rows, (), device))
        dimension = [1 if block.is_transposed else 0 for block in binding.outputs]
        seen.append((rows, [result.shape[at] for result, at in zip(results, dimension)]))
    rules = []
    for i, block in enumerate(binding.outputs):
        (rows, counts), (other_rows, other_counts) = seen
        follows = [c for c in collections if rows[c] == counts[i] and other_rows[c] == other_counts[i]]
        if follows:
            rules.append({"collection": follows[0]})
        elif counts[i] == other_counts[i]:
            rules.append({"rows": counts[i]})
        else:
            raise InputError(
                f'block "{block.name}": the model gave {counts[i]} rows for inputs of {list(rows.values())} rows; '
                "expected as many as one of the input collections has, or always the same number"
            )
    return rules


# ---- what is tried, and what is right


class _Case:
    """Columns of one call, and what the model makes of them: planes in its own precision and in float64."""

    def __init__(self, module, exact, binding, rules, numbers, count, rows, **options):
        self.numbers, self.count, self.rows = numbers, count, rows
        self.has_floats = any(block.column_dtype.is_floating_point for block in binding.inputs)
        options = {"seed": count, "is_misaligned": count % 2 == 1, "numbers": numbers, **options}
        self.columns = Columns(binding, rows, rules, "cpu", **options)
        results = results_of(module, binding, self.columns)
        self.eager = [block.planes(result) for block, result in zip(binding.outputs, results)]
        self.exact = _truth(exact, binding, self.columns) or self.eager

    def __str__(self):
        return f"{self.count} rows" + ("" if self.numbers == NORMAL else f" of {self.numbers} numbers")


def _cases(module, binding, rules, most=MOST_ROWS, **options):
    """The calls that are tried, of at most so many rows of the first collection."""
    exact = _exact(module)
    has_sizes = any(
        block.examples is None and (block.column_dtype.is_floating_point or _takes_all(block)) for block in binding.inputs
    )
    done = set()
    for numbers, count in CASES:
        count = min(count, most)
        rows = {collection: count * (1 + 2 * collection) for collection in collections_of(binding)}
        if count == 0 and not all(block.column_dtype.is_floating_point for block in binding.inputs):
            continue  # an index into nothing
        if (numbers, count) in done or sum(rows_by(rules, rows)) == 0 or (numbers != NORMAL and not has_sizes):
            continue
        done.add((numbers, count))
        try:
            yield _Case(module, exact, binding, rules, numbers, count, rows, **options)
        except InputError:
            if numbers == NORMAL:  # a model need not take every number
                raise


def _takes_all(block):
    return is_integer(block.column_dtype) and block.integers == all_of(block.column_dtype)


def _exact(module):
    try:
        return copy.deepcopy(module).double()
    except Exception:  # noqa: BLE001: an exported program has fixed dtypes
        return None


def _truth(exact, binding, columns):
    """The results in float64, as planes, or None where the model has fixed dtypes."""
    if exact is None:
        return None
    try:
        with _as_exported():
            results = binding.call(exact, columns.inputs, convert=as_double)
    except Exception:  # noqa: BLE001: a model may insist on its dtypes
        return None
    return [block.planes(result) for block, result in zip(binding.outputs, results)]


class _Right:
    """What the cases of one kind of numbers say of one output block; plane by plane, since one may hold energies and the
    next probabilities. Errors are relative to the largest number of the plane in all cases.

    Numbers that are finite in one precision of the model and not in the other are not judged. All others that are not
    finite must be just so: both no numbers, or the same infinity.
    """

    def __init__(self, cases, at):
        self.margin = MARGIN if cases[0].numbers == NORMAL else MARGIN_OF_HARD_NUMBERS
        self.eager, self.exact = ([getattr(case, name)[at] for case in cases] for name in ("eager", "exact"))
        self.is_choice = not self.eager[0].dtype.is_floating_point
        if self.is_choice:
            self.exact = [exact.to(eager.dtype) for exact, eager in zip(self.exact, self.eager)]
            self.eager_errors = [(a != b).double().mean(1).nan_to_num() for a, b in zip(self.eager, self.exact)]
        else:
            self.eager, self.exact = ([tensor.double() for tensor in all] for all in (self.eager, self.exact))
            self.judged = [_kind(a) == _kind(b) for a, b in zip(self.eager, self.exact)]
            self.finite = [judged & torch.isfinite(b) for judged, b in zip(self.judged, self.exact)]
            kept = torch.cat([torch.where(finite, b, 0.0) for finite, b in zip(self.finite, self.exact)], 1)
            self.largest, self.norm = kept.abs().amax(1), kept.norm(dim=1)
            self.eager_errors = [self.errors(i, eager) for i, eager in enumerate(self.eager)]
        self.eager_error = torch.stack(self.eager_errors).amax(0)
        may_be_as_good = cases[0].has_floats or bool(self.eager_error.any())  # or all choices are between integers
        self.wrong_choices = WRONG_CHOICES if may_be_as_good else 0.0

    def errors(self, case, got):
        """Of each plane: the largest difference over the largest number; of integers and truth values, the share that
        differs from both precisions of the model. Infinity where one is not finite and the other is.
        """
        exact = self.exact[case]
        if self.is_choice:
            return ((got != exact) & (got != self.eager[case])).double().mean(1).nan_to_num()
        if got.shape[1] == 0:
            return torch.zeros(len(got), dtype=torch.float64)
        got = got.double()
        difference = torch.where(self.finite[case], (got - exact).abs(), 0.0).amax(1)
        error = torch.where(self.largest > 0, difference / self.largest, difference)
        is_other = (self.judged[case] & (_kind(got) != _kind(exact))).any(1)
        return torch.where(is_other | error.isnan(), torch.inf, error)

    def is_rough(self):
        """Whether the model differs so much from itself in float64 that it says nothing."""
        return bool((self.eager_error > ROUGH).any())

    def norm_tolerances(self, tolerance):
        """Of each plane: the largest ||a - b|| / ||b||, or share of wrong choices, that is right."""
        if self.is_choice:
            return [max(tolerance, self.wrong_choices)] * len(self.eager[0])
        differences = [torch.where(f, a - b, 0.0) for f, a, b in zip(self.finite, self.eager, self.exact)]
        errors = self.margin * torch.cat(differences, 1).norm(dim=1) / self.norm
        return torch.where((errors > tolerance) & errors.isfinite(), errors, tolerance).tolist()

    def recorded(self, case):
        """The numbers to compare with, and whether all of them are the same kind in both precisions."""
        is_clear = self.is_choice or bool(self.judged[case].all())
        return (self.exact if is_clear and not self.is_choice else self.eager)[case].double(), is_clear


def _kind(numbers):
    """Of each number: finite, infinite (of which sign), or none."""
    return torch.where(numbers.isnan(), 2.0, torch.where(numbers.isinf(), numbers.sign(), 0.0))


def record(module, binding, rules, precision=None):
    """(entry of the manifest, files): inputs, and what the module gives for them, in float64 where it can do that. What
    `tensoa check` compares a package with, on the machine where it shall run. Wide columns have fewer rows there, so that
    all of it stays below RECORDED_BYTES. What any result would pass is left out: numbers on which the model is rough, see
    told_recorded().
    """
    step("what the model gives")
    dtypes = [block.dtype for block in (*binding.inputs, *binding.outputs) if block.dtype.is_floating_point]
    tolerance = max([RECORDED_TOLERANCE[precision], *(4 * torch.finfo(dtype).eps for dtype in dtypes)])
    most = MOST_ROWS
    while most > 1 and _recorded_bytes(binding, rules, most) > RECORDED_BYTES:
        most = most * 3 // 4
    cases, inputs = [], []
    for case in _cases(module, binding, rules, most, is_whole=True):
        cases.append(case)
        inputs.append([_bytes(_planes(*pair)) for pair in zip(binding.inputs, case.columns.inputs)])
        case.columns = None  # planes lie far apart there
    entries, files = [], {}
    for numbers, chosen in _by_numbers(cases).items():
        right = [_Right([cases[i] for i in chosen], at) for at in range(len(binding.outputs))]
        tolerances = [one.norm_tolerances(tolerance) for one in right]
        for place, i in enumerate(chosen):
            results, is_clear = zip(*(one.recorded(place) for one in right))
            content = b"".join([*inputs[i], *(_bytes(result) for result in results)])
            is_too_much = files and len(content) + sum(map(len, files.values())) > RECORDED_BYTES
            if numbers == NORMAL:
                is_vague = any(one > MARGIN * max(ROUGH, tolerance) for block in tolerances for one in block)
            else:
                is_vague = not all(is_clear) or any(one.is_rough() for one in right)
            if is_too_much or is_vague:
                continue
            name = f"check/{cases[i].count}.bin" if numbers == NORMAL else f"check/{numbers}.bin"
            files[name] = content
            entries.append({"rows": cases[i].count, "numbers": numbers, "file": name})
            if any(one.is_choice for one in right) or any(one > tolerance for block in tolerances for one in block):
                entries[-1]["tolerances"] = tolerances
    return {"tolerance": tolerance, "cases": entries}, files


def told_recorded(recorded):
    """Lines for people about what record() gave."""
    if all(case["numbers"] != NORMAL for case in recorded["cases"]):
        yield (
            f"too rough to be judged: the model differs from itself in float64 by more than {ROUGH:.0e}, so `tensoa check` "
            "has no results on such numbers to compare with; export with --examples that the model is made for"
        )


def _by_numbers(cases):
    """The positions of the cases of each kind of numbers."""
    return {kind: [i for i, case in enumerate(cases) if case.numbers == kind] for kind in {c.numbers: 0 for c in cases}}


def _recorded_bytes(binding, rules, most):
    total = 0
    for count in {(numbers, min(count, most)) for numbers, count in CASES}:
        rows = {collection: count[1] * (1 + 2 * collection) for collection in collections_of(binding)}
        for block in binding.inputs:
            lines = min(1, count[1]) if block.kind == "scalar" else rows[block.collection]
            total += len(block.places) * lines * block.column_dtype.itemsize
        total += sum(len(block.places) * lines * 8 for block, lines in zip(binding.outputs, rows_by(rules, rows)))
    return total


def _bytes(tensor):
    return tensor.clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8).numpy().tobytes()


def _planes(block, argument):
    """The planes of an input in the order of its columns; of scalars one number each."""
    planes = argument if len(argument) == len(block.places) else argument[block.places]
    return planes[:, :1] if block.kind == "scalar" else planes


def validate(run, module, binding, rules, is_whole=False):
    """Calls `run(columns, rows of each domain)` beside the module, in float32 and float64. Raises InputError where it
    differs too much.
    """
    cases, got, checks = [], [], []
    step("checking the program")
    for case in _cases(module, binding, rules, is_whole=is_whole):
        rows = list(case.rows.values())
        run(case.columns, rows)
        if case.columns.changed():
            raise InputError(f"the package writes memory that is not its own at {case}; it is not written")
        cases.append(case)
        got.append([torch.cat(arguments) for arguments in case.columns.outputs])
        case.columns = None  # planes lie far apart there
        checks.append({"rows": rows, "numbers": case.numbers, "relative_error": {}, "relative_error_eager": {}})
    for chosen in _by_numbers(cases).values():
        for at, block in enumerate(binding.outputs):
            right = _Right([cases[i] for i in chosen], at)
            all_errors = [right.errors(place, got[i][at]) for place, i in enumerate(chosen)]
            for place, (i, errors) in enumerate(zip(chosen, all_errors)):
                if cases[i].numbers != NORMAL and right.is_rough():
                    continue
                checks[i]["relative_error"][block.name] = errors.max().item()
                checks[i]["relative_error_eager"][block.name] = right.eager_errors[place].max().item()
            _judge(block, [cases[i] for i in chosen], torch.stack(all_errors), right, binding)
    return [check for check in checks if check["relative_error"]]


def _judge(block, cases, errors, right, binding):
    """Raises InputError where an error [cases, planes] is too large, about the worst."""
    dtypes = [b.dtype for b in (*binding.inputs, block) if b.dtype.is_floating_point]
    coarser = max([torch.finfo(dtype).eps / torch.finfo(torch.float32).eps for dtype in dtypes], default=1)
    allowed = right.wrong_choices if right.is_choice else TOLERANCE * max(1, coarser)
    limits = torch.clamp(right.margin * right.eager_error, min=allowed)
    excess = torch.where(errors > 0, errors / limits, 0.0)
    case, plane = divmod(int(excess.argmax()), excess.shape[1])
    if not excess[case, plane] <= 1:
        what = "of its numbers" if right.is_choice else "relative"
        raise InputError(
            f'block "{block.name}", column {block.plane_name(plane)}: the package differs from the model by '
            f"{errors[case, plane]:.2e} ({what}, at {cases[case]}; the model itself from float64 by "
            f"{right.eager_error[plane]:.2e}), "
            f"expected at most {limits[plane]:.0e}; it is not written"
        )
