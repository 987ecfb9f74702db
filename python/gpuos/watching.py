"""Replace operators when their files are saved."""

from __future__ import annotations

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

    # The function returns the new version's number.
    Replace = Callable[[_core.Runtime, str], int]

log = logging.getLogger("gpuos.watch")

# Compilers begin PTX with this directive, after comments.
PTX = re.compile(r"^\s*\.version\s", re.MULTILINE)
# An editor may need several steps for one save.
QUIET_S = 0.02
# The reader checks once in this many seconds whether the runtime exists.
LOOK_S = 1.0
# A file is complete after a rename, or after its writer closes it.
SAVED = inotify.CLOSE_WRITE | inotify.MOVED_TO
MOVED = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.UNMOUNT
HEARD = SAVED | inotify.MODIFY | inotify.CREATE | inotify.DELETE | MOVED
GONE = MOVED | inotify.IGNORED


class Watch:
    """The result of Runtime.watch(). close() or a with-block ends it."""

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
        self._saved_at: float | None = None
        self._is_gone = False  # whether the folder is gone
        self._is_over = False
        self._thread: threading.Thread | None = None  # None while idle
        try:
            _reader.add(self)
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENOSPC}:
                raise
            raise _too_many(path.parent, error) from None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Stop watching. Wait for a replacement that has begun."""
        with _reader.lock:
            self._is_over = True
            _reader.remove(self)
            thread = self._thread
        # The thread's own callback may close the watch.
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def hear(self, event: inotify.Event) -> None:
        """Record an event of the folder. The caller holds the reader's lock."""
        if event.mask & GONE:
            self._is_gone = True
        is_ours = event.name == self.path.name
        is_save = event.mask & SAVED or self._saved_at is not None
        if (is_ours and is_save) or event.mask & (GONE | inotify.Q_OVERFLOW):
            self._saved_at = time.monotonic()

    def look(self) -> bool:
        """Start a due replacement, and return whether to keep watching.

        The caller holds the reader's lock.
        """
        rt = self._runtime()
        if rt is None or rt.is_closed:
            return False
        if self._saved_at is None or self._thread is not None:
            return True
        # A replacement has its own thread, as a compiler may take a minute.
        thread = threading.Thread(
            target=self._work, name="gpuos-watch", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # The process has no free thread now.
            return True
        self._thread = thread
        return not self._is_gone

    def _work(self) -> None:
        while self._is_due():
            self._apply()

    def _is_due(self) -> bool:
        """Wait until no save follows. Return False if there is no save."""
        while True:
            with _reader.lock:
                if self._saved_at is None or self._is_over:
                    self._thread = None
                    return False
                wait_s = self._saved_at + QUIET_S - time.monotonic()
                if wait_s <= 0:
                    self._saved_at = None
                    return True
            time.sleep(wait_s)

    def _apply(self) -> None:
        rt = self._runtime()
        if rt is None:
            return
        try:
            if self._is_gone:
                raise _core.InvalidArgument(
                    f"{self.path.parent}: expected the folder to stay, it "
                    "was moved or removed; its file is watched no longer"
                )
            text = read_own(self.path)
            if not text.strip():
                return  # The editor is about to write it.
            version = self._replace(rt, text)
        except FileNotFoundError:
            return  # The editor is about to rename it.
        except _core.QueueClosed:
            return  # The runtime is closed.
        except Exception as error:  # noqa: BLE001 (modules raise any)
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
        except Exception:  # The watch continues after it.
            log.exception("%s: on_error", self.path)


def _too_many(folder: Path, error: OSError) -> _core.Error:
    return _core.Error(
        f"watch: {folder}: expected room for one more watch, got {error}: "
        "this user's programs have as many as sysctl fs.inotify."
        "max_user_instances and max_user_watches say, or this process has "
        "as many files as ulimit -n"
    )


class _Reader:
    """Reads events for all watches in one thread, while there are watches."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finalizer may close a watch
        self._folders: dict[Watch, int] = {}
        self._watcher = -1  # -1 without a thread, which closes it

    def add(self, watch: Watch) -> None:
        with self.lock:
            if self._watcher < 0:
                self._watcher = self._begin()
            self._folders[watch] = inotify.add_folder(
                self._watcher, watch.path.parent, HEARD
            )

    def remove(self, watch: Watch) -> None:
        with self.lock:
            folder = self._folders.pop(watch, None)
            if folder is not None and folder not in self._folders.values():
                # This also wakes the thread, which ends with the last watch.
                inotify.remove_folder(self._watcher, folder)

    def leave_to_parent(self) -> None:
        if self._watcher >= 0:
            os.close(self._watcher)

    def _begin(self) -> int:
        watcher = inotify.open_watcher()
        thread = threading.Thread(
            target=self._work, args=(watcher,), name="gpuos-watch", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # The process has no free thread.
            os.close(watcher)
            raise
        return watcher

    def _work(self, watcher: int) -> None:
        poll = select.poll()
        poll.register(watcher, select.POLLIN)
        while self._look(watcher):
            poll.poll(1000 * LOOK_S)

    def _look(self, watcher: int) -> bool:
        """Handle events, and return whether there are watches left."""
        with self.lock:
            for event in inotify.read_events(watcher):
                for watch, folder in [*self._folders.items()]:
                    if event.folder in {folder, -1}:
                        watch.hear(event)
            for watch in [*self._folders]:
                if not watch.look():
                    self.remove(watch)
            if self._folders:
                return True
            os.close(watcher)
            self._watcher = -1
            return False


_reader = _Reader()


def _leave_reader() -> None:
    global _reader  # noqa: PLW0603 (a child has no thread)
    _reader.leave_to_parent()
    _reader = _Reader()


os.register_at_fork(after_in_child=_leave_reader)


def watch(
    rt: _core.Runtime,
    op: str | _core.Operator | _core.Fused,
    path: str | os.PathLike[str] | None = None,
    *,
    on_error: Callable[[Exception], object] | None = None,
) -> Watch:
    """Implement Runtime.watch()."""
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
    # Resolve links once, because the watch is for the file itself.
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
    if "<" in name:  # f.<locals>.g or <lambda>
        text = f"watch: expected a function that a module names, got {name}"
        raise _core.InvalidArgument(text)

    def replace(_rt: _core.Runtime, text: str) -> int:
        return fused.replace(_function_in(text, path, name))

    return replace


def _function_of(fused: _core.Fused) -> Callable[..., Any]:
    function: Callable[..., Any] = inspect.unwrap(fused)
    return function


def _function_in(text: str, path: Path, name: str) -> Any:
    """Run the text of a module, and return its function of that name."""
    # The name is not "__main__", so a script does not run its main part.
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
