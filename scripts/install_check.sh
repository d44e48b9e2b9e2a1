#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs tensoa into fresh prefixes, with and without torch, then builds and runs tests/install/ against them with find_package,
# whole and of one component, and against the source tree with add_subdirectory.
set -euo pipefail
cd "$(dirname "$0")/.."

# install BUILD [CMAKE OPTION...]: into BUILD/prefix.
install() {
  rm -rf "$1/prefix"
  cmake --preset release -B "$1" "${@:2}" >/dev/null
  cmake --build "$1"
  cmake --install "$1" --prefix "$PWD/$1/prefix" >/dev/null
}

# outside BUILD WAY: the outside project, built in BUILD/outside-WAY.
outside() {
  echo "install-check: $1, $2"
  rm -rf "$1/outside-$2"
  cmake -S tests/install -B "$1/outside-$2" -G Ninja -DCMAKE_PREFIX_PATH="$PWD/$1/prefix" -DWAY="$2" >/dev/null
  cmake --build "$1/outside-$2"
}

install build-release
for way in find_package add_subdirectory; do
  outside build-release $way
  build-release/outside-$way/outside
done
build-release/prefix/bin/tensoa --version

# Without torch: what is installed, and a program of somebody else's, run a fused package.
without=build-release-without-torch
install $without -DTENSOA_PYTORCH=OFF
outside $without find_package
$without/outside-find_package/outside
outside build-release component
outside $without component
program=$without/outside-component/outside
package=$without/model.pt2
$program --describe $without/binding.json
PYTHONPATH=python .venv/bin/python -m tensoa.export tests/install/model.py:factory --binding $without/binding.json --out $package
for executable in $program $without/prefix/bin/tensoa; do
  if ldd $executable | grep -iE 'torch|c10'; then
    echo "install-check: $executable of a build without torch needs torch" >&2
    exit 1
  fi
done
$program $package
$without/prefix/bin/tensoa --version
$without/prefix/bin/tensoa inspect $package
$without/prefix/bin/tensoa check $package
