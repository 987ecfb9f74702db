"""A socket file that belongs to this process alone.

A lock next to it identifies the owner, and is released when the process ends.
Two processes that start at once cannot both consider a path free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from pathlib import Path
from typing import NamedTuple

from gpuos import _core

FOLDER_MODE = 0o700
FILE_MODE = 0o600
BACKLOG = 128
ONLY_FILES = os.O_CLOEXEC | os.O_NOFOLLOW


class Taken(_core.InvalidArgument):
    """Reports that this or another process already serves at the path."""


class Inode(NamedTuple):
    """The identity of a file, which differs from earlier ones of its name."""

    device: int
    number: int

    @classmethod
    def of(cls, status: os.stat_result) -> Inode:
        """Return the inode of a file."""
        return cls(status.st_dev, status.st_ino)


class SocketFile:
    """The socket at `path`, listening, until remove() and forget().

    Raises
    ------
    InvalidArgument
        If the path cannot be used.
    Taken
        If another process serves there.
    """

    def __init__(self, path: str) -> None:
        self.path = absolute(path)
        self._name = self.path.name
        self._lock_name = f".{self._name}.lock"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.ExitStack() as undo:
            undo.callback(self.listener.close)
            self._folder = _open_folder(self.path.parent)
            undo.callback(os.close, self._folder)
            self._lock = self._take_lock()
            undo.callback(os.close, self._lock)
            left_over = self._read_lock()
            undo.callback(self._remove_lock)
            if left_over is not None:
                self._remove(self._name, left_over)
            self._inode = self._bind()
            undo.pop_all()

    def remove(self) -> None:
        """Remove the socket, if it is still this one, and the lock."""
        self._remove(self._name, self._inode)
        self._remove_lock()

    def forget(self) -> None:
        """Close open files. The child of a fork may not do more."""
        if self._folder < 0:
            return
        self.listener.close()
        os.close(self._lock)
        os.close(self._folder)
        self._folder = self._lock = -1

    def _take_lock(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | ONLY_FILES
        while True:
            try:
                lock = os.open(
                    self._lock_name, flags, FILE_MODE, dir_fd=self._folder
                )
            except OSError as error:
                raise self._foreign_lock(str(error)) from None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                text = f"{self.path}: expected a free path, another serves it"
                raise Taken(text) from None
            # Its last owner may have removed it before we locked it.
            if self._inode_of(self._lock_name) == Inode.of(os.fstat(lock)):
                return lock
            os.close(lock)

    def _read_lock(self) -> Inode | None:
        """Return the socket that a process has left that was killed."""
        line = os.pread(self._lock, 64, 0)
        if not line:
            return None
        words = line.split()
        if len(words) == 2 and all(map(bytes.isdigit, words)):
            return Inode(*map(int, words))
        raise self._foreign_lock(repr(line))

    def _foreign_lock(self, got: str) -> _core.InvalidArgument:
        path = self.path.with_name(self._lock_name)
        text = f"{path}: expected a lock of a server, got {got}"
        return _core.InvalidArgument(text)

    def _bind(self) -> Inode:
        # A socket's file gets the mode that the socket has, less the umask.
        os.fchmod(self.listener.fileno(), FILE_MODE)
        try:
            # Uses the open folder, because its path may have changed.
            self.listener.bind(f"/proc/self/fd/{self._folder}/{self._name}")
        except OSError as error:
            text = (
                f"{self.path}: expected a name that is free, and at most 80 "
                f"bytes, got {error}"
            )
            raise _core.InvalidArgument(text) from None
        status = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        inode = Inode.of(status)
        os.pwrite(self._lock, b"%d %d\n" % inode, 0)
        if stat.S_IMODE(status.st_mode) != FILE_MODE:
            self._remove(self._name, inode)
            mode = stat.S_IMODE(status.st_mode)
            text = f"{self.path}: expected mode 600, got {mode:o}"
            raise _core.InvalidArgument(text)
        self.listener.listen(BACKLOG)
        return inode

    def _inode_of(self, name: str) -> Inode | None:
        try:
            status = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return Inode.of(status)

    def _remove_lock(self) -> None:
        self._remove(self._lock_name, Inode.of(os.fstat(self._lock)))

    def _remove(self, name: str, inode: Inode) -> None:
        if self._inode_of(name) == inode:
            os.unlink(name, dir_fd=self._folder)


def absolute(path: str) -> Path:
    """Return the path that a text stands for, "%p" replaced."""
    if not isinstance(path, str) or not path or "\0" in path:
        # An abstract socket, which begins with one, has no mode.
        text = f"serve: expected the path of a file, got {path!r}"
        raise _core.InvalidArgument(text)
    return Path.cwd() / path.replace("%p", str(os.getpid()))


def _open_folder(folder: Path) -> int:
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(FOLDER_MODE)
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | ONLY_FILES)
    except OSError as error:
        text = f"{folder}: expected a folder, no link to one, got {error}"
        raise _core.InvalidArgument(text) from None
    status = os.fstat(found)
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid == os.geteuid() and mode == FOLDER_MODE:
        return found
    os.close(found)
    text = (
        f"{folder}: expected mode 700 of user {os.geteuid()}, got "
        f"{mode:o} of user {status.st_uid}; a folder of your own is safe"
    )
    raise _core.InvalidArgument(text)
