"""Every view of small values that NumPy has, instead of a random choice.

A slice of a computed value becomes slices of its inputs. Sizes of 0 and 1, fewer
axes and reductions decide how, so all of them are tested.
"""

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gpuos

Shape = tuple[int, ...]
SIZES = range(4)
BOUNDS = [None, *range(-4, 5)]
STEPS = [None, -3, -2, -1, 1, 2]

# Each of one axis, where there are several.
PARTS: list[Any] = [
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, -2),
    slice(2, 0, -1),
    0,
    -2,
]

# The indexed values: x + y has all sizes that broadcast.
VALUES: dict[str, Callable[..., Any]] = {
    "x": lambda x, _: x,
    "x.T": lambda x, _: x.T,
    "x - y": lambda x, y: x - y,
    "where": lambda x, y: np.where(x > y, x, y[..., :1] if y.ndim else y),
    "mean": lambda x, y: x - x.sum(axis=-1, keepdims=True) * y,
    "sum0": lambda x, y: (x - y).sum(axis=0),
    "kept": lambda x, y: (x - y).sum(axis=0, keepdims=True),
    "new": lambda x, y: (x - y)[:, None].sum(axis=0),
}


def of_one_axis() -> Iterator[Any]:
    for bounds in itertools.product(BOUNDS, BOUNDS, STEPS):
        yield slice(*bounds)
    yield from range(-4, 5)
    yield from [(None, slice(1, None)), (slice(1, None), None), (..., 0, None)]


def of_axes(rank: int) -> Iterator[Any]:
    for count in range(1, rank + 1):
        yield from itertools.product(PARTS, repeat=count)
        for parts in itertools.product(PARTS, repeat=count - 1):
            yield (..., *parts)
            yield (*parts, None, ...)


def first_finding(rt: gpuos.Runtime) -> str:
    """Return the first error, or "".

    Both backends run the same program for a view, so a GPU, where each call is
    waited for, tries every eighth.
    """
    tries = (
        (name, index, rank)
        for rank in (1, 2, 3)
        for name in VALUES
        for index in (of_one_axis() if rank == 1 else of_axes(rank))
    )
    some = itertools.islice(tries, 0, None, 1 if rt.backend == "host" else 8)
    return next((found for each in some if (found := _of_index(rt, *each))), "")


def _of_index(rt: gpuos.Runtime, name: str, index: Any, rank: int) -> str:
    def function(x: Any, y: Any) -> Any:
        return VALUES[name](x, y)[index]

    fused = rt.fuse(function)
    sizes = SIZES if rank < 3 else (0, 1, 2)
    for shape in itertools.product(sizes, repeat=rank):
        for other in _others(shape):
            found = _difference(rt, fused, function, shape, other)
            if found:
                return f"{name}[{index}] of {shape} and {other}: {found}"
    return ""


def _others(shape: Shape) -> Iterator[Shape]:
    """Yield shapes that broadcast against `shape`, with as many axes and one
    less."""
    yield shape
    if len(shape) == 3 and 0 in shape:
        return
    yield (1,) * len(shape)
    yield shape[1:]
    yield (*(2 if n == 1 else 1 for n in shape),)


def _difference(
    rt: gpuos.Runtime,
    fused: Any,
    function: Callable[..., Any],
    *shapes: Shape,
) -> str:
    arrays = [_array(shape, k) for k, shape in enumerate(shapes)]
    given = arrays if rt.backend == "host" else [rt.array(x) for x in arrays]
    try:
        wanted = np.asarray(function(*arrays))
    except (IndexError, ValueError):
        try:
            made = fused(*given)
        except gpuos.InvalidArgument:
            return ""
        return f"NumPy refuses it, got {made.numpy()}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of many shapes
            made = fused(*given).numpy()
    except gpuos.InvalidArgument as error:
        # One element is joined with an empty value.
        return "" if "along the joined axis" in str(error) else str(error)
    if made.shape == wanted.shape and (made == wanted).all():
        return ""
    return f"expected {wanted} of {wanted.shape}, got {made} of {made.shape}"


# ---- reshape(), which is a view or is refused.

LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[..., ::2],
    lambda x: x[::-1],
    lambda x: x[1:],
    lambda x: x[..., :1],
    lambda x: x.T[:, None],
]


def first_finding_of_shapes(rt: gpuos.Runtime) -> str:
    """Test all shapes with this number of elements."""
    for rank in (1, 2, 3):
        for shape in itertools.product(SIZES, repeat=rank):
            x = _array(shape, 0)
            for layout, look in enumerate(LAYOUTS):
                for wanted in _shapes(look(x).size):
                    found = _of_shape(rt, x, look, wanted)
                    if found:
                        return f"layout {layout} of {shape}: {found}"
    return ""


def _shapes(size: int) -> Iterator[Shape]:
    yield (-1,)
    for rank in range(4):
        sizes = range(min(size, 9) + 2)
        for shape in itertools.product(sizes, repeat=rank):
            if np.prod(shape, dtype=int) == size:
                yield shape


def _of_shape(rt: gpuos.Runtime, x: Any, look: Any, shape: Shape) -> str:
    wanted = look(x).reshape(shape)
    is_view = wanted.size == 0 or np.shares_memory(x, wanted)
    values = {
        "inside": lambda x: look(x).reshape(shape),
        "outside": lambda x: x.reshape(shape),
        "of two": lambda x: (look(x) * 2 - look(x)).reshape(shape),
        "of a number": lambda x: (look(x) - 0 * x.sum()).reshape(shape),
    }
    for name, function in values.items():
        given = x if rt.backend == "host" else rt.array(x)
        given = look(given) if name == "outside" else given
        try:
            made = rt.fuse(function)(given).numpy()
        except gpuos.InvalidArgument as error:
            if is_view or "are stored in order" not in str(error):
                return f"reshape({shape}) {name}: {error}"
            continue
        if made.shape != wanted.shape or (made != wanted).any():
            return f"reshape({shape}) {name}: expected {wanted}, got {made}"
        if not is_view:
            return f"reshape({shape}) {name}: expected to be refused"
    return ""


# ---- Joined values, and computations with them.


def _joins(rank: int) -> Iterator[tuple[str, Callable[..., Any]]]:
    for axis in range(rank):
        for k in range(-4, 5):
            yield f"roll {k}", lambda x, _, k=k, a=axis: np.roll(x, k, a)
            yield (
                f"turned parts {k}",
                lambda x, y, k=k, a=axis: np.concatenate(
                    [x[_at(a, slice(k, None))], y[_at(a, slice(k))], x], a
                ),
            )
        yield "two", lambda x, y, a=axis: np.concatenate([x, y], a)
        yield (
            "halves",
            lambda x, y, a=axis: np.concatenate(np.split(x, 2, a)[::-1], a) * y,
        )
    if rank == 2:  # one row for reasons that are known, or only in the call
        yield (
            "rows",
            lambda x, y: np.concatenate(
                [x.sum(axis=0, keepdims=True), y[:1]], -1
            ),
        )
    for axis in range(rank + 1):
        yield "stack", lambda x, y, a=axis: np.stack([x, y, x], a)


def _at(axis: int, index: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, index)


# Uses of the results, on joined axes and others.
USES: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda made, _: made,
    "computed": lambda made, x: made * 2 - made + x,
    "row": lambda made, _: made[0],
    "rest": lambda made, _: made[1:],
    "turned": lambda made, _: made.T[..., None],
    "sum": lambda made, _: made - made.sum(axis=-1, keepdims=True),
    "rolled": lambda made, _: np.roll(made, 1, -1),
    "both ways": lambda made, _: np.roll(made, 1, -1) - np.roll(made, -1, -1),
    "places": lambda made, _: made[..., ::-2] * made[..., -1:],
    "mean": lambda made, _: made.sum() + made.max(0, initial=-9),
}


def first_finding_of_joins(rt: gpuos.Runtime) -> str:
    """Test concatenate(), stack() and roll()."""
    taken = 0
    for rank in (1, 2):
        for name, join in _joins(rank):
            for use, then in USES.items():

                def function(x: Any, y: Any, join: Any, then: Any) -> Any:
                    return then(join(x, y), x)

                bound = functools.partial(function, join=join, then=then)
                fused = rt.fuse(lambda x, y, bound=bound: bound(x, y))
                for shape in itertools.product(SIZES, repeat=rank):
                    for other in _others(shape):
                        if len(other) != rank:
                            continue
                        found = _difference(rt, fused, bound, shape, other)
                        if found:
                            return f"{name}, {use} of {shape}, {other}: {found}"
                        taken += 1
    return "" if taken > 5000 else f"only {taken} were taken"


def _array(shape: Shape, k: int) -> np.ndarray:
    count = int(np.prod(shape, dtype=int))
    return np.arange(7 + k, 7 + k + count).reshape(shape) ** 2 % 31
