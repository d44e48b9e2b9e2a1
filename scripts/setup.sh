#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the build needs: system packages (Debian, Ubuntu) and .venv with the wheels of python/requirements.txt.
# Does nothing, in a fraction of a second, where all is there.
#
#   scripts/setup.sh [--dev]      --dev adds clang with its sanitizers, clang-format, clang-tidy, codespell and Eigen (for tests),
#                                 hipcc, and Doxygen with its theme (for `make docs`)
#
# TORCH_VERSION=2.12.0 takes another torch than requirements.txt says, TORCH_VERSION=newest the newest one; TENSOA_VENV=DIR
# another folder than .venv. TENSOA_NO_APT=1 leaves the system packages alone.
# Exit status 2: something is missing and cannot be installed from here; the message says what and how.
set -euo pipefail
cd "$(dirname "$0")/.."

needed=(g++ cmake make python3-venv python3-dev libcli11-dev libfmt-dev nlohmann-json3-dev libtbb-dev libgtest-dev
        libgmock-dev libbenchmark-dev libgrpc++-dev)
quicker=(ninja-build ccache)
if [[ ${1:-} == --dev ]]; then
  needed+=(codespell clang-16 clang-format-16 clang-tidy-16 libclang-rt-16-dev libeigen3-dev hipcc libamdhip64-dev
           doxygen doxygen-awesome-css)
fi

missing_of() {
  local package installed
  installed=" $(dpkg-query -W -f='${Package}:${db:Status-Status} ' "$@" 2>/dev/null || true)"
  for package in "$@"; do
    [[ $installed == *" $package:installed "* ]] || printf '%s ' "$package"
  done
}

install_packages() {
  local as_root=() missing
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: no dpkg here; make sure that these, or what they hold, are installed: ${needed[*]} ${quicker[*]}"
    return
  fi
  read -ra missing <<<"$(missing_of "${needed[@]}" "${quicker[@]}")"
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
      read -ra missing <<<"$(missing_of "${needed[@]}")"
      ((${#missing[@]})) || return 0
      {
        echo "setup: system packages are missing, and this user may not install them:"
        printf '  %s\n' "${missing[@]}"
        echo "Install them and start again:"
        echo "  sudo apt-get install -y --no-install-recommends ${missing[*]} ${quicker[*]}"
      } >&2
      exit 2
    fi
    as_root=(sudo -n)
  fi
  echo "setup: installing ${missing[*]}"
  local log
  log=$(mktemp)
  # A list that cannot be refreshed may still do.
  "${as_root[@]}" apt-get update -q >"$log" 2>&1 </dev/null || true
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -q -y --no-install-recommends -o APT::Keep-Downloaded-Packages=false "${missing[@]}" >>"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    echo "setup: apt-get could not install the packages; the whole log: $log" >&2
    exit 2
  fi
  rm -f "$log"
}

# The first python3 of PATH that can make a .venv and install into it: one built by hand often lacks ssl, or ensurepip.
usable_python() {
  local python
  while read -r python; do
    if "$python" -c 'import ensurepip, ssl, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done < <(type -ap python3)
  {
    echo "setup: no python3 here can make .venv; it must be 3.10 or newer, with the modules ensurepip, ssl and venv. Looked at:"
    type -ap python3 | sed 's|^|  |' || true
    echo "Install Debian's, and start again: sudo apt-get install -y python3-venv"
  } >&2
  exit 2
}

install_wheels() {
  local requirements venv=${TENSOA_VENV:-.venv} stamp torch=${TORCH_VERSION:-}
  stamp=$venv/tensoa-requirements.txt
  requirements=$(grep -v '^#' python/requirements.txt)
  if [[ $torch == newest ]]; then
    requirements=$(sed 's/^torch==.*/torch/' <<<"$requirements")
  elif [[ -n $torch ]]; then
    requirements=$(sed "s/^torch==.*/torch==$torch/" <<<"$requirements")
  fi
  # Which one is the newest, only pip can tell.
  if [[ $torch != newest && -x $venv/bin/python && -f $stamp && $(<"$stamp") == "$requirements" ]]; then
    return
  fi
  if [[ ! -x $venv/bin/python ]]; then
    local python
    python=$(usable_python)
    "$python" -m venv "$venv"
  fi
  local options=(--disable-pip-version-check)
  [[ -t 1 ]] || options+=(-q)
  [[ $torch != newest ]] || options+=(--upgrade)
  echo "setup: installing Python packages into $venv (torch is large: this takes some minutes)"
  if ! "$venv/bin/python" -m pip install "${options[@]}" -r /dev/stdin <<<"$requirements"; then
    echo "setup: pip could not install the packages of python/requirements.txt into $venv" >&2
    exit 2
  fi
  # `$venv/bin/python -m tensoa.NAME` works from any folder.
  echo "$PWD/python" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tensoa.pth"
  echo "$requirements" >"$stamp"
}

[[ -n ${TENSOA_NO_APT:-} ]] || install_packages
install_wheels
