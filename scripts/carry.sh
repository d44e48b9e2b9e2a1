#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Collects in .carry/ what another machine needs to run what was built here: programs without debug information, oneTBB, models and
# data of the tests. That machine has GPUs, Python with torch (the version of python/requirements.txt) and pyarrow, and this source
# tree; scripts/on_gpu.sh runs there. Needs build/models/ (make models packages).
set -euo pipefail
cd "$(dirname "$0")/.."

data=${TENSOA_SHARED_DATA:-../shared/data}
to=.carry/build
cmake --build build
cmake --build build --target compare_width
rm -rf .carry
mkdir -p "$to/lib" .carry/data

# The tests that have cases for GPUs.
programs=(tensoa tensoa-bench libtensoa.so.1 libtensoa_arrow.so libtensoa_torch.so libtensoa_bench_torch.so tests/soak/tensoa_soak bench/peers/compare_width)
for test in core soa engine interop sched forest pytorch exported copy_report aot_engine package fused fused_allocations concurrent threads torch_allocator track merge edge_network framework lost_gpu accel_cuda remote_gpu tensoa_h_gpu; do
  programs+=("$(cd build && find tests -name "test_$test" -type f)")
done
programs+=(examples/06_queues_cpu examples/06_queues_cuda examples/06_queues_alpaka_cuda)
for program in "${programs[@]}"; do
  [[ -n $program && -f build/$program ]] || continue
  mkdir -p "$to/$(dirname "$program")"
  strip -o "$to/$program" "build/$program"
done
cp -L "$(ldconfig -p | awk '/libtbb\.so\.12 / { print $NF; exit }')" "$to/lib/"

for files in tests/pytorch/models tests/pytorch/packages tests/pytorch/exported tests/track/packages tests/package/packages tests/c/packages tests/forest/tree_files models/tensoa.pt models/tensoa.pt2 models/tensoa.graph.json models/merge.pt models/merge.pt2 models/exatrkx.pt models/{tensoa,merge}.binding.json examples/linear.pt; do
  [[ -e build/$files ]] || continue
  mkdir -p "$to/$(dirname "$files")"
  cp -r "build/$files" "$to/$files"
done
for input in trackml exatrkx_gnn; do
  [[ -d $data/$input ]] && cp -r "$data/$input" .carry/data/
done
# Programs know their files by the paths of this machine.
pwd >.carry/root
git rev-parse --short HEAD >.carry/commit
du -sh .carry
