# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Models on columns where they lie: tensoa.Model runs them; the compiler makes packages of them; importers, the tracking
application, and trained models.
"""

import os
from importlib.machinery import EXTENSION_SUFFIXES

from tensoa.errors import (
    BindingError,
    ConfigError,
    DeviceError,
    DeviceFullError,
    DeviceLostError,
    EngineError,
    Error,
    InputError,
    LoadError,
    OutputError,
    ServiceError,
)

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from tensoa._runtime import Block, Copies, Model, inspect
    from tensoa._runtime import read_trees as read_trees
    from tensoa.checking import check as check
    from tensoa.compiling import compile as compile

    __version__: str

__all__ = [
    "BindingError",
    "Block",
    "ConfigError",
    "Copies",
    "DeviceError",
    "DeviceFullError",
    "DeviceLostError",
    "EngineError",
    "Error",
    "InputError",
    "LoadError",
    "Model",
    "OutputError",
    "ServiceError",
    "__version__",
    "check",
    "get_cmake_dir",
    "get_include",
    "inspect",
]

_OF_RUNTIME = ("Block", "Copies", "Model", "__version__", "inspect", "read_trees")

# In a checkout the compiled part is where it was built; where tensoa is installed it lies here.
_BUILD = os.environ.get("TENSOA_BUILD") or os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "build")
_BUILT = os.path.normpath(os.path.join(_BUILD, "python", "tensoa"))
if os.path.isdir(_BUILT):
    __path__.append(_BUILT)


# Files that are installed with it: by pip in its own folder, by cmake --install above share/tensoa/python/tensoa.
_HERE = os.path.dirname(os.path.realpath(__file__))
_SHARE = os.path.join("share", "tensoa", "python", "tensoa")
_PREFIX = _HERE.removesuffix(_SHARE)


def get_include() -> str:
    """The folder of the C++ headers, of an installed tensoa."""
    return _installed("include")


def get_cmake_dir() -> str:
    """The folder of tensoa-config.cmake, for CMAKE_PREFIX_PATH or tensoa_DIR; of an installed tensoa."""
    return _installed("lib/cmake/tensoa", "lib64/cmake/tensoa", "lib/*/cmake/tensoa")


def _installed(*patterns: str) -> str:
    import glob

    for pattern in patterns:
        for found in glob.iglob(os.path.join(glob.escape(_PREFIX), pattern)):
            return found
    raise ConfigError(
        f"{os.path.join(_PREFIX, patterns[0])}: is not there: this tensoa is not installed; pip install . or cmake --install"
        " brings what is for C++"
    )


def __getattr__(name: str) -> object:
    """Imports compiled names, and those that need torch, at their first use: importing tensoa stays light."""
    if name == "compile":
        try:
            from tensoa.compiling import compile
        except ModuleNotFoundError as error:
            raise AttributeError(f"tensoa.compile needs the package {error.name}, which is not installed") from error
        return compile
    if name == "check":
        from tensoa.checking import check

        return check
    if name not in _OF_RUNTIME:
        raise AttributeError(f"module 'tensoa' has no attribute {name!r}")
    try:
        from tensoa import _runtime
    except ImportError as error:
        if any(os.path.exists(os.path.join(folder, "_runtime" + end)) for folder in __path__ for end in EXTENSION_SUFFIXES):
            raise  # it is there
        raise ImportError(
            f"tensoa.{name}: the run time is not built; build the target tensoa_python (cmake --build build), or set "
            f"TENSOA_BUILD to the folder of a build; looked in {', '.join(__path__)}"
        ) from error
    for each in _OF_RUNTIME:
        globals()[each] = getattr(_runtime, each)
    return globals()[name]
