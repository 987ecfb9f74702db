"""Files that replace operators when they are saved."""

from __future__ import annotations

import contextlib
import errno
import inspect
import logging
import os
import re
import select
import threading
import time
import types
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from gpuos import _core, inotify
from gpuos.texts import check_folder, digest, keywords_of, read_own

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    # Returns the number of the version.
    Replace = Callable[[_core.Runtime, str], int]

log = logging.getLogger("gpuos.watch")

# What compilers begin PTX with, behind comments.
PTX = re.compile(r"^\s*\.version\s", re.MULTILINE)
# An editor may need several steps for one save.
QUIET_S = 0.02
# How often it is asked whether the runtime still is.
LOOK_S = 1.0
# A text is whole when it has got its name or its writer has closed it.
SAVED = inotify.CLOSE_WRITE | inotify.MOVED_TO
GONE = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.UNMOUNT
HEARD = SAVED | inotify.MODIFY | inotify.CREATE | inotify.DELETE | GONE


class Watch:
    """What Runtime.watch() returns; close() ends it, as does a with-block."""

    def __init__(
        self,
        rt: _core.Runtime,
        path: Path,
        replace: Replace,
        on_error: Callable[[Exception], object] | None,
    ) -> None:
        self.path = path
        self._runtime = weakref.ref(rt)
        self._replace = replace
        self._on_error = on_error
        self._is_over = False
        self._process = os.getpid()
        watcher = _watcher_of(path.parent)
        wake = os.eventfd(0)
        self._files = watcher, wake
        self._close_files = weakref.finalize(self, _close_all, self._files)
        self._close_files.atexit = False  # the thread reads them until the end
        self._thread = threading.Thread(
            target=self._work, name="gpuos-watch", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Look no longer; a replacement that has begun is waited for."""
        if not self._close_files.alive:
            return
        self._is_over = True
        # The child of a fork has no thread, but its parent's descriptors.
        if os.getpid() == self._process:
            os.eventfd_write(self._files[1], 1)
            if threading.current_thread() is self._thread:
                return  # they are closed with the last reference
            self._thread.join()
        self._close_files()

    def _work(self) -> None:
        poll = select.poll()
        for file in self._files:
            poll.register(file, select.POLLIN)
        saved_at: float | None = None
        while not self._has_ended():
            if saved_at is None:
                wait_s = LOOK_S
            else:
                wait_s = saved_at + QUIET_S - time.monotonic()
            if wait_s <= 0:
                saved_at = None
                self._apply()
            elif poll.poll(1000 * wait_s):
                saved_at = self._hear(saved_at)

    def _has_ended(self) -> bool:
        rt = self._runtime()
        return self._is_over or rt is None or rt.is_closed

    def _hear(self, saved_at: float | None) -> float | None:
        """Return when the file was last seen to be saved."""
        for event in inotify.read_events(self._files[0]):
            if event.mask & (GONE | inotify.IGNORED):
                self._is_over = True
                self._tell(
                    _core.InvalidArgument(
                        f"{self.path.parent}: expected the folder to stay, it "
                        "was moved or removed; its file is watched no longer"
                    )
                )
                return None
            is_ours = event.name == self.path.name
            is_save = event.mask & SAVED or saved_at is not None
            if (is_ours and is_save) or event.mask & inotify.Q_OVERFLOW:
                saved_at = time.monotonic()
        return saved_at

    def _apply(self) -> None:
        rt = self._runtime()
        if rt is None:
            return
        try:
            text = read_own(self.path)
            if not text.strip():
                return  # it is about to be written
            version = self._replace(rt, text)
        except FileNotFoundError:
            return  # it is about to come back
        except _core.QueueClosed:
            return  # the runtime went meanwhile
        except Exception as error:  # noqa: BLE001 (whatever a module raises)
            self._tell(error)
        else:
            what = digest(text), version
            log.info("%s: replaced, digest %s, version %d", self.path, *what)

    def _tell(self, error: Exception) -> None:
        if self._on_error is None:
            details = getattr(error, "log", "")
            log.error("%s: %s", self.path, f"{error}\n{details}".rstrip())
            return
        try:
            self._on_error(error)
        except Exception:  # a watch outlives its callback's faults
            log.exception("%s: on_error", self.path)


def _watcher_of(folder: Path) -> int:
    try:
        return inotify.watch_folder(folder, HEARD)
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENOSPC):
            raise
        text = (
            f"watch: {folder}: expected room for one more watch, got {error}: "
            "this user's programs have as many as sysctl fs.inotify."
            "max_user_instances and max_user_watches say, or this process has "
            "as many files as ulimit -n"
        )
        raise _core.Error(text) from None


def _close_all(files: tuple[int, ...]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            os.close(file)


def watch(
    rt: _core.Runtime,
    op: str | _core.Operator | _core.Fused,
    path: str | os.PathLike[str] | None = None,
    *,
    on_error: Callable[[Exception], object] | None = None,
) -> Watch:
    """Do what Runtime.watch() says."""
    if not isinstance(rt, _core.Runtime):
        raise TypeError(f"watch: expected a Runtime, got {type(rt).__name__}")
    if isinstance(op, _core.Fused):
        path = path or inspect.getsourcefile(_function_of(op))
    elif isinstance(op, str):
        op = rt.find(op)
    elif not isinstance(op, _core.Operator):
        kind = type(op).__name__
        text = f"watch: expected a name, an Operator or a Fused, got {kind}"
        raise TypeError(text)
    if path is None:
        raise TypeError("watch: expected a path, got None")
    if on_error is not None and not callable(on_error):
        raise TypeError(
            f"watch: on_error: expected a function, got {on_error!r}"
        )
    # Links are followed once: what is watched is the file itself.
    found = Path(os.path.realpath(path))
    try:
        check_folder(found.parent)
        if found.exists():
            read_own(found)
    except OSError as error:
        text = f"watch: expected a file that can be read, got {error}"
        raise _core.InvalidArgument(text) from None
    if isinstance(op, _core.Fused):
        return Watch(rt, found, _replace_fused(op, found), on_error)
    return Watch(rt, found, _replace_operator(op), on_error)


def _replace_operator(op: _core.Operator) -> Replace:
    def replace(rt: _core.Runtime, text: str) -> int:
        if not PTX.search(text):
            return rt.replace(op, **keywords_of(text))
        known = [each.symbol for each in op.versions if each.symbol]
        return rt.replace(op, ptx=text, symbol=known[-1] if known else None)

    return replace


def _replace_fused(fused: _core.Fused, path: Path) -> Replace:
    name = getattr(_function_of(fused), "__qualname__", "<unnamed>")
    if "<" in name:  # as in f.<locals>.g and <lambda>
        text = f"watch: expected a function that a module names, got {name}"
        raise _core.InvalidArgument(text)

    def replace(_rt: _core.Runtime, text: str) -> int:
        return fused.replace(_function_in(text, path, name))

    return replace


def _function_of(fused: _core.Fused) -> Callable[..., Any]:
    function: Callable[..., Any] = inspect.unwrap(fused)
    return function


def _function_in(text: str, path: Path, name: str) -> Any:
    """Run the text of a module, and return what has that name in it."""
    # Not "__main__": what a script does when it is run is not done again.
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102
    except SystemExit as error:
        text = f"{path}: expected a module, got one that exits: {error}"
        raise _core.InvalidArgument(text) from None
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        text = f"{path}: expected a function {name}, got none"
        raise _core.InvalidArgument(text)
    return found
