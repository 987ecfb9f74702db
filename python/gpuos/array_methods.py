"""Implement methods of gpuos.Array, and NumPy's functions of arrays.

A function without an underscore implements NumPy's function of its name. See
`numpy_names.py`.
"""

from __future__ import annotations

import importlib
import operator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gpuos import (
    _core,
    array_text,
    composite_functions,
    numpy_functions,
    numpy_names,
    sending,
)
from gpuos.arrays import (
    as_numpys,
    call,
    call_ufunc,
    given,
    number_like,
    operation,
    refuse,
    refuse_shape,
    write,
)
from gpuos.fusing import fuse
from gpuos.numpy_arguments import called

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Array = _core.Array
Value = _core.Value

# ---- Views.


def swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    return _in_order(x, np.swapaxes(_axes_of(x), axis1, axis2))


def moveaxis(x: Array, source: Any, destination: Any) -> Array:
    return _in_order(x, np.moveaxis(_axes_of(x), source, destination))


def squeeze(x: Array, axis: Any = None) -> Array:
    return _in_order(x, np.squeeze(_axes_of(x), axis))


def expand_dims(x: Array, axis: Any) -> Array:
    is_one = type(axis) not in (tuple, list)  # NumPy tests this
    axes = (operator.index(axis),) if is_one else tuple(axis)
    # NumPy raises the error for wrong axes.
    ndim = np.expand_dims(np.empty((0,) * x.ndim), axes).ndim
    new = {axis % ndim for axis in axes}
    return x[tuple(None if i in new else slice(None) for i in range(ndim))]


def _axes_of(x: Array) -> np.ndarray[Any, Any]:
    """Return an array of x's shape without memory. Strides number its axes."""
    strides = range(1, x.ndim + 1)
    return np.lib.stride_tricks.as_strided(np.empty(0, "b"), x.shape, strides)


def _in_order(x: Array, axes: np.ndarray[Any, Any]) -> Array:
    """Return the view of x that corresponds to NumPy's view of _axes_of(x)."""
    kept = [stride - 1 for stride in axes.strides]
    index = tuple(slice(None) if i in kept else 0 for i in range(x.ndim))
    return _core._view_at(x, index).transpose(
        [sorted(kept).index(axis) for axis in kept]
    )


def reshape(x: Array, shape: Any, order: str = "C") -> Array:
    """Return a view, or a copy if a view is impossible."""
    _check_order(order)
    try:
        return x.reshape(shape)
    except _core.InvalidArgument:
        return copy(x).reshape(shape)


def ravel(x: Array, order: str = "C") -> Array:
    return reshape(x, -1, order)


def _check_order(order: str) -> None:
    if order not in ("C", "K", "A"):
        raise _core.InvalidArgument(f"array: expected order='C', got {order!r}")


# ---- Copies and elements.


def copy(x: Array, order: str = "C") -> Array:
    _check_order(order)
    made = x.runtime.empty(x.shape, x.dtype)
    operation("copy")(x, out=made)
    return made


def _copied(x: Array, order: str = "C") -> Array:
    return number_like(x, copy(x, order))


def flatten(x: Array, order: str = "C") -> Array:
    return copy(x, order).reshape(-1)


def astype(x: Array, dtype: Any, *, copy: bool = True) -> Array:
    dtype = np.dtype(dtype)
    if dtype == x.dtype and not copy:
        return x
    return number_like(x, call(_astype, x, dtype))


def _astype(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype)


def item(x: Array, *index: Any) -> Any:
    return x.numpy().item(*index)


def _one(x: Array) -> Any:
    if x.size != 1:
        raise TypeError(
            f"array: expected one element for a number, got shape {x.shape}"
        )
    return item(x)


def as_bool(x: Array) -> bool:
    if x.size != 1:
        raise ValueError(
            "array: expected one element as a truth value, got shape "
            f"{x.shape}; call any() or all()"
        )
    return bool(item(x))


def _as_index(x: Array) -> int:
    if x.ndim != 0 or x.dtype.kind not in "iu":
        raise TypeError(
            "array: expected an integer without axes as an index, got "
            f"{x.dtype} of shape {x.shape}"
        )
    return int(item(x))


def _rows(x: Array) -> Iterator[Array]:
    if x.ndim == 0:
        raise TypeError("array: expected axes to iterate over, got shape ()")
    return (x[i] for i in range(len(x)))


def _format(x: Array, spec: str) -> str:
    if not spec:
        return str(x)
    if x.ndim != 0:
        raise TypeError(
            f"array: expected no format {spec!r} for shape {x.shape}, which "
            "is for one number; f'{x}' has all"
        )
    return format(item(x), spec)


def _round(x: Array, digits: int | None = None) -> Any:
    if x.ndim != 0:
        raise TypeError(
            f"array: expected one number to round, got shape {x.shape}; "
            "x.round() rounds all"
        )
    return round(item(x)) if digits is None else x.round(digits)


def _contains(x: Array, value: Any) -> bool:
    is_same = x == value
    # An array does not contain objects that are not numbers.
    return isinstance(is_same, Array) and as_bool(is_same.any())


def _matmul_in_place(_: Array, __: Any) -> NoReturn:
    raise _core.InvalidArgument(
        "matmul: expected a product of two rows, which is a number, as in "
        "s = x @ y, got x @= y; for matrices write x[...] = np.asarray(x) @ "
        "np.asarray(y)"
    )


def set_item(x: Array, index: Any, value: Any) -> None:
    """Set x[index]. The index may be a mask of x's first axes."""
    value = composite_functions.whole(value, x.dtype)
    if isinstance(value, (list, tuple)):
        value = np.asarray([*value], x.dtype)  # NumPy checks the numbers
    if _is_mask(index):
        if index.shape != x.shape[: index.ndim]:
            raise _core.InvalidArgument(
                f"array: expected a mask of shape {x.shape} or of its first "
                f"axes, got {index.shape}"
            )
        value = operand(_at_mask(index, value, x.shape), x)
        mask = operand(index, x)
        if mask.ndim < x.ndim:
            rows = (..., *(None,) * (x.ndim - mask.ndim))
            mask = mask[rows]
        write(_masked(x.dtype), x, mask, x, value)
        return
    value = operand(value, x)
    to = _core._view_at(x, index)
    try:
        if isinstance(value, Array) and value.ndim > to.ndim:
            value = reshape(value, value.shape[value.ndim - to.ndim :])
        write(_assign(to.dtype), to, to, value)
    except _core.InvalidArgument:
        refuse_shape("array", to.shape, value)
        raise


def _is_mask(index: Any) -> bool:
    return isinstance(index, (Array, np.ndarray)) and index.dtype == bool


def _at_mask(mask: Any, value: Any, shape: tuple[int, ...]) -> Any:
    """Return `value` with one element for each element of the array's shape.

    A value without axes is returned unchanged. The elements of other values go
    in order to the places where the mask is true. The function has to read the
    mask for this.
    """
    if np.ndim(value) == 0:
        return value
    mask, value = (
        x.numpy() if isinstance(x, Array) else np.asarray(x)
        for x in (mask, value)
    )
    spread = np.zeros(shape, value.dtype)
    spread[mask] = value  # NumPy checks the numbers
    return spread


def fill(x: Array, value: Any) -> None:
    set_item(x, ..., value)


@cache
def _assign(dtype: np.dtype[Any]) -> _core.Fused:
    def compute(to: Any, value: Any) -> Any:
        value = _as_dtype(value, dtype)
        # The program reads `to` only for its shape. The mask is always false.
        return np.where(np.logical_xor(to, to), to, value).astype(dtype)

    return fuse(compute)


@cache
def _masked(dtype: np.dtype[Any]) -> _core.Fused:
    def compute(mask: Any, to: Any, value: Any) -> Any:
        return np.where(mask, _as_dtype(value, dtype), to).astype(dtype)

    return fuse(compute)


def _as_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return the assigned value. A Python number does not have a dtype."""
    is_array = isinstance(value, _core.Value) and not value._is_number
    return value.astype(dtype) if is_array else value


def is_of_runtime(x: Any) -> bool:
    """Return whether a program reads x in place. Host data may need a copy."""
    return hasattr(type(x), "__dlpack__") and not isinstance(x, np.ndarray)


def operand(value: Any, like: Array) -> Any:
    """Return an operand of a program. Copy host data to the runtime."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    if is_of_runtime(value):
        return value
    host = np.asarray(value)
    if host.dtype.kind in "OUS":
        got = value if value is None else type(value).__name__
        raise _core.WrongType(f"array: expected numbers, got {got}")
    return like.runtime.array(host)


# ---- New arrays.


def full_like(
    x: Array, fill_value: Any, dtype: Any = None, *, shape: Any = None
) -> Array:
    return x.runtime.full(*_form_like(x, shape, fill_value, dtype))


def zeros_like(x: Array, dtype: Any = None, *, shape: Any = None) -> Array:
    return x.runtime.zeros(*_form_like(x, shape, dtype))


def ones_like(x: Array, dtype: Any = None, *, shape: Any = None) -> Array:
    return x.runtime.ones(*_form_like(x, shape, dtype))


def empty_like(x: Array, dtype: Any = None, *, shape: Any = None) -> Array:
    return x.runtime.empty(*_form_like(x, shape, dtype))


def _form_like(x: Array, shape: Any, *rest: Any) -> tuple[Any, ...]:
    """Return shape, further arguments and dtype. None stands for those of x."""
    *between, dtype = rest
    return (
        x.shape if shape is None else shape,
        *between,
        x.dtype if dtype is None else dtype,
    )


def concatenate(
    arrays: Sequence[Any],
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Array:
    first = next(x for x in arrays if isinstance(x, Array))
    parts = [operand(x, first) for x in arrays]
    parts = composite_functions.in_dtype("concatenate", parts, dtype, casting)
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    axis = axis_in(axis, parts[0].ndim)
    shape = _joined(parts, axis)
    dtype = np.result_type(*(x.dtype for x in parts))
    made: Array = first.runtime.empty(shape, dtype)
    along = made.transpose(_first(axis, made.ndim))
    begin = 0
    for part in parts:
        end = begin + part.shape[axis]
        along[begin:end] = part.transpose(_first(axis, part.ndim))
        begin = end
    joined: Array = given("concatenate", made, out)
    return joined


def axis_in(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise _core.InvalidArgument(
            f"concatenate: expected one of the {ndim} axes of its arrays, got {axis}"
        )
    return axis % ndim


def _joined(parts: Sequence[Any], axis: int) -> tuple[int, ...]:
    """Return the shape of the concatenated parts."""
    shape = list(parts[0].shape)
    shape[axis] = sum(sum(part.shape[axis : axis + 1]) for part in parts)
    for part in parts:
        others = [*part.shape[:axis], shape[axis], *part.shape[axis + 1 :]]
        if part.ndim != len(shape) or others != shape:
            raise _core.InvalidArgument(
                f"concatenate: expected shapes that differ along axis {axis} "
                f"only, got {parts[0].shape} and {part.shape}"
            )
    return tuple(shape)


def _first(axis: int, ndim: int) -> list[int]:
    order = list(range(ndim))
    order.insert(0, order.pop(axis))
    return order


def stack(
    arrays: Sequence[Any], axis: int = 0, out: Any = None, **keywords: Any
) -> Array:
    first = next(x for x in arrays if isinstance(x, Array))
    parts = [operand(x, first) for x in arrays]
    for part in parts:
        if part.shape != parts[0].shape:
            raise _core.InvalidArgument(
                "stack: expected arrays of one shape, got "
                f"{parts[0].shape} and {part.shape}"
            )
    parts = [expand_dims(x, axis) for x in parts]
    return concatenate(parts, axis, out, **keywords)


# ---- NumPy's functions.


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Array:
    made: Array = call(np.nan_to_num, x, nan=nan, posinf=posinf, neginf=neginf)
    if not copy and isinstance(x, Array):
        set_item(x, ..., made)
        made = x
    return made


def of_host(function: Callable[..., Any]) -> Callable[..., Any]:
    def take(x: Any) -> Any:
        return x.numpy() if isinstance(x, Array) else x

    def compute(*args: Any, **keywords: Any) -> Any:
        named = {name: take(x) for name, x in keywords.items()}
        return function(*(take(x) for x in args), **named)

    return compute


def imaginary_part(x: Array) -> Array:
    return number_like(x, call(_imaginary_part, x))


def _imaginary_part(x: Any) -> Any:
    return x.imag


def _conjugate(x: Array) -> Array:
    if x.dtype.kind != "c":  # NumPy's method does this
        return x
    made: Array = operation("conjugate")(x)
    return made


# These only read an array. They run on the host.
array2string, array_repr, array_str, save, savetxt, savez, savez_compressed = (
    of_host(getattr(np, name))
    for name in (
        *("array2string", "array_repr", "array_str"),
        *("save", "savetxt", "savez", "savez_compressed"),
    )
)


def call_function(
    _: Array,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Implement NumPy's __array_function__."""
    if not (
        callable(function) and type(args) is tuple and type(keywords) is dict
    ):
        kinds = (type(x).__name__ for x in (function, args, keywords))
        raise TypeError(
            "__array_function__: expected a function of NumPy, a tuple and a "
            f"dict, got {', '.join(kinds)}"
        )
    if Value in types:
        return NotImplemented
    own = numpy_names.of_arrays().get(function)
    if own is None and not numpy_functions.has(function):
        refuse(function)
    made = called(function, own or partial(call, function), args, keywords)
    return as_numpys(function, made)


def _interface(place: str, x: Array) -> dict[str, Any]:
    own = "host" if x.device == "host" else "device"
    if own != place:
        kind = "array" if place == "host" else "cuda_array"
        raise AttributeError(
            f"__{kind}_interface__: this array is on the {own}"
        )
    name = _core._dtype_name(x)
    if not hasattr(np, name) and name != "bool":
        raise AttributeError(
            f"the array interfaces do not have {name}; use DLPack"
        )
    address, is_contiguous = _core._settled_memory(x)
    return {
        "shape": x.shape,
        "typestr": x.dtype.str,
        "data": (address, False),
        "strides": None if is_contiguous else x.strides,
        "version": 3,
    }


def _namespace(_: Array, *, api_version: Any = None) -> Any:
    api: Any = importlib.import_module("gpuos.array_api")
    return api._of_version(api_version)


def _to_device(x: Array, device: Any, /, *, stream: Any = None) -> Any:  # noqa: ARG001
    api: Any = importlib.import_module("gpuos.array_api")
    return api._to_device(x, device)


def _lack(name: str, _: Array) -> NoReturn:
    # The memory belongs to a runtime, and tasks write there.
    raise AttributeError(
        f"{name}: an array of gpuos has no such attribute; x.numpy().{name} "
        "waits and is that of a copy"
    )


def _refuse_del(_: Array, index: Any) -> NoReturn:
    raise _core.InvalidArgument(
        f"array: expected no del x[i], got {_core._kind_shown(index)}; "
        "concatenate() joins what is to stay"
    )


class _Methods(dict[str, "Callable[..., Any]"]):
    """The methods of an array. NumPy's functions provide the missing ones."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(np, name, partial(_lack, name))
        is_own = function in numpy_names.of_arrays()
        if is_own or not numpy_functions.has(function):
            # NumPy passes it to call_function(), which refuses some.
            self[name] = function
            return function
        own = partial(call, function)
        self[name] = lambda *args, **named: called(function, own, args, named)
        return self[name]


# bindings/arrays/array_operators.cpp calls these by the methods' names.
METHODS = _Methods(
    {
        "__array_function__": call_function,
        "__array_ufunc__": call_ufunc,
        "__bool__": as_bool,
        "__complex__": lambda x: complex(_one(x)),
        "__contains__": _contains,
        "__array_interface__": partial(_interface, "host"),
        "__cuda_array_interface__": partial(_interface, "device"),
        "__copy__": _copied,
        "__delitem__": _refuse_del,
        **{name: partial(_lack, name) for name in ("put", "resize")},
        "__dask_tokenize__": sending.token_of_array,
        "__deepcopy__": lambda x, _: _copied(x),
        "__float__": lambda x: float(_one(x)),
        "__format__": _format,
        "__imatmul__": _matmul_in_place,
        "__index__": _as_index,
        "__reduce_ex__": sending.of_array,
        "__int__": lambda x: int(_one(x)),
        "__iter__": _rows,
        "__round__": _round,
        "__setitem__": set_item,
        "__str__": array_text.print_text,
        "__array_namespace__": _namespace,
        "__repr__": array_text.object_text,
        "to_device": _to_device,
        "astype": astype,
        "conj": _conjugate,
        "conjugate": _conjugate,
        "copy": _copied,
        "fill": fill,
        "flatten": flatten,
        "item": item,
        "mT": lambda x: swapaxes(x, -1, -2),
        "ravel": ravel,
        "squeeze": squeeze,
        "swapaxes": swapaxes,
        "tolist": lambda x: x.numpy().tolist(),
    }
)
