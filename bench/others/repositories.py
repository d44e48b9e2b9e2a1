# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Git repositories of others in a folder: OWNER+NAME for github.com/OWNER/NAME, with or without a work tree."""

import subprocess
from pathlib import Path

from tensoa.errors import InputError


def content_of(mirrors: Path, repository: str, commit: str, path: str) -> bytes:
    """A file of a commit of a repository in the folder `mirrors`. Raises InputError."""
    folder = mirrors / repository.replace("/", "+")
    for git in (folder / "repo" / ".git", folder / "repo", folder / ".git", folder):
        if (git / "HEAD").is_file():
            shown = subprocess.run(["git", f"--git-dir={git}", "show", f"{commit}:{path}"], capture_output=True, check=False)
            if shown.returncode == 0:
                return shown.stdout
            raise InputError(f"{folder}: has no {path} at {commit}")
    raise InputError(f"{folder}: is no git repository; git clone https://github.com/{repository}")
