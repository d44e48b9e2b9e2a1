# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Features of processors, by the names of /proc/cpuinfo."""

import re
from pathlib import Path

_V3 = "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split()
#: Features that code of a level of x86-64 may use; best first.
CPU_FLAGS = {"x86-64-v4": [*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"], "x86-64-v3": _V3}


def cpu_flags() -> set[str]:
    """The features of this processor."""
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return set(found.group(1).split()) if found else set()
