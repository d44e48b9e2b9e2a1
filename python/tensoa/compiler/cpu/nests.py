# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""C++ of loop nests: functions of numbers, sums with epilogues, orders, running sums, scatters inside of a row."""

from tensoa.compiler import operations as ops
from tensoa.compiler.cpu.expressions import Expressions, joining, literal, type_of
from tensoa.compiler.cpu.products import Product, Stored, product_of
from tensoa.compiler.cpu.target import Target
from tensoa.compiler.functions import JOININGS, start_of
from tensoa.compiler.printing import join_of, loops_around
from tensoa.compiler.schedule.addresses import Indices, Linear, index_of
from tensoa.compiler.schedule.nests import Loop, Nest
from tensoa.compiler.schedule.reads import terms_of
from tensoa.compiler.tensors import BlockSize, Tensor
from tensoa.dtypes import DTYPES

VECTORS = "UNROLLED for (int r = 0; r < vectors * kLanes; r += N)"


def in_steps(loop: Loop, body: str) -> str:
    return f"for (int {loop.name} = 0; {loop.name} < {loop.end}; {loop.name} += N) {{ {body} }}"


def block_of(width: int, body: str) -> str:
    """A nest whose vectors have numbers of `width` bytes."""
    return f"{{ constexpr int N = kLanes{' / 2' if width == 8 else ''}; {body} }}"


class NestPrinter(Expressions):
    """Prints the nests of a stage that work on numbers of the own row."""

    target = Target()
    is_special = True  # whether a function is compiled for each number of vectors or rows
    has_rows = False  # whether the text of a nest has the loop over few rows

    def along(self, loop: Loop | None) -> None:
        """The lanes are elements along a loop; None: all lanes are the same element, or they are rows."""
        self.vector, self.count = (loop.name, f"{loop.end} - {loop.name}") if loop else (None, "N")

    def stored(self, nest: Nest, at: Linear, value: str, count: str) -> str:
        """Writes a vector of the root. `count`: lanes that are written, where these are elements."""
        kind, pointer = type_of(nest.root.dtype), self.places[nest.buffer.root].pointer
        value = self.with_blocks_before(nest, at, value)
        if self.is_tile:
            return f"store_of<{kind}, N>({pointer} + ({at.text()}) * kTileRows + r, {value});"
        return f"store_of<{kind}, N>({pointer} + {at.text()}, {value}, {count});"

    def scattered(self, nest: Nest, at: Linear, value: str, loop: Loop) -> str:
        """The same where neighbours of the last loop are not neighbours in memory."""
        pointer, step = self.places[nest.buffer.root].pointer, at.step(loop.name)
        lanes = f"for (int l = 0; l < std::min<int>(N, {loop.end} - {loop.name}); ++l)"
        value = self.with_blocks_before(nest, at, value)
        return f"const auto x = {value}; {lanes} {pointer}[{at.text()} + l * {step}] = x[l];"

    # -- functions

    def print_map(self, nest: Nest) -> str:
        width = self.lanes(nest.root, not nest.is_copy)
        loops, index, target = self.merged(nest)
        if self.is_tile:
            value = self.value(nest.root, index, not nest.is_copy)
            return block_of(width, loops_around(loops, f"{VECTORS} {self.stored(nest, target, value, '')}"))
        if not loops:
            self.along(None)
            return block_of(width, self.stored(nest, target, self.value(nest.root, index, not nest.is_copy), "1"))
        last = loops[-1]
        self.along(last)
        value = self.value(nest.root, index, not nest.is_copy)
        body = self.stored(nest, target, value, self.count)
        if last.size > 1 and target.step(last.name) != 1:
            body = self.scattered(nest, target, value, last)
        return block_of(width, loops_around(loops[:-1], in_steps(last, body)))

    def merged(self, nest: Nest) -> tuple[list[Loop], Indices, Linear]:
        """Neighbouring loops become one where all that is read and written allows it."""
        loops = list(nest.loops)
        self.reads, self.joined = [], {}
        self.along(loops[-1] if loops else None)
        self.value(nest.root, nest.index, not nest.is_copy)
        reads = [*self.reads, nest.target]
        for i in range(len(loops) - 1, 0, -1):
            outer, inner = loops[i - 1], loops[i]
            if isinstance(outer.size, BlockSize) or isinstance(inner.size, BlockSize):
                continue
            if all(one.step(outer.name) == one.step(inner.name) * inner.size and one.offset >= 0 for one in reads):
                loops[i - 1 : i + 1] = [Loop(inner.name, outer.size * inner.size)]
                self.joined[outer.name] = inner.name
                reads = [one.without(outer.name) for one in reads]
        return loops, nest.index, nest.target.without(*self.joined)

    # -- sums

    def print_sum(self, nest: Nest) -> str:
        inner = nest.inner
        assert inner is not None
        if isinstance(inner.op, ops.Contract):
            product = product_of(self, nest)
            if product is not None:
                return self.print_product(nest, product)
        terms, summed = terms_of(inner, nest.index)
        over = [Loop(name, size) for name, size in summed if isinstance(size, int)]
        fn, width = join_of(inner), self.lanes(nest.root)
        if self.is_tile:
            body = self.sum_of_rows(nest, inner, terms, over, fn)
            return block_of(width, self.with_constant("kTileRows / kLanes", "vectors", body))
        return block_of(width, self.sum_of_elements(nest, inner, terms, over, fn))

    def term(self, factors: list[tuple[Tensor, Indices]], struct: str, total: str, lanes: tuple[str, str] | None = None) -> str:
        """The total with a term more; products of a contract are not rounded before. `lanes`: the condition of those that have
        a term, and what does not change the total of the others.
        """
        x, *y = (self.value(tensor, index) for tensor, index in factors)
        if not y:
            return f"{struct}::join({f'where_of({lanes[0]}, {x}, {lanes[1]})' if lanes else x}, {total})"
        made = f"fma_of({x}, {y[0]}, {total})" if factors[0][0].dtype.is_float else f"add_of(mul_of({x}, {y[0]}), {total})"
        return f"where_of({lanes[0]}, {made}, {total})" if lanes else made

    def sum_of_rows(self, nest: Nest, inner: Tensor, terms: list[tuple[Tensor, Indices]], over: list[Loop], fn: str) -> str:
        kind, struct = type_of(inner.dtype), joining(fn, inner.dtype)
        start = f"all_of<{kind}, N>({literal(start_of(fn, inner.dtype), inner.dtype)})"
        self.along(None)
        each = "UNROLLED for (int v = 0; v < count; ++v)"
        row = "[[maybe_unused]] const int r = v * N;"
        body = loops_around(over, f"{each} {{ {row} sum[v] = {self.term(terms, struct, 'sum[v]')}; }}")
        last = f"{each} {{ {row} const auto acc = sum[v]; {self.stored(nest, nest.target, self.epilogue(nest), '')} }}"
        head = f"constexpr int count = vectors * kLanes / N; Vec<{kind}, N> sum[count]; {each} sum[v] = {start};"
        return loops_around(nest.loops, f"{head} {body} {last}")

    def sum_of_elements(self, nest: Nest, inner: Tensor, terms: list[tuple[Tensor, Indices]], over: list[Loop], fn: str) -> str:
        kind, struct = type_of(inner.dtype), joining(fn, inner.dtype)
        start = f"all_of<{kind}, N>({literal(start_of(fn, inner.dtype), inner.dtype)})"
        if nest.loops and self.prefers_outputs(nest, terms, over):
            last = nest.loops[-1]
            self.along(last)
            body = loops_around(over, f"acc = {self.term(terms, struct, 'acc')};")
            store = self.stored(nest, nest.target, self.epilogue(nest), self.count)
            if last.size > 1 and nest.target.step(last.name) != 1:
                store = self.scattered(nest, nest.target, self.epilogue(nest), last)
            return loops_around(nest.loops[:-1], in_steps(last, f"auto acc = {start}; {body} {store}"))
        head = f"auto sum = {start};"
        if over:
            along = over[-1]
            self.along(along)
            lanes = f"lanes_of<N>() < {along.end} - {along.name}", start
            head += loops_around(over[:-1], in_steps(along, f"sum = {self.term(terms, struct, 'sum', lanes)};"))
        else:
            self.along(None)
            head += f"sum = {self.term(terms, struct, 'sum', ('lanes_of<N>() < 1', start))};"
        self.along(None)
        total = f"const auto acc = all_of<{kind}, N>(joined_lanes<{struct}>(sum));"
        return loops_around(nest.loops, f"{head} {total} {self.stored(nest, nest.target, self.epilogue(nest), '1')}")

    def prefers_outputs(self, nest: Nest, terms: list[tuple[Tensor, Indices]], over: list[Loop]) -> bool:
        """Whether the lanes are neighbouring results, rather than the terms of one."""
        if nest.loops[-1].size <= 2:
            return False
        self.reads = []
        self.along(nest.loops[-1])
        self.term(terms, "", "")
        is_dense = all(one.offset >= 0 and one.step(self.vector) in (0, 1) for one in self.reads)
        terms_count = over[-1].size if over else 1
        return is_dense or terms_count < self.target.short_sum

    # -- products of matrices in blocks of registers

    def print_product(self, nest: Nest, product: Product) -> str:
        self.along(Loop(product.output, product.outputs))
        at, acc, place = nest.target, self.epilogue(nest, product.has_bias), self.places[nest.buffer.root]
        is_stored = acc == "acc" and nest.stream is None
        if self.is_tile:
            stored = Stored(place.pointer, at) if is_stored else None
            body = loops_around(product.batch, product.of_rows(self.stored(nest, at, acc, ""), stored))
            return block_of(4, self.with_constant("kTileRows / kLanes", "vectors", body))
        self.has_rows = product.rows is not None
        store, stored = self.stored(nest, at, acc, self.count), None
        if product.outputs > 1 and at.step(product.output) != 1:
            store = self.scattered(nest, at, acc, Loop(product.output, product.outputs))
        elif is_stored:
            stored = Stored(place.base if self.has_rows else place.pointer, at, place.pitch)
        body = product.of_elements(store, stored)
        return block_of(4, self.with_constant("4", "rows_here", body) if self.has_rows else body)

    def with_constant(self, most: str, name: str, body: str) -> str:
        """Kernels need the number of vectors or rows at compile time."""
        if self.is_special:
            return body
        return f"with_constant<{most}>({name}, [&]([[maybe_unused]] auto {name}) {{ {body} }});"

    # -- what works on all elements together

    def print_sort(self, nest: Nest) -> str:
        root = nest.root
        assert isinstance(root.op, ops.Sort)
        (x,), op = root.args, root.op
        if nest.stream is not None:
            return self.print_selection(nest, op)
        (y, step), (from_, from_step) = (self.first_along(one, nest.index, op.axis) for one in (root, x))
        is_largest, scale = str(op.is_largest ^ x.dtype.is_bool).lower(), 48 if self.is_tile else 1
        size = x.shape[op.axis]
        assert isinstance(size, int)
        others = [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        arguments = f"{step * scale}, {self.element(from_)}%s, {from_step * scale}, {is_largest}"
        if self.is_tile and type_of(x.dtype) == "float" and size <= self.target.sorted_at_once:
            return loops_around(others, f"sort_rows<{size}, {op.k}>({self.element(y)}, {arguments % ''}, n);")
        one = f"sort_one<{type_of(x.dtype)}, {size}, {op.k}>"
        if not self.is_tile:
            return loops_around(others, f"{one}({self.element(y)}, {arguments % ''});")
        return loops_around(others, f"for (int r = 0; r < n; ++r) {one}({self.element(y)} + r, {arguments % ' + r'});")

    def print_selection(self, nest: Nest, op: ops.Sort) -> str:
        """Joins a block to the order of those before."""
        assert nest.stream is not None
        numbers, scale = self.numbers_of(nest), 48 if self.is_tile else 1
        (x,) = nest.root.args
        order, others = nest.buffer.root, [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        pairs = []
        for one in (order, numbers, x):
            first, step = self.first_along(one, nest.index, op.axis)
            pairs.append(f"{self.element(first)}, {step * (1 if first.is_common else scale)}")
        is_largest = str(op.is_largest ^ x.dtype.is_bool).lower()
        kind = f"{type_of(x.dtype)}, {op.k}"
        is_read = str(numbers in self.nests.stage.values).lower()
        call = f"select_rows<{kind}, {is_read}>" if self.is_tile else f"select_one<{kind}>"
        return loops_around(others, f"{call}({', '.join(pairs)}, keys, key, {is_largest}{', n' if self.is_tile else ''});")

    def print_scan(self, nest: Nest) -> str:
        """Sums and products of float32 in double."""
        root = nest.root
        assert isinstance(root.op, ops.Scan)
        (x,), op = root.args, root.op
        is_wide = root.dtype.is_float and not JOININGS[op.fn].is_choice
        dtype = DTYPES["float64"] if is_wide else root.dtype
        kind, struct = type_of(dtype), joining(op.fn, root.dtype)
        self.along(None)
        others = [loop for loop in nest.loops if loop.name != f"i{op.axis}"]
        (along,) = [loop for loop in nest.loops if loop.name == f"i{op.axis}"]
        value = self.value(x, nest.index)
        value = f"cast_of<{kind}>({value})" if is_wide else value
        result = f"cast_of<{type_of(root.dtype)}>(acc)" if is_wide else "acc"
        step = f"acc = {struct}::join(acc, {value}); {self.stored(nest, nest.target, result, '1')}"
        start = f"auto acc = all_of<{kind}, N>({literal(start_of(op.fn, dtype), dtype)});"
        body = f"{start} {loops_around([along], step)}"
        width = 8 if is_wide else self.lanes(root)
        return block_of(width, loops_around(others, f"{VECTORS} {{ {body} }}" if self.is_tile else body))

    def print_scatter(self, nest: Nest) -> str:
        """Along an axis of the row, one number after the other."""
        root = nest.root
        assert isinstance(root.op, ops.Scatter)
        (x, places), op, kind = root.args, root.op, type_of(root.dtype)
        self.along(None)
        start = f"all_of<{kind}, N>({literal(start_of(op.fn, root.dtype), root.dtype)})"
        stored = self.stored(nest, nest.target, start, "1")
        cleared = block_of(self.lanes(root), loops_around(nest.loops, f"{VECTORS} {stored}" if self.is_tile else stored))
        loops = [Loop(f"i{i}", size) for i, size in enumerate(x.shape) if isinstance(size, int)]
        index = index_of(x)
        first, step = self.first_along(root, index, op.axis)
        row, scale = (" + r", 48) if self.is_tile else ("", 1)
        to = f"auto& to = *({self.element(first)}{row} + place * {step * scale});"
        number, place = (f"*({self.element(self.address(one, index))}{row})" for one in (x, places))
        join = f"{to} to = joined_of<{joining(op.fn, root.dtype)}>(to, {number});"
        body = loops_around(loops, f"const std::int64_t place = {place}; if (is_inside(place, {op.size})) {{ {join} }}")
        return f"{cleared} {f'for (int r = 0; r < n; ++r) {{ {body} }}' if self.is_tile else body}"
