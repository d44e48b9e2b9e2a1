#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks what no compiler checks: the two licence lines, file sizes, paths of one machine. Exit status 1 on a finding.
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
  (($(stat -c %s "$file") <= 1000000)) || finding "$file: larger than 1 MB"
done < <(git ls-files --cached --others --exclude-standard)

exit $status
