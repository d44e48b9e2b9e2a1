#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# The results of `make dist` on a clean machine: a folder that debootstrap fills with Debian and its compilers. The tarball and the
# package of Debian: programs of C, C++ and Fortran are built there by the commands of the pages, and run. Without root or debootstrap it
# says so in one line and ends with 0.
#
# Exit status 1 if something fails, or if unpacking, building and running take more than 120 s.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
  echo "binaries: left out, it needs root and debootstrap: apt-get install debootstrap"
  exit 0
fi
folder=$PWD/build-binaries
root=$folder/root
rm -rf --one-file-system "$folder"
mkdir -p "$folder"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
debootstrap --variant=minbase --include=g++,gfortran,cmake,make "$suite" "$root" >"$folder/debootstrap.log" 2>&1 ||
  { tail "$folder/debootstrap.log" >&2; exit 1; }
mkdir "$root/work"
# Enterprise Linux 9 has glibc 2.34 and the C++ library of g++ 11.
if objdump -T build-dist/tensoa build-dist/libtensoa{,_arrow,_grpc}.so | grep -E 'GLIBC_2\.(3[5-9]|[4-9][0-9])|GLIBCXX_3\.4\.[3-9][0-9]'; then
  echo "binaries: these names are not in Enterprise Linux 9" >&2
  exit 1
fi
cp build-dist/packages/tensoa* "$root/work/"
cp examples/01_first_program.c "$root/work/main.c"
cp examples/01_first_program.f90 "$root/work/main.f90"
cp build/examples/network.pt2 "$root/work/network.pt2"
cp -r tests/install "$root/work/outside"
grep -E '^  (cc|gfortran) ' scripts/install_check.sh >"$root/work/commands.sh"
PYTHONPATH=python .venv/bin/python -W ignore -m tensoa compile tests/install/model.py:factory --out "$root/work/model.pt2" \
  --columns x=x,y,z --outputs y=m,n >/dev/null

inside() {
  unshare --mount --fork bash -c 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"' - "$root" "$root" \
    env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -euc "cd /work; $1"
}

# use PREFIX: the program, and programs of C, C++ and Fortran.
use() {
  inside "$1/bin/tensoa --version && $1/bin/tensoa inspect model.pt2 >/dev/null"
  [[ ! -f $root$1/share/tensoa/models/tensoa.pt2 ]] || inside "$1/bin/tensoa track generate:1 >track.txt; grep share/tensoa/models/tensoa.graph.json track.txt; tail -n 3 track.txt"
  inside "prefix=$1; . ./commands.sh; ./c_program network.pt2 >c.txt; ./fortran_program network.pt2 >fortran.txt"
  scripts/check_example.py examples/01_first_program.c cat "$root/work/c.txt"
  scripts/check_example.py examples/01_first_program.f90 cat "$root/work/fortran.txt"
  inside "rm -rf built columnar; cmake -S outside -B built -DWAY=component -DCOMPONENT=package -DCMAKE_PREFIX_PATH=$1 >/dev/null
    cmake --build built >/dev/null; built/outside model.pt2
    cmake -S outside -B columnar -DWAY=component -DCOMPONENT=columnar -DCMAKE_PREFIX_PATH=$1 >/dev/null; cmake --build columnar >/dev/null; columnar/umbrella; stat -L -c 'the program has %s bytes' built/outside"
}

started=$SECONDS
inside 'mkdir /opt/tensoa && tar xzf tensoa-*-linux-*.tar.gz -C /opt/tensoa --strip-components=1'
use /opt/tensoa
seconds=$((SECONDS - started))
inside 'mv /opt/tensoa /srv/moved && chmod -R a-w /srv/moved' # runs where it lies, and writes nothing there
use /srv/moved
# Messages name missing parts, and commands that need none work.
inside 'printf "x,y,z\n1,2,3\n" >rows.csv; /srv/moved/bin/tensoa infer model.pt2 rows.csv --output answers.csv 2>message && exit 1
  grep -q "files of columns need Arrow" message'
inside 'dpkg -i tensoa_*.deb >/dev/null'
use /usr
echo "binaries: unpacked, and C, Fortran and C++ built and run, in $seconds s (limit 120)"
((seconds <= 120)) || exit 1
