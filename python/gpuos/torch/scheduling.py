"""The with-block under which small operations are deferred."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch

import gpuos
from gpuos import _core, defaults
from gpuos.torch import access
from gpuos.torch.readiness import (
    bridge,
    bridge_if_loaded,
    bridge_of_scheduler,
    schedulers,
    tell,
    watch,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType, TracebackType

P = ParamSpec("P")
R = TypeVar("R")

MAX_CAPACITY = 1 << 20
# Autocast is switched by its own keys, and does not change ours.
_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_AUTOCAST = _AUTOCAST.add(torch._C.DispatchKey.AutocastCUDA)

_lock = threading.RLock()  # the handler of a signal may use schedulers too
_guards: access.Guards | None = None  # under _lock
_eager = 0  # schedulers that were entered without a bridge. Under _lock
_timer_ms = 0.0  # the shortest interval in use; 0: none. Under _lock


class _Block:
    """Marks that a thread is in a scheduler, until it leaves or ends."""

    def __init__(self, interval_ms: float) -> None:
        self.interval_ms = interval_ms


class _EagerBlock:
    """A scheduler's block that was entered without a bridge."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.modes = _modes()


_blocks: weakref.WeakSet[_Block] = weakref.WeakSet()  # of all, under _lock
# The blocks of all threads that begin to defer when the bridge exists. Under
# _lock.
_waiting: weakref.WeakSet[_EagerBlock] = weakref.WeakSet()


class _Thread(threading.local):
    def __init__(self) -> None:
        # Blocks that were entered without a bridge are outside of the others.
        self.eager: list[_EagerBlock] = []
        self.blocks: list[_Block] = []


_thread = _Thread()


@dataclass(frozen=True)
class Scheduler:
    """The result of `scheduler()`. Enter it in the thread whose work it defers.

    It may be entered again, also by several threads; each block defers the work
    of its own thread. Inside of another scheduler its options apply until its
    block ends.
    """

    capacity: int
    threads_per_block: int
    size_threshold: int
    auto_flush_ms: float
    deterministic: bool | None

    if TYPE_CHECKING:

        def __enter__(self) -> Scheduler: ...  # noqa: PYI034 (Self is newer)

        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            trace: TracebackType | None,
        ) -> None: ...

    else:
        # They call the methods below. Ctrl-C raises only in Python code, never
        # inside of the C function that enters or leaves.
        __enter__ = _core._enter
        __exit__ = _core._leave

    def _entering(self) -> Callable[[], object]:
        """Prepare, and return the function of C that enters."""
        global _eager  # noqa: PLW0603
        is_fixed = _is_fixed(self.deterministic)
        module = bridge_of_scheduler(must_wait=is_fixed)
        if module is not None:
            join()
            return self._deferring(module, is_fixed)
        block = _EagerBlock(self)
        with _lock:
            _eager += 1
            _waiting.add(block)
        take_over()  # the bridge may have come meanwhile
        watch(lambda: bool(_waiting))
        return functools.partial(_thread.eager.append, block)

    def _deferring(
        self, module: ModuleType, is_fixed: bool
    ) -> Callable[[], object]:
        set_threads(self.threads_per_block)
        if is_fixed:
            defaults.make_deterministic()
        block = _Block(self.auto_flush_ms)
        with _lock:
            _put_front(module)
            _blocks.add(block)
            _set_timer()
        return functools.partial(
            module.enter,
            self.capacity,
            self.size_threshold,
            is_fixed,
            _thread.blocks,
            block,
        )

    def _leaving(self) -> Callable[[], object]:
        """Return the C function that leaves a block and returns its state."""
        module = bridge_if_loaded()
        if module is not None and _thread.blocks:
            return functools.partial(module.leave, _thread.blocks)
        return _thread.eager.pop if _thread.eager else type(None)

    def _left(
        self, block: _Block | _EagerBlock | None, error: BaseException | None
    ) -> None:
        """Clean up. The next call completes an interrupted one."""
        if isinstance(block, _EagerBlock):
            with _lock:
                _waiting.discard(block)
            take_over()
            if error is None:
                tell(stacklevel=3)  # that there will be no bridge
            return
        with _lock:
            if block is not None:
                _blocks.discard(block)
            _set_timer()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function whose calls are each a block of this scheduler.

        Raises
        ------
        gpuos.InvalidArgument
            If it is a generator or a coroutine, because its call returns
            before it runs.
        """
        if (
            inspect.isgeneratorfunction(function)
            or inspect.iscoroutinefunction(function)
            or inspect.isasyncgenfunction(function)
        ):
            text = (
                "scheduler: expected a function that runs in its call, got a "
                "generator or a coroutine; write `with` inside of it"
            )
            raise gpuos.InvalidArgument(text)

        @functools.wraps(function)
        def scheduled(*arguments: P.args, **keywords: P.kwargs) -> R:
            with self:
                return function(*arguments, **keywords)

        return scheduled

    def flush(self, sync: bool = False) -> None:
        """Call `gpuos.torch.flush()`."""
        flush(sync)


def flush(sync: bool = False) -> None:
    """Run pending operations.

    On a GPU they are ordered after earlier and before later work of the stream
    that was current when they were deferred. On the CPU they are done when this
    returns.

    Parameters
    ----------
    sync : bool
        Wait until they are done on a GPU too.
    """
    module = bridge_if_loaded()
    if module is None:
        return
    if sync:
        module.synchronize()
    else:
        module.flush()


def scheduler(
    capacity: int = 8192,
    threads_per_block: int = 256,
    size_threshold: int = 1 << 15,
    auto_flush_ms: float = 2.0,
    deterministic: bool | None = None,
) -> Scheduler:
    """Defer small operations, and run them together.

    Without a bridge to this PyTorch the block is eager. The first scheduler of a
    process begins to compile one in the background, which continues after it.
    The block stays eager if none can be built, or if `GPUOS_TORCH=off`. See
    `wait_ready()`.

    Parameters
    ----------
    capacity : int
        The most operations that wait when this thread adds one, 1 to 2**20;
        then they run.
    threads_per_block : int
        Threads of one worker on the GPU, a multiple of 32, 32 to 256. The
        scheduler or `init()` under which a device is first used decides.
    size_threshold : int
        PyTorch runs operations on more elements.
    auto_flush_ms : float
        The longest wait of an operation whose result is not read; the shortest
        of all schedulers in use counts. Units: milliseconds.
    deterministic : bool, optional
        Whether only operators, dtypes, shapes and strides decide which
        operations PyTorch runs, so that a program gives the same bits in each
        run (docs/numbers.md). Then no thread backs off, and from then on sums on
        a GPU have one order in the whole process. Default: true if the scheduler
        is entered while ``torch.are_deterministic_algorithms_enabled()``. Always
        true under a process group of several ranks, which must agree. The
        scheduler waits for the bridge then.

    Raises
    ------
    TypeError
        For a number of another kind.
    gpuos.InvalidArgument
        For a value outside of these ranges.
    gpuos.BackendUnavailable, gpuos.CompileError
        When a deterministic one is entered: the bridge cannot be built.

    Warns
    -----
    UserWarning
        When the first one is entered and the bridge is being compiled.
    RuntimeWarning
        When one is entered: the bridge could not be built, or this PyTorch was
        never tested. From then on all are eager.
    """
    capacity = _whole("capacity", capacity)
    threads_per_block = _whole("threads_per_block", threads_per_block)
    size_threshold = _whole("size_threshold", size_threshold)
    auto_flush_ms = _real("auto_flush_ms", auto_flush_ms)
    check_limits(capacity, threads_per_block)
    if not 0 <= size_threshold < 1 << 63:
        text = (
            "scheduler: expected a size_threshold of 0 to 2**63 - 1, got "
            f"{size_threshold}"
        )
        raise gpuos.InvalidArgument(text)
    if not 0.01 <= auto_flush_ms <= 60_000:
        text = (
            "scheduler: expected an auto_flush_ms of 0.01 to 60000, got "
            f"{auto_flush_ms}"
        )
        raise gpuos.InvalidArgument(text)
    return Scheduler(
        capacity,
        threads_per_block,
        size_threshold,
        auto_flush_ms,
        deterministic,
    )


scheduler_context = scheduler


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        text = f"scheduler: expected {name} to be an int, got {value!r}"
        raise TypeError(text) from None


def _real(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) or hasattr(value, "__float__"):
        return float(value)
    text = f"scheduler: expected {name} to be a number, got {value!r}"
    raise TypeError(text)


def _is_fixed(deterministic: bool | None) -> bool:
    """Return whether a scheduler that is entered now is deterministic."""
    group = torch.distributed
    if (
        group.is_available()
        and group.is_initialized()
        and group.get_world_size() > 1
    ):
        return True
    if deterministic is None:
        return bool(torch.are_deterministic_algorithms_enabled())
    return deterministic


def check_limits(capacity: int, threads_per_block: int) -> None:
    """Refuse limits that no runtime accepts."""
    if not 1 <= capacity <= MAX_CAPACITY:
        text = f"expected a capacity of 1 to {MAX_CAPACITY}, got {capacity}"
        raise gpuos.InvalidArgument(text)
    if threads_per_block % 32 != 0 or not 32 <= threads_per_block <= 256:
        text = (
            "expected threads_per_block to be a multiple of 32, 32 to 256, "
            f"got {threads_per_block}"
        )
        raise gpuos.InvalidArgument(text)


def set_threads(threads_per_block: int) -> None:
    """Store the number of threads for new runtimes."""
    defaults.threads_per_worker = threads_per_block


def count_of_eager() -> int:
    """Return how many schedulers were entered without a bridge."""
    return _eager


def take_over() -> None:
    """Make eager blocks defer, if the bridge exists.

    An override calls `join()` in each thread, ahead of one of its operators.
    """
    if module := bridge_if_loaded():
        with _lock:
            if _waiting:
                _put_front(module)
            module.await_schedulers(len(_waiting))


def join() -> None:
    """Let the eager blocks of this thread defer, if they may now."""
    blocks = _thread.eager
    if not blocks or _thread.blocks or not _waiting.issuperset(blocks):
        return
    if blocks[-1].modes != _modes() or _is_recorded():
        return
    if any(_is_fixed(one.scheduler.deterministic) for one in blocks):
        # It must not depend on when the bridge came: eager to the end.
        _waiting.difference_update(blocks)
    else:
        module = bridge()
        entering = [
            block.scheduler._deferring(module, is_fixed=False)
            for block in blocks
        ]
        _thread.eager = []
        _waiting.difference_update(blocks)
        for enter in entering:
            enter()
    take_over()


def _modes() -> tuple[int, ...]:
    """Return the modes that restore the dispatch keys at their end."""
    keys = torch._C
    return tuple(
        (found() - _AUTOCAST).raw_repr()
        for found in (
            keys._dispatch_tls_local_include_set,
            keys._dispatch_tls_local_exclude_set,
        )
    )


def _is_recorded() -> bool:
    """Return whether a graph's capture or a backward pass is under way."""
    if torch._C._current_graph_task_id() != -1:
        return True
    cuda = torch.cuda
    return bool(cuda.is_initialized() and cuda.is_current_stream_capturing())


def _put_front(module: ModuleType) -> None:
    global _guards  # noqa: PLW0603 (one process, one torch.Tensor)
    if _guards is None:
        module.install_front(torch.nn.Parameter)
        guards = access.Guards(module)
        try:
            guards.install()
        except BaseException:
            guards.remove()
            raise
        _guards = guards
    _guards.guard_compiled_code()


def _forget_parent() -> None:
    # A child of a fork has none of its parent's threads.
    global _timer_ms, _lock  # noqa: PLW0603
    _timer_ms = 0.0
    _lock = threading.RLock()
    _waiting.clear()


os.register_at_fork(after_in_child=_forget_parent)


def _set_timer() -> None:
    # Pending operations may be of any block, so the shortest interval is for
    # all. Under _lock.
    global _timer_ms  # noqa: PLW0603
    shortest = min((block.interval_ms for block in _blocks), default=0.0)
    if shortest == _timer_ms:
        return
    if _blocks:
        bridge().start_timer(shortest / 1e3)
    else:
        bridge().pause_timer()
    _timer_ms = shortest


def shut_down(module: ModuleType) -> None:
    """Leave everything as if it had never been used.

    Raises
    ------
    gpuos.Error
        A thread is inside of a scheduler.
    """
    global _timer_ms  # noqa: PLW0603
    with _lock:
        if _blocks:
            text = "shutdown: expected no scheduler in use, a thread is in one"
            raise gpuos.Error(text)
        module.stop_timer()
        _timer_ms = 0.0
    module.shut_down()
    defaults.let_go()
    retire()


def retire() -> None:
    """Restore PyTorch; the next scheduler starts again.

    Functions that give a tensor other memory continue to check for pending
    operations, see bridge/entry/storage_setters.cpp.
    """
    global _guards  # noqa: PLW0603
    with _lock:
        if not _blocks and not _waiting and _guards is not None:
            bridge().remove_front()
            _guards.remove()
            _guards = None


schedulers.update(take_over=take_over, retire=retire, join=join)
