#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# The installed headers with each g++ from 12 and each clang++ from 14 on that is here, and with the newest clang of PyPI (ziglang, with
# its own C++ library), as C++20 and C++23: all public headers compile without a warning, and programs outside of the tree are built and run.
# Needs `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/build-compilers
rm -rf "$folder"
mkdir "$folder"
cmake --install build --prefix "$folder/prefix" >/dev/null
include=$folder/prefix/include
# accel/ needs alpaka; impl/ is included by others.
(cd "$include" && find tensoa -name '*.hpp' ! -path '*/impl/*' ! -path 'tensoa/accel/*' | sort | sed 's/.*/#include <&>/') >"$folder/headers.cpp"
echo "$(wc -l <"$folder/headers.cpp") headers"
package=build/examples/network.pt2

failed=0
# try NAME COMMAND...: a line with its end; what it printed is shown where it fails.
try() {
  if "${@:2}" >"$folder/log" 2>&1; then
    echo "$1: passed"
  else
    echo "$1: FAILED"
    head -n 40 "$folder/log"
    failed=1
  fi
}

outside() { # COMPILER STANDARD; `try` reads its exit status, so that no line of it stops by itself
  local component at
  for component in tensoa files; do
    at=$folder/$(basename "$1")-$2-$component
    cmake -S tests/install -B "$at" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_COMPILER="$1" -DCMAKE_CXX_STANDARD="$2" \
      -DWAY=component -DCOMPONENT=$component && cmake --build "$at" || return
  done
  "${at%files}tensoa/outside" --describe "$folder/binding.json" &&
    scripts/check_example.py examples/05_just_in_time.cpp "${at%files}tensoa/torchscript" build/examples/linear.pt &&
    scripts/check_example.py examples/03_files.cpp "$at/outside" examples/points.csv "$folder/scores.csv" $package
}

count=0
for compiler in $(compgen -c | grep -E '^(g\+\+-(1[2-9]|[2-9][0-9])|clang\+\+-(1[4-9]|[2-9][0-9]))$' | sort -uV); do
  for standard in 20 23; do
    [[ $compiler != clang++-1[45] || $standard == 20 ]] || continue # their C++23 is not that of g++ 12's library
    try "$compiler, C++$standard, headers" "$compiler" -std="c++${standard/23/2b}" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$include" "$folder/headers.cpp"
    try "$compiler, C++$standard, programs" outside "$(command -v "$compiler")" $standard
    count=$((count + 1))
  done
done
if .venv/bin/python -m pip install -q --target "$folder/zig" ziglang >"$folder/log" 2>&1; then
  version=$("$folder"/zig/ziglang/zig c++ --version | head -n 1)
  for standard in 20 23; do
    try "$version of PyPI, C++$standard, headers" "$folder/zig/ziglang/zig" c++ -std=c++$standard -Wall -Wextra -Werror -c -I"$include" "$folder/headers.cpp" -o "$folder/zig.o"
    count=$((count + 1))
  done
else
  echo "ziglang could not be installed: $(tail -n 1 "$folder/log")"
fi
((!failed)) || { echo "compilers: some failed"; exit 1; }
echo "compilers: $count pairs of compiler and standard passed"
