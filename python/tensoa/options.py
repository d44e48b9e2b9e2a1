# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The options of the commands that make packages, and the help of `tensoa compile`. Imports no torch: help and wrong options
answer immediately.
"""

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import NoReturn

from tensoa.errors import InputError

TARGETS = ("cpu", "cuda")
PRECISIONS = ("tf32x3", "ieee", "tf32", "bf16")  # those of tensoa.compiler.cuda
SPLITTINGS = ("<", "<=")  # those of tensoa.importers.trees.conifer

USAGE = """tensoa compile MODEL --out FILE.pt2 [--columns BLOCK=COLUMN,COLUMN…] [--outputs BLOCK[=COLUMN,…]] [OPTION…]
       tensoa compile MODEL --out FILE.pt2 --binding BINDING.json [OPTION…]
       tensoa compile --check FILE.pt2 --program PROGRAM
       tensoa compile WEIGHTS --out FILE.pt"""

PAGE = """
Makes a package of a model: the program tensoa, C++ and Python run it on columns where they lie. MODEL is a network:
  FILE.py:FACTORY       a function without arguments that returns a torch.nn.Module; see --weights
  FILE.pt2              an exported program (torch.export.save)
  FILE.pt               a TorchScript model (scripted or traced, also by others), or a module that torch.save wrote; see
                        --trust-pickle
  FILE.onnx             an ONNX model of opset 7 to 21, compared with ONNX Runtime where that is installed
  FILE.keras, FILE.h5   a model of Keras, through Keras 3, compared with its predict; also FILE.json of to_json(), with the
                        weights next to it
  FOLDER, FILE.pb       a SavedModel or a frozen graph of TensorFlow (FILE.graphdef, too, as Triton calls it), where
                        tensorflow and tf2onnx are installed
  FILE.fml, FILE.h5     a network on fixed-point numbers, of hls4ml or QKeras (.keras and .json, too), bit for bit
  FILE.json             a network of LWTNN, sequential or a graph
  FILE.xml              a network of TMVA (MLP, DNN, DL of dense layers)
  FILE.safetensors      weights of the interaction network of tensoa
  FILE.ckpt, text       weights of the Exa.TrkX network: a checkpoint of PyTorch Lightning, or text, plain or gzip
or an ensemble of decision trees; its content says so, not its name, and it may be packed by gzip:
  XGBoost               files of Booster.save_model: JSON, UBJ, and the binary form of before 3.1
  LightGBM              the text that Booster.save_model writes
  CatBoost              the JSON of save_model(format="json"), or .cbm where catboost is installed; features of numbers
  scikit-learn          a pickle, also of joblib; estimators that are not trees by skl2onnx; see --trust-pickle
  ONNX                  TreeEnsembleRegressor, TreeEnsembleClassifier or TreeEnsemble, with Cast, ZipMap and Identity around it
  TMVA                  weights.xml of the method BDT
  conifer               the JSON that Model.save writes

--columns has a block for each argument of the model, by its name:
  features=pt,eta,phi                [n, 3] of float32 columns
  charge=charge:int32                of another dtype
  x=r,phi,z@hits                     blocks of one collection, here "hits", have the same number of rows
  edge_index.T=from,to:int64@edges   [2, n], as edge lists are
  field=field@call                   one number for the whole call, [n, 1] in rows of the first block
Without --columns they are those that the file of the model names (features of trees, inputs of width 1), else a column for each
number of a row, where the file says the sizes (obs_0, obs_1, … of obs [n, 48]; f0, f1, … of trees); or those of --example, a
Parquet, Arrow or CSV file: for each argument the column of its name, or the fields of the record of its name, as jets.pt; for a
single argument all columns. Lists count as their elements. The package of a network is also checked with the rows of
--example.

--outputs names the results, in order: score, or score=signal,background; or some of the outputs, or values inside, by the names
that the file of the model has for them. Without, results have the names that the model gives them, else "output"; the command
prints what it chose.

--binding replaces both: the description of a C++ layout that describe() of tensoa/engine/describe.hpp writes.

What can be fused is fused, which needs g++, clang++ or ziglang for CPUs, and neither a GPU nor a compiler for GPUs.
TorchInductor compiles the rest; for cuda it needs the GPU that the package is for. A package is compared with its
model before it is written, and a package that differs is not written (docs/ahead_of_time.md). Where no package can be made, or
--seconds or --memory are used up, the file is a program of torch.export with free numbers of rows, for CPUs and GPUs, which a
tensoa with torch runs operator by operator, as with --just-in-time; else TorchScript. Before these two comes, for CPUs, the
file FILE.onnx itself, for ONNX Runtime; also where that takes clearly less time than the package, of calls with 1, 16 and
1 000 rows: a line has the times. With --no-timing nothing is timed: every run writes the same package. A line names the kind of
the program, and why no faster kind is possible.

With --target cpu,cuda the package has the programs of both, and a model runs on either; where one cannot be made, no package is
written, and a line has the reason.

With a target cuda, --program is the program `tensoa`: it runs the package on this machine's GPU. --check does so with a package
that is there already, as on another GPU, and writes into it what it found; a package that is wrong stays as it is.

The last form writes the TorchScript file of WEIGHTS: FILE.safetensors, or a file of Exa.TrkX, TorchScript too.

Exit status 2 with one line on stderr for input that cannot be used. Without the program: python -m tensoa compile.

In Python: tensoa.compile(module, "model.pt2", columns=["features=pt,eta,phi"]), or columns={"features": ["pt", "eta", "phi"]};
the options of networks and trees are keywords of these names, --no-fuse is fuse=False.
"""


def targets_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """The targets of --target, "cpu", "cuda" or "cpu,cuda", in the order of TARGETS. Raises InputError."""
    names = given.split(",") if isinstance(given, str) else [*given]
    if not names or not set(names) <= {*TARGETS} or len(set(names)) != len(names):
        got, all_of_them = ",".join(map(str, names)), ",".join(TARGETS)
        raise InputError(f"target: got '{got}', expected {', '.join(TARGETS)} or {all_of_them}, each once")
    return tuple(name for name in TARGETS if name in names)


def text_of_targets(text: str) -> str:
    """The value of --target as it was given. Raises InputError as targets_of()."""
    targets_of(text)
    return text


class Parser(argparse.ArgumentParser):
    """Raises InputError, one line that names the nearest option and the help, as the program's other subcommands do."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; `{self.prog} --help` lists what there is")

    def parsed(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:
        known = self._option_string_actions  # looked at first: argparse would take the values of a wrong option for others
        for word in arguments or ():
            name = word.partition("=")[0]
            if re.match(r"--?[a-zA-Z]", name) and name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.5)
                self.error(f'"{name}" is unknown' + (f"; the nearest is {near[0]}" if near else ""))
        return self.parse_args(arguments)


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """Declares the options of packages of networks."""
    parser.add_argument("--binding", metavar="BINDING.json", help="the columns, as describe() of C++ writes them")
    parser.add_argument(
        "--example", "--examples", metavar="FILE", help="Parquet, Arrow or CSV: rows to check with, by the names of columns"
    )
    parser.add_argument(
        "--target", type=text_of_targets, default="cpu", help="of a network: cpu, cuda or cpu,cuda (default: cpu)"
    )
    parser.add_argument("--precision", choices=PRECISIONS, help="of matrix products on GPUs (default: tf32x3)")
    parser.add_argument(
        "--deterministic",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="on GPUs, sums by index that are the same bits at every call (default: no)",
    )
    parser.add_argument("--just-in-time", action="store_true", help="write a program of torch.export, for any device")
    parser.add_argument("--no-fuse", action="store_true", help="leave everything to TorchInductor")
    parser.add_argument(
        "--no-timing", action="store_true", help="keep a package for CPUs, also where ONNX Runtime is clearly faster"
    )
    parser.add_argument("--program", metavar="PROGRAM", help="tensoa, to run a package for cuda on this machine's GPU")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="of CPU, for a package (default: 60; of more than 10 M parameters more)"
    )
    parser.add_argument(
        "--memory", type=float, metavar="GIB", help="for a package (default: 1.5; of more than 10 M parameters more)"
    )
    parser.add_argument("--check", metavar="FILE.pt2", help="run a package that is there already")


def add_tree_options(parser: argparse.ArgumentParser) -> None:
    """Declares the options of packages of trees."""
    parser.add_argument(
        "--margin", action="store_true", help="of trees: give the sums of leaves, without sigmoid, softmax or the like"
    )
    parser.add_argument(
        "--best-iteration", action="store_true", help="of XGBoost: the rounds up to the best one of early stopping"
    )
    parser.add_argument(
        "--trust-pickle",
        action="store_true",
        help="load a pickle of scikit-learn or torch, which runs code in it",
    )
    parser.add_argument(
        "--splitting", choices=SPLITTINGS, help="of conifer: the values left of a threshold, where the file does not have it"
    )


def of_compile(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of `tensoa compile`. Raises InputError."""
    parser = Parser(
        prog="tensoa compile",
        usage=USAGE,
        description=PAGE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="FILE.py:FACTORY, or a file, see above")
    parser.add_argument("--out", metavar="FILE.pt2", help="the package to write")
    parser.add_argument("--columns", metavar="BLOCK=COLUMN,…", nargs="+", default=[], help="of each argument of the model")
    parser.add_argument("--outputs", metavar="BLOCK[=COLUMN,…]", nargs="+", default=[], help="names of the results, in order")
    parser.add_argument("--weights", metavar="FILE", help="of FILE.py:FACTORY: safetensors, or torch.save of a state_dict")
    add_network_options(parser)
    add_tree_options(parser)
    given = parser.parsed(arguments)
    if given.check is None and given.model is None:
        has_lists = given.columns or given.outputs
        parser.error(
            "MODEL is required" + (", before --columns and --outputs, which take all that follows" if has_lists else "")
        )
    if given.check is None and given.out is None:
        parser.error("--out is required")
    return given
