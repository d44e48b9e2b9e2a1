/* SPDX-FileCopyrightText: 2026 The tensoa authors */
/* SPDX-License-Identifier: Apache-2.0 */

/* The first program in C: runs network.pt2, which 01_first_program.py writes, on three columns of four rows.
 *
 *     cc 01_first_program.c -ltensoa -o first && ./first network.pt2
 *
 * Prints:
 *
 *     score = 20.5
 *     score = 22.5
 *     score = 24.5
 *     score = 26.5
 *     bytes copied: 0 in, 0 out
 */
#include <stdio.h>
#include <tensoa.h>

enum { kRows = 4 };

static int failed(void) {
  fprintf(stderr, "%s\n", tensoa_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "network.pt2";
  // [call]
  float point[3][kRows] = {
      {0, 1, 2, 3}, {10, 10, 10, 10}, {-1, -1, -1, -1}}; /* x, y, z: columns of one array */
  float score[kRows];
  size_t bytes_in, bytes_out;
  tensoa_model* model;
  tensoa_call* call;
  if (tensoa_load(path, "cpu", &model) || tensoa_new_call(model, NULL, &call)) return failed();
  if (tensoa_bind(call, "x", point[0], TENSOA_F32, sizeof(float), kRows) ||
      tensoa_bind(call, "y", point[1], TENSOA_F32, sizeof(float), kRows) ||
      tensoa_bind(call, "z", point[2], TENSOA_F32, sizeof(float), kRows) ||
      tensoa_bind(call, "score", score, TENSOA_F32, sizeof(float), kRows)) {
    return failed();
  }
  if (tensoa_run(call)) return failed(); /* again for each event, after other columns are bound */
  for (int i = 0; i < kRows; ++i) printf("score = %g\n", score[i]);
  if (tensoa_last_copies(call, &bytes_in, &bytes_out)) return failed();
  printf("bytes copied: %zu in, %zu out\n", bytes_in, bytes_out);
  tensoa_free_call(call);
  tensoa_free_model(model);
  // [/call]
  return 0;
}
