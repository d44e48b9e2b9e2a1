#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# check_symbols.sh LIBRARY HEADER: libtensoa.so shows the functions of tensoa.h and nothing else, each with the version of the ABI.
set -euo pipefail
declared=$(grep -oE '\b(tensoa_[a-z_]+)\(' "$2" | tr -d '(' | sort -u |
  grep -vxE 'tensoa_load') # an inline function
shown=$(nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }' | sort -u)
diff <(sed 's/$/@@TENSOA_1/' <<<"$declared") - <<<"$shown" >&2 ||
  { echo "the functions of $2 (<) are not those of $1 (>)" >&2; exit 1; }
! nm -D --defined-only "$1" | awk '$2 !~ /[TA]/' | grep . >&2
