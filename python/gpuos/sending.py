"""Pickle gpuos' objects, also for other processes.

Bindings call `of_*` for `__reduce_ex__`, and pickles name `load_*`.
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

_OUT_OF_BAND = 5  # first protocol with out-of-band buffers
_KEPT = 1024  # fused functions that came here
_MAIN = ("__main__", "__mp_main__")  # another program's is another

# ---- What stays in its process.

_INSTEAD = {
    "Alias": "send alias.target, and make the alias there",
    "Runtime": "make one there, or take gpuos.default_runtime(); send "
    "definitions, fused functions and arrays",
    "Ticket": "wait for it, and send the arrays that its tasks wrote",
}


def refuse(kind: str) -> tuple[Any, ...]:
    """Raise for what means nothing in another process."""
    error = pickle.PicklingError(
        f"pickle: expected what another process can use, got a gpuos.{kind}: "
        f"{_INSTEAD[kind]}"
    )
    if _is_worker_of_dask():
        return load_absent, (error,)
    raise error


# ---- What an error would make Dask wait for, for ever: its workers do not tell
# anybody that a result could not be sent, or not be loaded.


def _is_worker_of_dask() -> bool:
    """Return whether a worker of Dask runs in this process."""
    worker = getattr(sys.modules.get("distributed.worker"), "Worker", None)
    return bool(getattr(worker, "_instances", ()))


def load_absent(error: Exception) -> Absent:
    """Raise, or return a placeholder where the error would be lost."""
    if _is_worker_of_dask():
        return Absent(error)
    raise error


class Absent:
    """Stands for what could not come here: raises why when it is used."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return load_absent, (self._error,)

    def __repr__(self) -> str:
        return f"<absent: {self._error}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # who asks what this is, uses nothing
            raise AttributeError(name)
        raise self._error


def _raise(absent: Absent, *_: Any, **__: Any) -> NoReturn:
    raise absent._error


# Python looks these up in the class.
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
    """Reduce to its definition, of the version that is current."""
    try:
        definition = op.definition
    except _core.InvalidArgument as error:
        raise pickle.PicklingError(f"pickle: {error}") from None
    reduced: tuple[Any, ...] = definition.__reduce__()
    return reduced


def token_of_operator(op: _core.Operator) -> tuple[Any, ...]:
    """Return what Dask names results by."""
    try:
        definition = op.definition
    except _core.InvalidArgument:  # built in
        return "gpuos.Operator", op.name, op.version
    return "gpuos.Operator", *definition.__dask_tokenize__()[1:]


# ---- Arrays.


def of_array(array: _core.Array, protocol: int) -> tuple[Any, ...]:
    """Reduce to its elements in C order, once they are written."""
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
    """Make an array of the default runtime of that device here."""
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
    """Return what Dask names results by."""
    elements: Any = _core._bytes_of(array)
    digest = hashlib.sha256(elements).hexdigest()
    return "gpuos.Array", _core._dtype_name(array), array.shape, digest


# ---- Fused functions.

_on_the_way = threading.local()  # of this thread: those that are in reduction


def of_fused(fused: _core.Fused) -> str | tuple[Any, ...]:
    """Reduce to a name that can be imported, else to the function."""
    name = _importable_name(fused)
    if name is not None and vars(fused)["__module__"] not in _MAIN:
        return name
    try:
        return load_fused, (_blob_of(fused),)
    except ModuleNotFoundError as error:
        if error.name != "cloudpickle":
            raise
    # A child of multiprocessing has this program's main module too.
    if name is not None:
        return name
    raise pickle.PicklingError(
        f"pickle: expected a fused function that can be imported by its name, "
        f"got {_shown(fused)}; install cloudpickle to send it as it is"
    )


def token_of_fused(fused: _core.Fused) -> tuple[Any, ...]:
    """Return what Dask names results by."""
    reduced = of_fused(fused)
    if isinstance(reduced, str):
        return "gpuos.Fused", vars(fused)["__module__"], reduced
    # Pickled again, since the first pickle also says which names were one object.
    blob = _dumps(vars(_made_of(reduced[1][0]))["__wrapped__"])
    return "gpuos.Fused", hashlib.sha256(blob).hexdigest()


def load_fused(blob: bytes) -> _core.Fused:
    """Return the one fused function of this process that has this text."""
    fused = _made_of(blob)
    if fused.version != 1:  # replaced in this process
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
    """Return its function with what that names, pickled."""
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
        from cloudpickle import dumps  # noqa: PLC0415 (not everybody has it)
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
    """Return the name of a variable of a function that cannot be sent."""
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
