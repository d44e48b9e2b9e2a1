# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Ensembles of decision trees, whatever framework trained them: forest/include/tensoa/forest/ensemble.hpp in Python."""

from tensoa.forest.ensemble import Ensemble, Link, Missing, Test, require_whole
from tensoa.forest.evaluate import answers, linked, margins
from tensoa.forest.file import from_bytes, to_bytes

__all__ = ["Ensemble", "Link", "Missing", "Test", "answers", "from_bytes", "linked", "margins", "require_whole", "to_bytes"]
