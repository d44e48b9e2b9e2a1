#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs tensoa into a fresh prefix, then builds and runs tests/install/ against it with find_package, and against the source
# tree with add_subdirectory.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build-release
prefix=$PWD/$build/prefix
rm -rf "$prefix"
cmake --preset release >/dev/null
cmake --build "$build"
cmake --install "$build" --prefix "$prefix" >/dev/null

for way in find_package add_subdirectory; do
  echo "install-check: $way"
  outside=$build/outside-$way
  rm -rf "$outside"
  cmake -S tests/install -B "$outside" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DWAY=$way >/dev/null
  cmake --build "$outside"
  "$outside/outside"
done
"$prefix/bin/tensoa" --version
