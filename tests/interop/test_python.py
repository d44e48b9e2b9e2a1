# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Collections of a C++ program in torch, NumPy and pyarrow, and their tensors and batches in C++, without a copy."""

import ctypes
import gc
import os

import numpy
import pyarrow
import pytest
import torch

library = ctypes.CDLL(os.environ["TENSOA_TEST_INTEROP"])
for name, result, arguments in [
    ("last_error", ctypes.c_char_p, []),
    ("count_live_collections", ctypes.c_int, []),
    ("collection_new", ctypes.c_void_p, [ctypes.c_int64, ctypes.c_int]),
    ("collection_delete", None, [ctypes.c_void_p]),
    ("collection_queue", ctypes.c_void_p, [ctypes.c_void_p]),
    ("collection_address", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int]),
    ("collection_read_x", ctypes.c_float, [ctypes.c_void_p, ctypes.c_int64]),
    ("collection_write_x", None, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_float]),
    ("collection_to_dlpack", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p]),
    ("dlpack_release", None, [ctypes.c_void_p]),
    ("tensor_import", ctypes.c_void_p, [ctypes.c_void_p]),
    ("tensor_delete", None, [ctypes.c_void_p]),
    ("tensor_address", ctypes.c_void_p, [ctypes.c_void_p]),
    ("tensor_is_read_only", ctypes.c_bool, [ctypes.c_void_p]),
    ("tensor_is_copied", ctypes.c_bool, [ctypes.c_void_p]),
    ("tensor_sum", ctypes.c_double, [ctypes.c_void_p]),
    ("tensor_add_columns", ctypes.c_bool, [ctypes.c_void_p]),
    ("collection_to_arrow", ctypes.c_bool, [ctypes.c_void_p] * 3),
    ("collection_scalars_to_arrow", ctypes.c_bool, [ctypes.c_void_p] * 3),
    ("columns_import", ctypes.c_void_p, [ctypes.c_void_p] * 4),
    ("columns_delete", None, [ctypes.c_void_p]),
    ("columns_size", ctypes.c_int64, [ctypes.c_void_p]),
    ("columns_x", ctypes.c_void_p, [ctypes.c_void_p]),
    ("columns_sum_of_x", ctypes.c_double, [ctypes.c_void_p]),
    ("columns_field", ctypes.c_double, [ctypes.c_void_p]),
]:
    getattr(library, name).restype = result
    getattr(library, name).argtypes = arguments

FIELDS = ["x", "y", "z", "layer", "is_good", "weight", "direction", "field"]
N = 100
CPU = -1


def checked(result):
    """The result of a function of the library, or its error."""
    if not result:
        raise RuntimeError(library.last_error().decode())
    return result


# [capsule]
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_is = ctypes.pythonapi.PyCapsule_IsValid
capsule_is.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
rename_capsule = ctypes.pythonapi.PyCapsule_SetName
rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]

NEW, USED = b"dltensor_versioned", b"used_dltensor_versioned"  # the names that DLPack prescribes


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def release_unused(capsule):
    if capsule_is(capsule, NEW):
        library.dlpack_release(capsule_pointer(capsule, NEW))
# [/capsule]


# [producer]
class Positions:
    """Columns x, y, z of a collection in C++, for torch.from_dlpack, numpy.from_dlpack and the like."""

    def __init__(self, collection, device, read_only=False):
        self.collection, self.device, self.read_only = collection, device, read_only

    def __dlpack_device__(self):
        return (1, 0) if self.device == CPU else (2, self.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if max_version is None or max_version[0] < 1:
            raise BufferError("needs a consumer of DLPack 1")
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("hands out its own memory only")
        stream = None if stream is None else ctypes.byref(ctypes.c_int64(stream))
        tensor = checked(library.collection_to_dlpack(self.collection, self.read_only, stream))
        return new_capsule(tensor, NEW, release_unused)
# [/producer]


# [consumer]
def to_cpp(array, **arguments):
    """A tensor of torch or NumPy as a handle of the library, which owns it from now on."""
    capsule = array.__dlpack__(max_version=(1, 0), **arguments)
    tensor = capsule_pointer(id(capsule), NEW)
    rename_capsule(capsule, USED)
    return checked(library.tensor_import(tensor))
# [/consumer]


class Batch:
    """Memory for one ArrowDeviceArray (128 bytes, of which 80 are the ArrowArray) and one ArrowSchema (72 bytes)."""

    def __init__(self):
        self.memory = ctypes.create_string_buffer(128), ctypes.create_string_buffer(72)
        self.array, self.schema = map(ctypes.addressof, self.memory)


def arrow_of(function, collection, device_interface=True):
    batch = Batch()
    checked(function(collection, batch.array, batch.schema))
    read = pyarrow.RecordBatch._import_from_c_device if device_interface else pyarrow.RecordBatch._import_from_c
    return read(batch.array, batch.schema)


def address(array):
    """Of the first element of an Arrow array."""
    return array.buffers()[1].address


@pytest.fixture
def collection():
    """A collection on the host; at the end of the test no reference may be left."""
    before = library.count_live_collections()
    handle = checked(library.collection_new(N, CPU))
    yield handle
    library.collection_delete(handle)
    gc.collect()
    assert library.count_live_collections() == before


def column_address(collection, name):
    return library.collection_address(collection, FIELDS.index(name))


# ---- DLPack, C++ to Python


@pytest.mark.parametrize("consumer", [torch, numpy], ids=["torch", "numpy"])
def test_columns_are_a_tensor_without_a_copy(collection, consumer):
    tensor = consumer.from_dlpack(Positions(collection, CPU))
    pointer = tensor.data_ptr() if consumer is torch else tensor.ctypes.data
    assert pointer == column_address(collection, "x")
    assert tuple(tensor.shape) == (N, 3)
    assert tensor.dtype == consumer.float32
    assert (numpy.asarray(tensor) == numpy.arange(N)[:, None] + numpy.array([0, 0.25, 0.5])).all()

    tensor[7, 0] = -1.5
    assert library.collection_read_x(collection, 7) == -1.5
    library.collection_write_x(collection, 8, -2.5)
    assert tensor[8, 0] == -2.5


def test_numpy_honours_the_read_only_flag(collection):
    array = numpy.from_dlpack(Positions(collection, CPU, read_only=True))
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_torch_has_no_read_only_tensors_and_takes_them_as_others(collection):
    tensor = torch.from_dlpack(Positions(collection, CPU, read_only=True))
    tensor[0, 0] = 9
    assert library.collection_read_x(collection, 0) == 9


def test_torch_computes_into_columns(collection):
    # [model]
    positions = torch.from_dlpack(Positions(collection, CPU))
    linear = torch.nn.Linear(2, 1, bias=False)
    linear.weight.data[:] = torch.tensor([[3.0, -1.0]])
    with torch.no_grad():
        torch.mm(positions[:, 1:], linear.weight.t(), out=positions[:, :1])  # x = 3 y - z
    # [/model]
    for i in range(N):
        assert library.collection_read_x(collection, i) == 3 * (i + 0.25) - (i + 0.5)


@pytest.mark.parametrize("cpp_first", [True, False])
def test_memory_lives_until_both_sides_are_done(cpp_first):
    before = library.count_live_collections()
    handle = checked(library.collection_new(N, CPU))
    tensor = torch.from_dlpack(Positions(handle, CPU))
    array = numpy.from_dlpack(Positions(handle, CPU))
    batch = arrow_of(library.collection_to_arrow, handle)
    assert library.count_live_collections() == before + 1
    if cpp_first:
        library.collection_delete(handle)
    assert tensor.sum() == array.sum()
    assert batch["x"][5].as_py() == 5
    column = batch["y"]  # outlives its batch
    del tensor, array, batch
    gc.collect()
    assert library.count_live_collections() == before + 1
    assert column[1].as_py() == 1.25
    del column
    gc.collect()
    assert library.count_live_collections() == before + (not cpp_first)
    if not cpp_first:
        library.collection_delete(handle)
    assert library.count_live_collections() == before


def test_a_capsule_that_is_not_consumed_releases_its_tensor(collection):
    capsule = Positions(collection, CPU).__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    del capsule  # the fixture counts


def test_a_stream_on_the_cpu_is_an_error(collection):
    with pytest.raises(RuntimeError, match=r"got the stream 7 for float32\[100, 3\] on cpu, expected None or -1"):
        Positions(collection, CPU).__dlpack__(max_version=(1, 0), stream=7)


def test_no_rows():
    handle = checked(library.collection_new(0, CPU))
    assert torch.from_dlpack(Positions(handle, CPU)).shape == (0, 3)
    assert numpy.from_dlpack(Positions(handle, CPU)).shape == (0, 3)
    assert arrow_of(library.collection_to_arrow, handle).num_rows == 0
    library.collection_delete(handle)


# ---- DLPack, Python to C++


def test_a_torch_tensor_is_a_tensor_in_cpp_without_a_copy():
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4).t()
    handle = to_cpp(tensor)
    assert library.tensor_address(handle) == tensor.data_ptr()
    assert library.tensor_sum(handle) == 66
    assert not library.tensor_is_read_only(handle)
    assert not library.tensor_is_copied(handle)
    checked(library.tensor_add_columns(handle))  # [4, 3] with dense columns
    assert (tensor[:, 2] == tensor[:, 0] + tensor[:, 1]).all()
    library.tensor_delete(handle)


def test_the_tensor_lives_until_cpp_is_done():
    tensor = numpy.arange(10, dtype=numpy.float32)
    view = tensor.view()
    handle = to_cpp(view)
    del tensor, view
    gc.collect()
    assert library.tensor_sum(handle) == 45
    library.tensor_delete(handle)


def test_cpp_sees_the_flags():
    array = numpy.ones(5, dtype=numpy.float32)
    array.flags.writeable = False
    handle = to_cpp(array)
    assert library.tensor_is_read_only(handle)
    library.tensor_delete(handle)
    handle = to_cpp(numpy.ones(5, dtype=numpy.float32), copy=True)
    assert library.tensor_is_copied(handle)
    library.tensor_delete(handle)


def test_row_major_columns_are_an_error_that_says_so():
    handle = to_cpp(torch.zeros(4, 3))
    assert not library.tensor_add_columns(handle)
    assert library.last_error() == (b"view_of: field x: got float32[4] on cpu with strides (3), "
                                    b"expected [4] with stride (1)")
    library.tensor_delete(handle)


@pytest.mark.parametrize("array, message", [
    (torch.zeros(2, dtype=torch.complex64), "type code 5, 64 bits, 1 lanes"),
    (torch.zeros(2, dtype=torch.float8_e4m3fn), "type code 10, 8 bits"),
    (torch.zeros(1, 1, 1, 1, 1), "got a tensor of 5 dimensions, expected 0 to 4"),
    (numpy.zeros(4, dtype=numpy.float32)[::-1], "dimension 0 has size 4 and stride -1"),
    (numpy.zeros(2, dtype=numpy.uint64), "type code 1, 64 bits"),
])
def test_what_cpp_cannot_hold_is_an_error(array, message):
    with pytest.raises(RuntimeError, match=message):
        to_cpp(array)


def test_there_and_back(collection):
    there = torch.from_dlpack(Positions(collection, CPU))
    back = to_cpp(there)
    del there
    assert library.tensor_address(back) == column_address(collection, "x")
    library.tensor_delete(back)


# ---- Arrow


@pytest.mark.parametrize("device_interface", [True, False])
def test_a_collection_is_a_record_batch_without_a_copy(collection, device_interface):
    batch = arrow_of(library.collection_to_arrow, collection, device_interface)
    batch.validate(full=True)
    assert batch.num_rows == N
    assert batch.schema.names == ["x", "y", "z", "layer", "is_good", "weight", "direction.0", "direction.1",
                                  "direction.2"]
    for name in ["x", "y", "z", "layer", "is_good", "weight"]:
        assert address(batch[name]) == column_address(collection, name)
        assert not batch.schema.field(name).nullable
    assert address(batch["direction.1"]) == column_address(collection, "direction") + 4 * 128
    assert batch["layer"].to_pylist() == [3 * i for i in range(N)]
    assert batch["direction.2"].to_pylist() == [10 * i + 2 for i in range(N)]
    assert batch["is_good"].type == pyarrow.bool8()
    assert batch["is_good"].to_pylist() == [i % 2 == 0 for i in range(N)]
    assert batch["weight"].type == pyarrow.uint16()
    assert batch.schema.field("weight").metadata == {b"ARROW:extension:name": b"tensoa.bfloat16"}
    library.collection_write_x(collection, 3, 42)
    assert batch["x"][3].as_py() == 42

    scalars = arrow_of(library.collection_scalars_to_arrow, collection, device_interface)
    assert scalars.to_pydict() == {"field": [3.8]}
    assert address(scalars["field"]) == column_address(collection, "field")


def test_record_batches_come_back_without_a_copy(collection):
    batch = arrow_of(library.collection_to_arrow, collection)
    scalars = arrow_of(library.collection_scalars_to_arrow, collection)
    back = import_batches(batch.slice(10, 20), scalars)
    del batch, scalars
    gc.collect()
    assert library.columns_size(back) == 20
    assert library.columns_x(back) == column_address(collection, "x") + 4 * 10
    assert library.columns_sum_of_x(back) == sum(range(10, 30))
    assert library.columns_field(back) == 3.8
    library.columns_delete(back)


def import_batches(rows, scalars):
    out = []
    for batch in rows, scalars:
        out.append(Batch())
        batch._export_to_c_device(out[-1].array, out[-1].schema)
    return checked(library.columns_import(out[0].array, out[0].schema, out[1].array, out[1].schema))


def made_by_pyarrow(**changed):
    """A batch that pyarrow itself made; planes in one buffer."""
    planes = pyarrow.array(numpy.arange(12, dtype=numpy.float32))
    columns = {
        "layer": pyarrow.array([1, 2, 3, 4], pyarrow.int32()),
        "x": pyarrow.array([0.5, 1.5, 2.5, 3.5], pyarrow.float32()),
        "y": pyarrow.array([0, 0, 0, 0], pyarrow.float32()),
        "z": pyarrow.array([0, 0, 0, 0], pyarrow.float32()),
        "is_good": pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([0, 1, 1, 0], pyarrow.int8())),
        "weight": pyarrow.array([0, 0, 0, 0], pyarrow.uint16()),
        "name": pyarrow.array(["a", "b", "c", "d"]),
    } | {f"direction.{k}": planes.slice(4 * k, 4) for k in range(3)} | changed
    fields = [pyarrow.field(name, column.type, metadata={"ARROW:extension:name": "tensoa.bfloat16", "unit": "1"}
                            if name == "weight" else None) for name, column in columns.items()]
    return pyarrow.record_batch(list(columns.values()), schema=pyarrow.schema(fields))


SCALARS = pyarrow.record_batch({"field": pyarrow.array([2.0])})


def test_batches_of_pyarrow_are_columns_in_cpp():
    batch = made_by_pyarrow()
    handle = import_batches(batch, SCALARS)
    assert library.columns_x(handle) == address(batch["x"])
    del batch
    gc.collect()
    assert library.columns_sum_of_x(handle) == 8
    assert library.columns_field(handle) == 2
    library.columns_delete(handle)


@pytest.mark.parametrize("name, column, message", [
    ("x", pyarrow.array([1.0, None, 3.0, 4.0], pyarrow.float32()), "column x: got 1 nulls, expected none"),
    ("x", pyarrow.array([1.0, 2.0, 3.0, 4.0]), 'column x: got type "g", expected type "f" \\(float32\\)'),
    ("x", pyarrow.array(["a"] * 4).dictionary_encode(), "column x: got dictionary codes"),
    ("is_good", pyarrow.array([True] * 4), 'column is_good: got type "b", expected type "c" as "arrow.bool8"'),
    ("direction.1", pyarrow.array(numpy.zeros(4, numpy.float32)), "the planes of column direction lie"),
])
def test_batches_that_do_not_fit_are_errors(name, column, message):
    with pytest.raises(RuntimeError, match=message):
        import_batches(made_by_pyarrow(**{name: column}), SCALARS)


# ---- GPU


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_columns_on_the_gpu_are_a_tensor_in_the_order_of_the_streams():
    before = library.count_live_collections()
    handle = checked(library.collection_new(N, 0))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.from_dlpack(Positions(handle, 0))
        assert tensor.data_ptr() == column_address(handle, "x")
        doubled = tensor * 2
    stream.synchronize()
    assert (doubled.cpu()[:, 0] == 2 * torch.arange(N)).all()
    back = to_cpp(tensor, stream=library.collection_queue(handle))
    assert library.tensor_address(back) == tensor.data_ptr()
    library.tensor_delete(back)
    library.collection_delete(handle)
    assert library.count_live_collections() == before + 1
    del tensor
    gc.collect()
    assert library.count_live_collections() == before
