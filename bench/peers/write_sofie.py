# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Writes SOFIE's code of OUT/mlp_N.onnx and OUT/sofie.cpp, functions around each: write_sofie.py OUT"""

import sys
from pathlib import Path

import sofie.onnx

ROWS = (1, 16, 1000, 100_000, 1_000_000)

# SOFIE calls the Fortran BLAS; the wheel of OpenBLAS has a prefix before its names.
HEAD = """// Written by write_sofie.py.
#define sgemm_ scipy_sgemm_
#define sgemv_ scipy_sgemv_
"""
FUNCTION = """
extern "C" void* sofie_mlp_{rows}_open() {{ return new SOFIE_mlp_{rows}::Session("{out}/mlp_{rows}.dat"); }}
extern "C" void sofie_mlp_{rows}(void* session, const float* in, float* out) {{
  doInfer(*static_cast<SOFIE_mlp_{rows}::Session*>(session), in, out);
}}
"""


def main(out):
    text = HEAD
    functions = ""
    for rows in ROWS:
        model = sofie.onnx.parse(str(out / f"mlp_{rows}.onnx"))
        model.generate()
        header = out / f"mlp_{rows}.hxx"
        model.output_generated(str(header))
        text += f'#include "{header.name}"\n'
        functions += FUNCTION.format(rows=rows, out=out)
    (out / "sofie.cpp").write_text(text + functions)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
