"""Pickle gpuos' objects, also for other processes.

The bindings call `of_*` in `__reduce_ex__`. Pickles refer to `load_*`.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from gpuos import _core, defaults, fusing

if TYPE_CHECKING:
    from collections.abc import Callable

_OUT_OF_BAND = 5  # the first protocol with out-of-band buffers
_KEPT = 1024  # the number of cached fused functions
_MAIN = ("__main__", "__mp_main__")  # differs per program

# ---- Objects that stay in their process.

_INSTEAD = {
    "Alias": "send alias.target, and make the alias there",
    "Runtime": "make one there, or take gpuos.default_runtime(); send "
    "definitions, fused functions and arrays",
    "Ticket": "wait for it, and send the arrays that its tasks wrote",
}


def refuse(kind: str) -> tuple[Any, ...]:
    """Raise an error for an object that is useless in another process."""
    error = pickle.PicklingError(
        f"pickle: expected what another process can use, got a gpuos.{kind}: "
        f"{_INSTEAD[kind]}"
    )
    if _is_worker_of_dask():
        return load_absent, (error,)
    raise error


# ---- Placeholders for Dask. Its workers do not report that they could not send
# or load a result. Dask would wait for it forever after an error.


def _is_worker_of_dask() -> bool:
    """Return whether a worker of Dask runs in this process."""
    worker = getattr(sys.modules.get("distributed.worker"), "Worker", None)
    return bool(getattr(worker, "_instances", ()))


def load_absent(error: Exception) -> Absent:
    """Raise the error, or return a placeholder if Dask would lose the error."""
    if _is_worker_of_dask():
        return Absent(error)
    raise error


class Absent:
    """Stands for an object that could not be loaded. Its use raises why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return load_absent, (self._error,)

    def __repr__(self) -> str:
        return f"<absent: {self._error}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # a question about its type
            raise AttributeError(name)
        raise self._error


def _raise(absent: Absent, *_: Any, **__: Any) -> NoReturn:
    raise absent._error


# Python looks these methods up in the class.
_TWO = (
    *("add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow"),
    *("rshift", "sub", "truediv", "xor"),
)
_OTHER = (
    *("abs", "array", "array_function", "array_ufunc", "await", "bool", "call"),
    *("contains", "complex", "dlpack", "dlpack_device", "enter", "float", "ge"),
    *("getitem", "gt", "index", "int", "invert", "iter", "le", "len", "lt"),
    *("neg", "pos", "setitem"),
)
for _name in (*_TWO, *(f"r{name}" for name in _TWO), *_OTHER):
    setattr(Absent, f"__{_name}__", _raise)


# ---- Operators.


def of_operator(op: _core.Operator) -> tuple[Any, ...]:
    """Reduce an operator to the definition of its current version."""
    try:
        definition = op.definition
    except _core.InvalidArgument as error:
        raise pickle.PicklingError(f"pickle: {error}") from None
    reduced: tuple[Any, ...] = definition.__reduce__()
    return reduced


def token_of_operator(op: _core.Operator) -> tuple[Any, ...]:
    """Return the token by which Dask names results."""
    try:
        definition = op.definition
    except _core.InvalidArgument:  # built in
        return "gpuos.Operator", op.name, op.version
    return "gpuos.Operator", *definition.__dask_tokenize__()[1:]


# ---- Arrays.


def of_array(array: _core.Array, protocol: int) -> tuple[Any, ...]:
    """Reduce an array to its elements in C order, after they are written."""
    elements: Any = _core._bytes_of(array)
    if protocol >= _OUT_OF_BAND:
        elements = pickle.PickleBuffer(elements)
    else:
        elements = elements.tobytes()
    form = (_core._dtype_name(array), array.shape, array.device)
    return load_array, (elements, *form)


def load_array(
    elements: Any, dtype: str, shape: tuple[int, ...], device: str
) -> _core.Array | Absent:
    """Make an array in this process, in the device's default runtime."""
    try:
        runtime = defaults.default_runtime(device)
    except _core.BackendUnavailable as error:
        text = (
            f"unpickle: expected {device}, on which the array was, and there "
            f"is none here; send x.numpy() instead: {error}"
        )
    else:
        array = runtime.empty(shape, dtype)
        _core._set_bytes(array, elements)
        return array
    return load_absent(_core.BackendUnavailable(text))


def token_of_array(array: _core.Array) -> tuple[Any, ...]:
    """Return the token by which Dask names results."""
    elements: Any = _core._bytes_of(array)
    digest = hashlib.sha256(elements).hexdigest()
    return "gpuos.Array", _core._dtype_name(array), array.shape, digest


# ---- Fused functions.

_on_the_way = threading.local()  # ids that this thread pickles


def of_fused(fused: _core.Fused) -> str | tuple[Any, ...]:
    """Reduce a fused function to an importable name, else to its function."""
    name = _importable_name(fused)
    if name is not None and vars(fused)["__module__"] not in _MAIN:
        return name
    try:
        return load_fused, (_blob_of(fused),)
    except ModuleNotFoundError as error:
        if error.name != "cloudpickle":
            raise
    # A child of multiprocessing also has this program's main module.
    if name is not None:
        return name
    raise pickle.PicklingError(
        f"pickle: expected a fused function that can be imported by its name, "
        f"got {_shown(fused)}; install cloudpickle to send it as it is"
    )


def token_of_fused(fused: _core.Fused) -> tuple[Any, ...]:
    """Return the token by which Dask names results."""
    reduced = of_fused(fused)
    if isinstance(reduced, str):
        return "gpuos.Fused", vars(fused)["__module__"], reduced
    # Pickle it again, because the first pickle depends on objects' identity.
    blob = _dumps(vars(_made_of(reduced[1][0]))["__wrapped__"])
    return "gpuos.Fused", hashlib.sha256(blob).hexdigest()


def load_fused(blob: bytes) -> _core.Fused:
    """Return this process' only fused function of these bytes."""
    fused = _made_of(blob)
    if fused.version != 1:  # This process has replaced it.
        _made_of.cache_clear()
        fused = _made_of(blob)
    return fused


@lru_cache(_KEPT)
def _made_of(blob: bytes) -> _core.Fused:
    function: Callable[..., Any] = pickle.loads(blob)
    return fusing.fuse(function)


def _importable_name(fused: _core.Fused) -> str | None:
    names = vars(fused)
    module, path = names.get("__module__"), names.get("__qualname__")
    if fused.version != 1 or module is None or path is None:
        return None
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return path if found is fused else None


def _blob_of(fused: _core.Fused) -> bytes:
    """Pickle its function together with the objects that it names."""
    runtime = fused._runtime
    if runtime is not None and not _core._is_shared(runtime):
        raise pickle.PicklingError(
            f"pickle: expected a fused function of the default runtime, got "
            f"{_shown(fused)}, which has a runtime of its own; use "
            "gpuos.fuse(function) without runtime="
        )
    on_the_way = vars(_on_the_way).setdefault("all", set())
    if id(fused) in on_the_way:
        raise pickle.PicklingError(
            f"pickle: expected a fused function that does not name itself, "
            f"got {_shown(fused)}; put it in a module that can be imported"
        )
    on_the_way.add(id(fused))
    function = vars(fused)["__wrapped__"]
    try:
        return _dumps(function)
    except pickle.PicklingError as error:
        name = _refused_variable(function)
        if name is None:
            raise
        raise pickle.PicklingError(f"{name}: {error}") from error
    finally:
        on_the_way.remove(id(fused))


def _dumps(function: Callable[..., Any]) -> bytes:
    try:
        from cloudpickle import dumps  # noqa: PLC0415 (optional)
    except ModuleNotFoundError:
        if getattr(function, "__module__", None) in _MAIN:
            raise
        try:
            return pickle.dumps(function, 4)
        except (pickle.PicklingError, AttributeError):
            pass
        raise
    blob: bytes = dumps(function)
    return blob


def _refused_variable(function: Callable[..., Any]) -> str | None:
    """Return the name of a function's variable that cannot be pickled."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    cells = zip(
        code.co_freevars,
        getattr(function, "__closure__", None) or (),
        strict=False,
    )
    variables = {name: cell.cell_contents for name, cell in cells}
    known = getattr(function, "__globals__", {})
    variables |= {name: known[name] for name in code.co_names if name in known}
    for name, value in variables.items():
        if type(value).__name__ in _INSTEAD and isinstance(
            value, (_core.Alias, _core.Runtime, _core.Ticket)
        ):
            return f"{getattr(function, '__name__', function)}: {name}"
    return None


def _shown(fused: _core.Fused) -> str:
    names = vars(fused)
    return f"{names.get('__module__')}.{names.get('__qualname__')}"
