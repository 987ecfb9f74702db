"""Constructs of other libraries' users, compared with NumPy."""

import copy
from typing import Any

import numpy as np
import pytest
from fuse_support import quietly

import gpuos


def numbers(dtype: Any, shape: Any = (3, 4), seed: int = 0) -> Any:
    """Small ones that no division and no power makes odd."""
    random = np.random.default_rng(seed)
    return random.integers(1, 5, shape).astype(dtype)


def on(rt: gpuos.Runtime, tree: Any) -> Any:
    """The same tree with arrays of the runtime."""
    if isinstance(tree, dict):
        return {key: on(rt, part) for key, part in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_make"):
        return type(tree)._make([on(rt, part) for part in tree])
    if isinstance(tree, (list, tuple)):
        return type(tree)([on(rt, part) for part in tree])
    return rt.array(tree) if isinstance(tree, np.ndarray) else tree


def same(got: Any, wanted: Any) -> None:
    """Compare classes, dtypes, shapes and, except for rounding, numbers."""
    if isinstance(wanted, (dict, list, tuple)):
        assert type(got) is type(wanted)
        if isinstance(wanted, dict):
            assert list(got) == list(wanted)
            got, wanted = [*got.values()], [*wanted.values()]
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        return
    if type(wanted) in (type(None), str, bool, int, float):
        assert (type(got), got) == (type(wanted), wanted)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    rough = wanted.dtype.name == "float16"
    np.testing.assert_allclose(
        got, wanted, rtol=5e-3 if rough else 1e-5, atol=1e-3 if rough else 1e-6
    )


def check(rt: gpuos.Runtime, function: Any, *args: Any, **keywords: Any) -> Any:
    """Compare with NumPy, also its errors, and return the result."""
    given = on(rt, copy.deepcopy(args)), on(rt, copy.deepcopy(keywords))
    try:
        wanted = quietly(function, *args, **keywords)
    except (TypeError, ValueError, IndexError):
        with pytest.raises((gpuos.InvalidArgument, TypeError)):
            rt.fuse(function)(*given[0], **given[1])
        return None
    got = rt.fuse(function)(*given[0], **given[1])
    same(got, wanted)
    return got


def refused(rt: gpuos.Runtime, function: Any, *args: Any) -> str:
    """Return the error of a fused function that does not support this: one
    sentence."""
    with pytest.raises(gpuos.InvalidArgument) as caught:
        rt.fuse(function)(*on(rt, args))
    return str(caught.value).splitlines()[0]
