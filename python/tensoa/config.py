# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The command tensoa-config: where an installed tensoa has what C++ needs."""

import argparse

import tensoa
from tensoa.errors import Error


def main() -> None:
    """Prints the values that the options select, each on a line."""
    parser = argparse.ArgumentParser(prog="tensoa-config", description="Where an installed tensoa has what C++ needs.")
    asked = {
        "--version": ("of tensoa", lambda: tensoa.__version__),
        "--includedir": ("the folder of the headers", tensoa.get_include),
        "--cmakedir": ("the folder of tensoa-config.cmake, for CMAKE_PREFIX_PATH", tensoa.get_cmake_dir),
    }
    for option, (help_text, _) in asked.items():
        parser.add_argument(option, action="store_true", help=help_text)
    given = vars(parser.parse_args())
    if not any(given.values()):
        parser.error(f"expected one of {', '.join(asked)}")
    try:
        for option, (_, value) in asked.items():
            if given[option[2:]]:
                print(value())
    except Error as error:
        parser.exit(2, f"tensoa-config: {error}\n")
