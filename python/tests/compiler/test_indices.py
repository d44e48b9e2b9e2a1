# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Indices that name no row, on the GPU: one rule, that of row_programs.py. NaN is read, nothing is
added, and the next call is as good as any.
"""

import numpy as np
import pytest
import torch

import cuda_programs
import row_programs
from cpu_programs import columns, dense, index
from tensoa.compiler.ir import Program, Value, apply, gather, linear, pack, scatter
from test_cuda import compiled

NODES, EDGES, TABLE = 40, 333, 7
OUTSIDE = {
    "int8": (-1, -128, 127, NODES),
    "uint8": (255, NODES, NODES + 1),
    "int32": (-1, NODES, 2**31 - 1, -(2**31)),
    "int64": (-1, NODES, 2**32, 2**32 + 1, 2**63 - 1, -(2**63), -(2**32) + 1),
}


def lookup(at, width, random):
    return Value("lookup", at.domain, width, (at,), {"table": random.normal(size=(TABLE, width)).astype(np.float32)})


def every_use(dtypes):
    """All that is done with an index, at widths of one number, of whole pairs of tiles, and of neither."""
    random = np.random.default_rng(0)
    nodes, edges = columns(0, 0, (0, 3, 1)), columns(1, 1, (0, 1))
    source, target, kind = (index(1, 2 + i, 0, dtype) for i, dtype in enumerate(dtypes))
    values = [gather(nodes, source), gather(columns(0, 0, (2,)), target)]
    for width in (1, 5, 20):
        h, e = dense(nodes, width, random), dense(edges, width, random)
        read = [gather(h, source), lookup(kind, width, random), gather(h, target)]
        values += [*read[:2], apply("mul", e, read[0]), linear(read[0], np.eye(width)[::-1])]
        values.append(dense(pack([(part, 0, width) for part in read] + [(e, 0, width)]), 9, random))
        sums = scatter(e, source, 0), scatter(apply("abs", e), target, 0), scatter(read[0], source, 0)
        values += [*sums, apply("add", *(scatter(e, at, 0) for at in (target, source)))]
        values += [gather(sums[0], target), scatter(read[0], target, 0)]
        most, least = scatter(e, source, 0, "amax"), scatter(read[0], target, 0, "amin")
        values += [most, least, gather(most, target)]
    return Program(("nodes", "edges"), row_programs.side_by_side(values, 5))


def numbers(dtypes, bad):
    """Columns of each block; `bad`: the share of indices that name nothing."""
    random = np.random.default_rng(1)
    blocks = [random.normal(size=(4, NODES)).astype(np.float32), random.normal(size=(2, EDGES)).astype(np.float32)]
    for dtype, rows in zip(dtypes, (NODES, NODES, TABLE)):
        right = random.integers(0, rows, (1, EDGES)).astype(dtype)
        wrong = random.choice(OUTSIDE[dtype], right.shape).astype(dtype)
        is_wrong = random.random(right.shape) < bad
        is_wrong[:, 50:70] = bad > 0  # in a row, too
        blocks.append(np.where(is_wrong, wrong, right))
    return blocks


def planes_of(program, block):
    return 1 + max(place for output in program.outputs if output.block == block for place in output.planes)


def on_gpu(precision, with_totals=False):
    def make(program, _):
        if not torch.cuda.is_available():
            pytest.skip("no GPU")
        loaded = cuda_programs.Loaded(*compiled(program, precision, with_totals))

        def run(inputs):
            blocks = [cuda_programs.Block(list(block), block.shape[1], torch.from_numpy(block).dtype) for block in inputs]
            blocks += [cuda_programs.Block(planes_of(program, 5 + i), rows) for i, rows in enumerate((NODES, EDGES))]
            loaded.bind(blocks, (NODES, EDGES))()
            torch.cuda.synchronize()
            return [block.numpy() for block in blocks]

        return run

    return make


PROCESSORS = {
    "on_gpu, ieee": (on_gpu("ieee"), 2e-5),
    "on_gpu, tf32x3": (on_gpu("tf32x3"), 2e-5),
    "on_gpu, tf32": (on_gpu("tf32"), 5e-2),
    "on_gpu, bf16": (on_gpu("bf16"), 2e-1),
    "on_gpu, with totals": (on_gpu("tf32x3", with_totals=True), 2e-5),
}


@pytest.mark.parametrize(("processor", "tolerance"), PROCESSORS.values(), ids=PROCESSORS)
@pytest.mark.parametrize("dtypes", [("int64", "int32", "int8"), ("int8", "int64", "uint8")])
def test_an_index_that_names_no_row_reads_nan_and_adds_nothing(processor, tolerance, dtypes, tmp_path):
    program = every_use(dtypes)
    run = processor(program, tmp_path)
    for bad in (0.1, 1.0, 0.0):  # right ones at last: nothing stays behind
        inputs = numbers(dtypes, bad)
        truth = row_programs.evaluate(program, inputs, (NODES, EDGES))
        assert np.isnan(truth[0]).any() == (bad > 0)
        blocks = run(inputs)
        for output, expected in zip(program.outputs, truth):
            got = blocks[output.block][list(output.planes)].T
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
