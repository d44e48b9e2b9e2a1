# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ of streams: what is made of all rows of a collection, the keys. Where the values of a block of keys lie in
registers, lanes have shares of the keys (stream_lanes.py); else blocks follow each other, and the team shares the values of
each.
"""

from tensoa.compiler import operations as ops
from tensoa.compiler.cuda.expressions import literal, memory_type, type_of
from tensoa.compiler.cuda.memory import pitch_of
from tensoa.compiler.cuda.nests import count_text, decoded
from tensoa.compiler.cuda.rows import StagePrinter
from tensoa.compiler.cuda.stream_lanes import LanePrinter
from tensoa.compiler.printing import Place
from tensoa.compiler.schedule.addresses import elements_of, flat
from tensoa.compiler.schedule.nests import Loop, Nest, StreamLoop, loops_over
from tensoa.compiler.schedule.streams import Online, are_rows
from tensoa.compiler.tensors import BlockSize, Tensor


class StreamPrinter(StagePrinter):
    """Prints a stage with streams."""

    blocks = 0  # of keys, for their names

    def print_stream(self, stream: StreamLoop) -> None:
        rows = self.memory.rows_text(stream.symbol)
        outer, self.nests.roots = self.nests.roots, stream.roots
        copies, self.copies = self.copies, {}  # when all blocks are done
        if stream.room.is_of_lanes:
            self.line(f"{self.barriers.wait} {{\n{LanePrinter(self, stream).text()}\n}}")
        else:
            self.print_blocks(stream, rows)
        self.barriers.clear()
        self.line(self.barriers.wait)
        self.nests.roots = outer
        for result, found in stream.online.items():
            if not found.softmax.is_safe:
                self.line(f"if ({rows} > 0) {{ {self.end(result, found)} }}")
        self.line(self.barriers.wait if stream.online else "")
        self.copies = copies
        for root in copies:
            if any(self.nests.buffers.get(root) is self.nests.buffers[result] for result in stream.results):
                self.line(f"{{ {self.copied(root)} }}")

    def print_blocks(self, stream: StreamLoop, rows: str) -> None:
        most = int(stream.size)
        for result in stream.results:
            self.line(self.barriers.before([], [self.nests.buffers[result]]))
            self.line(f"{{ {self.filled(result, self.start_of_stream(result))} }}")
        self.line(self.barriers.wait)
        self.line(f"for (int64 key = 0; key < {rows}; key += {most}) {{")
        self.line(f"[[maybe_unused]] const int keys = static_cast<int>(min(int64{{{most}}}, {rows} - key));")
        for nest in stream.nests:
            if are_rows(nest.root):
                self.line(self.keys_text(nest))
        self.barriers.clear()
        for nest in stream.nests:
            self.print_nest(nest)
        self.line(f"{self.barriers.wait} }}")

    def filled(self, result: Tensor, value: str) -> str:
        place = self.places[result]
        loops, index = loops_over(result, place.buffer.order)
        return self.shared(loops, self.written(place.buffer.root, flat(index, place.buffer.strides).text(), value))

    def end(self, result: Tensor, found: Online) -> str:
        """NaN where all scores are -infinity, as exp(-infinity + infinity) is."""
        largest, kind = found.softmax.largest, type_of(result.dtype)
        place, other = self.places[result], self.places[largest]
        loops, index = loops_over(result, place.buffer.order)
        of_largest = other.at([None if isinstance(result.shape[i], str) else index[i] for i in found.places])
        low = literal(float("-inf"), result.dtype)
        store = self.written(place.buffer.root, flat(index, place.buffer.strides).text(), f"nothing<{kind}>()")
        return self.shared(loops, f"if ({other.pointer}[{of_largest.text()}] == {low}) {{ {store} }}")

    def keys_text(self, nest: Nest) -> str:
        """The pointer to a block of keys."""
        (x,), kind, buffer = nest.root.args, memory_type(nest.root.dtype), nest.buffer
        name = f"keys{self.blocks}"
        self.blocks += 1
        self.places[nest.root] = Place(name, buffer)
        if buffer.pitch:
            buffer.pitch = pitch_of(x)
            return f"[[maybe_unused]] const {kind}* const {name} = {self.buffer_of(x)} + key * {buffer.pitch};"
        return f"[[maybe_unused]] {kind}* const {name} = reinterpret_cast<{kind}*>(common + {buffer.offset});"

    def print_keys(self, nest: Nest) -> str:
        """Planes of columns are copied, next to each other."""
        (x,), buffer = nest.root.args, nest.buffer
        if buffer.pitch:
            return ""
        assert isinstance(x.op, ops.Column)
        loops = [Loop("i", elements_of(x)), Loop("j", BlockSize(int(nest.root.shape[0])))]
        to = f"{self.places[nest.root].pointer}[i * {int(nest.root.shape[0])} + j]"
        body = f"{decoded(loops, 'at')} {to} = {self.column(x.op, 'i', 'key + j')};"
        return f"for (int at = thread; at < {count_text(loops)}; at += kThreads) {{ {body} }}"
