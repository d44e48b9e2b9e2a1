# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""A model in the form of coffea.ml_tools, for processors that are written for torch_wrapper, xgboost_wrapper and the others.

    class tagger(tensoa.coffea.tensoa_wrapper):
        def prepare_awkward(self, jets):
            return (jets,), {}

    scores = tagger("tagger.pt2")(events.Jet).score

coffea itself is not needed: tensoa.Model accepts the arrays of NanoEvents, virtual ones and those of dask-awkward, too.
"""

import os
from collections.abc import Sequence
from typing import Any

from tensoa import Model


class tensoa_wrapper:
    """Pickles as tensoa.Model does: by path and SHA-256.

    path, device, columns, options (outputs= and the others): as of tensoa.Model
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        device: str = "cpu",
        columns: Sequence[str] | dict[str, str] | dict[str, Sequence[str]] | None = None,
        **options: Any,
    ) -> None:
        self.model = Model(path, device, columns, **options)

    def prepare_awkward(self, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional, named) arguments of the model, from those of a call. Nothing has to be padded or made flat."""
        return args, kwargs

    def postprocess_awkward(self, return_array: Any, *args: Any, **kwargs: Any) -> Any:
        """The result of a call, from the answers of the model, which are in the lists of its arguments."""
        return return_array

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given, named = self.prepare_awkward(*args, **kwargs)
        return self.postprocess_awkward(self.model(*given, **named), *args, **kwargs)
