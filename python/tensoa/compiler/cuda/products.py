# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Products with constant weights in float32, by tensor cores (kernels/products.cuh), and when they are such."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.layouts import in_a_row, spread
from tensoa.compiler.cuda.nests import NestPrinter, count_text, decoded
from tensoa.compiler.cuda.target import Target
from tensoa.compiler.cuda.tiles import SCHEMES
from tensoa.compiler.cuda.weights import balance, pack_weights
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import Array
from tensoa.compiler.interpret import constant_value
from tensoa.compiler.operations import is_constant
from tensoa.compiler.printing import Address
from tensoa.compiler.schedule.addresses import Linear, base_of, variable, width_of
from tensoa.compiler.schedule.nests import Loop, Nest, bias_of, reads_of
from tensoa.compiler.schedule.roots import Roots
from tensoa.compiler.schedule.teams import WARP
from tensoa.compiler.tensors import BlockSize, Tensor, in_order


@dataclass
class Product:
    """Items times weights [outputs, inputs]. `x`: number `k` of an item; `batch` and `outputs`: loops of the nest."""

    x: Address
    summed: list[Loop]
    batch: list[Loop]
    outputs: list[Loop]
    weight: Array
    bias: Array


def item_count(nest: Nest) -> int | None:
    """How many items a row has, of a nest that may be a product with constant weights."""
    inner = nest.inner
    if inner is None or not isinstance(inner.op, ops.Contract) or inner.dtype.name != "float32":
        return None
    weights = [labels for labels, arg in zip((inner.op.left, inner.op.right), inner.args) if is_constant(arg)]
    if len(weights) != 1:
        return None
    sizes = zip(inner.op.out, inner.shape)
    return math.prod(size for label, size in sizes if isinstance(size, int) and label not in weights[0])


def operand_of(nest: Nest, roots: Roots, target: Target) -> Tensor | None:
    """The root whose numbers a warp has read before it writes results: that of a layer whose outputs are all in registers.
    Results of another width would lie where other rows have theirs, which are read later.
    """
    if item_count(nest) != 1 or nest.inner is None or not isinstance(nest.inner.op, ops.Contract):
        return None
    if set(nest.inner.op.left) & set(nest.inner.op.right) & set(nest.inner.op.out):  # lanes read it for some outputs at a time
        return None
    (x,) = [arg for arg in nest.inner.args if not is_constant(arg)]
    (weight,) = [arg for arg in nest.inner.args if is_constant(arg)]
    root, outputs = base_of(x), math.prod(nest.inner.inner)
    inputs = math.prod(weight.inner) // outputs
    is_by_tensor_cores = inputs > target.few_inputs and target.few_outputs < outputs <= 8 * target.warp_tiles
    chain = roots.chains[nest.root]
    others = [arg for function in chain for arg in function.args if arg not in (nest.inner, *chain)]
    is_read_again = any(root in in_order(other) for other in others)
    has_its_width = width_of(root.dtype) == width_of(nest.root.dtype)
    return root if root in roots and is_by_tensor_cores and has_its_width and not is_read_again else None


class ProductPrinter(NestPrinter):
    """Nests, of which products with weights are made by tensor cores with `precision`."""

    precision = "tf32x3"

    def print_sum(self, nest: Nest) -> str:
        product = self.product_of(nest)
        if product is None or (self.is_few(product) and not self.team.is_warp):
            return super().print_sum(nest)
        return self.print_few_of_lanes(nest, product) if self.is_few(product) else self.print_product(nest, product)

    def is_few(self, product: Product) -> bool:
        """Whether tensor cores are not worth their splitting."""
        outputs, inputs = product.weight.shape
        return bool(inputs <= self.target.few_inputs or outputs <= self.target.few_outputs)

    def product_of(self, nest: Nest) -> Product | None:
        inner = nest.inner
        if inner is None or not isinstance(inner.op, ops.Contract) or inner.dtype.name != "float32":
            return None
        op, (x, weight) = inner.op, inner.args
        if is_constant(x):
            op, x, weight = ops.Contract(op.right, op.left, op.out), weight, x
        if is_constant(x) or not is_constant(weight):
            return None
        sizes = dict(zip(op.left + op.right, x.shape + weight.shape))
        summed = [label for label in op.left if label not in op.out]
        outputs = [label for label in op.out if label in op.right and label not in op.left]
        if set(op.right) != {*summed, *outputs} or any(isinstance(sizes[label], (str, BlockSize)) for label in op.right):
            return None
        numbers = constant_value(weight).transpose([op.right.index(label) for label in (*outputs, *summed)])
        numbers = numbers.reshape(math.prod(numbers.shape[: len(outputs)]), -1)
        if numbers.nbytes > self.target.layer_bytes:
            raise NotFused(f"a linear layer of {' x '.join(map(str, numbers.shape))} weights, more than a kernel reads fast")
        names: dict[str, Linear | None] = {
            label: None if isinstance(size, str) else variable(f"i{i}")
            for i, (label, size) in enumerate(zip(op.out, inner.shape))
        }
        names |= {label: variable(f"k{label}") for label in summed}
        loops = {f"i{op.out.index(label)}": label for label in op.out}
        return Product(
            self.address(x, [names[label] for label in op.left]),
            [Loop(f"k{label}", size) for label in summed if isinstance(size := sizes[label], int)],
            [loop for loop in nest.loops if loops[loop.name] not in outputs],
            [Loop(f"i{op.out.index(label)}", size) for label in outputs if isinstance(size := sizes[label], int)],
            numbers,
            padded_bias(nest, len(numbers)),
        )

    def print_product(self, nest: Nest, product: Product) -> str:
        if self.team.is_warp:
            return self.print_product_of_lanes(nest, product)
        outputs, inputs = product.weight.shape
        tiles = -(-outputs // 8)
        warps, item_tiles = self.team.threads // WARP, -(-math.prod(loop.size for loop in product.batch) // 16)
        chunk = min(self.target.most_tiles, max(1, -(-tiles * item_tiles // warps)))
        chunks = -(-tiles // chunk)
        batch = count_text(product.batch)
        scheme = SCHEMES[self.precision]
        lines = [
            f"const Warp warp(0, 1); const int items = {batch} * n;",
            f"for (int unit = thread / 32; unit < (items + 15) / 16 * {chunks}; unit += kThreads / 32) {{",
            f"const int base = unit / {chunks} * 16, from_tile = unit % {chunks} * {chunk};",
            "const float* x[2];",
            f"for (int r = 0; r < 2; ++r) {{ const int item = min(base + 8 * r + warp.group, items - 1); "
            f"{self.item(product.batch)} x[r] = {self.first_of(product)}; }}",
            self.source(product),
            *self.multiplied(product, scheme, tiles, chunk),
            f"each_of(c, base, items, from_tile, {outputs}, warp, [&](int item, int o, float acc) {{ "
            f"{self.item(product.batch)} {decoded(product.outputs, 'o')} "
            f"{self.stored(nest, nest.target, self.epilogue(nest, True))} }});",
            "}",
        ]
        return " ".join(lines)

    def print_product_of_lanes(self, nest: Nest, product: Product) -> str:
        """Sixteen items at a time: rows of the warp."""
        outputs = len(product.weight)
        tiles, batch, rows = -(-outputs // 8), math.prod(loop.size for loop in product.batch), self.team.rows
        chunk = min(self.target.warp_tiles, tiles)
        halves = rows // 16
        row = "8 * r + warp.group" if halves == 1 else "unit % 2 * 16 + 8 * r + warp.group"
        # Results of earlier kernels have no more rows.
        is_inside = "q < n" if any(root in self.nests.stage.earlier for root in reads_of(nest, self.nests.roots)) else "true"
        place = f"const int e = unit / {halves}; {decoded(product.batch, 'e')}" if product.batch else ""
        here = self.first_of(product)
        lines = [
            "const Warp warp(0, 1);",
            f"for (int unit = 0; unit < {batch * halves}; ++unit) {{",
            *(
                ["const char* const weights = read_again(far_weights);"]
                if product.weight.size > self.target.kept_weights
                else []
            ),
            "const float* x[2];",
            f"for (int r = 0; r < 2; ++r) {{ const int q = min({row}, n - 1); {place} x[r] = {here}; }}",
            self.source(product),
            f"for (int from_tile = 0; from_tile < {tiles}; from_tile += {chunk}) {{",
            *self.multiplied(product, SCHEMES[self.precision], tiles, chunk),
            f"each_of_two(c, from_tile, {outputs}, warp, [&](int r, int o, float acc) {{ const int q = {row}; "
            f"if ({is_inside}) {{ {place} {decoded(product.outputs, 'o')} "
            f"{self.stored(nest, nest.target, self.epilogue(nest, True))} }} }});",
            "} }",
        ]
        return " ".join(lines)

    def print_few_of_lanes(self, nest: Nest, product: Product) -> str:
        """Some outputs at a time of the row of a lane; the weights of an input for them lie next to each other."""
        outputs, inputs = product.weight.shape
        size = next(n for n in (1, 2, 4, 8) if n >= min(outputs, 8))
        tiles = -(-outputs // size)
        padded, bias = np.zeros((tiles * size, inputs), np.float32), np.zeros(tiles * size, np.float32)
        padded[:outputs], bias[:outputs] = product.weight, product.bias
        packed = padded.reshape(tiles, size, inputs).transpose(0, 2, 1)
        each = f"{decoded(product.summed, 'k')} add_products(acc, x[{_of(product.summed, product.x.at).text()}]"
        is_output = "" if tiles * size == outputs else f"if (o < {outputs}) "
        store = self.stored(nest, nest.target, self.epilogue(nest, True, "acc[j]"))
        text = [
            f"float acc[{size}]; start_with(acc, {self.weights.floats(bias)} + t * {size}); "
            f"const float* const x = {self.first_of(product)};",
            "#pragma unroll 8",
            f"for (int k = 0; k < {inputs}; ++k) {{ {each}, {self.weights.floats(packed)} + (t * {inputs} + k) * {size}); }}",
            "#pragma unroll",
            f"for (int j = 0; j < {size}; ++j) {{ const int o = t * {size} + j; "
            f"{is_output}{{ {decoded(product.outputs, 'o')} {store} }} }}",
        ]
        return self.shared([*product.batch, Loop("t", tiles)], "\n".join(text) + "\n", unroll=1)

    @staticmethod
    def source(product: Product) -> str:
        """The numbers of two items."""
        number = f"{decoded(product.summed, 'k')} return x[r][{_of(product.summed, product.x.at).text()}];"
        return f"const auto from = items_of<{product.weight.shape[1]}>([&](int r, int k) {{ {number} }}, warp);"

    @staticmethod
    def first_of(product: Product) -> str:
        return f"{product.x.pointer} + ({product.x.at.without(*(loop.name for loop in product.summed)).text()})"

    @staticmethod
    def item(batch: Sequence[Loop]) -> str:
        """The row and the loop variables of an item."""
        count = count_text(batch)
        row = "item" if count == "1" else f"item / ({count})"
        return f"[[maybe_unused]] const int q = {row}; {decoded(batch, f'(item % ({count}))')}"

    def multiplied(self, product: Product, scheme: str, tiles: int, chunk: int) -> list[str]:
        """The accumulators c of a chunk of outputs, with the bias."""
        outputs, inputs = product.weight.shape
        lines, source, weight, scaling = [], "from", product.weight, "Unscaled{}"
        bias = self.vector(product.bias)
        if scheme == "Half3":
            of_input, of_output = balance(weight)
            if of_input.min() < 1:
                lines.append(f"const auto apart = balanced(from, {self.vector(of_input)});")
                source = "apart"
            weight = (weight / of_input * of_output[:, None]).astype(np.float32)
            back = 1 / of_output
            is_one = (back == back[0]).all()
            unit = f"{float(back[0]).hex()}f, {math.frexp(back[0])[1] + 275}" if is_one else self.vector(back)
            lines += [f"Scalar largest{{}}; widen(largest, {source});", f"const auto scale = scale_of(largest, {unit});"]
            source, scaling = f"scaled({source}, scale)", "scale"
        packed = pack_weights(scheme, spread(spread(weight.T.astype(np.float32), in_a_row(inputs)).T, in_a_row(outputs)).T)
        weights = f"Packed{{{self.weights.at('char', packed)}, {-(-inputs // 8)}, {inputs}, {tiles}}}"
        few = ", 2" if self.team.is_warp else ""  # pairs of tiles: more would not leave registers for all outputs of the items
        body = f"[&](auto& c, int first) {{ accumulate<{scheme}{few}>(c, {source}, {weights}, first, warp); }}"
        lines.append(f"const auto c = part_of_linear<{chunk}>({tiles}, {bias}, {scaling}, from_tile, {body});")
        return lines

    def vector(self, numbers: Array) -> str:
        """A Vector with padding."""
        padded = spread(np.asarray(numbers, np.float32), in_a_row(len(numbers)))
        return f"Vector{{{self.weights.floats(padded)}, warp.quad}}"


def _of(loops: Sequence[Loop], at: Linear) -> Linear:
    """The part of an address that depends on loops."""
    return Linear(0, {name: factor for name, factor in at.terms.items() if name in {loop.name for loop in loops}})


def padded_bias(nest: Nest, outputs: int) -> Array:
    """The numbers that are added to the accumulators first, for all outputs; zeros where there are none."""
    bias = bias_of(nest)
    return np.zeros(outputs, np.float32) if bias is None else np.resize(bias, outputs)
