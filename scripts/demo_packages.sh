#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the networks of `make demo` ahead of time, into build/models/NAME.pt2: for the GPU where torch and the program have
# one, else for the CPU. A package is made again only where what goes into it has changed: weights, columns, exporter, torch,
# processor. NAME.pt2.made_from holds the checksum of all that.
#
#   scripts/demo_packages.sh [EXATRKX_WEIGHTS]
#
# TENSOA_BUILD=DIR is another build folder than build/, TENSOA_TARGET=cpu another target than what is here.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
build=${TENSOA_BUILD:-build}
folder=$build/models
read -r target torch < <($python -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu", torch.__version__)')
grep -q '^TENSOA_DEVICE:.*=none' $build/CMakeCache.txt && target=cpu
target=${TENSOA_TARGET:-$target}

# make_package NAME WEIGHTS MODULE [DESCRIBE OPTION...]: MODULE is the Python module that exports these weights.
make_package() {
  local package=$folder/$1.pt2 binding=$folder/$1.binding.json weights=$2 module=$3 before key
  $build/tensoa describe "${@:4}" --output "$binding"
  key=$({
    echo "$module $target $torch"
    grep -m1 -E '^(flags|Features)' /proc/cpuinfo || true
    [[ $target == cpu ]] || nvidia-smi --query-gpu=name --format=csv,noheader
    sha256sum <"$weights"
    sha256sum <"$binding"
    find python/tensoa -name '*.py' -o -name '*.hpp' -o -name '*.cuh' | sort | xargs cat
  } | sha256sum | cut -d ' ' -f 1)
  before=$(cat "$package.made_from" 2>/dev/null || true)
  [[ -f $package && $before == "$key" ]] && return
  echo "compiling $package for the $target, ahead of time (once, up to a minute)"
  rm -f "$package.made_from"
  $python -m "tensoa.$module" "$weights" --binding "$binding" --target "$target" --out "$package"
  echo "$key" >"$package.made_from"
}

mkdir -p "$folder"
make_package tensoa models/interaction_network.safetensors export
cp models/interaction_network.graph.json $folder/tensoa.graph.json
make_package merge models/fragment_network.safetensors export --of fragments
if [[ -n ${1:-} ]]; then
  make_package exatrkx "$1" importers.exatrkx --without-edge-columns
fi
