"""Compile in the background."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, final

from gpuos import _core
from gpuos.definitions import OnlyMade, add_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# NVRTC uses some hundred MiB for a large source.
_MOST_THREADS = 8


class ModuleInfo(NamedTuple):
    """Describes a loaded image.

    Attributes
    ----------
    name : str
        The name of the module's source.
    device : int
        The number of the device. The host is -1.
    bytes : int
        The size of the image.
    holders : dict
        The number of holders that keep it loaded, by kind: 'operator',
        'JitModule', 'Kernel' and so on.
    """

    name: str
    device: int
    bytes: int
    holders: dict[str, int]


class KernelAttributes(NamedTuple):
    """Describes the resources of a kernel.

    Attributes
    ----------
    registers : int
        The number of registers of a thread.
    shared_bytes : int
        The shared memory of a block that the kernel declares.
    local_bytes : int
        The local memory of a thread: its stack and spilled registers.
    constant_bytes : int
        The constant memory that the module declares.
    max_threads : int
        The number of threads of the largest block.
    max_dynamic_shared_bytes : int
        The largest dynamic shared memory of a launch, in addition to
        shared_bytes.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int
    max_dynamic_shared_bytes: int


@final
class KernelLaunch(OnlyMade):
    """Represents a kernel with its grid and block. Call it with the arguments."""

    __slots__ = ("_block", "_grid", "_kernel", "_others")
    _kernel: _core.Kernel
    _grid: tuple[int, int, int]
    _block: tuple[int, int, int]
    _others: tuple[Any, ...]  # the shared memory and the stream

    def __call__(self, *args: object) -> None:
        """Launch the kernel.

        Raises
        ------
        InvalidArgument, CudaError
        """
        self._kernel.launch(self._grid, self._block, args, *self._others)

    def __repr__(self) -> str:
        places = f"grid {self._grid}, block {self._block}"
        return f"gpuos.KernelLaunch('{self._kernel.name}', {places})"


def _call_as_cupy(
    self: _core.Kernel,
    grid: Any,
    block: Any,
    args: Any = (),
    *,
    shared_mem: Any = 0,
    stream: Any = None,
    cooperative: bool = False,
    cluster: Any = None,
) -> None:
    self.launch(
        *(grid, block, args, shared_mem, stream),
        cooperative=cooperative,
        cluster=cluster,
    )


def _configured(self: _core.Kernel, key: Any) -> KernelLaunch:
    """Read Numba's form."""
    parts = key if isinstance(key, tuple) else (key,)
    if not 2 <= len(parts) <= 4:
        raise _core.InvalidArgument(
            f"{self.name}[...]: expected [grid, block], [grid, block, stream] "
            "or [grid, block, stream, shared_bytes], got "
            f"{len(parts)} value{'s' if len(parts) != 1 else ''}"
        )
    stream = parts[2] if len(parts) > 2 else None
    shared = parts[3] if len(parts) > 3 else 0
    made: KernelLaunch = object.__new__(KernelLaunch)
    made._kernel = self
    made._grid, made._block = (
        _core._dim(parts[0], "grid"),
        _core._dim(parts[1], "block"),
    )
    made._others = _core._integer(shared, "shared_bytes"), stream
    return made


add_parts(_core.Kernel, __call__=_call_as_cupy, __getitem__=_configured)


class _Pool:
    """A pool of daemon threads. The end of the process does not wait for them.

    It does not have a lock, because a finalizer may submit at any moment.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle: SimpleQueue[None] = SimpleQueue()  # one for each thread
        most = min(os.cpu_count() or 1, _MOST_THREADS)
        self._unstarted = [None] * most  # one for each thread

    def submit(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        try:
            self._idle.get_nowait()
        except Empty:
            pass
        else:
            return
        try:
            self._unstarted.pop()
        except IndexError:
            return
        threading.Thread(
            target=self._work, name="gpuos-compile", daemon=True
        ).start()

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            self._idle.put(None)


@cache
def _pool() -> _Pool:
    return _Pool()


# The child of a fork does not have the threads of its parent.
os.register_at_fork(after_in_child=_pool.cache_clear)


class CompileFuture(Future[_core.JitModule]):
    """The future of a JitModule. cancel() also works while it compiles."""

    def __init__(self) -> None:
        super().__init__()
        self._stop = _core._StopSource()

    def cancel(self) -> bool:
        """Cancel the compilation and return whether it was still possible.

        A compilation that runs then has the result gpuos.Cancelled.
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
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    options: _core.JitOptions | Sequence[str] | None = None,
    *,
    name: str = "module.cu",
    device: int = 0,
) -> CompileFuture:
    """Compile a JitModule on background threads.

    Parameters
    ----------
    source, name_expressions, headers, include_dirs, options, name, device
        The arguments of JitModule.

    Returns
    -------
    CompileFuture
        A concurrent.futures.Future of a JitModule, or of the exception that
        JitModule() raises.
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
        except BaseException as error:  # noqa: BLE001 (for the future)
            future.set_exception(error)
        else:
            future.set_result(module)

    _pool().submit(work)
    return future


def image_of(
    source: Any, path: Any, image: Any, name: Any, *others: Any
) -> tuple[bytes, Any]:
    """Return the image of a JitModule without a source, and its name."""
    origins = {"source": source, "path": path, "image": image}
    given = [key for key, value in origins.items() if value is not None]
    if len(given) != 1:
        raise TypeError(
            "JitModule: expected one of source, path and image, got "
            f"{' and '.join(given) or 'none'}"
        )
    *lists, options = others
    if options is not None or any(x is not None and len(x) for x in lists):
        raise TypeError(
            "JitModule: expected name_expressions, headers, include_dirs and "
            "options with a source, got them with an image, which is compiled "
            "already"
        )
    own = "module.cubin"
    if path is not None:
        path = Path(path)
        image = path.read_bytes()
        own = path.name.encode("utf-8", "backslashreplace").decode()
    elif not isinstance(image, bytes):
        raise TypeError(
            f"image: expected bytes, got {_core._kind_shown(image)}"
        )
    return image, own if name is None else name
