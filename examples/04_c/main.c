/* SPDX-FileCopyrightText: 2026 The tensoa authors */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tensoa.h>

/* 04_c MODEL.pt2: the model of 01_snippet from C. */

enum { kRows = 3 };

static int failed(void) {
  fprintf(stderr, "04_c: %s\n", tensoa_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // [snippet]
  float x[kRows] = {100, 101, 102}, y[kRows] = {100, 101, 102}, z[kRows] = {100, 101, 102};
  float m[kRows], n[kRows];
  tensoa_model* model;
  tensoa_call* call;
  if (tensoa_load(argv[1], "cpu", &model)) return failed();
  if (tensoa_new_call(model, NULL, &call)) return failed();
  if (tensoa_bind(call, "x", x, TENSOA_F32, sizeof *x, kRows) || tensoa_bind(call, "y", y, TENSOA_F32, sizeof *y, kRows) ||
      tensoa_bind(call, "z", z, TENSOA_F32, sizeof *z, kRows) || tensoa_bind(call, "m", m, TENSOA_F32, sizeof *m, kRows) ||
      tensoa_bind(call, "n", n, TENSOA_F32, sizeof *n, kRows)) {
    return failed();
  }
  if (tensoa_run(call)) return failed(); /* again for each event, after other columns are bound */
  for (int i = 0; i < kRows; ++i) printf("m = %g, n = %g\n", m[i], n[i]);
  tensoa_free_call(call);
  tensoa_free_model(model);
  // [/snippet]
  return 0;
}
