#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs what scripts/carry.sh collected, on a machine with GPUs, Python with torch and pyarrow, and g++; from the root of the tree.
#
#   scripts/on_gpu.sh FOLDER STEP...     each step writes FOLDER/STEP.log and its figures
#
#   packages   what the others need: the packages of `tensoa-bench forward` and `path`, and those of TorchInductor for the tests
#   compare    bench/compare.py: `tensoa-bench forward`, frameworks called from Python, trees; with the models and rows of `forest`, and
#              nvForest where its wheels are; then, at home, `bench/compare.py --from FOLDER`
#   forward    `tensoa-bench forward`
#   latency    `tensoa-bench latency`, a million events
#   forest     single calls of trees: needs in .carry/forest the models of build/forest_models and the first 20 000 rows of their
#              features.f32 (head -c 2240000)
#   events     `tensoa track` over events of Parquet and Arrow files, with a trace
#   path       `tensoa-bench path`; then, at home, `bench/path.py --from FOLDER`
#   track      `tensoa-bench track`
#   scaling    `tensoa-bench scaling`, over all GPUs
#   gpus       `tensoa-bench track` over all GPUs, in one process; and the first GPU's figures next to those of that number of processes
#   tests      the C++ tests
#   python     the Python tests that use a GPU
#   programs   `make fuzz-programs`: needs many cores, no GPU
#   fuzz_packages  `make fuzz-packages` for the GPU: 300 modules; needs many cores
#   width      `make width`, needs no GPU; the CPU of that machine
#   width_gpu  the same on a GPU
set -euo pipefail
cd "$(dirname "$0")/.."

out=$1
shift
mkdir -p "$out"
python=$(command -v python3)
export python
cores=$(nproc)
packages=$($python -c 'import torch; print(torch.__path__[0] + "/..")')
libraries=$PWD/.carry/build/lib:$packages/torch/lib:$packages/pyarrow:$packages/nvidia/cu13/lib
export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} TENSOA_SHARED_DATA=$PWD/.carry/data TENSOA_PROGRAM=$PWD/.carry/tensoa TENSOA_BENCH_PROGRAM=$PWD/.carry/tensoa-bench
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
root=$(cat .carry/root)
if [[ $root != "$PWD" && ! -e $root ]]; then
  mkdir -p "$(dirname "$root")"
  ln -s "$PWD" "$root"
fi
[[ -e build ]] || ln -s .carry/build build
for program in tensoa tensoa-bench bench/peers/compare_width; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$libraries" "$PWD/.carry/build/$program" >".carry/${program##*/}"
  chmod +x ".carry/${program##*/}"
done
weights=.carry/data/exatrkx_gnn/weights.txt.gz
ours() { LD_LIBRARY_PATH=$libraries "$@"; } # Python finds its own
small=generate:1:77:50
half=generate:1:77:475

packages() {
  mkdir -p build/bench_packages
  ours build/tensoa-bench describe-forward build/bench_packages
  local pids=() pid failed=0
  $python bench/make_packages.py build/bench_packages $weights --target cuda & pids+=($!)
  $python -c "
import sys; sys.path.insert(0, 'tests/pytorch')
from pathlib import Path
import make_packages
make_packages.write_for_gpu(Path('build/tests/pytorch/packages'))
make_packages.write_for_gpu(Path('build/tests/track/packages'), make_packages.NETWORK)" & pids+=($!)
  application interaction_network tensoa & pids+=($!)
  application fragment_network merge & pids+=($!)
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  return $failed
}

# application WEIGHTS NAME makes build/models/NAME.pt2. After the default of 60 CPU seconds the exporter leaves a model to just-in-time
# programs, and here four exports share the cores.
application() {
  $python -m tensoa.export "models/$1.safetensors" --binding "build/models/$2.binding.json" --target cuda --seconds 600 \
    --out "build/models/$2.pt2"
}

forward() {
  ours build/tensoa-bench forward --device cuda:0 --packages build/bench_packages --repeats 10 --json "$out/forward.json" \
    $small .carry/data/trackml generate:1:77:2050
}

compare() {
  mkdir -p build/forest_models
  cp .carry/forest/* build/forest_models/
  ours "$python" bench/compare.py --measure cuda --into "$out"
}

latency() {
  ours build/tensoa-bench latency build/bench_packages/mlp-cuda-fused.pt2 --device cuda:0 --rows 1 16 --json "$out/latency.json"
}

forest() {
  local models=.carry/forest
  ours build/tensoa-bench latency $models/xgboost-{100x6,500x8}.json --device cuda:0 --rows 1 16 --json "$out/latency_forest.json"
}

events() {
  local tables=/tmp/tables network=build/bench_packages/edge_network-cuda-fused.pt2 threads kind copy
  ours build/tensoa graph generate:400:77:475 --output /tmp/graphs >/dev/null
  $python bench/make_event_tables.py $tables /tmp/graphs
  for kind in parquet arrow; do
    mkdir -p $tables/$kind
    for copy in {0..9}; do ln -s $tables/rows.$kind "$tables/$kind/$copy.$kind"; done # 4 000 events
    for threads in 1 4 8 16; do
      ours build/tensoa track $tables/$kind --model $network --devices cuda:0 --threads $threads \
        --json "$out/events-$kind-$threads.json" --trace "$out/trace-$kind-$threads.json" --metrics "$out/events.prom"
    done
  done
}

path() {
  ours python3 bench/path.py --measure cuda --into "$out"
}

track() {
  local network=build/bench_packages/edge_network-cuda-fused.pt2
  for arguments in "$half --edge-room 1 1.25 --model $network" "$small --edge-room 1 1.25 2 --model $network" \
    "$half --model build/models/tensoa.pt"; do
    echo "\$ tensoa-bench track $arguments"
    # shellcheck disable=SC2086
    ours build/tensoa-bench track $arguments --threads 1 4 --events-per-thread 1 2 4
  done
}

gpus() {
  local network=build/bench_packages/edge_network-cuda-fused.pt2
  nvidia-smi topo -m
  ours build/tensoa-bench track $half --edge-room 1.25 --model $network --events-per-thread 2 --json "$out/track.json"
  ours build/tensoa-bench track $small --edge-room 1.25 --model $network --events-per-thread 2 --json "$out/track_small.json"
  local gpu
  for gpu in $(nvidia-smi --query-gpu=index --format=csv,noheader); do
    CUDA_VISIBLE_DEVICES=$gpu ours build/tensoa-bench track $half --edge-room 1.25 --model $network --threads 4 \
      --events-per-thread 2 >"$out/process_$gpu.txt" &
  done
  wait
  tail -n 4 "$out"/process_*.txt
  rm "$out"/process_*.txt
}

scaling() { ours build/tensoa-bench scaling --device cuda:0 --packages build/bench_packages --repeats 5 --json "$out/scaling.json"; }

tests() {
  local program failed=0
  for program in .carry/build/tests/*/test_*; do
    [[ -x $program ]] || continue
    printf '%-22s' "$(basename "$program")"
    ours timeout 300 "$program" --gtest_brief=1 >"$out/last_test.log" 2>&1 || { failed=1; cat "$out/last_test.log"; }
    awk '/tests? from .* ran/ { ran = $2 } /PASSED/ { passed = $4 } /SKIPPED  *\] [0-9]/ { skipped = $4 } /FAILED  *\] [0-9]/ { bad = $4 }
         END { printf "%s tests, %s passed, %d skipped, %d failed\n", ran, passed, skipped, bad }' "$out/last_test.log"
  done
  rm -f "$out/last_test.log"
  for program in .carry/build/examples/06_queues_*; do
    scripts/check_example.py examples/06_queues.cpp env LD_LIBRARY_PATH="$libraries" "$program" .carry/build/examples/linear.pt && echo "$(basename "$program"): as expected"
  done
  return $failed
}

# Files one by one, so that they share the cores and the GPUs.
python() {
  export TENSOA_TEST_PACKAGES=$PWD/build/tests/pytorch/packages TENSOA_FUSED_PACKAGES=$PWD/build/tests/package/packages
  export TENSOA_TRACK_PACKAGES=$PWD/build/tests/track/packages
  export gpus
  gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
  # shellcheck disable=SC2016
  find python/tests tests/tools -name 'test_*.py' | nl -v0 | xargs -P "$cores" -L 1 bash -c '
    CUDA_VISIBLE_DEVICES=$(($0 % gpus)) timeout 400 "$python" -m pytest -q -p no:cacheprovider "$1" \
      -k "cuda or gpu or sums or indices or numbers" >"/tmp/python_$0" 2>&1
    code=$?
    ((code != 5)) || exit 0 # no such test in this file
    ((code == 0)) || cat "/tmp/python_$0"
    echo "$1: $(tail -n 1 "/tmp/python_$0")"
    exit $code'
}

programs() { $python -W ignore python/tests/random_programs.py --seeds 0:10000 --jobs "$((cores * 3 / 4))"; }

fuzz_packages() {
  $python -W ignore python/tests/random_packages.py --program "$TENSOA_PROGRAM" --seeds 0:300 --device cuda --jobs "$cores"
}

width() { width_on cpu $((cores / 2)); }

width_gpu() { width_on cuda $((cores * 3 / 4)); }

# Half of the results is better than none where the time is limited.
width_on() {
  local code=0
  timeout "${TENSOA_WIDTH_SECONDS:-3600}" "$python" bench/width.py --device "$1" --jobs "$2" --compare "$PWD/.carry/compare_width" || code=$?
  cp benchmarks/results/width.json docs/width.md "$out"
  return $code
}

for step in "$@"; do
  begin=$SECONDS
  set +e # a step ends at its first error, the next one is tried all the same
  (set -e && "$step") >"$out/$step.log" 2>&1
  code=$?
  set -e
  find "$out" -name '*.json' -exec sed -i "s|--json $out/|--json |" {} + # commands name the file, not this machine's folder
  echo "$step: exit status $code, $((SECONDS - begin)) s"
  ((code == 0)) || tail -n 15 "$out/$step.log"
done
