"""Call fused functions with lists, dicts and tuples of arrays."""

from __future__ import annotations

from contextlib import suppress
from numbers import Number
from typing import TYPE_CHECKING, Any

from gpuos import _core
from gpuos.fusing import fuse

if TYPE_CHECKING:
    from collections import OrderedDict
    from collections.abc import Callable, Iterator

# The structure of an argument, with a mark in place of each value.
Shape = Any
_LEAF = "leaf"  # an array or a number
_RESERVED = ("out", "stream")
# This many structures cause a warning.
_MANY = 32
# A function keeps this number of programs.
_MOST = 256


def call(
    of_shapes: OrderedDict[Any, _core.Fused],
    function: Callable[..., Any],
    runtime: _core.Runtime | None,
    name: str,
    method: str,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Run a fused function that has a container with arrays as an argument.

    The keys and lengths of a container are part of the structure. Each element
    is an argument of its own, a leaf. `of_shapes` maps a structure to the
    function of its leaves. The one that was used last is at the end. `method`
    is the name of the method that is called.
    """
    reserved = {key: keywords.pop(key) for key in _RESERVED if key in keywords}
    leaves: list[Any] = []
    shape = _take_apart((args, keywords), leaves)
    fused = of_shapes.get(shape)
    if fused is None:
        compute = of_leaves(function, name, shape)
        # Threads that run this together use the function of one of them.
        fused = of_shapes.setdefault(shape, fuse(compute, runtime=runtime))
        if len(of_shapes) == _MANY:
            # Only programs that fuse import NumPy.
            from gpuos.tracing import warn_of_many_shapes  # noqa: PLC0415

            warn_of_many_shapes(function, name, _MANY, _MOST)
    if len(of_shapes) > _MANY:
        with suppress(KeyError):  # Another thread may remove it.
            of_shapes.move_to_end(shape)
            if len(of_shapes) > _MOST:
                of_shapes.popitem(last=False)
    return getattr(fused, method)(*leaves, **reserved)


def of_leaves(
    function: Callable[..., Any], name: str, shape: Shape
) -> Callable[..., Any]:
    """Return the function of the leaves of this structure."""

    def compute(*leaves: Any) -> Any:
        args, keywords = _put_together(shape, iter(leaves))
        return function(*args, **keywords)

    compute.__name__ = compute.__qualname__ = name  # for errors
    return compute


def _take_apart(x: Any, leaves: list[Any]) -> Shape:
    if isinstance(x, dict):
        parts = (
            (key, _told_apart(key), _take_apart(part, leaves))
            for key, part in x.items()
        )
        return type(x), tuple(parts)
    if isinstance(x, list) or (isinstance(x, tuple) and _holds_arrays(x)):
        return type(x), tuple(_take_apart(part, leaves) for part in x)
    leaves.append(x)
    return _LEAF


def _told_apart(key: Any) -> Any:
    """Return a value that differs for equal keys, such as 1, 1.0 and True."""
    if type(key) is str:
        return str
    if isinstance(key, (tuple, frozenset)):
        kind = tuple if isinstance(key, tuple) else frozenset
        return type(key), kind(map(_told_apart, key))
    return type(key), repr(key) if isinstance(key, Number) else None


def _holds_arrays(x: Any) -> bool:
    """Return whether x holds arrays. Other tuples count as one argument."""
    if isinstance(x, (list, dict, _core.Value)):
        return True
    if isinstance(x, tuple):
        return any(_holds_arrays(part) for part in x)
    return hasattr(type(x), "__dlpack__")


def _put_together(shape: Shape, leaves: Iterator[Any]) -> Any:
    if shape is _LEAF:
        return next(leaves)
    kind, parts = shape
    if issubclass(kind, dict):
        made = kind()
        for key, _, part in parts:
            made[key] = _put_together(part, leaves)
        return made
    made_parts = [_put_together(part, leaves) for part in parts]
    if hasattr(kind, "_make"):  # a named tuple
        return kind._make(made_parts)
    return kind(made_parts)
