#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the steps of `make nightly` one after another, also after one that fails, prints a table, and writes it to
# benchmarks/results/nightly.txt, which is checked in. What a step printed is in build-nightly/STEP.log.
#
#   scripts/nightly.sh [STEP...]      only these steps; the rows of the others stay as they are
#
# NIGHTLY_COMMIT=1a2b3c4: the commit, in a copy of its files on another machine.
#
# Exit status 1 when a step failed.
set -euo pipefail
cd "$(dirname "$0")/.."

all=(test asan tsan clang tidy newest-torch install-check wheel empty-machine binaries compilers fuzz fuzz-programs fuzz-graphs fuzz-packages fuzz-infer fuzz-scripts fuzz-columns soak soak-service bench width docs)
logs=build-nightly
table=benchmarks/results/nightly.txt
((!$#)) || for step; do
  [[ " ${all[*]} " == *" $step "* ]] || { echo "nightly: no step $step; there are: ${all[*]}" >&2; exit 2; }
done
mkdir -p "$logs"

# "1a2b3c4", or "1a2b3c4+" where tracked files were changed since.
commit=${NIGHTLY_COMMIT:-$(git rev-parse --short HEAD)}
[[ -n ${NIGHTLY_COMMIT:-} ]] || git diff --quiet HEAD -- . ":!$table" || commit+=+
machine="$(nproc) x $(sed -n '/^model name/{s/^[^:]*: //p;q}' /proc/cpuinfo | cut -c -30)"

# The line that says how a step ended: that of ctest or of the soak, else its last one.
closing_line() {
  { grep -aE '% tests passed|^soak: ' "$1" || grep -avE '^ *$|^\[  SKIPPED ' "$1" || echo "it said nothing"; } | tail -n 1 | cut -c -100
}

# Old rows with new ones in their places.
row_of() {
  grep -hE "^$1 +[0-9]{4}-" "$logs/rows" "$logs/before" | head -n 1 || true
}

row='%-13s %-11s %-9s %-7s %8s  %-35s %s\n'
: >"$logs/rows"
cat "$table" >"$logs/before" 2>/dev/null || true

# Again after each step, because the next one may take hours.
write_table() {
  {
    echo "What each step of \`make nightly\` said when it ran last; written by scripts/nightly.sh. A step is \`make STEP\`;"
    echo "asan draws its layouts from the date: CMAKE_ARGS=-DTENSOA_TEST_SEED=YYYYMMDD. \"+\": with changes on top of the commit."
    echo "Machines: cores and CPU; no step uses a GPU."
    echo
    # shellcheck disable=SC2059
    printf "$row" step date commit result seconds machine said
    for step in "${all[@]}"; do row_of "$step"; done
  } >"$logs/table"
  cp "$logs/table" "$table"
}

status=0
for step in "${@:-${all[@]}}"; do
  date=$(date -u +%F)
  arguments=()
  [[ $step != asan ]] || arguments=("CMAKE_ARGS=-DTENSOA_TEST_SEED=${date//-/} ${CMAKE_ARGS:-}")
  echo "== make $step (log: $logs/$step.log)"
  result=passed
  SECONDS=0
  "${MAKE:-make}" --no-print-directory "$step" "${arguments[@]}" >"$logs/$step.log" 2>&1 </dev/null || { result=FAILED; status=1; }
  ! closing_line "$logs/$step.log" | grep -q 'left out' || result="left out"
  # shellcheck disable=SC2059
  printf "$row" "$step" "$date" "$commit" "$result" "$SECONDS" "$machine" "$(closing_line "$logs/$step.log")" | tee -a "$logs/rows"
  write_table
done
echo
cat "$table"
exit $status
