"""Read changes of files in a folder from Linux's inotify.

The standard library does not have a binding. It needs four functions of libc.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# <sys/inotify.h>
MODIFY = 0x0002
ATTRIB = 0x0004
CLOSE_WRITE = 0x0008
MOVED_FROM = 0x0040
MOVED_TO = 0x0080
CREATE = 0x0100
DELETE = 0x0200
DELETE_SELF = 0x0400
MOVE_SELF = 0x0800
UNMOUNT = 0x2000
Q_OVERFLOW = 0x4000
IGNORED = 0x8000
ONLYDIR = 0x0100_0000

_EVENT = struct.Struct("iIII")  # folder, mask, cookie, length of the name
_ROOM = 64 << 10


class Event(NamedTuple):
    """An event of a file in a folder. An empty name means the folder itself."""

    folder: int  # the result of add_folder(), or -1 for any
    mask: int
    name: str


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def open_watcher() -> int:
    """Return a descriptor for the other functions. Reading it never blocks."""
    flags = os.O_CLOEXEC | os.O_NONBLOCK
    return _checked(_libc().inotify_init1(flags), "inotify")


def add_folder(watcher: int, folder: Path, mask: int) -> int:
    """Return the number of a folder. One folder always gets one number."""
    name = os.fsencode(folder)
    added = _libc().inotify_add_watch(watcher, name, mask | ONLYDIR)
    return _checked(added, str(folder))


def remove_folder(watcher: int, folder: int) -> None:
    """Stop all events of a folder except IGNORED. It may not exist any more."""
    _libc().inotify_rm_watch(watcher, folder)


def read_events(watcher: int) -> Iterator[Event]:
    """Yield the events since the last call."""
    try:
        data = os.read(watcher, _ROOM)
    except BlockingIOError:
        return
    at = 0
    while at < len(data):
        folder, mask, _, length = _EVENT.unpack_from(data, at)
        at += _EVENT.size
        name = data[at : at + length].rstrip(b"\0")
        at += length
        yield Event(folder, mask, os.fsdecode(name))
