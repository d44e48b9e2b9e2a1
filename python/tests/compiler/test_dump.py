# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The dumps of docs/compiler.md are those of the compiler."""

import small_model


def test_the_dumps_of_the_page_are_those_of_the_compiler():
    assert small_model.text() == small_model.TEXT.read_text(), "run python/tests/compiler/small_model.py"
