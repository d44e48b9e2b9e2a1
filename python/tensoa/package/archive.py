# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""The file of a package: an archive that torch reads too, with the manifest as one more record, and a SHA-256 of everything
before it at its end.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from tensoa.errors import InputError, first_line
from tensoa.package.manifest import Json, Shared

FOLDER = "model/"  # of all files
RECORD = "extra/tensoa.json"  # the manifest, below FOLDER
LEAST_SHARED = 4096  # bytes: less is not worth a file
AT_ONCE = 1 << 24  # bytes
MARK = b"tensoa sha256 "  # before 64 hexadecimal digits, the comment of the archive


def write(path: str | PathLike, records: dict[str, bytes], manifest: Json) -> None:
    """Writes a package: the files, the manifest and the checksum over both."""
    text = json.dumps(manifest, indent=1, allow_nan=False).encode()
    records = {"model/.data/version": b"6\n", **records}  # torch reads no archive without one
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (*sorted(records.items()), (FOLDER + RECORD, text)):
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = MARK + b"0" * 64
    digest, left = hashlib.sha256(), Path(path).stat().st_size - 64
    with open(path, "r+b") as file:
        while left:
            digest.update(part := file.read(min(left, AT_ONCE)))
            left -= len(part)
        file.seek(-64, os.SEEK_END)
        file.write(digest.hexdigest().encode())


def sharing(files: dict[str, bytes], parts: Iterable[bytes]) -> tuple[dict[str, bytes], list[Shared]]:
    """(files, what they lack): `parts` that more than one of the files has are files of their own; of a file at most one."""
    left, kept, shared = dict(files), dict(files), []
    for part in sorted({*parts}, key=len, reverse=True):
        places = {name: content.find(part) for name, content in left.items()}
        having = {name: at for name, at in places.items() if at >= 0}
        if len(part) < LEAST_SHARED or len(having) < 2:
            continue
        own = f"fused/{hashlib.sha256(part).hexdigest()[:32]}.bin"
        for name, at in having.items():
            content = left.pop(name)
            kept[name] = content[:at] + content[at + len(part) :]
            shared.append(Shared(name.removeprefix(FOLDER), at, own))
        kept[FOLDER + own] = part
    return kept, shared


def read(path: str | PathLike) -> tuple[dict[str, bytes], Json]:
    """(files, manifest) of a package, as write() takes them. Raises InputError."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    expected = "expected a package (.pt2) that was written by tensoa compile"
    if content[-64 - len(MARK) : -64] != MARK:
        raise InputError(f"{path}: its checksum is missing; {expected}")
    if hashlib.sha256(content[:-64]).hexdigest().encode() != content[-64:]:
        raise InputError(f"{path}: its checksum is wrong: it was changed or damaged; {expected}")
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        return files, json.loads(files.pop(FOLDER + RECORD))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({first_line(error)}); {expected}") from error
