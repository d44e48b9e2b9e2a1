#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a program on a machine with nothing but libc and libstdc++: copies it, the shared libraries that it names and files into an
# empty folder, and runs it there with chroot.
#
#   scripts/empty_root.sh PROGRAM FILE...      runs PROGRAM with the names of the files as arguments
#
# Exit status 1 if PROGRAM needs a library other than those of the C and C++ runtime and of CUDA, or fails. Where chroot is not
# possible (it needs root), says so in one line and ends with 0.
set -euo pipefail

program=$1
shift
allowed='^(linux-vdso|ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libcudart)\.so'

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/tmp" "$root/proc"
cp /proc/cpuinfo "$root/proc/" # the kernel's part of every machine
cp "$program" "$root/program"
while read -r name path; do
  if ! [[ $name =~ $allowed ]]; then
    echo "empty_root: $program needs $name, expected libraries of C, C++ and CUDA only" >&2
    exit 1
  fi
  [[ -z $path ]] || install -D "$path" "$root$path"
done < <(ldd "$program" | sed -nE 's|^\s*(\S+) => (/\S+) .*|\1 \2|p; s|^\s*(/\S+/)(ld-\S+) .*|\2 \1\2|p')

arguments=()
for file; do
  cp "$file" "$root/"
  arguments+=("/$(basename "$file")")
done
if ! why=$(chroot / true 2>&1); then
  echo "empty_root: skipped, chroot is not possible here: $why"
  exit 0
fi
echo "empty_root: in a folder with $(cd "$root" && find . -type f | sed 's|.*/||' | sort | paste -sd' '):"
env -i HOME=/tmp "$(command -v chroot)" "$root" /program "${arguments[@]}"
