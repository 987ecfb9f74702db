"""Guards the ways from Python to a tensor's memory and to a stream's end.

These ways call no operator, so nothing else would notice them. The guards run
the pending operations first. They are installed while a scheduler is in use.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

# These give away the memory of one tensor: others may write it from then on.
MEMORY = (
    "data_ptr",
    "const_data_ptr",
    "numpy",
    "untyped_storage",
    "storage",
    "_typed_storage",
    "__array__",
    "__dlpack__",
)
# These use more than that, for example its gradient.
TENSOR = ("share_memory_", "__reduce_ex__", "__deepcopy__")
STREAM = (
    "synchronize",
    "wait_stream",
    "wait_event",
    "record_event",
    "query",
)
EVENT = ("record", "wait", "synchronize", "query", "elapsed_time")


# A warning is said to come from the caller of its caller; Python does not count
# frames of a file with these two words in its name.
PASSED_OVER = f"{__file__}: as importlib._bootstrap"


class Guards:
    """Replaces functions by versions that flush first."""

    def __init__(self, bridge: Any) -> None:
        self._bridge = bridge
        self._flush = bridge.flush
        self._undo: list[Callable[[], None]] = []
        self._guards_frames = False

    def install(self) -> None:
        """Put them in place."""
        bridge = self._bridge
        for name in MEMORY:
            self._guard_tensor(name, bridge.flush_before_use)
        self._guard_tensor("tolist", bridge.flush_before_read)
        for name in TENSOR:
            self._guard(torch.Tensor, name, self._flush)
        # TorchScript's fused kernels read memory without notice to PyTorch.
        for owner in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            self._put(owner, "__call__", self._paused)
        # Autograd's own calls cost little, and the next matrix product needs
        # their results.
        self._put(torch.autograd, "_engine_run_backward", self._paused)
        # Before 2.13 nothing else notices that it reads its copies.
        self._put(
            torch.distributed, "_verify_params_across_processes", self._paused
        )
        # It brings the compiler, which may not be imported yet.
        self._put(torch, "compile", self._compiling)
        self.guard_compiled_code()
        if not torch.cuda.is_available():
            return
        for name in STREAM:
            self._guard(torch.cuda.Stream, name, self._flush)
        for name in EVENT:
            self._guard(torch.cuda.Event, name, self._flush)
        self._guard(torch.cuda, "synchronize", self._flush)
        # A graph's memory is its own: none of it may be used again outside.
        self._guard(torch.cuda.CUDAGraph, "capture_begin", self._begin_capture)
        self._guard(torch.cuda.CUDAGraph, "capture_end", self._end_capture)
        self._guard(torch.cuda.CUDAGraph, "replay", self._flush)

    def guard_compiled_code(self) -> None:
        """Flush before the compiler's guards, which see the pending marks.

        Does nothing before PyTorch's compiler is imported, nor a second time.
        """
        frames = sys.modules.get("torch._dynamo.eval_frame")
        if self._guards_frames or not hasattr(frames, "_callback_from_stance"):
            return
        self._guard(frames, "_callback_from_stance", self._flush)
        self._guards_frames = True

    def remove(self) -> None:
        """Restore the original functions."""
        while self._undo:
            self._undo.pop()()
        self._guards_frames = True  # a kept torch.compile adds nothing

    def _begin_capture(self) -> None:
        self._flush()
        self._bridge.capture(True)

    def _end_capture(self) -> None:
        self._flush()
        self._bridge.capture(False)

    def _guard(self, owner: Any, name: str, before: Callable[[], None]) -> None:
        def around(original: Any) -> Any:
            def guarded(*arguments: Any, **named: Any) -> Any:
                before()
                return original(*arguments, **named)

            return guarded

        self._put(owner, name, around)

    def _guard_tensor(self, name: str, before: Callable[[Any], None]) -> None:
        def around(original: Any) -> Any:
            def guarded(tensor: Any, /, *arguments: Any, **named: Any) -> Any:
                before(tensor)
                return original(tensor, *arguments, **named)

            return guarded

        self._put(torch.Tensor, name, around)

    def _compiling(self, original: Any) -> Any:
        def guarded(*arguments: Any, **named: Any) -> Any:
            compiled = original(*arguments, **named)
            self.guard_compiled_code()
            return compiled

        return guarded

    def _paused(self, original: Any) -> Any:
        def guarded(*arguments: Any, **named: Any) -> Any:
            return self._bridge.without(original, arguments, named)

        return guarded

    def _put(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        if not hasattr(owner, name):
            return
        original = getattr(owner, name)
        was_own = name in vars(owner)
        guarded = around(original)
        guarded.__code__ = guarded.__code__.replace(co_filename=PASSED_OVER)
        functools.update_wrapper(guarded, original)

        def undo() -> None:
            if getattr(owner, name) is not guarded:
                return  # other code has replaced it
            if was_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)

        self._undo.append(undo)
        setattr(owner, name, guarded)
