# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Runs models on columns where they lie. Use it as tensoa.Model."""

import os
from collections.abc import Sequence
from typing import Any

class Block:
    """
    An argument or a result of a model: a tensor over columns of one dtype.
    """

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str:
        """Of its columns: "float32"; "number" where any will do."""

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Of the tensor; None is the number of rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns in a call."""

    @property
    def collection(self) -> int | None:
        """
        Blocks of one number have the same number of rows; None: the number of rows is in the shape.
        """

    def __repr__(self) -> str: ...

class Copies:
    """Bytes that a call copied between columns and the model."""

    @property
    def bytes_in(self) -> int: ...
    @property
    def bytes_out(self) -> int: ...
    def __repr__(self) -> str: ...

class DeviceArray:
    """
    A result on a GPU. Other libraries take it without a copy: by DLPack (`from_dlpack`), whose
    work then waits for the call, on the device; or by the CUDA array interface, which waits
    here, and waits for the device when the array ends.
    """

    @property
    def shape(self) -> tuple: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def __cuda_array_interface__(self) -> dict: ...
    def __dlpack__(self, *, stream: object | None = None, **others) -> object: ...
    def __dlpack_device__(self) -> tuple: ...
    def __array__(self, *args, **kwargs) -> object: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...

def inspect(path: str | os.PathLike[str], **service: Any) -> dict[str, Any]:
    """
    What is in a model file, without running anything of it: what `tensoa inspect --json` writes.

    Also of a package for another machine. Of a URL what servers say, reached as by Model.
    Raises LoadError.
    """

def read_trees(content: bytes, subject: str, best_iteration: bool = False) -> tuple[bytes, list[str]]:
    """
    The ensemble in a file of XGBoost or LightGBM, as bytes that tensoa.forest.from_bytes reads, and notes for people.

    Raises LoadError, which begins with `subject`.
    """

class Model:
    """
    A model that runs on columns where they lie: a package, a file of trees, an ONNX file,
    TorchScript, a program of torch.export, or one on servers.

        model = tensoa.Model("model.pt2")
        scores = model(pt=pt, eta=eta)["score"]

    Called with columns by name, with a table (a dict, a structured array of NumPy, a DataFrame of
    pandas or polars, a table of pyarrow, an array of Awkward Array), or with one array for each
    block. Gives columns back, as the kind that it was given; out= is written instead. Columns are
    NumPy's, or anything with DLPack, the Arrow PyCapsule interface or __array__.

    Threads: any number may call one model; calls run without the GIL.
    Pickling: by path, or URL, and SHA-256 of the file, which has to be the same there; loaded with the
    first use.
    Models of servers do not work in a process that is forked from one that has loaded some.
    """

    def __call__(self, /, *tables: Any, out: Any = None, groups: Any = None, stream: Any = None, **columns: Any) -> Any:
        """
        Runs the model. Give columns by name, one table, or one array for each block, in their order.

        out: what is written, and given back: a dict of columns, a structured array, or an array for the only block.
        groups: offsets [groups + 1] of rows that are a separate call; where numbers of rows differ, a dict by blocks.
            Columns of Awkward Array have their own: the lists that they are in.
        stream: of a model on a GPU, where the call runs: a stream of torch, CuPy or CUDA Python, or its handle; else that on
            which the library of the columns works. The call does not wait for it.
        Raises BindingError for what the model does not take; EngineError, DeviceError.
        """

    def __init__(
        self,
        path: str | os.PathLike[str],
        device: str = "cpu",
        columns: Sequence[str] | dict[str, str] | dict[str, Sequence[str]] | None = None,
        outputs: Sequence[str] | dict[str, Sequence[str]] | None = None,
        *,
        fallback: str | os.PathLike[str] | None = None,
        deadline: float | None = None,
        attempt_deadline: float | None = None,
        load_deadline: float | None = None,
        lookup_period: float | None = None,
        attempts: int | None = None,
        checksum: str | None = None,
        on_new_version: str | None = None,
        message_limit: int | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        certificate_file: str | os.PathLike[str] | None = None,
        key_file: str | os.PathLike[str] | None = None,
        token_file: str | os.PathLike[str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """
        Loads the model.

        path: of a package, a file of trees, ONNX, TorchScript or torch.export; or the URL of a model on servers that
            speak KServe v2, as NVIDIA Triton: grpc://HOST:PORT[,HOST:PORT...]/MODEL, grpcs:// with TLS, whose
            calls wait for the answer.
        device: "cpu", or a GPU, "cuda:0": columns then lie there, and calls are enqueued.
        columns: the names that your data has, in the order of the model's columns, or a dict
            {name in the data: name of the model}. Of TorchScript and torch.export, which do not state their
            columns: those of each argument, {"features": ["pt", "eta"]}, or in the words of tensoa.compile,
            ["features=pt,eta", "charge=charge:int32"].
        outputs: of such a model its results in order, ["score"], or {"scores": ["signal", "background"]}.

        Of a URL, as remote::Options in C++, with times in seconds:
        fallback: a model file that runs where no server answers: the one that the servers have.
        deadline: of a call with all its attempts (10). attempt_deadline: of one attempt (4).
        load_deadline: of loading (10). attempts: the most of one call (10).
        lookup_period: how often names of the URL are looked up again (30; 0: once).
        checksum: SHA-256 that the model file of the servers must have.
        on_new_version: where no server has the model any more that was loaded: "stay" (the fallback runs, else
            calls fail), "fail", "follow" (calls go on with the new one).
        message_limit: bytes of a request, and of a reply.
        ca_file, certificate_file, key_file, token_file: for grpcs://. headers: sent with each call.

        Raises LoadError, DeviceError, ConfigError; ServiceError where no server answers.
        """

    @property
    def path(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def inputs(self) -> tuple[Block, ...]:
        """The blocks that a call reads."""

    @property
    def outputs(self) -> tuple[Block, ...]:
        """The blocks that a call returns."""

    @property
    def rows_are_independent(self) -> bool | None:
        """
        Whether rows may be given in other calls than they were; None where it is not known.
        """

    @property
    def last_copies(self) -> Copies | None:
        """Bytes that the last call of this thread copied; None before the first."""

    def __repr__(self) -> str: ...
    def __getstate__(self) -> tuple[str, str, list[str], list[str], str, dict]:
        """Raises LoadError where the file is no longer the one that was loaded."""

    def __setstate__(self, arg: tuple[str, str, Sequence[str], Sequence[str], str, dict], /) -> None: ...
