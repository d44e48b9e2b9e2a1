#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks what no compiler checks: the two licence lines, file sizes, nothing of ours in a namespace called torch or alpaka.
# Exit status 1 on a finding.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
finding() {
  echo "$1" >&2
  status=1
}

while IFS= read -r file; do
  [[ -f $file ]] || continue
  case $file in
    *.cpp | *.hpp | *.ipp | *.cu | *.py | *.cmake | *.sh | *CMakeLists.txt | Makefile | .ci/run)
      # A script's first line may be its interpreter.
      head -n 3 "$file" | grep -q 'SPDX-FileCopyrightText: 2026 The tensoa authors' &&
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
        finding "$file: the two SPDX lines are missing"
      ;;
  esac
  case $file in
    examples/02_namespace/main.cpp | tests/pytorch/test_namespace.cpp) ;; # they define an alias of that name
    *.cpp | *.hpp | *.ipp | *.cu)
      # All code would have to write ::torch:: and ::alpaka::.
      ! grep -nE '^\s*(inline )?namespace +(\w+::)*(torch|alpaka)\b' "$file" >&2 ||
        finding "$file: a namespace called torch or alpaka; those names belong to the libraries"
      ;;
  esac
  (($(stat -c %s "$file") <= 1000000)) || finding "$file: larger than 1 MB"
done < <(git ls-files --cached --others --exclude-standard)

exit $status
