"""Read and classify the texts of operators."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Any

from gpuos import _core

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 1 << 20
WHOLE = "GPUOS_OPERATOR"


def keywords_of(text: str) -> dict[str, Any]:
    """Return the text by its keyword of define() and replace()."""
    return {"source" if WHOLE in text else "expression": text}


def digest(text: str) -> str:
    """Return a short digest that people can compare."""
    data = text.encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()[:12]


def read_own(path: Path) -> str:
    """Return the text of a file that no other user can write.

    Raises
    ------
    InvalidArgument
        If others may write the file or its folder, if it is not text, or if it
        is too long.
    OSError
        If the file cannot be read.
    """
    check_folder(path.parent)
    # _open_at_once() does not wait for a FIFO.
    with open(path, "rb", opener=_open_at_once) as file:
        _check_file(path, os.fstat(file.fileno()))
        data = file.read(MOST_BYTES + 1)
    return text_of(path, data)


def text_of(what: object, data: bytes) -> str:
    """Decode a file's bytes. Drop the byte order mark of an editor.

    Raises
    ------
    InvalidArgument
        If it is longer than MOST_BYTES, or not UTF-8.
    """
    if len(data) > MOST_BYTES:
        text = f"{what}: expected at most {MOST_BYTES} bytes, got more"
        raise _core.InvalidArgument(text)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = f"{what}: expected UTF-8, got byte {error.start} that is none"
        raise _core.InvalidArgument(text) from None


def check_folder(folder: Path) -> None:
    """Refuse a folder in which others could replace our files."""
    status = folder.stat()
    # Others cannot replace our files in a sticky folder, such as /tmp.
    is_sticky = status.st_mode & stat.S_ISVTX
    if not is_ours(status) or (is_open(status) and not is_sticky):
        raise _of_others(folder, "folder", status)


def is_ours(status: os.stat_result) -> bool:
    """Return whether the file belongs to this user or to root."""
    return status.st_uid in {os.geteuid(), 0}


def is_open(status: os.stat_result) -> bool:
    """Return whether users other than the owner may write the file."""
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _of_others(
    path: Path, what: str, status: os.stat_result
) -> _core.InvalidArgument:
    text = (
        f"{path}: expected a {what} that only you may write, got mode "
        f"{stat.S_IMODE(status.st_mode):o} of user {status.st_uid}; "
        "chmod go-w takes it from others"
    )
    return _core.InvalidArgument(text)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        text = f"{path}: expected a plain file, got another kind"
        raise _core.InvalidArgument(text)
    if not is_ours(status) or is_open(status):
        raise _of_others(path, "file", status)
