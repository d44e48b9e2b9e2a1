#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# The wheel of `make wheel` on a clean machine: a folder that debootstrap fills with Debian and its Python, without compiler and
# torch. There: trees with nothing but the wheel and NumPy; a module and a Parquet file of one's own to answers, in three commands; the
# code of docs/python.md. Downloads two gigabytes. Without root or debootstrap it says so in one line and ends with 0.
#
# Exit status 1 if something fails, or if the commands that download nothing take more than 20 s.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
  echo "empty-machine: left out, it needs root and debootstrap: apt-get install debootstrap"
  exit 0
fi
folder=$PWD/build-empty-machine
root=$folder/root
wheel=$(echo build-wheel/dist/tensoa-*.whl)
[[ -f $wheel ]] || { echo "empty-machine: left out, make wheel made none"; exit 0; }
rm -rf --one-file-system "$folder"
mkdir -p "$folder"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
debootstrap --variant=minbase --include=python3-venv,ca-certificates "$suite" "$root" >"$folder/debootstrap.log" 2>&1 ||
  { tail "$folder/debootstrap.log" >&2; exit 1; }

# Only the network settings are those of this machine.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
! [[ -e /etc/pip.conf ]] || cp /etc/pip.conf "$root/etc/"
mkdir "$root/work" "$root/work/tests"
cp "$wheel" "$root/work/"
cp tests/install/model.py "$root/work/"
find python/tests -maxdepth 1 -name '*.py' ! -name 'test_*' -exec cp {} "$root/work/tests/" \;
cp -r python/tests/runtime "$root/work/tests/"
.venv/bin/python - "$root/work" <<'P'
import sys
from pathlib import Path
import lightgbm, numpy, pyarrow, pyarrow.parquet

folder = Path(sys.argv[1])
x = numpy.random.default_rng(0).normal(size=(1000, 3))
trees = lightgbm.train({"objective": "regression", "verbose": -1}, lightgbm.Dataset(x, x[:, 0] + x[:, 1], feature_name=list("xyz")), 20)
trees.save_model(folder / "trees.txt")
rows = {name: x[:, i].astype("f4") for i, name in enumerate("xyz")}
pyarrow.parquet.write_table(pyarrow.table(rows), folder / "rows.parquet")
columns = {name: x[:, i] for i, name in enumerate("xyz")}
numpy.savez(folder / "trees.npz", answers=trees.predict(x), **columns)
P
wheel=$(basename "$wheel")

inside() {
  unshare --mount --fork bash -c 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"' - "$root" "$root" \
    env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
    ${https_proxy:+https_proxy="$https_proxy"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} PIP_DISABLE_PIP_VERSION_CHECK=1 \
    bash -euc "cd /work; $1"
}

inside '! command -v g++ c++ cc gcc clang >&2'
inside "python3 -m venv /trees && /trees/bin/pip install -q $wheel"
inside 'PATH=/trees/bin:$PATH python3 -' <<'P'
import sys
import numpy
import tensoa

rows = dict(numpy.load("trees.npz"))
expected = rows.pop("answers")
(found,) = tensoa.Model("trees.txt")(rows).values()
numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
assert not {"torch", "pyarrow"} & set(sys.modules)
P
# Without the system's OpenSSL only models of servers are missing.
openssl=$(echo "$root"/usr/lib/*/libssl.so.3)
mv "$openssl" "$folder/"
inside 'PATH=/trees/bin:$PATH python3 -' <<'P'
import tensoa

tensoa.Model("trees.txt")
try:
    tensoa.Model("grpc://localhost:1/model", load_deadline=1)
except tensoa.LoadError as error:
    assert "libssl.so.3" in str(error) and "libssl3" in str(error), error
else:
    raise AssertionError("a model of a server was loaded without OpenSSL")
P
mv "$folder/libssl.so.3" "$openssl"
echo "empty-machine: trees with $(inside '/trees/bin/pip list --format=freeze' | grep -v -E '^(pip|setuptools)' | paste -sd' ')"

downloading=$SECONDS
inside "python3 -m venv /all && /all/bin/pip install -q './$wheel[compile,compiler]'"
downloading=$((SECONDS - downloading))
started=$SECONDS
inside 'PATH=/all/bin:$PATH tensoa compile model.py:factory --example rows.parquet --out model.pt2'
inside 'PATH=/all/bin:$PATH python3 -' <<'P'
import numpy
import pyarrow.parquet
import tensoa

table = pyarrow.parquet.read_table("rows.parquet")
answers = tensoa.Model("model.pt2")(table)
x, y, z = (table[name].to_numpy() for name in "xyz")
numpy.testing.assert_allclose(answers.column(0).to_numpy(), x + 2 * y + 3 * z, rtol=1e-6, atol=1e-6)
P
seconds=$((SECONDS - started))
inside 'PATH=/all/bin:$PATH tensoa infer model.pt2 rows.parquet --output answers.parquet'

# The commands of the README's first page, as they stand there.
mkdir "$root/work/readme"
ln -s ../rows.parquet "$root/work/readme/rows.parquet"
cat >"$root/work/readme/model.py" <<'P'
import torch


def FACTORY():
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
P
commands=$(sed -n '/^## From Python/,/^## /p' README.md | grep -oE '`tensoa [^`]+`' | tr -d '`')
(($(wc -l <<<"$commands") == 2)) || { echo "empty-machine: README.md has other commands: $commands" >&2; exit 1; }
while read -r command; do
  inside "cd readme; PATH=/all/bin:\$PATH $command" </dev/null
done <<<"$commands"

inside "/all/bin/pip install -q './$wheel[awkward]' pytest pandas polars"
inside 'cd tests; PYTHONPATH=. PATH=/all/bin:$PATH python3 -m pytest -q -p no:cacheprovider runtime/test_python_page.py'
echo "empty-machine: own module and Parquet file to answers in $seconds s (limit 20) after $downloading s of pip; no compiler but ziglang"
((seconds <= 20)) || exit 1
