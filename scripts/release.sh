#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes what a release consists of, in build-release/: the sources, the wheel, the tarball and the Debian package of `make dist`, and their
# SHA-256. All times are that of the commit, and no path is in a binary. What is not the same bytes in two folders are the objects of nvcc,
# which names anonymous namespaces after the path of their file.
#
#   scripts/release.sh            from this checkout, which must have no changes
#   scripts/release.sh --twice    in two fresh clones without a compiler cache, and compares; build-release-twice/ has both
#
# WHEEL_PYTHONS="python3.13 ..." also makes the wheels of these.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "release: $1" >&2
  exit 1
}

changes=$(git status --porcelain)
[[ -z $changes ]] || fail "a release is that of a commit, and these files are changed or not in it:"$'\n'"$changes"

if [[ ${1:-} == --twice ]]; then
  folder=$PWD/build-release-twice
  rm -rf "$folder"
  # Folders of other lengths, so that a path in a binary shows.
  for clone in "$folder/first" "$folder/a_second_one"; do
    git clone -q . "$clone"
    ln -s "$PWD/.venv" "$clone/.venv"
    (cd "$clone" && CCACHE_DISABLE=1 scripts/release.sh)
  done
  diff "$folder"/{first,a_second_one}/build-release/SHA256SUMS || fail "two builds of one commit differ in the files above"
  echo "release: two builds of $(git rev-parse --short HEAD) have the same bytes"
  exit
fi

version=$(sed -n 's/.*kVersion = "\(.*\)".*/\1/p' core/include/tensoa/core/version.hpp)
folder=$PWD/build-release
rm -rf "$folder"
mkdir "$folder"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
export CXXFLAGS="-ffile-prefix-map=$PWD=."
export CFLAGS=$CXXFLAGS CUDAFLAGS=$CXXFLAGS
umask 022

git archive --prefix="tensoa-$version/" HEAD | gzip -n9 >"$folder/tensoa-$version.tar.gz"
for python in .venv/bin/python ${WHEEL_PYTHONS:-}; do
  WHEEL_PYTHON=$python WHEEL_TORCH=no scripts/wheel_check.sh
  cp build-wheel/dist/tensoa-*.whl "$folder/"
done
PYTHONPATH=$PWD/python make --no-print-directory dist
cp build-dist/packages/*.tar.gz build-dist/packages/*.deb "$folder/"
cd "$folder"
sums=$(sha256sum -- *)
tee SHA256SUMS <<<"$sums"
