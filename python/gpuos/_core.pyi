"""Contains the compiled part of gpuos."""

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

from gpuos.cell_output import CellResult
from gpuos.compiling import KernelAttributes, KernelLaunch, ModuleInfo
from gpuos.definitions import OperatorVersion
from gpuos.typing import ArrayInput, Backend, Residency, Stats
from gpuos.watching import Watch

__version__: str

def _add_library_dir(path: str) -> None:
    """Add a folder in which gpuos looks for CUDA libraries."""

def _diagnose() -> list[tuple[Any, ...]]:
    """Look for libraries, devices and headers. Return the fields of each Finding."""

def _bridge(runtime: Runtime) -> Any:
    """Return the C++ runtime as a capsule "gpuos.runtime", which points at a
    gpuos::Runtime and keeps it alive.
    """

def _enter(scheduler: Any) -> Any: ...
def _leave(scheduler: Any, kind: Any, error: Any, trace: Any) -> None: ...
def _make_deterministic(runtime: Runtime) -> Runtime:
    """Make later submissions deterministic, as the option of that name does. Return the
    runtime.
    """

def _bytes_of(array: Array) -> npt.NDArray[np.uint8]:
    """Wait, and return the elements in C order as an ndarray of uint8. The ndarray is a
    view of the memory if that is possible.
    """

def _set_bytes(array: Array, source: object) -> None:
    """Copy a buffer of the same number of bytes into a new array."""

def _dtype_name(array: Array) -> str:
    """Return the name of the dtype, also if NumPy does not have this dtype."""

def _is_shared(runtime: Runtime) -> bool:
    """Return whether the runtime is the default runtime of a device."""

def _is_over(ticket: Ticket, timeout: float) -> bool:
    """Wait up to `timeout` seconds. Return whether the task is done or has failed."""

def _first_done(tickets: Iterable[Ticket], timeout: float) -> list[int]:
    """Wait until some tickets are done or have failed. Return the indices of at most 64
    of them.
    """

def _overlap(a: Array, b: Array) -> bool:
    """Return whether two arrays share memory and are not the same view."""

def _view_at(array: Array, index: Any) -> Array:
    """Return the view that an index selects, also a view of one element."""

def _is_freed(array: Array) -> bool: ...
def _settled_memory(array: Array) -> tuple[int, bool]:
    """Return the address for other code, and whether the array is in C order without
    gaps. Wait for the tasks that use the memory.
    """

def _is_number(array: Array) -> bool:
    """Return whether in-place operators make a new array."""

def _set_number(array: Array, is_number: bool) -> None: ...
def _share(runtime: Runtime, is_shared: bool = ...) -> Runtime:
    """Set whether the runtime refuses to be closed. Return the runtime."""

def _has_captured(runtime: Runtime) -> bool:
    """Return whether a captured CUDA graph runs the runtime's tasks."""

def _operations() -> dict[str, int]: ...
def _apply(name: str, operands: tuple[Any, ...]) -> Value: ...
def _reduce(
    name: str,
    x: Any,
    axis: _Axes,
    keepdims: Any = False,
    number: Any = 0.0,
) -> Value: ...
def _clip(x: Any, low: Any, high: Any, /) -> Value: ...
def _expand_dims(x: Any, axis: Any, /) -> Value: ...
def _concatenate(values: Any, axis: Any, /) -> Value: ...
def _roll(x: Any, shift: int, axis: int, /) -> Value: ...
def _split(x: Any, sections: int, axis: int, /) -> list[Value]: ...
def _moveaxis(x: Any, source: Any, destination: Any, /) -> Value: ...
def _can_cast(of: npt.DTypeLike, to: npt.DTypeLike, /) -> bool: ...
def _real(number: Any, what: str, /) -> float: ...
def _kind_shown(x: object, /) -> str: ...
def _dim(x: object, what: str, /) -> tuple[int, int, int]: ...
def _text(x: object, what: str, /) -> str: ...
def _integer(x: object, what: str, /) -> int: ...
def _items(x: object, what: str, /) -> tuple[Any, ...]: ...
def _version(x: object, what: str, /) -> int: ...
def _number_result(
    function: Callable[..., Any], operands: tuple[Any, ...], /
) -> Any: ...
def _numbers_result(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    /,
) -> Any: ...
def _watch_arrays(watch: Any) -> None:
    """Register a gpuos::ArrayWatch, from a capsule "gpuos.array_watch". Until the process
    ends, gpuos notifies it of tasks on foreign arrays.
    """

def _live_runtimes() -> dict[int, Runtime]:
    """Return the runtimes that are not closed, by number, oldest first."""

def _stats_now(runtime: Runtime) -> dict[str, Any]:
    """Return stats() without running deferred operations."""

def _wait_for_all(runtime: Runtime, timeout: float | None) -> bool:
    """Wait as synchronize() does, but do not raise errors of tasks. Return whether
    everything was done in time.
    """

def _secure_variable(name: str) -> str | None:
    """Return a variable of the environment, as secure_getenv does."""

def _cache_info() -> tuple[Any, ...]:
    """Return the folders and the sizes of the cache."""

def _cached_images() -> list[tuple[Any, ...]]:
    """Read and check every file of the cache."""

def _prune_cache(max_bytes: int) -> tuple[int, int]:
    """Remove files until the cache is small enough. Return the number of removed files
    and bytes.
    """

def _clear_cache() -> tuple[int, int]:
    """Remove all files. Return the number of removed files and bytes."""

class Error(RuntimeError):
    """Is the base class of all errors of gpuos except TypeError."""

class InvalidArgument(Error, ValueError):
    """Reports a broken rule for an argument. Nothing was queued."""

class OutOfRange(InvalidArgument, OverflowError):
    """Reports a number outside of the range of its type. Nothing was queued."""

class WrongType(InvalidArgument, TypeError):
    """Reports an operand whose dtype or class a function does not take. Nothing was
    queued.
    """

class BackendUnavailable(Error):
    """Reports that this machine lacks the backend or something that it needs. The message
    says what to install.
    """

class CudaError(Error):
    """Reports a failed driver call. `code` is the driver's number and `call` is the call."""

    code: int
    call: str

class CompileError(Error):
    """Reports device code that does not compile, link or fit. `log` is the compiler's
    log.

    `file`, `line` and `column` are the place of the first error, as #line sets it. The
    column begins at 1 and is 0 if it is not known. `excerpt` is the line and a caret.
    """

    log: str
    file: str
    line: int
    column: int
    excerpt: str

class HostError(Error):
    """Reports an exception of a session's host code. `type` is its type in C++, and
    `text` its message.
    """

    type: str
    text: str

class TaskError(Error):
    """Reports that a task failed while it ran. `operator` is the name of its operator."""

    operator: str

class QueueClosed(Error):
    """Reports that the runtime was closed."""

class Cancelled(Error):
    """Reports that the caller cancelled its request."""

class Timeout(Error, TimeoutError):
    """Reports that a wait reached its deadline."""

@final
class Ticket:
    """Represents the tasks of one submit(). A caller waits for them, or asks whether they
    are done.

    Tickets are hashable. Equal tickets represent the same tasks.
    """
    @property
    def done(self) -> bool:
        """Return whether the task is done. Raise TaskError if it failed."""
    def wait(self, timeout: float | None = None) -> None:
        """Wait for the task as Runtime.wait(ticket, timeout) does."""
    def add_done_callback(
        self, callback: Callable[[Ticket], object], /
    ) -> None:
        """Call `callback(ticket)` once, when the task is done or has failed.

        Parameters
        ----------
        callback : callable
            Called at once if it is done now, else in a thread of gpuos. It
            should be short, because the next one waits for it. Its exceptions
            go to sys.unraisablehook.
        """
    def __await__(self) -> Generator[Any]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        """Raise PicklingError, because a ticket is valid only in its process."""

_Index: TypeAlias = SupportsIndex | slice | EllipsisType | None

@final
class Array:
    """Owns memory of a runtime with a shape and a dtype, or is a view of it.

    Runtime.array(), empty() and zeros() make arrays, in C order without gaps. Indexing as
    NumPy's, T, transpose() and reshape() return views that share the memory and keep it
    alive. Operators, NumPy's functions and most methods return new arrays at once. gpuos
    collects them into one program, as fuse() does, until a caller reads a result. NumPy,
    CuPy, PyTorch and JAX take an array without a copy through DLPack or the array
    interfaces. That waits for the tasks that use the array now, not for later ones.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of elements along each axis."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the element type as a NumPy dtype. A dtype that NumPy lacks needs
        ml_dtypes.
        """
    @property
    def ndim(self) -> int:
        """Return the number of axes."""
    @property
    def size(self) -> int:
        """Return the number of elements."""
    @property
    def itemsize(self) -> int:
        """Return the number of bytes of one element."""
    @property
    def nbytes(self) -> int:
        """Return the number of bytes of all elements."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Return the number of bytes from one element to the next, for each axis."""
    @property
    def T(self) -> Array:
        """Return a view with the axes reversed."""
    @property
    def mT(self) -> Array:
        """Return what numpy.ndarray.mT returns. A task computes it."""
    @property
    def real(self) -> Array:
        """Return a view of the real parts. For a real dtype, return a view of the elements."""
    @real.setter
    def real(self, value: Any) -> None: ...
    @property
    def imag(self) -> Array:
        """Return a view of the imaginary parts. For a real dtype, return new zeros."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def ptr(self) -> int:
        """Return the address of the first element. Keep the array alive while you use it."""
    @property
    def runtime(self) -> Runtime:
        """Return the Runtime that owns the memory and runs the operators."""
    @property
    def device(self) -> str:
        """Return "host", or a name such as "cuda:0"."""
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def numpy(self, *, copy: bool = True) -> npt.NDArray[Any]:
        """Wait for the tasks that use this memory and return an ndarray.

        Parameters
        ----------
        copy : bool
            False, on the host backend only: return a view of the same memory.
            Later tasks change it.

        Raises
        ------
        InvalidArgument
            If the array was freed, or cannot be a view.
        TypeError
            If NumPy lacks the dtype and ml_dtypes is not installed.
        TaskError
            If the runtime is dead. The ticket of a failed task,
            synchronize() and close() report its error.
        """
    def copy_from(self, source: npt.ArrayLike) -> None:
        """Copy `source` into this array, after the tasks that use its memory.

        Parameters
        ----------
        source : array_like, of this shape and dtype
            It is copied to a contiguous array only if needed.

        Raises
        ------
        InvalidArgument
            If the shape or dtype differs, or if this is a view with gaps or
            in another order.
        """
    def transpose(
        self, *axes: SupportsIndex | Sequence[SupportsIndex] | None
    ) -> Array:
        """Return a view with the axes in another order.

        Parameters
        ----------
        *axes : int
            Each axis once, as numbers or one tuple. No argument reverses them.

        Raises
        ------
        InvalidArgument
            If an axis is missing, unknown or given twice.
        """
    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> Array:
        """Return a view with another shape, in C order.

        Parameters
        ----------
        *shape : int
            Numbers or one tuple. One of them may be -1.

        Raises
        ------
        InvalidArgument
            If this needs a copy, or the sizes differ.
        """
    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: Any, /) -> Array: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]: ...
    def __dask_tokenize__(self) -> tuple[Any, ...]: ...
    def free(self) -> None:
        """Release the memory once the tasks that use it are done.

        Any later use raises InvalidArgument. If a view, ptr or an array interface has
        published the address, the memory stays allocated until this object is deleted.
        """
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    def __getitem__(self, index: _Index | tuple[_Index, ...]) -> Array:
        """Return a view by integers, slices, None, ... and tuples of them, as NumPy does.
        Integers for all axes return a copy of the element, a read-only array without
        axes. x[i, ...] is a view of it.
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
        """Return this array, or its copy in the default runtime of another device.

        Parameters
        ----------
        device : str
            The device, as for default_runtime().
        stream : None
            Must be None, because the copy waits.

        Raises
        ------
        InvalidArgument
            If `device` names no device.
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
        """Run numpy.ndarray.all as a task."""
    def any(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.any as a task."""
    def argmax(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.argmax as a task."""
    def argmin(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.argmin as a task."""
    def max(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.max as a task."""
    def min(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.min as a task."""
    def ptp(
        self,
        axis: _Axes = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.ptp as a task."""
    def mean(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.mean as a task."""
    def prod(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.prod as a task."""
    def sum(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.sum as a task."""
    def std(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.std as a task."""
    def var(
        self,
        axis: _Axes = None,
        dtype: npt.DTypeLike | None = None,
        *,
        out: Array | None = None,
        ddof: float = 0.0,
        keepdims: bool = False,
    ) -> Array:
        """Run numpy.ndarray.var as a task."""
    def astype(self, dtype: npt.DTypeLike, *, copy: bool = True) -> Array:
        """Run numpy.ndarray.astype as a task."""
    def clip(
        self, min: Any = None, max: Any = None, *, out: Array | None = None
    ) -> Array:
        """Run numpy.ndarray.clip as a task."""
    def conj(self) -> Array:
        """Run numpy.ndarray.conj as a task."""
    def conjugate(self) -> Array:
        """Run numpy.ndarray.conjugate as a task."""
    def copy(self, order: str = "C") -> Array:
        """Run numpy.ndarray.copy as a task."""
    def dot(self, b: Any, *, out: Array | None = None) -> Array:
        """Run numpy.ndarray.dot as a task."""
    def fill(self, value: npt.ArrayLike) -> None:
        """Run numpy.ndarray.fill as a task."""
    def flatten(self, order: str = "C") -> Array:
        """Run numpy.ndarray.flatten as a task."""
    def item(self, *index: SupportsIndex) -> Any:
        """Wait, and return what numpy.ndarray.item returns."""
    def ravel(self, order: str = "C") -> Array:
        """Run numpy.ndarray.ravel as a task."""
    def round(self, decimals: int = 0, *, out: Array | None = None) -> Array:
        """Run numpy.ndarray.round as a task."""
    def cumprod(
        self,
        axis: SupportsIndex | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Run numpy.ndarray.cumprod as a task."""
    def cumsum(
        self,
        axis: SupportsIndex | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Run numpy.ndarray.cumsum as a task."""
    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> Array:
        """Run numpy.ndarray.diagonal as a task."""
    def repeat(
        self, repeats: npt.ArrayLike, axis: SupportsIndex | None = None
    ) -> Array:
        """Run numpy.ndarray.repeat as a task."""
    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: npt.DTypeLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Run numpy.ndarray.trace as a task."""
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
        """Return what numpy.ndarray.squeeze returns."""
    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Return what numpy.ndarray.swapaxes returns."""
    def tolist(self) -> Any:
        """Wait, and return what numpy.ndarray.tolist returns."""
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
    def __ipow__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
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
    """Represents a defined operator, from Runtime.define() or find()."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def name(self) -> str:
        """Return the name that submit() takes."""
    @property
    def is_defined(self) -> bool:
        """Return whether it is defined. It is not after undefine()."""
    @property
    def params(self) -> dict[str, str]:
        """Return the current version's scalar parameters: name to dtype, in order."""
    @property
    def defaults(self) -> dict[str, int | float | complex]:
        """Return the current version's default values: name of a parameter to number."""
    @property
    def inputs(self) -> tuple[str, ...] | None:
        """Return the names of the inputs that submit() takes, in order. None means that
        they have no names.
        """
    @property
    def _reduces(self) -> bool:
        """Return whether the expression has a reduction."""
    @property
    def expression(self) -> str | None:
        """Return the text of the expression. Return None for a whole or built-in operator."""
    @property
    def version(self) -> int:
        """Return the number of the current version. It begins at 1, and each replace()
        and rollback() adds 1. Return 0 after undefine().
        """
    @property
    def versions(self) -> list[OperatorVersion]:
        """Return a list with an OperatorVersion for each loaded version, the current one
        last.
        """
    @property
    def definition(self) -> Definition:
        """Return the Definition that makes the current version. Raise InvalidArgument for
        an operator that is built in, undefined or of a Session.
        """
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickle the definition."""
    def __dask_tokenize__(self) -> tuple[Any, ...]: ...

@final
class Definition:
    """Contains all arguments of Runtime.define(), so that they can be stored and sent.

    Operator.definition returns one, and the class takes the same arguments as define(). A
    definition cannot be changed. An operator is pickled as its definition. Another
    process therefore gets the operator as it was when it was sent, even if it changes
    later.

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
        """Store the arguments. Runtime.define() checks them."""
    @property
    def name(self) -> str:
        """Return the name that the operator gets."""
    @property
    def expression(self) -> str | None:
        """Return the text of the expression, or None."""
    @property
    def source(self) -> str | None:
        """Return the CUDA C++ of a whole operator, or None."""
    @property
    def ptx(self) -> bytes | None:
        """Return the contents of `ptx` as bytes, or None."""
    @property
    def ltoir(self) -> bytes | None:
        """Return the contents of `ltoir` as bytes, or None."""
    @property
    def cubin(self) -> bytes | None:
        """Return the contents of `cubin` as bytes, or None."""
    @property
    def symbol(self) -> str | None:
        """Return the function of `ptx`, `ltoir` or `cubin`, or None."""
    @property
    def params(
        self,
    ) -> dict[str, str | tuple[str, int | float | complex]]:
        """Return a new dict from name to dtype, or to (dtype, default value), in order."""
    @property
    def dtype(self) -> tuple[str, ...] | None:
        """Return the names of the arrays' dtypes. None means define()'s default."""
    @property
    def inputs(self) -> tuple[str, ...] | int | None:
        """Return the names of the inputs or their number. None means define()'s default."""
    @property
    def elementwise(self) -> bool:
        """Return the argument of define()."""
    @property
    def tiered(self) -> bool:
        """Return the argument of define()."""
    @property
    def checked(self) -> bool | None:
        """Return the argument of define(). None means that GPUOS_CHECKED decides."""
    @property
    def version(self) -> int:
        """Return the version of the operator that it was taken from, or 0."""
    @property
    def digest(self) -> str:
        """Return 64 hexadecimal digits that identify the computation in every process.
        Operators with two names may have one digest.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __dask_tokenize__(self) -> tuple[Any, ...]: ...

def _load_definition(
    name: str, fields: _Fields, version: int, made: Definition | None = None
) -> Definition: ...

# runtime_methods.py calls these. Fields are those of Fields in definitions.py.
_Fields: TypeAlias = tuple[Any, ...]

def _normal_definition(name: str, fields: _Fields, /) -> tuple[_Fields, str]:
    """Return the fields as they are stored, and their digest."""

def _current_definition(op: Operator, /) -> tuple[str, _Fields, int]: ...
def _replaced(
    runtime: Runtime, op: Any, /
) -> tuple[Operator, str, _Fields]: ...
def _define(runtime: Runtime, name: str, fields: _Fields, /) -> Operator: ...
def _define_many(
    runtime: Runtime, definitions: Sequence[tuple[str, _Fields]], /
) -> list[Operator]: ...
def _change(
    runtime: Runtime,
    changes: Sequence[tuple[Operator | None, int, str, _Fields]],
    /,
) -> None:
    """Make all changes or none. A change has the replaced operator or None, its expected
    version, the name and the fields.
    """

def _replace(
    runtime: Runtime, op: Any, name: str, fields: _Fields, expected: int, /
) -> int: ...
def _roll_back(runtime: Runtime, op: Any, to: int, expected: int, /) -> int: ...
def _restore(runtime: Runtime, op: Any, /) -> int: ...
def _undefine(runtime: Runtime, op: Any, /) -> None: ...
def _alias(runtime: Runtime, name: str, op: Any, /) -> Alias: ...
def _versions(op: Operator, /) -> list[tuple[Any, ...]]: ...
def _add_docstrings() -> None:
    """Give the docstrings of this stub to the members of the module."""

@final
class Alias:
    """Represents a name that points to an operator.

    A switch is one store. Tasks that were submitted before it run the old target.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def _runtime(self) -> Runtime: ...
    def _switch(self, target: Any, /) -> None: ...
    def _roll_back(self, /) -> None: ...
    @property
    def name(self) -> str:
        """Return the name that submit() takes."""
    @property
    def target(self) -> Operator:
        """Return the operator that the name points to now."""
    def switch(self, target: str | Operator | Alias) -> None:
        """Point to another operator that takes the same arguments.

        Raises
        ------
        InvalidArgument
            If it takes other arguments, or is not defined.
        """
    def rollback(self) -> None:
        """Restore the target before the last switch. An alias stores 256 switches.

        Raises
        ------
        InvalidArgument
            If there is no earlier target.
        """
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn: ...

@type_check_only
class _RuntimeType(type): ...

class Runtime(metaclass=_RuntimeType):
    """Feeds tiny operations to persistent workers and waits for them.

    Tasks behave as if they ran one after the other in the order of submission. Any thread
    may call any method. A wait lets other threads run.

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
        """Start the workers. None selects an option's default. All except
        the first three are given by keyword.

        Parameters
        ----------
        backend : str
            cuda, host, or auto: the value of GPUOS_BACKEND, else cuda if there is a
            usable GPU, else host
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
            threads of a worker on the GPU; a multiple of 32, 32 to 256
        linger_us : float
            idle time after which workers leave
        lease_us : float
            longest stay of workers, busy or not
        watchdog_s : float
            one task of a whole operator that runs longer makes the runtime dead
        submit_timeout_s : float
            longest wait of a submission for room in the queue
        pending_bytes : int
            freed memory that deferred operations and pending tasks still use: an
            allocation beyond it waits for the oldest of them
        flush_after_us : float
            longest time that a task waits for its burst
        compile_programs_after : int
            calls after which a program is compiled in the background, fewer with
            large arrays; 0: never; None: 32 on a GPU, 1,000 on the host, whose
            compiler takes longer
        deterministic : bool
            sums and products of reals have the same bits in every run: on a GPU the
            number of columns decides the order of additions; the host backend
            always does this
        versions : int
            versions of an operator that stay loaded, for rollback(); 1 to 256
        worker_image : str
            the image that a GPU loads: embedded, ptx, nvrtc, or auto: the first
            that fits

        Raises
        ------
        InvalidArgument
            If a value is out of range.
        BackendUnavailable
            If something is missing. The message says what to install.
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
        """Return "host" or "cuda"."""
    @property
    def is_closed(self) -> bool:
        """Return whether close() was called."""
    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the runtime, including the defaults."""
    def array(
        self, source: npt.ArrayLike, dtype: npt.DTypeLike | None = None
    ) -> Array:
        """Copy an array to the runtime's memory.

        Parameters
        ----------
        source : array_like, any shape
            Its dtype is in docs/python.md. ml_dtypes has those that NumPy lacks.
        dtype : dtype or None
            The elements are converted to it. None keeps the source's.
        """
    def empty(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Return an array in the runtime's memory. Its elements are not set.

        Parameters
        ----------
        shape : int or sequence of int
        dtype : dtype
            Also "bfloat16", which NumPy does not have.
        """
    def zeros(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Return an array of zeros. A task fills it."""
    def ones(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        dtype: npt.DTypeLike = "float32",
    ) -> Array:
        """Return an array of ones. A task fills it."""
    def full(
        self,
        shape: SupportsIndex | Sequence[SupportsIndex],
        value: npt.ArrayLike,
        dtype: npt.DTypeLike | None = None,
    ) -> Array:
        """Return an array that is filled with a value. A task fills it.

        Parameters
        ----------
        shape : int or sequence of int
        value : number, or an array that broadcasts to the shape
        dtype : dtype or None
            None selects the value's dtype, as in NumPy.

        Raises
        ------
        InvalidArgument
            If the value does not broadcast, or no dtype can represent it.
        """
    def arange(
        self,
        start: Any,
        stop: Any = None,
        step: Any = 1,
        dtype: npt.DTypeLike | None = None,
    ) -> Array:
        """Return evenly spaced numbers. NumPy makes them, and gpuos copies them.

        Parameters
        ----------
        start, stop, step : number
            As for numpy.arange(). A single number is the stop.
        dtype : dtype or None
            None selects int64 or float64, as in NumPy.
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
        """Return numbers from start to stop. NumPy makes them, and gpuos copies them.

        Parameters
        ----------
        start, stop : number
        num : int
        endpoint : bool
            Whether stop is the last one.
        dtype : dtype or None
            None selects float64, as in NumPy.
        """
    def zeros_like(
        self, like: Any, dtype: npt.DTypeLike | None = None
    ) -> Array:
        """Return zeros with the shape of an array.

        Parameters
        ----------
        like : array of any library
        dtype : dtype or None
            None selects the array's dtype.
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

        The arrays are gpuos.Array, NumPy arrays (host backend, no copy) or objects with
        DLPack or an array interface. They are contiguous and have one dtype. gpuos holds
        memory of other libraries until the task is done. Do not resize it before that.

        Parameters
        ----------
        op : str, Operator or Alias
            "add", "sub", "mul", "div", "copy", "fill" or a defined operator.
        *inputs : array, shape of `out`
            In the order of the operator's `inputs`. The last ones, or all, may be
            passed by name instead.
        out : array
            Receives the result. It may be one of the inputs.
        stream : None, int or stream object
            The stream to run in, such as torch.cuda.current_stream(). None selects
            the runtime's stream, which is not ordered with other streams.
        **params : number or array
            The operator's scalars, such as value=0 for "fill", and inputs by name.

        Raises
        ------
        InvalidArgument
            If shapes or dtypes differ, a name is unknown, or an array has gaps, is
            in other memory, freed or read-only. Nothing was queued.
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

        Each column is one argument of all tasks. The last one receives the results:

        - an array of one or more dimensions: a task for each row of its first axis
        - a list or tuple of arrays: a task for each array
        - with `sizes`: an ndarray of int64 or uint64 addresses. Nothing is checked or
          held. The memory must stay valid until the ticket is done.

        Parameters
        ----------
        op : str, Operator or Alias
            The operator to run.
        *columns : array, sequence of arrays, or ndarray of addresses, shape (tasks,)
            Inputs, then the output unless `out` is given.
        out : as a column
            The output, instead of the last column.
        sizes : int or ndarray of int64, shape (tasks,)
            Elements of each task. Every column then contains addresses.
        dtype : str or numpy.dtype
            The dtype of the memory at the addresses.
        stream, **params
            As for submit(), for all tasks.

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
            Seconds. None waits without a limit. Ctrl-C ends the wait.

        Raises
        ------
        Timeout
            If the tasks are not done in time.
        TaskError
            If one of them failed.
        """
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until everything submitted so far is done.

        Parameters
        ----------
        timeout : float or None
            Seconds. None waits without a limit.

        Raises
        ------
        Timeout
            If the tasks are not done in time.
        TaskError
            If a task failed.
        """
    def flush(self, stream: Any = None) -> None:
        """Launch the tasks that wait for a burst. On the host backend none waits.

        Parameters
        ----------
        stream : None, int or stream object
            Only this stream's tasks. None means all streams.
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
        """Make an operator while tasks run.

        An expression is a program, as fuse() makes it. It can be used at once, because it
        is interpreted first and compiled after many calls.

        Parameters
        ----------
        name : str, Definition or Operator
            A new name of letters, digits and "_". A Definition, or an operator of
            another runtime or process, contains all other arguments. An existing
            operator with its name and digest is returned.
        expression : str
            Such as "o = alpha * x + y" or "o = sum(x, axis=-1) / n". Names that are
            neither parameters nor functions are inputs.
        source : str, keyword only
            CUDA C++ with GPUOS_OPERATOR(name) { ... }, instead of an expression.
        ptx : str, bytes or path, keyword only
            On a GPU: an extern "C" function that another compiler made. An elementwise
            function takes one element of each input, then the parameters, and returns
            the output's element. Any other takes the addresses of the output and of the
            inputs, the parameters, and three int64: the number of elements of the
            output, the lane, and the number of lanes.
        ltoir, cubin : bytes or path, keyword only
            Such a function as LTO-IR, or as a relocatable CUBIN.
        symbol : str, keyword only
            The name of that function. None selects the operator's name.
        params : dict of str to dtype, or to (dtype, number), keyword only
            Scalars that submit() takes by keyword, in this order. The number is a
            default value. Parameters with one come last.
        dtype : dtype or sequence of dtypes, keyword only
            The arrays' dtypes. None means any dtype for an expression, and float32 for
            all others, which have one.
        inputs : sequence of str or int, keyword only
            Names of the inputs, in order, or their number. submit() takes inputs by
            position or by name. None means an expression's inputs in order of first
            use, and any number for a `source`. `ptx`, `ltoir` and `cubin` need it.
        elementwise : bool, keyword only
            For all except expressions: output element i depends only on input elements
            i. Shapes must then agree, and a large task may be split.
        tiered : bool, keyword only
            For `source` only: compile quickly first, and replace the code when
            optimised code is ready. The host backend compiles once.
        checked : bool, keyword only
            For `source` only: an access with an index out of range, or to an argument
            of another type, reads 0 or writes nothing. The task then fails with
            TaskError. None means yes if GPUOS_CHECKED is 1.

        Raises
        ------
        InvalidArgument
            If the name is taken, the expression is wrong, or an object has no such
            function.
        CompileError
            For all except expressions. `log` contains the compiler's messages.
        BackendUnavailable
            If a compiler is missing, or `ptx`, `ltoir` or `cubin` is given on the host.

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
            The arguments of define() by name, including 'name'.

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

        Tasks that were submitted before run the old body. If this fails, the old body
        stays current. The old body stays loaded for rollback().

        Parameters
        ----------
        op : str or Operator
            The operator to replace. It may be built in.
        expression, source, ptx, ltoir, cubin, symbol, params, dtype, inputs,
        elementwise, checked
            As for define(). None keeps the operator's value. `params` may add
            parameters with default values. A Definition as `expression` contains all
            of them. Its name is not used.
        expected : int, optional
            The version that is replaced. None means the current one.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
            As define(). Also InvalidArgument if another thread came first and the
            version is not the expected one.
        """
    def rollback(
        self,
        op: str | Operator,
        *,
        to: int | None = None,
        expected: int | None = None,
    ) -> int:
        """Run an earlier version of an operator again.

        Nothing is compiled, and there is no pause. Tasks that were submitted before are
        not affected.

        Parameters
        ----------
        op : str or Operator
            The operator to roll back.
        to : int, optional
            A version of Operator.versions. None means the version before the current
            one. A second call restores the version before that.
        expected : int, optional
            The current version. None accepts any.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument
            If there is no such version, if it is no longer loaded, or if the current
            one is not the expected one.
        """
    def restore(self, op: str | Operator) -> int:
        """Give a built-in operator its own body again.

        Parameters
        ----------
        op : str or Operator
            The operator. If it was not replaced, nothing changes.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument
            If the operator is not built in.
        """
    def transaction(self) -> Transaction:
        """Return a Transaction, whose definitions and replacements become visible
        together.

        >>> with rt.transaction() as change:
        ...     change.replace("step", "o = x + v")
        ...     change.replace("kick", "o = v - x")
        """
    def undefine(self, op: str | Operator | Alias) -> None:
        """Remove an operator. Its code is unloaded after its last task.

        Parameters
        ----------
        op : str, Operator or Alias
            Its name can be used again afterwards.
        """
    def alias(self, name: str, op: str | Operator | Alias) -> Alias:
        """Make a name for an operator that can be switched and rolled back.

        Parameters
        ----------
        name : str
            A new name, for submit().
        op : str, Operator or Alias
            The first target.

        Raises
        ------
        InvalidArgument
            If the name is taken.
        """
    def find(self, name: str) -> Operator:
        """Return the operator with that name.

        Raises
        ------
        InvalidArgument
            If there is none. The message lists all names.
        """
    def operators(self) -> list[str]:
        """Return the names of all operators."""
    def fuse(self, function: Callable[..., Any]) -> Fused:
        """Make one program from a Python function, as gpuos.fuse(function, runtime=self)
        does.

        Parameters
        ----------
        function : callable
            It uses operators and NumPy's functions, as docs/programs.md describes.

        Returns
        -------
        Fused
            A call with arrays and numbers runs the program.
        """
    def watch(
        self,
        op: str | Operator | Fused,
        path: str | os.PathLike[str] | None = None,
        *,
        on_error: Callable[[Exception], object] | None = None,
    ) -> Watch:
        """Replace an operator, or a fused function, whenever its file is saved.

        A text that contains GPUOS_OPERATOR is a whole operator. Any other text is an
        expression. If the new text does not compile, the old operator stays.

        Parameters
        ----------
        op : str, Operator or Fused
            It keeps its arguments, as in replace().
        path : path, optional
            The file. The default for a Fused is the file that contains its function.
            That file runs again as a module.
        on_error : callable, optional
            Called with the error of a save, in the thread that replaces. By default the
            logger "gpuos.watch" reports it.

        Returns
        -------
        Watch
            A context manager with `path` and close(). It ends with the runtime.

        Raises
        ------
        InvalidArgument
            If other users may write the file or its folder.
        """
    def stats(self) -> Stats:
        """Return counters and the choices of the runtime, as a dict.

        Names end in their unit. Each tile of a large task counts as a task.
        """
    def session(
        self,
        options: JitOptions | Sequence[str] | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] = ...,
    ) -> Session:
        """Return a session whose functions can become operators of this runtime."""
    def close(self) -> None:
        """Run pending work, stop the workers and raise pending errors.

        A second call does nothing. A with-block calls it.

        Raises
        ------
        InvalidArgument
            If default_runtime() made it. A with-block leaves such a runtime open.
        """

@final
class Transaction:
    """Makes definitions and replacements visible together when the `with` block ends, or
    none of them. Runtime.transaction() returns one.

    No submission sees only some of the changes. Everything is compiled at the end of the
    block, which raises the errors of define() and replace(). After an error, in the
    compilation or in the block, nothing has changed.
    """
    def __new__(cls, *_: object, **__: object) -> NoReturn: ...
    def __del__(self) -> None: ...
    def __getattr__(self, name: str, /) -> NoReturn: ...
    def __enter__(self) -> Self:
        """Begin the transaction."""
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
        """Define an operator as Runtime.define() does. After the block, find() returns it."""
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

    It has NumPy's operators, elementwise functions and reductions. Its dtype and its
    number of axes are known. Its shape and its elements are not known.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the element type as a NumPy dtype."""
    @property
    def ndim(self) -> int:
        """Return the number of axes."""
    @property
    def _is_number(self) -> bool: ...
    def _told(self) -> Any: ...
    def _ask(self) -> None: ...
    def _index(self, places: list[Any], dims: list[int], /) -> Value: ...
    def _astype(self, dtype: npt.DTypeLike, /) -> Value: ...
    def _transpose(self, axes: Any, /) -> Value: ...
    def _squeeze(self, axes: Any, /) -> Value: ...
    def _reshape(self, shape: Any, /) -> Value: ...
    @property
    def T(self) -> Value:
        """Reverse the axes."""
    @property
    def mT(self) -> Value:
        """Swap the last two axes."""
    @property
    def real(self) -> Value:
        """Return the real part."""
    @property
    def imag(self) -> Value:
        """Return the imaginary part."""
    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of the axes. A function that uses them is traced for each shape."""
    @property
    def size(self) -> int:
        """Return the number of elements."""
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
        """Convert to another dtype."""
    def transpose(self, *args: Any) -> Value:
        """Return the axes in another order."""
    def swapaxes(self, axis1: int, axis2: int) -> Value: ...
    def clip(self, *args: Any, **kwargs: Any) -> Value: ...
    def round(self, *args: Any, **kwargs: Any) -> Value: ...
    def conj(self) -> Value: ...
    def conjugate(self) -> Value: ...
    def copy(self, *args: object) -> Value: ...
    def __getitem__(self, index: Any, /) -> Value: ...
    def reshape(self, *args: Any, order: str = "C") -> Value:
        """Return the elements in C order with another shape."""
    def ravel(self, order: str = "C") -> Value:
        """Return all elements along one axis."""
    def flatten(self, order: str = "C") -> Value:
        """Return all elements along one axis."""
    def squeeze(self, axis: _Axes = None) -> Value:
        """Remove the named axes, or all axes, that have one element."""
    def _broadcast_to(self, shape: Any, /) -> Value: ...
    def _filled(self, number: Any, dtype: npt.DTypeLike, /) -> Value: ...
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
class Program:
    """Contains elementwise operations and reductions that run as one submission."""
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def inputs(self) -> list[tuple[str, int]]:
        """Return (dtype, ndim) of each input."""
    @property
    def outputs(self) -> list[tuple[str, int]]:
        """Return (dtype, ndim) of each output."""
    @property
    def scalars(self) -> int:
        """Return the number of numbers that a call passes."""
    @property
    def operations(self) -> int:
        """Return the number of operations after simplification."""
    @property
    def hash(self) -> int:
        """Return a hash of the structure. It is the same in every process."""

@final
class Fused:
    """Runs a Python function as one submission. fuse() returns one.

    Call it with the function's arguments. Any library's arrays are inputs, and Python's
    numbers are parameters. None, str, bytes, tuples, enums, types and dtypes decide what
    the function does. Each new value of them is traced again. `out=` is an array, or a
    tuple of arrays, for the results. Without it the call makes new arrays. `stream=` is
    as for Runtime.submit(). The call returns at once, and a read of a result waits for
    it. Any thread may call it.
    """
    def __call__(
        self, *args: Any, out: Any = None, stream: Any = None, **kwargs: Any
    ) -> Any: ...
    def warm(self, *args: Any, **kwargs: Any) -> Program:
        """Trace the function for arguments like these without a run."""
    def compile(self, *args: Any, **kwargs: Any) -> Program:
        """Trace as warm() does, and wait until the runtime has compiled the program.

        Raises
        ------
        CompileError
            If it does not compile. It stays interpreted.
        """
    def programs(self) -> list[Program]:
        """Return a list with one program for each structure so far. A structure is the
        dtypes and ranks of the arrays, the kinds of the numbers and the other arguments.
        """
    def __copy__(self) -> Self:
        """Return this object."""
    def __deepcopy__(self, memo: Any, /) -> Self:
        """Return this object."""
    def __reduce_ex__(
        self, protocol: SupportsIndex, /
    ) -> str | tuple[Any, ...]:
        """Pickle its name, or its function if the name cannot be imported."""
    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return the token from which Dask makes names of results."""
    @property
    def _runtime(self) -> Runtime | None:
        """Return the runtime that it was fused for, or None."""
    def replace(self, function: Callable[..., Any], /) -> int:
        """Run another function from now on.

        Calls that have returned run the old function. Fused functions that call this one
        are traced again at their next call.

        Parameters
        ----------
        function : callable
            It has the same parameters. For all structures that were called so far
            its results have the same dtypes and numbers of axes.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument
            If it does not, or cannot be traced. Nothing has changed then.
        """
    @property
    def version(self) -> int:
        """Return the version. It begins at 1, and each replace() adds 1."""
    def _replaced(self, function: Callable[..., Any], /) -> Fused:
        """Return a copy with another function, or raise what replace() raises."""
    def _forms(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the shape and dtype of each result, and the function that assembles them."""

def _make_fused(
    function: Callable[..., Any],
    trace: Callable[..., Any],
    runtime: Runtime | None,
    name: str,
    is_deferred: bool,
) -> Fused: ...

_Extent: TypeAlias = int | Sequence[int]

def modules() -> list[ModuleInfo]:
    """Return the loaded images of this process, in the order of loading."""

def synchronize(stream: object = None, device: SupportsInt = 0) -> None:
    """Wait until the launches in a stream are done.

    Parameters
    ----------
    stream : None, int or stream
        None means the legacy default stream. This does not wait for tasks
        of a Runtime in its own streams.
    device : int

    Raises
    ------
    BackendUnavailable, CudaError
    """

@final
class JitOptions:
    """Decides how NVRTC compiles device code.

    Parameters
    ----------
    std : str
        'c++11' to 'c++23'.
    defines : dict
        Macros: name to text. None and True mean 1.
    max_registers : int
        The most registers of a thread, 16 to 255. 0 means no limit.
    fast_math : bool
        Use less exact division, square root and functions.
    line_info : bool
        Add source lines for profilers.
    debug : bool
        Make unoptimised code for debuggers.
    optimization : int
        The assembler's level, 0 to 3.
    fast_compile : str
        'off', 'min', 'mid' or 'max'. Higher levels optimise less and compile
        faster. It needs NVRTC 12.8.
    extra : sequence of str
        More options of NVRTC.
    arch : str
        'sm_90', or 'compute_90' for PTX. An empty text means GPUOS_NVRTC_ARCH
        if it is set, else the device's, else the newest that NVRTC supports.
    include_dirs : sequence of str or path
        Folders of headers, searched after those of the module.
    """

    __signature__: Any
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
        """Return 'c++11' to 'c++23'."""
    @property
    def defines(self) -> dict[str, str]:
        """Return the macros: name to text."""
    @property
    def max_registers(self) -> int:
        """Return the most registers of a thread. 0 means no limit."""
    @property
    def fast_math(self) -> bool:
        """Return whether division, square root and functions are less exact."""
    @property
    def line_info(self) -> bool:
        """Return whether profilers get source lines."""
    @property
    def debug(self) -> bool:
        """Return whether the code is unoptimised, for debuggers."""
    @property
    def optimization(self) -> int:
        """Return the assembler's level, 0 to 3."""
    @property
    def fast_compile(self) -> str:
        """Return 'off', 'min', 'mid' or 'max'. Higher levels optimise less and compile
        faster.
        """
    @property
    def extra(self) -> list[str]:
        """Return more options of NVRTC."""
    @property
    def arch(self) -> str:
        """Return 'sm_90', or 'compute_90' for PTX. An empty text means the device's."""
    @property
    def include_dirs(self) -> list[str]:
        """Return folders of headers."""

@final
class KernelArgs:
    """Stores the arguments of a launch, so that they are read once and used often.

    Numbers without a type (int, float, bool) are converted to the kernel's parameter.
    NumPy scalars, also structured ones, and ctypes objects are passed by value. Arrays on
    the device are passed as their address, and None as a null pointer.
    """
    def __init__(self, *args: object) -> None: ...
    def __len__(self) -> int: ...

@final
class Kernel:
    """Represents a kernel and keeps its module loaded. After JitModule.replace() it is
    the new kernel.
    """
    def __init__(self, *args: object, **kwargs: object) -> NoReturn: ...
    @property
    def name(self) -> str:
        """Return the name that was asked for, such as 'f<float>'."""
    @property
    def attributes(self) -> KernelAttributes:
        """Return the resources of the kernel, a KernelAttributes."""
    @property
    def parameter_bytes(self) -> list[int]:
        """Return the number of bytes of each parameter, in order."""
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
        """Launch the kernel.

        Parameters
        ----------
        grid, block : int or sequence of 1 to 3
        args : sequence or KernelArgs
            Arrays must live until the kernel is done.
        shared_bytes : int
            The dynamic shared memory of a block.
        stream : None, int or stream
            A handle, or a stream of PyTorch or CuPy. None means the legacy
            default stream.
        cooperative : bool
            All blocks run at once.
        cluster : int or sequence
            The blocks of a cluster.

        Raises
        ------
        InvalidArgument
            If the kernel takes other arguments, or the launch is larger than
            the device allows.
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
        """Launch the kernel as launch() does, with the arguments of CuPy's kernels.

        Parameters
        ----------
        grid, block, args, stream, cooperative, cluster
            As for launch().
        shared_mem : int
            The dynamic shared memory of a block.

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
        """Return the launch without its arguments, as Numba's kernels do: kernel[grid,
        block](x, 3) or kernel[grid, block, stream, shared_bytes].
        """
    def max_active_blocks(
        self, block: SupportsInt, shared_bytes: SupportsInt = 0
    ) -> int:
        """Return the number of blocks that run on one multiprocessor at a time."""
    def suggest_block(self, shared_bytes: SupportsInt = 0) -> tuple[int, int]:
        """Return the grid and the block that keep most threads on the device."""

@final
class _StopSource:
    def __init__(self) -> None: ...
    def request(self) -> bool: ...

@final
class JitModule:
    """Compiles CUDA C++ at run time, or loads an image that is compiled already.

    The source can include the embedded `gpuos/` headers. It is compiled once and stored
    in the disk cache. The image is loaded at the first use of a kernel or a variable.
    Compiling needs no GPU.

    Parameters
    ----------
    source : str
        Exactly one of source, path and image is given.
    name_expressions : sequence of str
        Templates to instantiate, 'k<float>', and variables, '&counter'.
    headers : dict
        Headers by name. They are searched before any file.
    include_dirs : sequence of str or path
    options : JitOptions or sequence of str
        A sequence contains NVRTC's options, such as ['-DN=4', '--use_fast_math'].
    path : str or os.PathLike
        A file with a CUBIN or PTX.
    image : bytes
        The contents of such a file.
    name : str
        The name in messages and profilers. None means 'module.cu',
        'module.cubin' or the name of the file.
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
        """Return the kernel of a name expression, an extern "C" kernel, or the only
        kernel with that name.

        Raises
        ------
        InvalidArgument
            If the module does not have this name.
        BackendUnavailable
            If there is no GPU.
        """
    def get_function(self, name: str) -> Kernel:
        """Return kernel(name), with CuPy's name of the method."""
    def global_address(self, name: str) -> int:
        """Return the address of a __device__ or __constant__ variable."""
    def global_bytes(self, name: str) -> int:
        """Return the size of a variable."""
    def read(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a copy of a variable."""
    def _read(self, name: str, /) -> bytes: ...
    def _write(self, name: str, values: bytes, /) -> None: ...
    def write(self, name: str, values: npt.ArrayLike) -> None:
        """Set a variable.

        Raises
        ------
        InvalidArgument
            If `values` does not have the size of the variable.
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
        """Compile another source for the existing handles.

        Later launches run the new code. If this raises, nothing has changed. The new
        source must contain every kernel that was used before, with the same parameters.

        Parameters
        ----------
        source : str
        keep : sequence of str
            Variables that keep their bytes. The others are initialised again.
            This needs a GPU.
        name_expressions, headers, include_dirs, options
            As for JitModule(). None keeps the previous value.

        Returns
        -------
        int
            The number of the new version.

        Raises
        ------
        InvalidArgument
            If parameters differ, or a variable of `keep` is missing or has
            another type or size.
        CompileError, BackendUnavailable, CudaError
        """
    @property
    def version(self) -> int:
        """Return the number of the current source. It begins at 1, and each replace()
        adds 1.
        """
    @property
    def image(self) -> bytes:
        """Return the CUBIN, the PTX if the device is newer than NVRTC, or the given image."""
    @property
    def log(self) -> str:
        """Return the compiler's log."""
    @property
    def arch(self) -> str:
        """Return 'sm_90', or 'compute_90' for PTX."""
    @property
    def name(self) -> str:
        """Return the name in messages and profilers."""

@final
class Session:
    """Runs a CUDA C++ program that grows cell by cell.

    Later cells use the definitions of earlier ones. A new definition replaces an earlier
    one of the same name. Compiling and linking need no GPU.

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

        This waits for the launches that name no stream. After an error no definition is
        kept, unless host code has run. If host code throws, definitions stay.

        Raises
        ------
        CompileError, HostError, InvalidArgument, BackendUnavailable,
        CudaError
        """
    def run_file(self, path: str | os.PathLike[str]) -> CellResult:
        """Run a file as one cell with the name of the file. It may include files of its
        folder.

        Raises
        ------
        As run(). Also InvalidArgument if the file cannot be read.
        """
    def undo(self) -> bool:
        """Remove the definitions of the last cell. Return False if there is none."""
    def bind(self, **kwargs: object) -> None:
        """Give names to arrays on the device and to numbers, for launches."""
    def unbind(self, *args: str) -> None:
        """Forget bound names."""
    def names(self) -> list[str]:
        """Return the sorted names of functions, kernels and variables."""
    def stats(self) -> dict[str, int]:
        """Return the number of cells, and of units compiled, linked and loaded for them."""
    def __getitem__(self, name: str) -> Any:
        """Return a kernel, or the value of a variable."""
    def __setitem__(self, name: str, value: object) -> None: ...
    def kernel(self, name: str, *, follow: bool = False) -> Kernel:
        """Return the newest version of 'k', 'a::k', 'k(int)' or 'k<float>'.

        Parameters
        ----------
        name : str
        follow : bool
            Each launch runs the newest version of the name, also after undo().
            By default the handle keeps its version.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable, CudaError
            With `follow` a launch raises them too. It raises InvalidArgument
            if the newest version takes other parameters than the first.
        """
    def link(self, kernel: str) -> bytes:
        """Return the CUBIN of a kernel, without the addresses of variables."""
    def address(self, name: str) -> int:
        """Return the address of a variable's storage."""
    def nbytes(self, name: str) -> int:
        """Return the size of a variable."""
    def read(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a copy of a variable."""
    def write(self, name: str, values: npt.ArrayLike) -> None:
        """Set a variable. Lists and numbers are converted to the variable's type. The
        bytes of any other object are copied.

        Raises
        ------
        InvalidArgument
            If `values` does not have the size of the variable.
        """
    def operator(
        self, function: str, name: str = "", params: Sequence[str] = ...
    ) -> Operator:
        """Make an elementwise operator from a __device__ function.

        Parameters
        ----------
        function : str
        name : str
            The operator's name. An empty text means the function's name. An
            existing operator with that name is replaced.
        params : sequence of str
            The function's parameters that are scalars, not inputs.

        Raises
        ------
        InvalidArgument, CompileError, BackendUnavailable
        """
    def _type(self, name: str, /) -> str: ...
    def _is_text(self, name: str, /) -> bool: ...
    def _load(self, name: str, /) -> str | bytes: ...
    def _store(self, name: str, value: str | bytes, /) -> None: ...
    def _read(self, name: str, /) -> bytes: ...
    def _write(self, name: str, values: bytes, /) -> None: ...
    def export_cubin(self) -> bytes:
        """Return everything as one CUBIN, in which each variable has its storage."""
