"""Compiling in the background."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A large source takes NVRTC some hundred MiB.
_MOST_THREADS = 8


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        min(os.cpu_count() or 1, _MOST_THREADS), "gpuos-compile"
    )


class CompileFuture(Future[_core.JitModule]):
    """A module that is being compiled; cancel() works at any time."""

    def __init__(self) -> None:
        super().__init__()
        self._stop = _core._StopSource()

    def cancel(self) -> bool:
        """Give up, even in the middle; return whether there was time to.

        The result of one that ran is then gpuos.Cancelled.
        """
        if self.done():
            return self.cancelled()
        self._stop.request()
        super().cancel()
        return True


def compile_async(
    source: str,
    name_expressions: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    include_dirs: Sequence[str] = (),
    options: _core.JitOptions | Sequence[str] | None = None,
    *,
    name: str = "module.cu",
    device: int = 0,
) -> CompileFuture:
    """Compile a JitModule on threads of the background.

    Parameters
    ----------
    source, name_expressions, headers, include_dirs, options, name, device
        As for JitModule.

    Returns
    -------
    CompileFuture
        A concurrent.futures.Future of a JitModule, or of what JitModule()
        raises.
    """
    future = CompileFuture()

    def work() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            module = _core.JitModule(
                source,
                name_expressions,
                headers or {},
                include_dirs,
                options,
                name=name,
                device=device,
                _stop=future._stop,
            )
        except BaseException as error:  # noqa: BLE001 (it is the future's)
            future.set_exception(error)
        else:
            future.set_result(module)

    _pool().submit(work)
    return future
