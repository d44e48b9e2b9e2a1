# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of values in fragments: their result lies, unmoved, as the next one reads it."""

import math

import numpy as np

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.fragments import Coordinates, FragmentPrinter, Held, NotHeld, flat, through
from tensoa.compiler.cuda.layouts import TILE, Layout, mask_text, spread, tiles_of
from tensoa.compiler.cuda.products import padded_bias
from tensoa.compiler.cuda.tiles import CHUNK, SCHEMES
from tensoa.compiler.cuda.weights import balance, pack_weights
from tensoa.compiler.errors import NotFused
from tensoa.compiler.functions import Array
from tensoa.compiler.interpret import constant_value
from tensoa.compiler.operations import is_constant
from tensoa.compiler.schedule.addresses import base_of, elements_of
from tensoa.compiler.schedule.nests import Nest
from tensoa.compiler.tensors import Tensor


def dense(inner: Tensor) -> tuple[Tensor, list[Array | None], Array]:
    """The input of a layer, the coordinates of each element, and the weights [outputs, inputs]; NotHeld for others."""
    op, (x, weight) = inner.op, inner.args
    assert isinstance(op, ops.Contract)
    if is_constant(x) and (weight.rows or not x.rows):
        op, x, weight = ops.Contract(op.right, op.left, op.out), weight, x
    if not is_constant(weight) or inner.dtype.name != "float32" or len(x.rows) != 1:
        raise NotHeld(f"{inner!r}")
    sizes = {label: size for label, size in zip(op.left, x.shape) if isinstance(size, int)}
    summed, outputs = [label for label in op.left if label not in op.out], [label for label in op.out if label not in op.left]
    rows = [label for label, size in zip(op.left, x.shape) if isinstance(size, str)]
    if set(op.left) - set(summed) != set(rows) or set(op.right) != {*summed, *outputs}:
        raise NotHeld(f"a layer of several items of a row ({inner!r})")
    numbers = constant_value(weight).transpose([op.right.index(label) for label in (*outputs, *summed)])
    numbers = numbers.reshape(math.prod(numbers.shape[: len(outputs)]), -1)
    terms = np.array(list(np.ndindex(*(sizes[label] for label in summed))), int).reshape(numbers.shape[1], len(summed))
    at = [terms[:, summed.index(label)] if label in summed else None for label in op.left]
    return x, at, np.ascontiguousarray(numbers, np.float32)


class LayerPrinter(FragmentPrinter):
    """Values, and what layers make of them."""

    exchanged = exchanges = 0  # tiles of the largest exchange between warps of the same rows; how many there are
    turn = 0  # the warp that begins with the next layer that is only written

    def layer(self, nest: Nest, inner: Tensor) -> Held:
        x, at, weight = dense(inner)
        if weight.nbytes > self.target.layer_bytes:
            raise NotFused(f"a linear layer of {' x '.join(map(str, weight.shape))} weights, more than a kernel reads fast")
        bias = padded_bias(nest, len(weight))
        base, read = base_of(x), self.elements_read(x, at, weight.shape[1])
        if isinstance(base.op, ops.Constant):
            return self.known(nest, weight @ base.op.data.reshape(-1)[read].astype(np.float32) + bias)
        if base not in self.nests.roots:
            raise NotHeld(f"{inner!r}")
        held = self.held(base)
        if held.layout is None:
            return self.of_unpacked(nest, inner, held, read, weight, bias)
        source, layout = self.operand_tiles(held, read)
        if len(weight) <= self.target.few_outputs:
            return self.dots(inner, source, layout, weight, bias)
        return self.by_tensor_cores(self.outputs_of(nest, len(weight)), source, layout, weight, bias)

    @staticmethod
    def elements_read(x: Tensor, at: Coordinates, inputs: int) -> Array:
        """Of what a view is of."""
        index = at
        while isinstance(x.op, ops.View):
            index = through(x.op.index, x.args[0], index)
            x = x.args[0]
        return np.broadcast_to(flat(index, x), inputs)

    def outputs_of(self, nest: Nest, count: int) -> Layout:
        assert count == elements_of(nest.root)
        return self.own_layout(nest.root)

    def known(self, nest: Nest, numbers: Array) -> Held:
        """The same for all rows."""
        layout = self.outputs_of(nest, len(numbers))
        return self.fragment(layout, f"{self.vector(numbers, layout)}.at(n, i)", is_clean=True)

    def of_unpacked(self, nest: Nest, inner: Tensor, held: Held, read: Array, weight: Array, bias: Array) -> Held:
        """Of few inputs, that all lanes have."""
        outputs, inputs = weight.shape
        if outputs <= self.target.few_outputs:
            texts = []
            for o in range(outputs):
                text = f"{float(bias[o]).hex()}f"
                for k in range(inputs):
                    text = f"fmaf({held.name}[{read[k]}][r], {float(weight[o, k]).hex()}f, {text})"
                texts.append(text)
            return self.unpacked(inner, texts)
        layout = self.outputs_of(nest, outputs)
        text = f"{self.vector(bias, layout)}.at(n, i)"
        for k in range(inputs):
            text = f"fmaf({held.name}[{read[k]}][i / 2], {self.vector(weight[:, k], layout)}.at(n, i), {text})"
        return self.fragment(layout, text, is_clean=False)

    def operand_tiles(self, held: Held, read: Array) -> tuple[str, Layout]:
        """The tiles of a value that a layer reads, and which input lies at each position; the others are zero there."""
        assert held.layout is not None
        inputs = {int(element): k for k, element in enumerate(read)}
        if len(inputs) < len(read):
            raise NotHeld("an input that is read twice")
        tiles = tiles_of(held.layout)
        used = [n for n, tile in enumerate(tiles) if any(element in inputs for element in tile)]
        first, count = used[0], used[-1] + 1 - used[0]
        own = held.layout[TILE * first : TILE * (first + count)]
        layout = tuple(inputs.get(element, -1) for element in own)
        source = held.name
        if count < len(tiles):
            source = self.name()
            self.line(f"const auto {source} = cut<{first}, {count}>({held.name});")
        if min(layout) < 0 and not (held.is_clean and all((k < 0) == (e < 0) for k, e in zip(layout, own))):
            clean = self.name()
            self.line(f"auto {clean} = {source}; clear_padding<{self.layout_type(layout)}>({clean}, warp);")
            source = clean
        return source, layout

    def layout_type(self, layout: Layout) -> str:
        """A type with valid(n)."""
        masks = tuple(sum(1 << i for i, element in enumerate(tile) if element >= 0) for tile in tiles_of(layout))
        name = self.name()
        self.line(f"struct {name} {{ static constexpr __device__ unsigned valid(int n) {{ return {mask_text(masks)}; }} }};")
        return name

    def dots(self, inner: Tensor, source: str, layout: Layout, weight: Array, bias: Array) -> Held:
        """Few outputs: each is a sum over the quad."""
        texts = []
        for o, row in enumerate(weight):
            name = self.name()
            self.line(f"Scalar {name}{{}}; dot({name}, {source}, {self.vector(row, layout)});")
            self.line(f"{name} = finish({name}, {float(bias[o]).hex()}f);")
            texts.append(f"{name}.at[r]")
        return self.unpacked(inner, texts)

    def by_tensor_cores(self, outputs: Layout, source: str, layout: Layout, weight: Array, bias: Array) -> Held:
        start, scaling, body = self.multiplied(outputs, source, layout, weight, bias)
        held = Held(self.name(), outputs, min(outputs) >= 0)
        self.noted(held)
        if self.parts == 1:
            self.line(f"const auto {held.name} = linear<{held.tiles}, {min(held.tiles, CHUNK)}>({start}, {scaling}, {body});")
            return held
        rounds = -(-held.tiles // (self.parts * CHUNK))
        chunk = -(-held.tiles // (self.parts * rounds))
        self.exchanged = max(self.exchanged, min(held.tiles, self.parts * chunk))
        self.line(f"const auto {held.name} = linear_together<{held.tiles}, {chunk}>({start}, {scaling}, exchange, kExchanged, "
                  f"{self.exchanges % 2}, warp, {body});")  # fmt: skip
        self.exchanges += -(-held.tiles // (self.parts * chunk))
        return held

    def multiplied(self, outputs: Layout, source: str, layout: Layout, weight: Array, bias: Array) -> tuple[str, str, str]:
        """C++ of the bias, of the scale of the rows, and of what accumulates the products."""
        scheme, scaling = SCHEMES[self.precision], "Unscaled{}"
        start = self.vector(bias, outputs)
        if scheme == "Half3":
            of_input, of_output = balance(weight)
            if of_input.min() < 1:
                apart = self.name()
                self.line(f"const auto {apart} = balanced({source}, {self.vector(of_input, layout)});")
                source = apart
            weight = (weight / of_input * of_output[:, None]).astype(np.float32)
            back, largest, scaling = 1 / of_output, self.name(), self.name()
            is_one = (back == back[0]).all()
            unit = f"{float(back[0]).hex()}f, {math.frexp(back[0])[1] + 275}" if is_one else self.vector(back, outputs)
            self.line(f"Scalar {largest}{{}}; widen({largest}, {source});")
            self.line(f"const auto {scaling} = scale_of({largest}, {unit});")
            source = f"scaled({source}, {scaling})"
        data = pack_weights(scheme, spread(spread(weight.T, layout).T, outputs).T)
        depth = max(place for place, k in enumerate(layout) if k >= 0) + 1
        packed = f"Packed{{{self.weights.at('char', data)}, {len(layout) // TILE}, {depth}, {len(outputs) // TILE}}}"
        body = f"[&](auto& c, int first) {{ accumulate<{scheme}>(c, {source}, {packed}, first, warp); }}"
        return start, scaling, body

    def only_written(self, nest: Nest, to: str) -> bool:
        """A layer that only others read goes straight to memory, where its rows are whole: the warps exchange nothing."""
        inner, root = nest.inner, nest.root
        stage, users = self.nests.stage, [value for value in self.nests.stage.values if root in value.args]
        if self.parts == 1 or inner is None or not isinstance(inner.op, ops.Contract) or elements_of(root) % (2 * TILE):
            return False
        is_plain = root is inner or (nest.bias is not None and nest.bias[0] is root)
        is_read = users or any(output.value is root for output in stage.outputs) or root in self.starts
        if not is_plain or is_read or any(root in scatter.args for scatter in stage.scatters):
            return False
        x, at, weight = dense(inner)
        if self.is_unpacked(base_of(x)) or base_of(x) not in self.nests.roots:
            return False
        source, layout = self.operand_tiles(self.held(base_of(x)), self.elements_read(x, at, weight.shape[1]))
        outputs = self.own_layout(root)
        start, scaling, body = self.multiplied(outputs, source, layout, weight, padded_bias(nest, len(weight)))
        tiles = len(outputs) // TILE
        chunk = min(CHUNK, 2 * -(-tiles // (2 * self.parts)))
        kind = self.layout_type(outputs)
        self.line(f"linear_stored<{kind}, {tiles}, {chunk}>({to}, {start}, {scaling}, {self.turn}, tile, warp, {body});")
        self.turn = (self.turn - -(-tiles // chunk)) % self.parts
        return True
