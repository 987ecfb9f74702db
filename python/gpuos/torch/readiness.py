"""The state of the bridge, and the behaviour until it is ready.

PyTorch never waits for a compiler: without a bridge, schedulers are eager. Only
calls whose results must not depend on the time wait for it.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import threading
import time
import warnings
from typing import TYPE_CHECKING

import torch

import gpuos
from gpuos import choosing
from gpuos.torch import building, loading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from gpuos.torch.build_process import BuildProcess

AHEAD = "`python -m gpuos build-torch` has it ahead of time"
NOT_READY = (
    "gpuos.torch: expected a bridge to PyTorch, got none, and with "
    f"GPUOS_TORCH=ready none is compiled; schedulers defer nothing. {AHEAD}"
)
WITHIN = (
    "gpuos.torch: expected the bridge, but the thread that loads it is here, in "
    "a signal's handler or a finalizer; call wait_ready() ahead of both"
)
LOOK_S = 0.05
SELDOM_S = 0.5  # if no thread waits for it
LOAD_S = 10
END_S = 10
MOST_TEXT = 2000  # characters of a compiler's errors in a warning

# Functions of scheduling.py, which imports this module: `take_over` is called
# when the bridge is loaded, and the bridge calls `retire` and `join`.
schedulers: dict[str, Callable[[], None]] = {}

log = logging.getLogger("gpuos.torch")
log.addHandler(logging.NullHandler())  # silent unless the program wants it


class _Process:
    """The bridge of this process. One thread uses it at a time."""

    def __init__(self) -> None:
        # The handler of a signal or a finalizer may come while this thread has it.
        self.lock = threading.RLock()
        self.is_stepping = False  # under `lock`
        self.module: ModuleType | None = None
        self.build: BuildProcess | None = None
        self.failure: gpuos.Error | None = None
        self.untold: list[tuple[str, type[Warning]]] = []
        self.has_told = False
        self.refused: set[Path] = set()  # prebuilt ones that cannot be loaded
        self.watcher: threading.Thread | None = None
        self.ends = threading.Event()

    def step(self, in_haste: bool = False) -> None:
        """Advance the state towards a bridge. Never waits for a compiler.

        The caller holds `lock`.

        Parameters
        ----------
        in_haste : bool
            Whether a thread waits for it.
        """
        if self.is_stepping or self.module or self.failure:
            return
        self.is_stepping = True
        try:
            self._step(in_haste)
        except choosing.UntriedPyTorch as error:
            self._fail(
                error, "schedulers defer nothing, PyTorch does everything"
            )
        except (gpuos.Error, OSError, subprocess.SubprocessError) as error:
            if not isinstance(error, gpuos.Error):
                text = f"gpuos.torch: compiling the bridge: {error}"
                error = gpuos.BackendUnavailable(text)
            self._fail(
                error,
                "schedulers defer nothing from now on. It needs a C++ compiler "
                "and a folder to write; `python -m gpuos build-torch` shows what "
                "it does, and it or gpuos.torch.wait_ready() tries again",
            )
        finally:
            self.is_stepping = False

    def _step(self, in_haste: bool) -> None:
        if self.build is not None:
            if not self.build.has_ended():
                return
            try:
                self.build.check()
            finally:
                seconds = self.build.seconds()
                self.stop()
            log.info("the bridge was compiled within %.0f s", seconds)
        if path := choosing.find(self.refused):
            self._load(path)
        elif in_haste or choosing.may_compile():
            self._start(in_haste)
        elif not self.has_told:
            self.has_told = True
            self.untold.append((NOT_READY, UserWarning))

    def _load(self, path: Path) -> None:
        try:
            self.module = loading.load(
                path, schedulers["retire"], schedulers["join"]
            )
        except loading.NotLoaded as error:
            if path.parent == choosing.folder():
                if not isinstance(error, loading.Damaged):
                    raise
                log.warning("%s; it is compiled again", error)
                path.unlink(missing_ok=True)
                return
            self.refused.add(path)
            text = f"{error}; one that is compiled here takes its place"
            self.untold.append((text, RuntimeWarning))
        else:
            log.info("loaded %s", path)
            schedulers["take_over"]()

    def _start(self, in_haste: bool) -> None:
        self.build = building.start(in_background=not in_haste)
        if not self.has_told:
            self.has_told = True
            self.untold.append((_beginning(in_haste), UserWarning))

    def _fail(self, error: gpuos.Error, so: str) -> None:
        self.failure = error
        text = str(error)
        if len(text) > MOST_TEXT:
            text = f"{text[:MOST_TEXT]} ..."
        self.untold.append((f"{text}; {so}", RuntimeWarning))

    def watch(self, is_wanted: Callable[[], bool]) -> None:
        """Look for the bridge in a separate thread while it is wanted."""
        with self.lock:
            is_open = self.module is None and self.failure is None
            if is_open and self.watcher is None:
                self.watcher = threading.Thread(
                    target=self._watch, args=(is_wanted,), daemon=True
                )
                self.watcher.start()

    def _watch(self, is_wanted: Callable[[], bool]) -> None:
        while not self.ends.wait(SELDOM_S):
            with self.lock:
                self.step()
                if self.module or self.failure or not is_wanted():
                    self.watcher = None
                    return

    def stop(self) -> None:
        """End the compilation, if it should end with this process."""
        if self.build is None:
            return
        if self.build.has_ended() or not self.build.outlives:
            self.build.stop()
            self.build = None

    def forget(self) -> None:
        """Release a compilation that outlives this process or is a parent's."""
        self.lock = threading.RLock()
        self.is_stepping = False
        self.watcher = None
        self.ends = threading.Event()
        if self.build is not None:
            self.build.forget()
            self.build = None


_process = _Process()
os.register_at_fork(after_in_child=_process.forget)


@atexit.register
def _finish() -> None:
    _process.ends.set()
    if watcher := _process.watcher:
        watcher.join(END_S)
    _process.stop()
    _process.forget()


def _beginning(in_haste: bool) -> str:
    seconds = building.estimate(in_background=not in_haste)
    how = (
        f"now, once, about {seconds:.0f} s; this waits for it"
        if in_haste
        else f"in the background, once, about {seconds:.0f} s of one idle "
        "processor; until then schedulers defer nothing. It goes on when this "
        "program ends"
    )
    return (
        f"gpuos.torch: the bridge for PyTorch {torch.__version__} is compiled "
        f"{how}. {AHEAD}, gpuos.torch.wait_ready() waits for it"
    )


def tell(stacklevel: int) -> None:
    """Warn about events since the last call."""
    # This runs without the lock: a program may turn warnings into errors, or
    # show them by its own functions.
    while True:
        try:
            text, kind = _process.untold.pop(0)
        except IndexError:  # or another thread was quicker
            return
        log.log(
            logging.WARNING if kind is RuntimeWarning else logging.INFO, text
        )
        warnings.warn(text, kind, stacklevel=stacklevel)


def watch(is_wanted: Callable[[], bool]) -> None:
    """Load the bridge in a thread as soon as it exists, while it is wanted."""
    if not choosing.is_off():
        _process.watch(is_wanted)


def bridge_if_loaded() -> ModuleType | None:
    """Return the extension module, or None if it was not used yet."""
    return _process.module


def bridge_of_scheduler(must_wait: bool) -> ModuleType | None:
    """Return the extension module if it exists; load it if needed.

    Otherwise a scheduler is eager. The first call begins to compile it, and
    warns.

    Parameters
    ----------
    must_wait : bool
        Whether other uses at other times or places must behave the same. Then
        this waits for it or raises, unless the PyTorch was never tested.
    """
    if _process.module is not None:
        return _process.module
    if choosing.is_off():
        return None
    if _process.lock.acquire(timeout=LOAD_S):  # else another thread has long
        try:
            _process.step(must_wait)
        finally:
            _process.lock.release()
    failure = _process.failure
    must_wait = must_wait and not isinstance(failure, choosing.UntriedPyTorch)
    if failure is None or not must_wait:
        tell(stacklevel=4)
    return _wait(None) if must_wait else _process.module


def bridge() -> ModuleType:
    """Return the extension module, for which this waits.

    Raises
    ------
    gpuos.BackendUnavailable
        There is no C++ compiler, it was never tried with this PyTorch, or
        `GPUOS_TORCH=off`.
    gpuos.CompileError
        The compiler refused; the message has its output.
    """
    if _process.module is not None:
        return _process.module
    if choosing.is_off():
        text = "gpuos.torch: expected a bridge, but GPUOS_TORCH is off"
        raise gpuos.BackendUnavailable(text)
    with _process.lock:
        _process.step(in_haste=True)
        failure = _process.failure
    if failure is None:  # else it is raised
        tell(stacklevel=4)
    return _wait(None)


def wait_ready(timeout: float | None = None) -> None:
    """Wait until schedulers defer; compile the bridge if needed.

    Ctrl-C ends the wait and the compilation. Does nothing if
    `GPUOS_TORCH=off`.

    Parameters
    ----------
    timeout : float, optional
        The longest wait; the compilation continues after it. Units: seconds.

    Raises
    ------
    gpuos.BackendUnavailable
        There is no C++ compiler, or this PyTorch was never tested.
    gpuos.CompileError
        The compiler failed; the message has its output. The next call tries
        again.
    gpuos.Timeout
        It is not ready yet.
    gpuos.InvalidArgument
        For a negative time.
    """
    if timeout is not None and not timeout >= 0:
        text = f"wait_ready: expected a timeout of at least 0 s, got {timeout}"
        raise gpuos.InvalidArgument(text)
    if choosing.is_off() or _process.module is not None:
        return
    with _process.lock:
        if not isinstance(_process.failure, choosing.UntriedPyTorch):
            _process.failure = None
        _process.has_told = True  # a waiting caller needs no message
    _wait(timeout)


def _wait(timeout: float | None) -> ModuleType:
    end = time.monotonic() + (
        threading.TIMEOUT_MAX if timeout is None else timeout
    )
    try:
        while True:
            if _process.lock.acquire(timeout=LOOK_S):
                try:
                    if _process.is_stepping:
                        raise gpuos.BackendUnavailable(WITHIN)
                    _process.step(in_haste=True)
                finally:
                    _process.lock.release()
            module, failure = _process.module, _process.failure
            if module is not None:
                return module
            if failure is not None:
                _process.untold.clear()  # the error reports it
                raise failure
            if time.monotonic() >= end:
                text = f"wait_ready: expected the bridge within {timeout} s"
                raise gpuos.Timeout(text)
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        with _process.lock:
            _process.stop()
        raise
