#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs build/ and a build without torch into fresh prefixes, then builds and runs tests/install/ against them with find_package,
# whole and of each component, with <tensoa/tensoa.hpp>, and against the source tree with add_subdirectory. Exports with the
# installed exporter, and tracks with the installed model. Runs a fused package where there is no torch,
# and in an empty root. Prints the figures of the build without torch, and fails where one is above its limit.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "install-check: $1" >&2
  exit 1
}

# outside PREFIX WAY [CMAKE OPTION...]: the outside project, configured in build-outside/PREFIX-WAY.
outside() {
  echo "install-check: $1, ${*:2}"
  at=build-outside/$1-$2
  rm -rf "$at"
  cmake -S tests/install -B "$at" -G Ninja -DCMAKE_PREFIX_PATH="$PWD/build-outside/$1" -DWAY="$2" "${@:3}" >build-outside/message
}

# fastest COMMAND...: the milliseconds of the fastest of 20 runs.
fastest() {
  .venv/bin/python - "$@" <<'P'
import subprocess, sys, time
def once():
    start = time.perf_counter()
    subprocess.run(sys.argv[1:], check=True, capture_output=True)
    return 1e3 * (time.perf_counter() - start)
print(round(min(once() for _ in range(20))))
P
}

rm -rf build-outside
mkdir build-outside

# What is not built is named before anything is installed.
cmake --preset release -B build-outside/nothing -DTENSOA_PYTORCH=OFF >/dev/null
if cmake --install build-outside/nothing --prefix "$PWD/build-outside/none" >/dev/null 2>build-outside/message; then
  fail "a build of nothing was installed"
fi
grep -q -- "--target tensoa_installed" build-outside/message || fail "the message for a build of nothing is $(<build-outside/message)"
[[ ! -e build-outside/none ]] || fail "a build of nothing left files"

cmake --install build --prefix "$PWD/build-outside/torch" >/dev/null
build-outside/torch/bin/tensoa --version
[[ -f build-outside/torch/share/doc/tensoa/LICENSE ]] || fail "no LICENSE is installed"
if compgen -G 'build/python/tensoa/_runtime*.so' >/dev/null; then
  PYTHONPATH=build-outside/torch/share/tensoa/python .venv/bin/python -c 'import os, tensoa, tensoa.program
tensoa.Model
folders = tensoa.get_include(), tensoa.get_cmake_dir(), tensoa.program.find()[0]
prefix = os.path.realpath("build-outside/torch")
assert all(os.path.exists(folder) and folder.startswith(prefix) for folder in folders), folders'
fi
if [[ -f build/models/tensoa.pt || -f build/models/tensoa.pt2 ]]; then
  build-outside/torch/bin/tensoa track generate:1:1:20  # with the model that is installed
fi
outside torch find_package
cmake --build "$at"
"$at/outside"
outside torch find_package -DTENSOA_TORCH_ROOT=/nowhere # where torch is not
grep -q "tensoa::pytorch is left out" build-outside/message || fail "find_package says nothing of tensoa::pytorch"
cmake --build "$at"
for component in core soa accel interop engine package forest onnx pytorch_at_need pytorch sched columnar events track merge remote c; do
  [[ $component != interop || -f build/interop/libtensoa_interop.a ]] || continue
  outside torch component -DCOMPONENT=$component
  cmake --build "$at"
  [[ $component == accel || $component == c ]] || "$at/umbrella"
done
scripts/check_example.py examples/01_first_program.c "$at/outside" build/examples/network.pt2 # of c, the last one
# tensoa::tensoa: a fused package needs little, TorchScript opens torch.
outside torch component -DCOMPONENT=tensoa -DCMAKE_BUILD_TYPE=Release
cmake --build "$at"
small=$at/outside
$small --describe build-outside/binding.json
PYTHONPATH=build-outside/torch/share/tensoa/python .venv/bin/python -m tensoa.export tests/install/model.py:factory --binding build-outside/binding.json --out build-outside/small.pt2
$small build-outside/small.pt2
! ldd "$small" "$at/torchscript" | grep -E '^\s*lib(torch|c10)' || fail "a program with tensoa::tensoa is linked with torch"
scripts/check_example.py examples/05_just_in_time.cpp "$at/torchscript" build/examples/linear.pt
# Where the program hides its names: an error, not a second tensoa next to the first.
(cd "$at" && eval "$(ninja -t commands torchscript | tail -n 1 | sed -E 's/"-Wl,--export-dynamic-symbol=[^ ]*"//g; s/-o torchscript/-o hidden/')")
! "$at/hidden" build/examples/linear.pt >/dev/null 2>build-outside/message || fail "libtensoa_torch.so was opened by a program without its names"
grep -q -- "-Wl,--export-dynamic" build-outside/message || fail "the message of a program without its names is $(<build-outside/message)"
strip -o build-outside/small "$small"
bytes=$(stat -c %s build-outside/small)
kilobytes=$(build-outside/small build-outside/small.pt2 | sed -nE 's/.*, ([0-9]+) kB of memory/\1/p')
small_milliseconds=$(fastest build-outside/small build-outside/small.pt2)
echo "install-check: a program with tensoa::tensoa has $bytes bytes (limit 5 MB), loads and runs a fused package in $small_milliseconds ms (limit 10) with" \
  "$kilobytes kB of memory (limit 10 MB), 0 libraries of torch"
((bytes <= 5000000 && kilobytes <= 10240 && small_milliseconds <= 10)) || fail "the small program is too large"
outside torch add_subdirectory -DTENSOA_COLUMNAR=ON -DTENSOA_REMOTE=ON "-DCOMPONENT=columnar;remote" # only configured
outside torch add_subdirectory -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON
cmake --build "$at"
"$at/outside"

# Without torch: what is installed, and an external program, run a fused package.
without=build-release-without-torch
[[ -f $without/build.ninja ]] || nothing=", from nothing"
started=$SECONDS
cmake --preset release -B $without -DTENSOA_PYTORCH=OFF >/dev/null
# As `make demo` builds: what is installed, and nothing else.
cmake --build $without --target tensoa_installed
seconds=$((SECONDS - started))
cmake --install $without --strip --prefix "$PWD/build-outside/none" >/dev/null
outside none find_package
cmake --build "$at"
"$at/outside"
outside none component -DCOMPONENT=package -DCMAKE_BUILD_TYPE=Release
cmake --build "$at"
program=$at/outside
package=build-outside/model.pt2
$program --describe build-outside/binding.json
PYTHONPATH=build-outside/none/share/tensoa/python .venv/bin/python -m tensoa.export tests/install/model.py:factory --binding build-outside/binding.json --out $package
$program $package
build-outside/none/bin/tensoa --version
build-outside/none/bin/tensoa inspect $package
build-outside/none/bin/tensoa check $package
scripts/empty_root.sh $program $package

# A separate project, by the commands of docs/cpp.md.
(
  prefix=$PWD/build-outside/none
  mkdir build-outside/my_program
  cp tests/install/first_program/CMakeLists.txt build-outside/my_program/
  cp examples/01_first_program.cpp build-outside/my_program/main.cpp
  cd build-outside/my_program
  # [cmake]
  cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build build
  # [/cmake]
  ../../scripts/check_example.py main.cpp build/my_program ../../build/examples/network.pt2
)

# C and Fortran, by the commands of docs/c.md.
(
  prefix=$PWD/build-outside/none
  cp examples/01_first_program.c build-outside/main.c
  cp examples/01_first_program.f90 build-outside/main.f90
  cd build-outside
  # [c]
  cc main.c -I"$prefix/include" -L"$prefix/lib" -ltensoa -Wl,-rpath,"$prefix/lib" -o c_program
  # [/c]
  ../scripts/check_example.py main.c ./c_program ../build/examples/network.pt2
  command -v gfortran >/dev/null || { echo "install-check: Fortran is left out, there is no gfortran"; exit 0; }
  # [fortran]
  gfortran "$prefix/include/tensoa.f90" main.f90 -L"$prefix/lib" -ltensoa -Wl,-rpath,"$prefix/lib" -o fortran_program
  # [/fortran]
  ../scripts/check_example.py main.f90 ./fortran_program ../build/examples/network.pt2
)

# The figures, and their limits. The exporter in share/ is not one of them.
for executable in $program build-outside/none/bin/tensoa; do
  ! ldd $executable | grep -E '^\s*lib(torch|c10)' || fail "$executable of a build without torch needs torch"
done
megabytes=$(du -s --block-size=1M --exclude=share build-outside/none | cut -f1)
milliseconds=$(fastest $program $package)
echo "install-check: without torch: configured and built in $seconds s${nothing:-} on $(nproc) cores," \
  "$megabytes MB installed (limit 33), 0 libraries of torch, a fused package loaded and run in $milliseconds ms (limit 30)"
((megabytes <= 33)) || fail "$megabytes MB are installed, expected 33 at most"
((milliseconds <= 30)) || fail "a program that loads and runs a fused package takes $milliseconds ms, expected 30 at most"
