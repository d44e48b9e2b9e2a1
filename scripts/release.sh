#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes what a release consists of, in build-dist/release/: the sources, the wheel, the tarball and the Debian package of `make dist`, and their
# SHA-256. All times are that of the commit. It is made in a clone in /tmp/tensoa-release: nvcc names what headers of CUDA have in anonymous
# namespaces after the path of the file that it compiles, so the bytes are the same where the path is.
#
#   scripts/release.sh            of the commit of this checkout, which must have no changes
#   scripts/release.sh --twice    twice, without a compiler cache, and compares; build-dist/release-twice/ has both
#
# WHEEL_PYTHONS="python3.13 ..." also makes the wheels of these.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "release: $1" >&2
  exit 1
}

clone=/tmp/tensoa-release
commit=$(git rev-parse HEAD)  # of both builds, whatever is committed meanwhile
changes=$(git status --porcelain)
[[ -z $changes ]] || fail "a release is that of a commit, and these files are changed or not in it:"$'\n'"$changes"

# The files of a release, in build-dist/release/ of the clone that is the working folder.
make_files() {
  local version folder=$PWD/build-dist/release
  version=$(sed -n 's/.*kVersion = "\(.*\)".*/\1/p' core/include/tensoa/core/version.hpp)
  mkdir -p "$folder"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  export CXXFLAGS="-ffile-prefix-map=$PWD=."
  export CFLAGS=$CXXFLAGS CUDAFLAGS=$CXXFLAGS
  umask 022

  git archive --prefix="tensoa-$version/" HEAD | gzip -n9 >"$folder/tensoa-$version.tar.gz"
  for python in .venv/bin/python ${WHEEL_PYTHONS:-}; do
    WHEEL_PYTHON=$python scripts/wheel_check.sh
    cp build-wheel/dist/tensoa-*.whl "$folder/"
  done
  PYTHONPATH=$PWD/python make --no-print-directory dist
  cp build-dist/packages/*.tar.gz build-dist/packages/*.deb "$folder/"
  require_no_path "$folder"
  cd "$folder"
  sha256sum -- * >"$folder.sums"
  mv "$folder.sums" SHA256SUMS
}

# Nothing that is built may name the folder where it was.
require_no_path() {
  local file unpacked named
  unpacked=$(mktemp -d)
  for file in "$1"/*.whl; do python3 -m zipfile -e "$file" "$unpacked"; done
  for file in build-dist/packages/*.tar.gz; do tar -xzf "$file" -C "$unpacked"; done
  named=$(grep -rlF --exclude='*.md' -- "$clone" "$unpacked" || true)
  rm -rf "$unpacked"
  [[ -z $named ]] || fail "these files name the folder where they were built, $clone:"$'\n'"$named"
}

# release FOLDER: makes it in the clone, and brings it to FOLDER.
release() {
  mkdir "$clone" || fail "$clone is there: another release is being made, or one was broken off; remove it then"
  trap 'rm -rf "$clone"' EXIT
  rm -rf "$1"
  git clone -q . "$clone"
  git -C "$clone" checkout -q --detach "$commit"
  ln -s "$PWD/.venv" "$clone/.venv"
  (cd "$clone"; make_files)
  mkdir -p "$(dirname "$1")"
  mv "$clone/build-dist/release" "$1"
  rm -rf "$clone"
}

if [[ ${1:-} == --twice ]]; then
  export CCACHE_DISABLE=1
  release build-dist/release-twice/first
  release build-dist/release-twice/second
  diff build-dist/release-twice/{first,second}/SHA256SUMS || fail "two builds of one commit differ in the files above"
  echo "release: two builds of ${commit::8} have the same bytes"
else
  release build-dist/release
  cat build-dist/release/SHA256SUMS
fi
