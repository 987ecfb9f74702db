"""The compiled part of gpuos."""

import os
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from types import EllipsisType, ModuleType, TracebackType
from typing import (
    Any,
    Literal,
    NoReturn,
    SupportsIndex,
    SupportsInt,
    TypeAlias,
    final,
    type_check_only,
)

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from gpuos.typing import ArrayInput, Backend, Residency, Stats
from gpuos.watching import Watch

__version__: str

def _add_library_dir(path: str) -> None:
    """Announce a folder with CUDA libraries."""

def _diagnose() -> list[Finding]:
    """Return what was looked for, as a list of Finding."""

def _bridge(runtime: Runtime) -> Any:
    """The functions of gpuos/bridge.h and this runtime, as a capsule
    "gpuos.bridge" of a gpuos::Bridge. The runtime lives as long.
    """

def _enter(scheduler: Any) -> Any: ...
def _leave(scheduler: Any, kind: Any, error: Any, trace: Any) -> None: ...
def _make_deterministic(runtime: Runtime) -> Runtime:
    """As if the runtime had been made with deterministic=True, for what is
    submitted from now on. Returns it.
    """

def _bytes_of(array: Array) -> npt.NDArray[np.uint8]:
    """Wait, and return the elements in C order as an ndarray of uint8:
    the memory itself where that is possible.
    """

def _set_bytes(array: Array, source: object) -> None:
    """Copy a buffer of as many bytes into a new array."""

def _dtype_name(array: Array) -> str:
    """Of its elements, also where NumPy has no such dtype."""

def _is_shared(runtime: Runtime) -> bool:
    """Whether it is the default runtime of a device."""

def _is_over(ticket: Ticket, timeout: float) -> bool:
    """Whether it is done, or has failed, within some seconds."""

def _first_done(tickets: Iterable[Ticket], timeout: float) -> list[int]:
    """Wait until some are done, or have failed; return their places, at
    most 64.
    """

def _overlap(a: Array, b: Array) -> bool:
    """Whether two arrays have memory in common, but for one view."""

def _view_at(array: Array, index: Any) -> Array:
    """The view of what an index means, also of one element."""

def _is_number(array: Array) -> bool:
    """Whether in-place operators make a new array."""

def _set_number(array: Array, is_number: bool) -> None: ...
def _share(runtime: Runtime, is_shared: bool = ...) -> Runtime:
    """Whether the runtime refuses to be closed. Returns it."""

def _has_captured(runtime: Runtime) -> bool:
    """Whether a captured CUDA graph runs tasks of it."""

def _operations() -> dict[str, int]: ...
def _watch_arrays(watch: Any) -> None:
    """Have a gpuos::ArrayWatch, from a capsule "gpuos.array_watch", told of
    tasks on foreign arrays, until the process ends.
    """

def _live_runtimes() -> dict[int, Runtime]:
    """Those that are not closed, by number, the oldest first."""

def _stats_now(runtime: Runtime) -> dict[str, Any]:
    """stats() that leaves deferred operations alone."""

def _wait_for_all(runtime: Runtime, timeout: float | None) -> bool:
    """synchronize() that leaves failures to others; return whether all was
    done in time.
    """

def _secure_variable(name: str) -> str | None:
    """A variable of the environment, as secure_getenv gives it."""

def _cache_info() -> CacheInfo:
    """Return where the cache is and how large."""

def _cached_images() -> list[CachedImage]:
    """Read and check every file of the cache."""

def _prune_cache(max_bytes: int) -> tuple[int, int]:
    """Return how many files and bytes were removed."""

def _clear_cache() -> tuple[int, int]:
    """Return how many files and bytes were removed."""

@final
class CacheLevel:
    """One folder of compiled images."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def folder(self) -> str:
        """Empty if none is wanted."""
    @property
    def why_off(self) -> str:
        """Why it is not used; empty if it is."""
    @property
    def is_writable(self) -> bool:
        """Whether files can be added."""
    @property
    def entries(self) -> int:
        """How many images."""
    @property
    def bytes(self) -> int:
        """Of all of them."""

@final
class CacheInfo:
    """The disk cache of compiled operators."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def own(self) -> CacheLevel:
        """The level that is written."""
    @property
    def read_only(self) -> CacheLevel:
        """The level of GPUOS_CACHE_READONLY_DIR."""
    @property
    def max_bytes(self) -> int:
        """How large the own level may grow."""

@final
class CachedImage:
    """A file of the cache."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def path(self) -> str:
        """Of the file."""
    @property
    def is_read_only(self) -> bool:
        """Whether it is in the read-only level."""
    @property
    def state(self) -> str:
        """ "good", "bad" or "other schema"."""
    @property
    def problem(self) -> str:
        """Empty if it is good."""
    @property
    def name(self) -> str:
        """Such as "axpy.cu"."""
    @property
    def arch(self) -> str:
        """Such as "sm_90"."""
    @property
    def registers(self) -> int:
        """Per thread."""
    @property
    def bytes(self) -> int:
        """Of the file."""
    @property
    def used(self) -> float:
        """When last, in seconds since 1970."""

class Error(RuntimeError):
    """Base of all errors of gpuos but wrong types."""

class InvalidArgument(Error, ValueError):
    """The caller broke a documented rule. Nothing was queued."""

class OutOfRange(InvalidArgument, OverflowError):
    """A number is too large, or too small, for its type. Nothing was queued."""

class BackendUnavailable(Error):
    """The backend, or something that it needs, is not on this machine. The message says what to install."""

class CudaError(Error):
    """A driver call failed: `code` is the driver's number, `call` the call."""

    code: int
    call: str

class CompileError(Error):
    """Device code did not compile, link or fit; `log` is the compiler's.

    `file`, `line` and `column` (from 1; 0: not known) are the first
    error's, as #line says; `excerpt` is the line and a caret.
    """

    log: str
    file: str
    line: int
    column: int
    excerpt: str

class HostError(Error):
    """Host code of a session threw: `type` as C++ spells it, and its `text`."""

    type: str
    text: str

class TaskError(Error):
    """A task failed while it ran; `operator` names the operator."""

    operator: str

class QueueClosed(Error):
    """The runtime was closed."""

class Cancelled(Error):
    """The caller took back what it had asked for."""

class Timeout(Error, TimeoutError):
    """A deadline passed before the thing that was waited for."""

@final
class Finding:
    """One thing that gpuos looked for on this machine."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def what(self) -> str:
        """Such as "driver" or "nvrtc"."""
    @property
    def found(self) -> bool:
        """Whether it is usable."""
    @property
    def version(self) -> str:
        """Empty if unknown."""
    @property
    def where(self) -> str:
        """A path, or empty."""
    @property
    def hint(self) -> str:
        """What to install if it is missing."""
    @property
    def searched(self) -> list[str]:
        """The places that were looked at, best first."""

@final
class Ticket:
    """What submit() returns: wait for it, or ask if it is done.

    Hashable; equal tickets mean the same tasks.
    """
    @property
    def done(self) -> bool:
        """Whether the task is done. Raises TaskError if it failed."""
    def wait(self, timeout: float | None = None) -> None:
        """Wait for the task; the same as Runtime.wait(ticket, timeout)."""
    def add_done_callback(
        self, callback: Callable[[Ticket], object], /
    ) -> None:
        """Call `callback(ticket)` once, when the task is done or has failed.

        Parameters
        ----------
        callback : callable
            Called at once if it is done now, else in a thread of gpuos: it
            should be short, as the next one waits for it. What it raises goes
            to sys.unraisablehook.
        """
    def __await__(self) -> Generator[Any]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        """Raise PicklingError: it means nothing in another process."""

_Index: TypeAlias = SupportsIndex | slice | EllipsisType | None

@final
class Array:
    """Memory of a runtime with a shape and a dtype, or a view of one.

    Made by Runtime.array(), empty() and zeros(), in C order without gaps.
    Indexing as NumPy's, T, transpose() and reshape() give views that share
    the memory and keep it alive. Operators, NumPy's functions and most of
    its methods give new arrays and return at once; they are collected into
    one program, see fuse(), until somebody looks. NumPy, CuPy, PyTorch and JAX take an
    array without a copy through DLPack or the array interfaces: that waits
    for the tasks that use it now, not for those submitted later.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as a NumPy dtype; one that NumPy lacks needs
        ml_dtypes.
        """
    @property
    def ndim(self) -> int:
        """How many axes."""
    @property
    def size(self) -> int:
        """How many elements."""
    @property
    def itemsize(self) -> int:
        """How many bytes one element has."""
    @property
    def nbytes(self) -> int:
        """How many bytes its elements have."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
    @property
    def T(self) -> Array:
        """A view with the axes reversed."""
    @property
    def mT(self) -> Array:
        """As numpy.ndarray.mT; computed by a task."""
    @property
    def real(self) -> Array:
        """A view of the real parts; of real elements, of themselves."""
    @real.setter
    def real(self, value: Any) -> None: ...
    @property
    def imag(self) -> Array:
        """A view of the imaginary parts; of real elements, new zeros."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def ptr(self) -> int:
        """The address of the first element. Keep the array alive while it is
        used.
        """
    @property
    def runtime(self) -> Runtime:
        """The Runtime whose memory it is, and that runs its operators."""
    @property
    def device(self) -> str:
        """ "host", or such as "cuda:0"."""
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def numpy(self, *, copy: bool = True) -> npt.NDArray[Any]:
        """Wait for the tasks that use this memory and return an ndarray.

        Parameters
        ----------
        copy : bool
            False, host backend only: a view of the same memory. Tasks
            submitted later change it.

        Raises
        ------
        InvalidArgument
            If it was freed, or cannot be a view.
        TypeError
            For a dtype that NumPy lacks, without ml_dtypes.
        TaskError
            If the runtime is dead. A task that failed is told
            by its ticket, synchronize() and close().
        """
    def copy_from(self, source: npt.ArrayLike) -> None:
        """Copy `source` here, after the tasks that use this memory.

        Parameters
        ----------
        source : array_like, of this shape and dtype
            Made contiguous only if needed.

        Raises
        ------
        InvalidArgument
            If shape or dtype differ, or for a view with
            gaps or another order.
        """
    def transpose(
        self, *axes: SupportsIndex | Sequence[SupportsIndex] | None
    ) -> Array:
        """transpose(*axes): a view with the axes in another order.

        Parameters
        ----------
        *axes : int
            Each axis once, as numbers or one tuple; none reverses them.

        Raises
        ------
        InvalidArgument
            If an axis is missing, unknown or given twice.
        """
    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> Array:
        """reshape(*shape): a view with another shape, in C order.

        Parameters
        ----------
        *shape : int
            Numbers or one tuple; one of them may be -1.

        Raises
        ------
        InvalidArgument
            If that would need a copy, or the sizes differ.
        """
    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: Any, /) -> Array: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]: ...
    def __dask_tokenize__(self) -> tuple[Any, ...]: ...
    def free(self) -> None:
        """Give the memory back once the tasks that use it are done.

        Any later use raises InvalidArgument. If the address went out (a
        view, ptr, an array interface), the memory stays until this
        object goes.
        """
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def __getitem__(self, index: _Index | tuple[_Index, ...]) -> Array:
        """As NumPy's: a view by integers, slices, None, ... and tuples of
        them. Integers for all axes give the element as it is now, an array
        without axes that cannot be written; x[i, ...] is a view of it.
        """
    def __array__(
        self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None
    ) -> npt.NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array_namespace__(
        self, *, api_version: str | None = None
    ) -> ModuleType: ...
    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        """This array, or a copy of it in the default runtime of another
        device.

        Parameters
        ----------
        device : str
            As in default_runtime().
        stream : None
            There is no choice: the copy waits.

        Raises
        ------
        InvalidArgument
            For another text.
        BackendUnavailable
            If there is no such GPU.
        """
    def all(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.all; computed by a task."""
    def any(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.any; computed by a task."""
    def argmax(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.argmax; computed by a task."""
    def argmin(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.argmin; computed by a task."""
    def max(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.max; computed by a task."""
    def min(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.min; computed by a task."""
    def ptp(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.ptp; computed by a task."""
    def mean(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.mean; computed by a task."""
    def prod(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.prod; computed by a task."""
    def sum(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.sum; computed by a task."""
    def std(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.std; computed by a task."""
    def var(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
    ) -> Array:
        """As numpy.ndarray.var; computed by a task."""
    def astype(self, dtype: npt.DTypeLike, *, copy: bool = True) -> Array:
        """As numpy.ndarray.astype; computed by a task."""
    def clip(
        self, min: Any = None, max: Any = None, *, out: Array | None = None
    ) -> Array:
        """As numpy.ndarray.clip; computed by a task."""
    def conj(self) -> Array:
        """As numpy.ndarray.conj; computed by a task."""
    def conjugate(self) -> Array:
        """As numpy.ndarray.conjugate; computed by a task."""
    def copy(self, order: str = "C") -> Array:
        """As numpy.ndarray.copy; computed by a task."""
    def dot(self, b: Any, *, out: Array | None = None) -> Array:
        """As numpy.ndarray.dot; computed by a task."""
    def fill(self, value: npt.ArrayLike) -> None:
        """As numpy.ndarray.fill; computed by a task."""
    def flatten(self, order: str = "C") -> Array:
        """As numpy.ndarray.flatten; computed by a task."""
    def item(self, *index: SupportsIndex) -> Any:
        """As numpy.ndarray.item; computed by a task."""
    def ravel(self, order: str = "C") -> Array:
        """As numpy.ndarray.ravel; computed by a task."""
    def round(self, decimals: int = 0, *, out: Array | None = None) -> Array:
        """As numpy.ndarray.round; computed by a task."""
    def cumprod(
        self,
        axis: SupportsIndex | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """As numpy.ndarray.cumprod; computed by a task."""
    def cumsum(
        self,
        axis: SupportsIndex | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """As numpy.ndarray.cumsum; computed by a task."""
    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> Array:
        """As numpy.ndarray.diagonal; computed by a task."""
    def repeat(
        self, repeats: npt.ArrayLike, axis: SupportsIndex | None = None
    ) -> Array:
        """As numpy.ndarray.repeat; computed by a task."""
    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """As numpy.ndarray.trace; computed by a task."""
    def argpartition(self, *args: object, **kwargs: object) -> NoReturn: ...
    def argsort(self, *args: object, **kwargs: object) -> NoReturn: ...
    def choose(self, *args: object, **kwargs: object) -> NoReturn: ...
    def compress(self, *args: object, **kwargs: object) -> NoReturn: ...
    def nonzero(self, *args: object, **kwargs: object) -> NoReturn: ...
    def partition(self, *args: object, **kwargs: object) -> NoReturn: ...
    def searchsorted(self, *args: object, **kwargs: object) -> NoReturn: ...
    def sort(self, *args: object, **kwargs: object) -> NoReturn: ...
    def take(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def base(self) -> NoReturn: ...
    @property
    def byteswap(self) -> NoReturn: ...
    @property
    def ctypes(self) -> NoReturn: ...
    @property
    def data(self) -> NoReturn: ...
    @property
    def dump(self) -> NoReturn: ...
    @property
    def dumps(self) -> NoReturn: ...
    @property
    def flags(self) -> NoReturn: ...
    @property
    def flat(self) -> NoReturn: ...
    @property
    def getfield(self) -> NoReturn: ...
    @property
    def itemset(self) -> NoReturn: ...
    @property
    def newbyteorder(self) -> NoReturn: ...
    @property
    def put(self) -> NoReturn: ...
    @property
    def resize(self) -> NoReturn: ...
    @property
    def setfield(self) -> NoReturn: ...
    @property
    def setflags(self) -> NoReturn: ...
    @property
    def tobytes(self) -> NoReturn: ...
    @property
    def tofile(self) -> NoReturn: ...
    @property
    def tostring(self) -> NoReturn: ...
    @property
    def view(self) -> NoReturn: ...
    def squeeze(self, axis: _Axes = None) -> Array:
        """As numpy.ndarray.squeeze; computed by a task."""
    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """As numpy.ndarray.swapaxes; computed by a task."""
    def tolist(self) -> Any:
        """As numpy.ndarray.tolist; computed by a task."""
    def __array_ufunc__(
        self, ufunc: Any, method: str, /, *args: Any, **kwargs: Any
    ) -> Any: ...
    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any, /
    ) -> Any: ...
    def __delitem__(self, index: object, /) -> NoReturn: ...
    def __setitem__(
        self,
        index: _Index | tuple[_Index, ...] | Array,
        value: npt.ArrayLike,
        /,
    ) -> None: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def __complex__(self) -> complex: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __format__(self, spec: str, /) -> str: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __round__(self, digits: int | None = None, /) -> Any: ...
    def __add__(self, other: Any, /) -> Array: ...
    def __radd__(self, other: Any, /) -> Array: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Array: ...
    def __rsub__(self, other: Any, /) -> Array: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __mul__(self, other: Any, /) -> Array: ...
    def __rmul__(self, other: Any, /) -> Array: ...
    def __imul__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Array: ...
    def __rtruediv__(self, other: Any, /) -> Array: ...
    def __itruediv__(self, other: Any, /) -> Self: ...
    def __floordiv__(self, other: Any, /) -> Array: ...
    def __rfloordiv__(self, other: Any, /) -> Array: ...
    def __ifloordiv__(self, other: Any, /) -> Self: ...
    def __mod__(self, other: Any, /) -> Array: ...
    def __rmod__(self, other: Any, /) -> Array: ...
    def __imod__(self, other: Any, /) -> Self: ...
    def __and__(self, other: Any, /) -> Array: ...
    def __rand__(self, other: Any, /) -> Array: ...
    def __iand__(self, other: Any, /) -> Self: ...
    def __or__(self, other: Any, /) -> Array: ...
    def __ror__(self, other: Any, /) -> Array: ...
    def __ior__(self, other: Any, /) -> Self: ...
    def __xor__(self, other: Any, /) -> Array: ...
    def __rxor__(self, other: Any, /) -> Array: ...
    def __ixor__(self, other: Any, /) -> Self: ...
    def __lshift__(self, other: Any, /) -> Array: ...
    def __rlshift__(self, other: Any, /) -> Array: ...
    def __ilshift__(self, other: Any, /) -> Self: ...
    def __rshift__(self, other: Any, /) -> Array: ...
    def __rrshift__(self, other: Any, /) -> Array: ...
    def __irshift__(self, other: Any, /) -> Self: ...
    def __matmul__(self, other: Any, /) -> Array: ...
    def __rmatmul__(self, other: Any, /) -> Array: ...
    def __imatmul__(self, other: Any, /) -> NoReturn: ...
    def __divmod__(self, other: Any, /) -> tuple[Array, Array]: ...
    def __rdivmod__(self, other: Any, /) -> tuple[Array, Array]: ...
    def __pow__(self, other: Any, modulus: None = None, /) -> Array: ...
    def __rpow__(self, other: Any, modulus: None = None, /) -> Array: ...
    def __ipow__(self, other: Any, modulus: None = None, /) -> Self: ...
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __lt__(self, other: Any, /) -> Array: ...
    def __le__(self, other: Any, /) -> Array: ...
    def __gt__(self, other: Any, /) -> Array: ...
    def __ge__(self, other: Any, /) -> Array: ...
    def __eq__(self, other: object, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Array: ...  # type: ignore[override]

@final
class Operator:
    """A defined operator, from Runtime.define() or find()."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def name(self) -> str:
        """The name that submit() takes."""
    @property
    def is_defined(self) -> bool:
        """False after undefine()."""
    @property
    def params(self) -> dict[str, str]:
        """Scalar parameters of the current version: name to dtype, in order."""
    @property
    def defaults(self) -> dict[str, int | float | complex]:
        """Default values of the current version: name of a parameter to number."""
    @property
    def inputs(self) -> tuple[str, ...] | None:
        """Names of the inputs that submit() takes, in order, as a tuple of str;
        None: they have no names.
        """
    @property
    def _reduces(self) -> bool:
        """Whether its expression has a reduction."""
    @property
    def expression(self) -> str | None:
        """What it computes, as text; None: it is a whole operator, or built in."""
    @property
    def version(self) -> int:
        """Number of the current version: 1, and one more for each replace() and rollback().
        0 after undefine().
        """
    @property
    def versions(self) -> list[OperatorVersion]:
        """Those that are loaded, the current one last: a list of OperatorVersion."""
    @property
    def definition(self) -> Definition:
        """What define() takes to make its current version: a Definition.
        Raises InvalidArgument for what is built in, undefined or of a Session.
        """
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickles give its definition."""
    def __dask_tokenize__(self) -> tuple[Any, ...]: ...

@final
class Definition:
    """All that Runtime.define() takes, to be kept and sent: from
    Operator.definition, or made of the same arguments.

    It cannot be changed. Operators are pickled as their definitions; what comes of
    one in another process is what the operator was when it was sent, whatever it
    becomes meanwhile.

    Examples
    --------
    >>> op = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
    >>> op.definition
    gpuos.Definition('axpy', 'o = alpha * x + y', version=1)
    >>> rt.define(op.definition) is op
    True
    """
    def __init__(
        self,
        name: str,
        expression: str | None = None,
        *,
        source: str | None = None,
        ptx: str | bytes | os.PathLike[str] | None = None,
        ltoir: bytes | os.PathLike[str] | None = None,
        cubin: bytes | os.PathLike[str] | None = None,
        symbol: str | None = None,
        params: Mapping[str, npt.DTypeLike | tuple[npt.DTypeLike, complex]]
        | None = None,
        dtype: npt.DTypeLike | Sequence[npt.DTypeLike] | None = None,
        inputs: int | Sequence[str] | None = None,
        elementwise: bool = True,
        tiered: bool = False,
        checked: bool | None = None,
    ) -> None:
        """Keep what Runtime.define() is given; it is looked at there."""
    @property
    def name(self) -> str:
        """The name that the operator gets."""
    @property
    def expression(self) -> str | None:
        """Its text; None: it has none."""
    @property
    def source(self) -> str | None:
        """CUDA C++ of a whole operator; None: it has none."""
    @property
    def ptx(self) -> bytes | None:
        """As bytes, not the path; None: it has none."""
    @property
    def ltoir(self) -> bytes | None:
        """As bytes, not the path; None: it has none."""
    @property
    def cubin(self) -> bytes | None:
        """As bytes, not the path; None: it has none."""
    @property
    def symbol(self) -> str | None:
        """The function of `ptx`, `ltoir` or `cubin`; None: it has none."""
    @property
    def params(
        self,
    ) -> dict[str, str | tuple[str, int | float | complex]]:
        """A new dict: name to dtype, or to (dtype, default value), in order."""
    @property
    def dtype(self) -> tuple[str, ...] | None:
        """Names of the arrays' dtypes, as a tuple; None: those of define()."""
    @property
    def inputs(self) -> tuple[str, ...] | int | None:
        """Names of the inputs, as a tuple, or how many there are; None: what
        define() makes of it.
        """
    @property
    def elementwise(self) -> bool:
        """As for define()."""
    @property
    def tiered(self) -> bool:
        """As for define()."""
    @property
    def checked(self) -> bool | None:
        """As for define(); None: as GPUOS_CHECKED says."""
    @property
    def version(self) -> int:
        """Of the operator that it was taken from; 0: of none."""
    @property
    def digest(self) -> str:
        """64 hexadecimal digits that say what is computed, the same in every
        process: two names may have one.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __dask_tokenize__(self) -> tuple[Any, ...]: ...

def _load_definition(
    keywords: Mapping[str, Any], version: SupportsInt
) -> Definition: ...

@final
class OperatorVersion:
    """One of the bodies that an operator has had, from Operator.versions."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def number(self) -> int:
        """1 for the first, and one more for each replace() and rollback()."""
    @property
    def before(self) -> int:
        """The version that Runtime.rollback() takes back; 0: none."""
    @property
    def expression(self) -> str | None:
        """Its text; None: it is a whole operator, or built in."""
    @property
    def source(self) -> str | None:
        """CUDA C++ of a whole operator; None: it is none, or built in."""
    @property
    def params(self) -> dict[str, str]:
        """Scalar parameters: name to dtype, in order."""
    @property
    def defaults(self) -> dict[str, int | float | complex]:
        """Their default values: name of a parameter to number."""
    @property
    def symbol(self) -> str | None:
        """The function of `ptx`, `ltoir` or `cubin`; None: it is none of those."""
    @property
    def is_builtin(self) -> bool:
        """Whether it is the operator that every runtime has."""
    @property
    def is_current(self) -> bool:
        """Whether submit() ran it when this was read."""

@final
class Alias:
    """A name that points at an operator.

    A switch is one store: tasks submitted before it run the operator that
    they were submitted with.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def name(self) -> str:
        """The name that submit() takes."""
    @property
    def target(self) -> Operator:
        """The operator that the name means now."""
    def switch(self, target: str | Operator | Alias) -> None:
        """Point at another operator that takes the same arguments.

        Raises
        ------
        InvalidArgument
            If it takes others, or is not defined.
        """
    def rollback(self) -> None:
        """Back to the target before the last switch; the last 256 can be taken back.

        Raises
        ------
        InvalidArgument
            If there is none.
        """
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn: ...

@type_check_only
class _RuntimeType(type): ...

class Runtime(metaclass=_RuntimeType):
    """Feeds tiny operations to workers that stay, and waits for them.

    Tasks behave as if they ran one after the other in the order of submission.
    Every method may be called from any thread; a wait lets other threads run.

    Examples
    --------
    >>> with gpuos.Runtime() as rt:
    ...     a = rt.array([1.0, 2.0], dtype="float32")
    ...     out = rt.empty(2)
    ...     rt.wait(rt.submit("add", a, a, out=out))
    ...     out.numpy()
    array([2., 4.], dtype=float32)
    """
    def __init__(
        self,
        # options
        backend: Backend = "auto",
        device: int = 0,
        residency: Residency = "auto",
        *,
        queue_capacity: int | None = None,
        workers: int | None = None,
        threads_per_worker: int | None = None,
        linger_us: float | None = None,
        lease_us: float | None = None,
        watchdog_s: float | None = None,
        submit_timeout_s: float | None = None,
        pending_bytes: int | None = None,
        flush_after_us: float | None = None,
        compile_programs_after: int | None = None,
        deterministic: bool | None = None,
        versions: int | None = None,
        worker_image: str | None = None,
        # end
    ) -> None:
        """Start the workers. None for any option means its default; all
        but the first three are given by keyword.

        Parameters
        ----------
        backend : str
            cuda, host, or auto: what GPUOS_BACKEND says, else cuda if there is a
            GPU that works, else host
        device : int
            number of the GPU
        residency : str
            resident: workers stay on the GPU until they have been idle for
            linger_us; burst: one launch for each flush; auto: bursts, and workers
            stay while the host submits and waits in turns
        queue_capacity : int
            tasks that the queue holds; a power of two, 64 to 32768
        workers : int
            0: four blocks for each multiprocessor; on the host GPUOS_WORKERS
            threads, else one for each processor that the process may use: the
            fewest of its affinity mask, its control group's quota and
            OMP_NUM_THREADS, divided by LOCAL_WORLD_SIZE
        threads_per_worker : int
            of one on the GPU; a multiple of 32, 32 to 256
        linger_us : float
            idle time after which workers leave
        lease_us : float
            longest stay of workers, busy or not
        watchdog_s : float
            one task of a whole operator that runs longer makes the runtime dead
        submit_timeout_s : float
            longest wait of a submission for room in the queue
        pending_bytes : int
            memory that was given back and that deferred operations and pending
            tasks still use: an allocation beyond it waits for the oldest of them
        flush_after_us : float
            longest time that a task waits for its burst
        compile_programs_after : int
            calls after which a program is compiled in the background, of large
            arrays fewer; 0: never; none given: 32 on a GPU, 1,000 on the host,
            whose compiler takes longer
        deterministic : bool
            sums and products of reals have the same bits in every run: on a GPU the
            number of columns decides the order in which they are put together; on
            the host that is always so
        versions : int
            versions of an operator that stay loaded, for rollback(); 1 to 256
        worker_image : str
            which one a GPU gets: embedded, ptx, nvrtc, or auto: the first of them
            that fits

        Raises
        ------
        InvalidArgument
            For a value out of range.
        BackendUnavailable
            If something is missing; the message says what to install.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    @property
    def backend(self) -> Literal["host", "cuda"]:
        """ "host" or "cuda"."""
    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
    @property
    def options(self) -> dict[str, Any]:
        """What the runtime was set up with, defaults included."""
    def array(
        self, source: npt.ArrayLike, dtype: npt.DTypeLike | None = None
    ) -> Array:
        """Copy an array to the runtime's memory.

        Parameters
        ----------
        source : array_like, any shape
            Of an element type of docs/python.md; what NumPy lacks is of ml_dtypes.
        dtype : dtype or None
            Convert to it first; None keeps the source's.
        """
    def empty(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Return an array of the runtime's memory; its elements are not set.

        Parameters
        ----------
        shape : int or sequence of int
        dtype : dtype
            "bfloat16" too, which NumPy has not.
        """
    def zeros(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Return an array of zeros; the filling is a task like any other."""
    def ones(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Return an array of ones; the filling is a task like any other."""
    def full(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        value: npt.ArrayLike,
        dtype: npt.DTypeLike | None = None,
    ) -> Array:
        """Return an array of one number; the filling is a task like any other.

        Parameters
        ----------
        shape : int or sequence of int
        value : number, or an array that broadcasts to the shape
        dtype : dtype or None
            None: that of the value, as NumPy's.

        Raises
        ------
        InvalidArgument
            If the value does not broadcast, or no dtype holds it.
        """
    def arange(
        self,
        start: Any,
        stop: Any = None,
        step: Any = 1,
        dtype: npt.DTypeLike | None = None,
    ) -> Array:
        """Return evenly spaced numbers, made by NumPy and copied.

        Parameters
        ----------
        start, stop, step : number
            As of numpy.arange(): start alone is the stop.
        dtype : dtype or None
            None: int64 or float64, as NumPy's.
        """
    def linspace(
        self,
        start: Any,
        stop: Any,
        num: int = 50,
        *,
        endpoint: bool = True,
        dtype: npt.DTypeLike | None = None,
    ) -> Array:
        """Return numbers from start to stop, made by NumPy and copied.

        Parameters
        ----------
        start, stop : number
        num : int
        endpoint : bool
            Whether stop is the last one.
        dtype : dtype or None
            None: float64, as NumPy's.
        """
    def zeros_like(
        self, like: Any, dtype: npt.DTypeLike | None = None
    ) -> Array:
        """Return zeros of an array's shape.

        Parameters
        ----------
        like : array of anybody
        dtype : dtype or None
            None: the array's.
        """
    def submit(
        self,
        op: str | Operator | Alias,
        /,
        *inputs: ArrayInput,
        out: ArrayInput,
        stream: Any = None,
        **params: Any,
    ) -> Ticket:
        """Queue one task and return its ticket.

        Takes gpuos.Array, NumPy arrays (host backend, no copy) and whatever speaks
        DLPack or an array interface; contiguous, one dtype. Memory of other libraries
        is held until the task is done; do not resize it before.

        Parameters
        ----------
        op : str, Operator or Alias
            What to run: "add", "sub", "mul", "div", "copy", "fill" or a defined one.
        *inputs : array, shape of `out`
            In the order of the operator's `inputs`; the last ones, or all, may come by
            name instead.
        out : array
            Receives the result. May be one of the inputs.
        stream : None, int or stream object
            CUDA backend: the stream to run in, such as torch.cuda.current_stream().
            None: the runtime's own, which other streams are not ordered with.
        **params : number or array
            The operator's scalars, such as value=0 for "fill", and inputs by name.

        Raises
        ------
        InvalidArgument
            Before anything is queued: shapes or dtypes that differ, an array with
            gaps, in the wrong memory, freed or read-only, an unknown name.
        QueueClosed
            If the runtime was closed.
        Timeout
            If the queue stays full.

        Examples
        --------
        >>> ticket = rt.submit("add", a, b, out=c)
        >>> rt.wait(ticket)
        >>> op = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
        >>> rt.submit(op, x=a, y=b, alpha=2.0, out=c)
        """
    def submit_many(
        self,
        op: str | Operator | Alias,
        /,
        *columns: Any,
        out: Any = None,
        sizes: int | npt.NDArray[Any] | None = None,
        dtype: npt.DTypeLike | None = None,
        stream: Any = None,
        **params: Any,
    ) -> Ticket:
        """Queue many tasks of one operator that are independent of each other.

        Each column is one argument of all tasks; the last one receives the results:

        - an array of one or more dimensions: a task for each row of its first axis;
        - a list or tuple of arrays: a task for each;
        - with `sizes`: an ndarray of int64 or uint64 addresses. Nothing is checked or
          held: the memory must stay valid until the ticket is done.

        Parameters
        ----------
        op : str, Operator or Alias
            What to run.
        *columns : array, sequence of arrays, or ndarray of addresses, shape (tasks,)
            Inputs, then the output unless `out` is given.
        out : the same
            The output, instead of the last column.
        sizes : int or ndarray of int64, shape (tasks,)
            Elements of each task. Makes every column one of addresses.
        dtype : str or numpy.dtype
            Of the memory that addresses point at.
        stream, **params
            As for submit(); the same for all tasks.

        Raises
        ------
        InvalidArgument, QueueClosed, Timeout
            As submit().

        Examples
        --------
        >>> rt.wait(rt.submit_many("add", A, B, C))      # C[i] = A[i] + B[i]
        """
    def wait(self, ticket: Ticket, timeout: float | None = None) -> None:
        """Wait until the ticket's tasks are done.

        Parameters
        ----------
        ticket : Ticket
            From submit() or submit_many() of this runtime.
        timeout : float or None
            Seconds; None waits for ever. Ctrl-C ends the wait.

        Raises
        ------
        Timeout
            If they are not done in time.
        TaskError
            If one of them failed.
        """
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until everything submitted so far is done.

        Parameters
        ----------
        timeout : float or None
            Seconds; None waits for ever.

        Raises
        ------
        Timeout
            If it is not done in time.
        TaskError
            If a task failed.
        """
    def flush(self, stream: Any = None) -> None:
        """Launch now what waits for a burst; the host backend never waits.

        Parameters
        ----------
        stream : None, int or stream object
            Only that stream's tasks; None: every stream's.
        """
    def define(
        self,
        name: str | Definition | Operator,
        expression: str | None = None,
        *,
        source: str | None = None,
        ptx: str | bytes | os.PathLike[str] | None = None,
        ltoir: bytes | os.PathLike[str] | None = None,
        cubin: bytes | os.PathLike[str] | None = None,
        symbol: str | None = None,
        params: Mapping[str, npt.DTypeLike | tuple[npt.DTypeLike, complex]]
        | None = None,
        dtype: npt.DTypeLike | Sequence[npt.DTypeLike] | None = None,
        inputs: int | Sequence[str] | None = None,
        elementwise: bool = True,
        tiered: bool = False,
        checked: bool | None = None,
    ) -> Operator:
        """Make an operator while tasks flow.

        An expression is a program as those of fuse(): it can be used at once, since it
        is interpreted, and is compiled when it was called often.

        Parameters
        ----------
        name : str, Definition or Operator
            A new name; letters, digits and "_". A Definition says all of the rest, as
            does an operator, of another runtime or process; an operator that has its
            name and its digest already is what is returned.
        expression : str
            Such as "o = alpha * x + y" or "o = sum(x, axis=-1) / n". Names that are
            not parameters or functions are inputs.
        source : str, keyword only
            Instead: CUDA C++ with GPUOS_OPERATOR(name) { ... }, compiled and loaded.
        ptx : str, bytes or path, keyword only
            Instead, on a GPU: what another compiler made of an extern "C" function.
            Elementwise it takes the elements at one place, then the parameters, and
            returns the output's; else the addresses of the output and of the inputs,
            the parameters, and three int64: the output's elements, the lane, and how
            many lanes there are.
        ltoir, cubin : bytes or path, keyword only
            The same as LTO-IR, or as a relocatable CUBIN.
        symbol : str, keyword only
            The name of that function. None: the operator's.
        params : dict of str to dtype, or to (dtype, number), keyword only
            Scalars that submit() takes by keyword, in this order. One with a number,
            its default value, need not be given; those come last.
        dtype : dtype or sequence of dtypes, keyword only
            Of the arrays. None: any for an expression, float32 for all others, which
            have one.
        inputs : sequence of str or int, keyword only
            Names of the inputs, in order: submit() takes them by place or by name; or
            how many there are. None: those of an expression in order of first use, any
            number for a `source`. `ptx`, `ltoir` and `cubin` need it.
        elementwise : bool, keyword only
            All but expressions: element i depends on elements i alone, so that shapes
            must agree and a large task may be split.
        tiered : bool, keyword only
            `source` only: begin with what the compiler makes soonest; optimised code
            takes its place when it is ready. The host backend compiles once.
        checked : bool, keyword only
            `source` only: an index out of range and an argument read as another type
            read 0, or write nowhere, and the task fails with TaskError. None: if
            GPUOS_CHECKED is 1.

        Raises
        ------
        InvalidArgument
            If the name is taken, the expression is wrong, or an object has no such
            function.
        CompileError
            All but expressions: with the compiler's messages in `log`.
        BackendUnavailable
            If a compiler is missing, and for `ptx`, `ltoir` and `cubin` on the host.

        Examples
        --------
        >>> axpy = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
        >>> rt.submit(axpy, x, y, out=o, alpha=2.0)
        """
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn: ...
    def define_many(
        self, definitions: Iterable[Mapping[str, Any] | Definition]
    ) -> list[Operator]:
        """Make many operators at once, all or none.

        Whole operators are compiled together, which takes a tenth of the time for each.

        Parameters
        ----------
        definitions : iterable of dict or Definition
            The arguments of define() by name, 'name' among them.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            As define().

        Examples
        --------
        >>> double, square = rt.define_many([
        ...     {"name": "double", "expression": "o = 2 * x"},
        ...     {"name": "square", "expression": "o = x * x"}])
        """
    def replace(
        self,
        op: str | Operator,
        expression: str | Definition | None = None,
        *,
        source: str | None = None,
        ptx: str | bytes | os.PathLike[str] | None = None,
        ltoir: bytes | os.PathLike[str] | None = None,
        cubin: bytes | os.PathLike[str] | None = None,
        symbol: str | None = None,
        params: Mapping[str, npt.DTypeLike | tuple[npt.DTypeLike, complex]]
        | None = None,
        dtype: npt.DTypeLike | Sequence[npt.DTypeLike] | None = None,
        inputs: int | Sequence[str] | None = None,
        elementwise: bool | None = None,
        checked: bool | None = None,
        expected: int | None = None,
    ) -> int:
        """Give an operator a new body that takes the same arguments.

        Tasks submitted before run the old one. A failure leaves the old one working.
        The old one stays loaded, for rollback().

        Parameters
        ----------
        op : str or Operator
            What to replace; it may be built in.
        expression, source, ptx, ltoir, cubin, symbol, params, dtype, inputs,
        elementwise, checked
            As for define(); None keeps what the operator has. `params` may be more
            than define() was given, with default values. A Definition in the place
            of `expression` says all of them; its name is not used.
        expected : int, optional
            The version that is replaced. None: whichever is there.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            As define(); InvalidArgument too if somebody else came first and the
            version is not the expected one.
        """
    def rollback(
        self,
        op: str | Operator,
        *,
        to: int | None = None,
        expected: int | None = None,
    ) -> int:
        """Make an operator run again what an earlier version ran.

        Nothing is compiled, and there is no pause: tasks submitted before run what
        they were submitted with.

        Parameters
        ----------
        op : str or Operator
            What is taken back.
        to : int, optional
            A version among Operator.versions. None: the one before the current; called
            again, the one before that.
        expected : int, optional
            The version that is current. None: whichever is there.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument
            If there is no such version, if it is not loaded any more, or if the current
            one is not the expected one.
        """
    def restore(self, op: str | Operator) -> int:
        """Make a built-in operator itself again.

        Parameters
        ----------
        op : str or Operator
            What was replaced; if it was not, nothing changes.

        Returns
        -------
        int
            The number of its version.

        Raises
        ------
        InvalidArgument
            If it is not built in.
        """
    def transaction(self) -> Transaction:
        """Return a Transaction: definitions and replacements that become
        visible together.

        >>> with rt.transaction() as change:
        ...     change.replace("step", "o = x + v")
        ...     change.replace("kick", "o = v - x")
        """
    def undefine(self, op: str | Operator | Alias) -> None:
        """Forget an operator; its code is unloaded after its last task.

        Parameters
        ----------
        op : str, Operator or Alias
            Its name is free afterwards.
        """
    def alias(self, name: str, op: str | Operator | Alias) -> Alias:
        """Make a name for an operator that can be switched and rolled back.

        Parameters
        ----------
        name : str
            A new name, for submit().
        op : str, Operator or Alias
            What it means at first.

        Raises
        ------
        InvalidArgument
            If the name is taken.
        """
    def find(self, name: str) -> Operator:
        """Return the operator of that name.

        Raises
        ------
        InvalidArgument
            With the names there are.
        """
    def operators(self) -> list[str]:
        """Return the names of all operators."""
    def fuse(self, function: Callable[..., Any]) -> Fused:
        """Make one program of a Python function; gpuos.fuse(function, runtime=self).

        Parameters
        ----------
        function : callable
            Of operators and NumPy's functions; docs/programs.md says what it may do.

        Returns
        -------
        Fused
            Called with arrays and numbers, it runs the program.
        """
    def watch(
        self,
        op: str | Operator | Fused,
        path: str | os.PathLike[str] | None = None,
        *,
        on_error: Callable[[Exception], object] | None = None,
    ) -> Watch:
        """Replace an operator, or a fused function, whenever its file is saved.

        A text that names GPUOS_OPERATOR is a whole operator, any other an expression.
        What does not compile leaves the old one running.

        Parameters
        ----------
        op : str, Operator or Fused
            Keeps the arguments that it takes, as in replace().
        path : path, optional
            The file; of a Fused, if not given, the one that its function stands in,
            which is run anew as a module.
        on_error : callable, optional
            Called with the error of a save, in the thread that replaces; the logger
            "gpuos.watch" has it if not given.

        Returns
        -------
        Watch
            With `path` and close(); it is a context manager. It ends with the runtime.

        Raises
        ------
        InvalidArgument
            If others may write the file, or its folder.
        """
    def stats(self) -> Stats:
        """Return counters and what the runtime chose, as a dict.

        Names end in their unit; the tiles of a large task count as tasks.
        """
    def session(
        self,
        options: JitOptions | Sequence[str] | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] = ...,
    ) -> Session:
        """A session whose functions can become operators of this runtime."""
    def close(self) -> None:
        """Run what is pending, stop the workers and raise what went wrong.

        A second call does nothing. A with-block calls it.

        Raises
        ------
        InvalidArgument
            For the runtime of default_runtime(), which a with-block leaves open.
        """

@final
class Transaction:
    """Definitions and replacements that become visible together when the
    `with` block ends, or not at all: from Runtime.transaction().

    No submission sees some of them and not the others. Everything is
    compiled at the end of the block, which raises what define() and
    replace() raise; then nothing has changed. A block that raises changes
    nothing either.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __getattr__(self, name: str, /) -> NoReturn: ...
    def __enter__(self) -> Self:
        """Begin."""
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        """Compile and publish everything."""
    def define(
        self,
        name: str | Definition,
        expression: str | None = None,
        *,
        source: str | None = None,
        ptx: str | bytes | os.PathLike[str] | None = None,
        ltoir: bytes | os.PathLike[str] | None = None,
        cubin: bytes | os.PathLike[str] | None = None,
        symbol: str | None = None,
        params: Mapping[str, npt.DTypeLike | tuple[npt.DTypeLike, complex]]
        | None = None,
        dtype: npt.DTypeLike | Sequence[npt.DTypeLike] | None = None,
        inputs: int | Sequence[str] | None = None,
        elementwise: bool = True,
        checked: bool | None = None,
    ) -> None:
        """Define an operator as Runtime.define() does; find() has it after the block."""
    def replace(
        self,
        op: str | Operator,
        expression: str | Definition | None = None,
        *,
        source: str | None = None,
        ptx: str | bytes | os.PathLike[str] | None = None,
        ltoir: bytes | os.PathLike[str] | None = None,
        cubin: bytes | os.PathLike[str] | None = None,
        symbol: str | None = None,
        params: Mapping[str, npt.DTypeLike | tuple[npt.DTypeLike, complex]]
        | None = None,
        dtype: npt.DTypeLike | Sequence[npt.DTypeLike] | None = None,
        inputs: int | Sequence[str] | None = None,
        elementwise: bool | None = None,
        checked: bool | None = None,
        expected: int | None = None,
    ) -> None:
        """Give an operator a new body as Runtime.replace() does."""

_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
_Operand: TypeAlias = Any

@final
class Value:
    """Stands for an array or a number while a function is traced.

    It has NumPy's operators, its elementwise functions and reductions. Its
    dtype and its number of axes are known, its shape and its numbers are
    not.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as a NumPy dtype."""
    @property
    def ndim(self) -> int:
        """How many axes."""
    @property
    def _is_number(self) -> bool: ...
    def _told(self) -> Any: ...
    @property
    def T(self) -> Value:
        """Axes reversed."""
    @property
    def mT(self) -> Value:
        """The last two axes swapped."""
    @property
    def real(self) -> Value:
        """The real part."""
    @property
    def imag(self) -> Value:
        """The imaginary part."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes; who asks is traced for each shape."""
    @property
    def size(self) -> int:
        """How many elements."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Value]: ...
    def max(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def min(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def ptp(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def any(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def all(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def argmax(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def argmin(
        self, axis: _Axes = None, out: None = None, keepdims: bool = False
    ) -> Value: ...
    def sum(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Value: ...
    def prod(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Value: ...
    def mean(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
    ) -> Value: ...
    def var(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
    ) -> Value: ...
    def std(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
    ) -> Value: ...
    def astype(self, dtype: npt.DTypeLike, **kwargs: object) -> Value:
        """The same numbers as another dtype."""
    def transpose(self, *args: Any) -> Value:
        """Axes in another order."""
    def swapaxes(self, axis1: int, axis2: int) -> Value: ...
    def clip(self, *args: Any, **kwargs: Any) -> Value: ...
    def round(self, *args: Any, **kwargs: Any) -> Value: ...
    def conj(self) -> Value: ...
    def conjugate(self) -> Value: ...
    def copy(self, *args: object) -> Value: ...
    def __getitem__(self, index: Any, /) -> Value: ...
    def reshape(self, *args: Any, order: str = "C") -> Value:
        """The same elements in C order under another shape."""
    def ravel(self, order: str = "C") -> Value:
        """All elements along one axis."""
    def flatten(self, order: str = "C") -> Value:
        """All elements along one axis."""
    def squeeze(self, axis: _Axes = None) -> Value:
        """Without axes that have one element: those named, or all."""
    def _broadcast_to(self, shape: Any) -> Value: ...
    def _filled(self, number: Any, dtype: npt.DTypeLike) -> Value: ...
    def __array_ufunc__(
        self, ufunc: Any, method: str, /, *args: Any, **kwargs: Any
    ) -> Any: ...
    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any, /
    ) -> Any: ...
    def __add__(self, other: _Operand, /) -> Value: ...
    def __radd__(self, other: _Operand, /) -> Value: ...
    def __sub__(self, other: _Operand, /) -> Value: ...
    def __rsub__(self, other: _Operand, /) -> Value: ...
    def __mul__(self, other: _Operand, /) -> Value: ...
    def __rmul__(self, other: _Operand, /) -> Value: ...
    def __truediv__(self, other: _Operand, /) -> Value: ...
    def __rtruediv__(self, other: _Operand, /) -> Value: ...
    def __floordiv__(self, other: _Operand, /) -> Value: ...
    def __rfloordiv__(self, other: _Operand, /) -> Value: ...
    def __mod__(self, other: _Operand, /) -> Value: ...
    def __rmod__(self, other: _Operand, /) -> Value: ...
    def __and__(self, other: _Operand, /) -> Value: ...
    def __rand__(self, other: _Operand, /) -> Value: ...
    def __or__(self, other: _Operand, /) -> Value: ...
    def __ror__(self, other: _Operand, /) -> Value: ...
    def __xor__(self, other: _Operand, /) -> Value: ...
    def __rxor__(self, other: _Operand, /) -> Value: ...
    def __lshift__(self, other: _Operand, /) -> Value: ...
    def __rlshift__(self, other: _Operand, /) -> Value: ...
    def __rshift__(self, other: _Operand, /) -> Value: ...
    def __rrshift__(self, other: _Operand, /) -> Value: ...
    def __pow__(self, other: _Operand, modulus: None = None, /) -> Value: ...
    def __rpow__(self, other: _Operand, modulus: None = None, /) -> Value: ...
    def __matmul__(self, other: Any, /) -> Value: ...
    def __rmatmul__(self, other: Any, /) -> Value: ...
    def __divmod__(self, other: _Operand, /) -> tuple[Value, Value]: ...
    def __rdivmod__(self, other: _Operand, /) -> tuple[Value, Value]: ...
    def __lt__(self, other: _Operand, /) -> Value: ...
    def __le__(self, other: _Operand, /) -> Value: ...
    def __gt__(self, other: _Operand, /) -> Value: ...
    def __ge__(self, other: _Operand, /) -> Value: ...
    def __eq__(self, other: object, /) -> Value: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Value: ...  # type: ignore[override]
    def __neg__(self) -> Value: ...
    def __pos__(self) -> Value: ...
    def __abs__(self) -> Value: ...
    def __round__(self, *args: Any) -> Any: ...
    def __floor__(self, *args: Any) -> Any: ...
    def __ceil__(self, *args: Any) -> Any: ...
    def __trunc__(self, *args: Any) -> Any: ...
    def __invert__(self) -> Value: ...
    def __bool__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __int__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __float__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __complex__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __index__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def item(self, *args: object, **kwargs: object) -> NoReturn: ...
    def tolist(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __contains__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __setitem__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __delitem__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def dot(self, *args: Any, **kwargs: Any) -> Any: ...
    def __array__(self, *args: object, **kwargs: object) -> NoReturn: ...

@final
class _Functions:
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    @staticmethod
    def relu(x: Value) -> Value:
        """max(x, 0); NaN stays."""
    @staticmethod
    def selu(x: Value) -> Value:
        """torch.nn.functional.selu."""
    @staticmethod
    def logsigmoid(x: Value) -> Value:
        """log(sigmoid(x))."""
    @staticmethod
    def mish(x: Value) -> Value:
        """x * tanh(softplus(x))."""
    @staticmethod
    def softsign(x: Value) -> Value:
        """x / (1 + |x|)."""
    @staticmethod
    def hardsigmoid(x: Value) -> Value:
        """clip(x + 3, 0, 6) / 6."""
    @staticmethod
    def hardswish(x: Value) -> Value:
        """x * clip(x + 3, 0, 6) / 6."""
    @staticmethod
    def sigmoid(x: Value) -> Value:
        """1 / (1 + exp(-x))."""
    @staticmethod
    def silu(x: Value) -> Value:
        """x * sigmoid(x)."""
    @staticmethod
    def erf(x: Value) -> Value:
        """The error function."""
    @staticmethod
    def erfc(x: Value) -> Value:
        """1 - erf(x)."""
    @staticmethod
    def lgamma(x: Value) -> Value:
        """The logarithm of |gamma(x)|."""
    @staticmethod
    def rsqrt(x: Value) -> Value:
        """1 / sqrt(x)."""
    @staticmethod
    def leaky_relu(x: Value, negative_slope: _Operand = 0.01) -> Value:
        """x where it is above 0, else negative_slope * x."""
    @staticmethod
    def elu(x: Value, alpha: _Operand = 1.0) -> Value:
        """x where it is above 0, else alpha * expm1(x)."""
    @staticmethod
    def celu(x: Value, alpha: _Operand = 1.0) -> Value:
        """x where it is above 0, else alpha * expm1(x / alpha)."""
    @staticmethod
    def gelu(x: Value, approximate: str = "none") -> Value:
        """x * P(X <= x) of a normal X, or its approximation by tanh."""
    @staticmethod
    def softplus(
        x: Value, beta: _Operand = 1.0, threshold: _Operand = 20.0
    ) -> Value:
        """log1p(exp(beta * x)) / beta; x where beta * x is above threshold."""
    @staticmethod
    def hardtanh(
        x: Value, min_val: _Operand = -1.0, max_val: _Operand = 1.0
    ) -> Value:
        """clip(x, min_val, max_val)."""
    @staticmethod
    def logsumexp(
        x: Value, axis: _Axes = None, keepdims: bool = False
    ) -> Value:
        """log(sum(exp(x))), without overflow."""
    @staticmethod
    def count_nonzero(
        x: Value, axis: _Axes = None, keepdims: bool = False
    ) -> Value:
        """How many elements are not 0."""
    @staticmethod
    def softmax(x: Value, axis: _Axes = -1) -> Value:
        """exp(x) / sum(exp(x))."""
    @staticmethod
    def log_softmax(x: Value, axis: _Axes = -1) -> Value:
        """log(softmax(x))."""
    @staticmethod
    def norm(
        x: Value,
        ord: float = 2.0,
        axis: _Axes = None,
        keepdims: bool = False,
    ) -> Value:
        """The norm of vectors along `axis`."""
    @staticmethod
    def where(condition: _Operand, x: _Operand, y: _Operand) -> Value:
        """x where the condition holds, else y."""
    @staticmethod
    def clip(x: Value, min: _Operand = None, max: _Operand = None) -> Value:
        """x, no less than `min` and no more than `max`."""
    @staticmethod
    def add(x: _Operand, y: _Operand, *, alpha: _Operand = 1) -> Value:
        """x + alpha * y."""
    @staticmethod
    def subtract(x: _Operand, y: _Operand, *, alpha: _Operand = 1) -> Value:
        """x - alpha * y."""
    @staticmethod
    def expand_dims(x: Value, axis: int | Sequence[int]) -> Value:
        """New axes of size 1, at these places of the result."""
    @staticmethod
    def _concatenate(values: Sequence[Value], axis: int = 0) -> Value: ...
    @staticmethod
    def _roll(x: Value, shift: int, axis: int) -> Value: ...
    @staticmethod
    def _split(x: Value, sections: int, axis: int = 0) -> list[Value]: ...
    @staticmethod
    def _moveaxis(
        x: Value,
        source: int | Sequence[int],
        destination: int | Sequence[int],
    ) -> Value: ...

@final
class Program:
    """Elementwise operations and reductions that run as one submission."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def inputs(self) -> list[tuple[str, int]]:
        """(dtype, ndim) of each input."""
    @property
    def outputs(self) -> list[tuple[str, int]]:
        """(dtype, ndim) of each output."""
    @property
    def scalars(self) -> int:
        """How many numbers a call gives."""
    @property
    def operations(self) -> int:
        """How many operations are left of those that were written."""
    @property
    def hash(self) -> int:
        """The same for programs of one structure, in every process."""

@final
class Fused:
    """What fuse() returns: runs a Python function as one submission.

    Call it with the function's arguments. Arrays may be of anybody; numbers
    of Python are parameters; None, str, bytes, tuples, enums, types and
    dtypes decide what the function does, and each other value is traced
    anew. `out=` is an array, or a tuple of them, for the results; else new
    arrays are made. `stream=` is as for Runtime.submit(). Returns at once:
    what reads the results waits for them.

    Threads: from any thread.
    """
    def __call__(
        self, *args: Any, out: Any = None, stream: Any = None, **kwargs: Any
    ) -> Any: ...
    def warm(self, *args: Any, **kwargs: Any) -> Program:
        """Trace the function for arguments like these without a run."""
    def compile(self, *args: Any, **kwargs: Any) -> Program:
        """warm(), and wait until the runtime has compiled the program.

        Raises
        ------
        CompileError
            If it cannot; it stays interpreted.
        """
    def programs(self) -> list[Program]:
        """A list of the programs so far, one for each structure: the dtypes and
        ranks of the arrays, the kinds of the numbers, the other arguments.
        """
    def __copy__(self) -> Self:
        """Itself."""
    def __deepcopy__(self, memo: Any, /) -> Self:
        """Itself."""
    def __reduce_ex__(
        self, protocol: SupportsIndex, /
    ) -> str | tuple[Any, ...]:
        """Pickles have its name, or its function where it cannot be imported."""
    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """What Dask names results by."""
    @property
    def _runtime(self) -> Runtime | None:
        """What it was fused for; None."""
    def replace(self, function: Callable[..., Any], /) -> int:
        """Run another function from now on.

        Calls that have returned run what they were called with. Fused functions
        that call this one are traced again at their next call.

        Parameters
        ----------
        function : callable
            With the same parameters. For all structures that were called so far
            it gives results of the same dtypes and numbers of axes.

        Returns
        -------
        int
            The number of its version.

        Raises
        ------
        InvalidArgument
            If it does not, or cannot be traced. Then nothing has changed.
        """
    @property
    def version(self) -> int:
        """1, and one more for each replace()."""
    def _replaced(self, function: Callable[..., Any], /) -> Fused:
        """The same with another function, or what replace() would raise."""
    def _forms(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The shape and dtype of each result, and what puts them together."""

def _make_fused(
    function: Callable[..., Any],
    trace: Callable[..., Any],
    runtime: Runtime | None,
    name: str,
    is_deferred: bool,
) -> Fused: ...

_Extent: TypeAlias = int | Sequence[int]

def modules() -> list[ModuleInfo]:
    """What this process has loaded, in the order of loading."""

def synchronize(stream: object = None, device: SupportsInt = 0) -> None:
    """Wait until what was launched in a stream is done.

    Parameters
    ----------
    stream : None, int or stream
        None: the legacy default stream. Tasks of a Runtime in its own
        streams are not waited for.
    device : int

    Raises
    ------
    BackendUnavailable, CudaError
    """

@final
class ModuleInfo:
    """An image that is loaded now."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def name(self) -> str:
        """Of the module's source."""
    @property
    def device(self) -> int:
        """-1: the host."""
    @property
    def bytes(self) -> int:
        """Of the image."""
    @property
    def holders(self) -> dict[str, int]:
        """Who keeps it loaded: 'operator', 'JitModule', 'Kernel', ... to how many."""

@final
class JitOptions:
    """How NVRTC compiles device code.

    Parameters
    ----------
    std : str
        'c++11' to 'c++23'.
    defines : dict
        Macros: name to text; None and True mean 1.
    max_registers : int
        Of a thread, 16 to 255; 0: no limit.
    fast_math : bool
        Less exact division, square root and functions.
    line_info : bool
        Source lines for profilers.
    debug : bool
        Code for debuggers, unoptimised.
    optimization : int
        Of the assembler, 0 to 3.
    fast_compile : str
        'off', 'min', 'mid' or 'max': how much optimisation is left out to
        be done sooner. Needs NVRTC 12.8.
    extra : sequence of str
        More options of NVRTC.
    arch : str
        'sm_90', or 'compute_90' for PTX. Empty: GPUOS_NVRTC_ARCH if it is
        set, else the device's, else the newest that NVRTC knows.
    include_dirs : sequence of str or path
        Folders of headers, searched after those of the module.
    """
    def __init__(
        self,
        *,
        std: str = "c++20",
        defines: Mapping[str, object] = ...,
        max_registers: SupportsInt = 0,
        fast_math: bool = False,
        line_info: bool = False,
        debug: bool = False,
        optimization: SupportsInt = 3,
        fast_compile: str = "off",
        extra: Sequence[str] = ...,
        arch: str = "",
        include_dirs: Sequence[str | os.PathLike[str]] = ...,
    ) -> None: ...
    @property
    def std(self) -> str:
        """'c++11' to 'c++23'."""
    @property
    def defines(self) -> dict[str, str]:
        """Macros: name to text."""
    @property
    def max_registers(self) -> int:
        """Of a thread; 0: no limit."""
    @property
    def fast_math(self) -> bool:
        """Less exact division, square root and functions."""
    @property
    def line_info(self) -> bool:
        """Source lines for profilers."""
    @property
    def debug(self) -> bool:
        """Code for debuggers, unoptimised."""
    @property
    def optimization(self) -> int:
        """Of the assembler, 0 to 3."""
    @property
    def fast_compile(self) -> str:
        """'off', 'min', 'mid' or 'max': what is left out to be sooner."""
    @property
    def extra(self) -> list[str]:
        """More options of NVRTC."""
    @property
    def arch(self) -> str:
        """'sm_90', or 'compute_90' for PTX; empty: the device's."""
    @property
    def include_dirs(self) -> list[str]:
        """Folders of headers."""

@final
class KernelArgs:
    """Arguments of a launch, read once and used often.

    Numbers without a type (int, float, bool) become what the kernel's
    parameter is; NumPy scalars (structured ones too) and ctypes objects
    go by value as they are; arrays on the device go as their address, None
    as a null pointer.
    """
    def __init__(self, *args: object) -> None: ...
    def __len__(self) -> int: ...

@final
class KernelAttributes:
    """What a kernel needs."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def registers(self) -> int:
        """Of a thread."""
    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block that the kernel declares."""
    @property
    def local_bytes(self) -> int:
        """Of a thread: its stack and what found no register."""
    @property
    def constant_bytes(self) -> int:
        """Constant memory that the module declares."""
    @property
    def max_threads(self) -> int:
        """The largest block that it can have."""
    @property
    def max_dynamic_shared_bytes(self) -> int:
        """What a launch may ask for beside shared_bytes."""

@final
class KernelLaunch:
    """A kernel with its grid and its block: call it with the arguments."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    def __call__(self, *args: object) -> None:
        """Launch it.

        Raises
        ------
        InvalidArgument, CudaError
        """

@final
class Kernel:
    """A kernel, which keeps its module loaded. After
    JitModule.replace() it is the new one.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def name(self) -> str:
        """As it was asked for: 'f<float>'."""
    @property
    def attributes(self) -> KernelAttributes:
        """What it needs, a KernelAttributes."""
    @property
    def parameter_bytes(self) -> list[int]:
        """Bytes of each parameter, in order."""
    def launch(
        self,
        grid: _Extent,
        block: _Extent,
        args: KernelArgs | Sequence[object] = (),
        shared_bytes: SupportsInt = 0,
        stream: object = None,
        *,
        cooperative: bool = False,
        cluster: _Extent | None = None,
    ) -> None:
        """Launch it.

        Parameters
        ----------
        grid, block : int or sequence of 1 to 3
        args : sequence or KernelArgs
            Arrays must live until the kernel is done.
        shared_bytes : int
            Dynamic shared memory of a block.
        stream : None, int or stream
            A handle, or a stream of PyTorch or CuPy; None: the legacy
            default stream.
        cooperative : bool
            All blocks run at once.
        cluster : int or sequence
            Blocks of a cluster.

        Raises
        ------
        InvalidArgument
            If the arguments are not what the kernel takes, or the launch
            is larger than the device allows.
        CudaError
        """
    def __call__(
        self,
        grid: _Extent,
        block: _Extent,
        args: KernelArgs | Sequence[object] = (),
        *,
        shared_mem: SupportsInt = 0,
        stream: object = None,
        cooperative: bool = False,
        cluster: _Extent | None = None,
    ) -> None:
        """Launch it, as CuPy's kernels are: launch() by another form.

        Parameters
        ----------
        grid, block, args, stream, cooperative, cluster
            As for launch().
        shared_mem : int
            Dynamic shared memory of a block.

        Raises
        ------
        InvalidArgument, CudaError
        """
    def __getitem__(
        self,
        key: tuple[_Extent, _Extent]
        | tuple[_Extent, _Extent, object]
        | tuple[_Extent, _Extent, object, SupportsIndex],
    ) -> KernelLaunch:
        """The launch without its arguments, as Numba has it:
        kernel[grid, block](x, 3), kernel[grid, block, stream, shared_bytes].
        """
    def max_active_blocks(
        self, block: SupportsInt, shared_bytes: SupportsInt = 0
    ) -> int:
        """Blocks that fit one multiprocessor at a time."""
    def suggest_block(self, shared_bytes: SupportsInt = 0) -> tuple[int, int]:
        """The grid and block that keep most threads on the device."""

@final
class _StopSource:
    def __init__(self) -> None: ...
    def request(self) -> bool: ...

@final
class JitModule:
    """CUDA C++ that is compiled at run time, or an image that is.

    The embedded `gpuos/` headers can be included. Compiled once and kept
    in the disk cache; loaded at the first use of a kernel or a variable,
    so that compiling needs no GPU.

    Parameters
    ----------
    source : str
        One of source, path and image is given.
    name_expressions : sequence of str
        Templates to instantiate, 'k<float>', and variables, '&counter'.
    headers : dict
        Headers by name, found before any file.
    include_dirs : sequence of str or path
    options : JitOptions or sequence of str
        A sequence holds NVRTC's own options, as ['-DN=4', '--use_fast_math'].
    path : str or os.PathLike
        A file with a CUBIN or PTX, which is compiled already.
    image : bytes
        Such an image itself.
    name : str
        For messages and profilers. None: 'module.cu', 'module.cubin', or
        the file's.
    device : int

    Raises
    ------
    InvalidArgument, CompileError, BackendUnavailable, OSError
    """
    def __init__(
        self,
        source: str | None = None,
        name_expressions: Sequence[str] = ...,
        headers: Mapping[str, str] = ...,
        include_dirs: Sequence[str | os.PathLike[str]] = ...,
        options: JitOptions | Sequence[str] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        image: bytes | None = None,
        name: str | None = None,
        device: SupportsInt = 0,
        _stop: _StopSource | None = None,
    ) -> None: ...
    def __getitem__(self, name: str) -> Kernel: ...
    def kernel(self, name: str) -> Kernel:
        """A name expression, an extern "C" kernel, or the one kernel of that name.

        Raises
        ------
        InvalidArgument
            For a name that the module has not.
        BackendUnavailable
            Without a GPU.
        """
    def get_function(self, name: str) -> Kernel:
        """kernel(), as CuPy names it."""
    def global_address(self, name: str) -> int:
        """The address of a __device__ or __constant__ variable."""
    def global_bytes(self, name: str) -> int:
        """The size of one."""
    def read(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A copy of a variable."""
    def write(self, name: str, values: npt.ArrayLike) -> None:
        """Set a variable.

        Raises
        ------
        InvalidArgument
            If `values` has not the size of the variable.
        """
    def replace(
        self,
        source: str,
        *,
        keep: Sequence[str] = ...,
        name_expressions: Sequence[str] | None = None,
        headers: Mapping[str, str] | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] | None = None,
        options: JitOptions | Sequence[str] | None = None,
    ) -> int:
        """Another source under the same handles.

        Launches that begin later run the new code. Whatever is raised,
        everything stays as it was. Every kernel that was ever asked for
        must be there again and take the same parameters.

        Parameters
        ----------
        source : str
        keep : sequence of str
            Variables whose bytes the new ones take over; the others begin
            anew. Needs a GPU.
        name_expressions, headers, include_dirs, options
            As for JitModule(); None: as before.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument
            For other parameters, and for a variable of `keep` that is
            missing or has another type or size.
        CompileError, BackendUnavailable, CudaError
        """
    @property
    def version(self) -> int:
        """Number of the current source: 1, and one more for each replace()."""
    @property
    def image(self) -> bytes:
        """CUBIN, or PTX if the device is newer than NVRTC; what was given."""
    @property
    def log(self) -> str:
        """What the compiler said."""
    @property
    def arch(self) -> str:
        """'sm_90', or 'compute_90' for PTX."""
    @property
    def name(self) -> str:
        """For messages and profilers."""

@final
class CellResult:
    """What one cell did."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def cell(self) -> str:
        """'cell 3', or the name that it was given."""
    @property
    def defined(self) -> list[str]:
        """'kernel foo', in the order of the cell."""
    @property
    def launches(self) -> int:
        """How many kernels it launched."""
    @property
    def log(self) -> str:
        """What the compiler said."""

@final
class Session:
    """A CUDA C++ program that grows cell by cell.

    Later cells see earlier ones; what is defined again replaces the
    version before. Compiling and linking need no GPU.

    Raises
    ------
    InvalidArgument, BackendUnavailable
    """
    def __init__(
        self,
        options: JitOptions | Sequence[str] | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] = ...,
        *,
        device: SupportsInt = 0,
    ) -> None: ...
    def run(self, text: str, name: str = "") -> CellResult:
        """Add the definitions of a cell, then run its launches.

        Waits for the launches that name no stream. On an error no
        definition is kept, unless host code has run: if that throws,
        definitions stay.

        Raises
        ------
        CompileError, HostError, InvalidArgument, BackendUnavailable,
        CudaError
        """
    def run_file(self, path: str | os.PathLike[str]) -> CellResult:
        """Run a file as one cell of its name; it may include its
        neighbours.

        Raises
        ------
        As run(); InvalidArgument if the file cannot be read.
        """
    def undo(self) -> bool:
        """Take back the definitions of the last cell. False if there is none."""
    def bind(self, **kwargs: object) -> None:
        """Give launches names for arrays on the device and for numbers."""
    def unbind(self, *args: str) -> None:
        """Forget bound names."""
    def names(self) -> list[str]:
        """Functions, kernels and variables, sorted."""
    def stats(self) -> dict[str, int]:
        """Cells, and the units compiled, linked and loaded for them."""
    def __getitem__(self, name: str) -> Any:
        """A kernel, or the value of a variable."""
    def __setitem__(self, name: str, value: object) -> None: ...
    def kernel(self, name: str, *, follow: bool = False) -> Kernel:
        """The newest version of 'k', 'a::k', 'k(int)' or 'k<float>'.

        Parameters
        ----------
        name : str
        follow : bool
            The handle is the newest version of the name at each launch,
            after undo() too. Else it keeps the version that it has.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable, CudaError
            With `follow` from the launch, too; InvalidArgument if the
            newest takes other parameters than the first.
        """
    def link(self, kernel: str) -> bytes:
        """The CUBIN of a kernel, before it has the addresses of variables."""
    def address(self, name: str) -> int:
        """Of a variable's storage."""
    def nbytes(self, name: str) -> int:
        """Of a variable."""
    def read(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """A copy of a variable."""
    def write(self, name: str, values: npt.ArrayLike) -> None:
        """Set a variable. Lists and numbers become of its type; the bytes
        of anything else are copied.

        Raises
        ------
        InvalidArgument
            If `values` has not the size of the variable.
        """
    def operator(
        self, function: str, name: str = "", params: Sequence[str] = ...
    ) -> Operator:
        """Make an elementwise operator of a __device__ function.

        Parameters
        ----------
        function : str
        name : str
            Of the operator, that of the function if empty. An operator
            of that name is replaced.
        params : sequence of str
            Parameters of the function that are scalars, not inputs.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
        """
    def export_cubin(self) -> bytes:
        """Everything as one CUBIN, in which each variable has its storage."""
