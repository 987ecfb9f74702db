"""Every function of include/gpuos/vocabulary.h is NumPy's of that name.

The list is read from the header, so that a new line is tested as it comes.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuse_support import DTYPES, FLOATS, assert_close, compare, quietly, sample

import gpuos

HEADER = Path(__file__).parents[2] / "include/gpuos/vocabulary.h"
LIST = re.compile(r"#define GPUOS_(\w+)\(X\)((?:.*\\\n)*.*\n)")
LINE = re.compile(r"X\((\w+), (\w+), (\w+), (\w+), ([^)]*?)\)")
OPERANDS = {
    "UNARY_FUNCTIONS": 1,
    "BINARY_FUNCTIONS": 2,
    "COMPARISONS": 2,
    "TESTS": 1,
    "PARTS": 1,
}
# NumPy has none; test_fuse_neural.py and test_fuse_numpy.py have PyTorch's,
# Python's and SciPy's.
NOT_NUMPYS = {
    "erf", "erfc", "lgamma", "rsqrt", "sigmoid", "silu", "gelu", "gelu_tanh",
}  # fmt: skip
# Against NumPy, which is a few ulps off itself.
ULPS = {"float16": 1, "float32": 4, "float64": 6}
# NumPy's own results are far off: sin(pi x) of large numbers, and log2 of sums
# that come near 1.
LOOSE = {"sinc", "logaddexp", "logaddexp2"}


def lines():
    lists = dict(LIST.findall(HEADER.read_text()))
    for name, operands in OPERANDS.items():
        for _, _, numpy, _, rest in LINE.findall(lists[name]):
            yield numpy, operands, rest


FUNCTIONS = {numpy: operands for numpy, operands, _ in lines()}
COMPLEX = {n for n, _, rest in lines() if re.search("kAll|kFields|kC64", rest)}
COMPLEX.add("absolute")


def test_list_is_read():
    assert len(FUNCTIONS) > 70
    assert FUNCTIONS["exp"] == 1
    assert FUNCTIONS["less"] == 2
    assert {n for n in FUNCTIONS if not hasattr(np, n)} == NOT_NUMPYS


def test_page_has_the_list():
    script = HEADER.parents[2] / "scripts/vocabulary_list"
    subprocess.run([sys.executable, script, "--check"], check=True)


def is_refused(name, kinds, wanted):
    """What docs/programs.md says: complex128, and complex where it has none."""
    has_complex = any(k.kind == "c" for k in kinds)
    common = np.result_type(*kinds)
    return (
        wanted not in DTYPES
        or (has_complex and common not in DTYPES)
        or (has_complex and name not in COMPLEX)
    )


def refuses(rt, function, arrays):
    with pytest.raises(gpuos.InvalidArgument):
        rt.fuse(function)(*(rt.array(x) for x in arrays))


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - NOT_NUMPYS))
def test_is_numpys(rt, name):
    function = getattr(np, name)
    for kinds in itertools.product(DTYPES, repeat=FUNCTIONS[name]):
        is_whole = all(k.kind in "biu" for k in kinds)
        arrays = [sample(k, seed=i) for i, k in enumerate(kinds)]
        size = min(x.size for x in arrays)
        arrays = [arrays[0][:size], *(x[-size:] for x in arrays[1:])]
        if name == "reciprocal" and is_whole:  # 1 / 0 is not defined
            arrays = [np.where(x == 0, 1, x).astype(x.dtype) for x in arrays]
        if name == "power" and is_whole:  # NumPy refuses what is below 0
            arrays[1] = np.where(arrays[1] < 1, 1, arrays[1]).astype(kinds[1])
        try:
            wanted = np.asarray(quietly(function, *arrays))
        except (TypeError, ValueError):
            refuses(rt, function, arrays)
            continue
        if is_refused(name, kinds, wanted.dtype):
            refuses(rt, function, arrays)
            continue
        got = rt.fuse(function)(*(rt.array(x) for x in arrays)).numpy()
        assert got.dtype == wanted.dtype, (kinds, got.dtype, wanted.dtype)
        if wanted.dtype.kind == "c":
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        elif name in LOOSE:
            close = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-9}
            at = close[wanted.dtype.name]
            np.testing.assert_allclose(got, wanted, rtol=at, atol=at)
        else:
            assert_close(got, wanted, ULPS.get(wanted.dtype.name, 0))


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - NOT_NUMPYS))
def test_is_the_same_for_rows_of_any_layout(rt, name):
    function = getattr(np, name)
    x = np.linspace(0.1, 0.9, 5 * 6 * 7, dtype=np.float32).reshape(5, 6, 7)
    exact = name.startswith(("bitwise", "left", "right", "invert", "ldexp"))
    other = (x * 9).astype(np.int32) if exact else x[::-1].copy()
    first = other if exact and name != "ldexp" else x
    arrays = [first, other][: FUNCTIONS[name]]
    plain = rt.fuse(function)(*(rt.array(a) for a in arrays)).numpy()
    turned = [rt.array(a.transpose(2, 0, 1).copy()) for a in arrays]
    got = rt.fuse(lambda *v: function(*(a.transpose(1, 2, 0) for a in v)))
    assert_close(got(*turned).numpy(), plain)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_next_number_of_every_kind(rt, dtype):
    info = np.finfo(dtype)
    edges = [0, -0.0, info.tiny, info.smallest_subnormal, info.max, -info.max,
             np.inf, -np.inf, np.nan, 1, -1, 2, 0.5, 1 - info.epsneg]  # fmt: skip
    x = np.array(edges, dtype)
    if dtype.itemsize == 2:  # all there are
        x = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(dtype)
    for to in (np.inf, -np.inf, 0.0, 1.5, np.nan):
        compare(rt, np.nextafter, x, np.array(to, dtype))
    compare(rt, np.nextafter, x, x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_powers_of_two_are_exact(rt, dtype):
    x = np.array([1.5, -1.25, 0.0, -0.0, np.inf, np.nan, 3.0], dtype)
    for by in (0, 1, -1, 10, -20, -24, 300, -300, 2000, -2000, 2**30, -(2**30)):
        compare(rt, np.ldexp, x, np.full(x.shape, by, np.int32))
        with np.errstate(all="ignore"):
            wanted = np.ldexp(x, by)
        assert_close(
            rt.fuse(lambda v, n=by: np.ldexp(v, n))(rt.array(x)).numpy(), wanted
        )


def test_exponents_are_integers(rt):
    x = np.ones(3, np.float32)
    with pytest.raises(gpuos.InvalidArgument, match="expected integers as exp"):
        rt.fuse(np.ldexp)(rt.array(x), rt.array(x))


def test_float_power_is_float64(rt):
    for a, b in itertools.product(("int8", "float16", "float32"), repeat=2):
        x, y = np.array([1, 2, 3], a), np.array([3, 2, 1], b)
        compare(rt, np.float_power, x, y, ulps=2)
    got = rt.fuse(lambda v: np.float_power(v, 2))(rt.array(np.float32([3])))
    assert got.numpy().dtype == np.float64


def test_a_value_by_name_is_refused_with_a_sentence(rt):
    with pytest.raises(
        gpuos.InvalidArgument, match="values come by their place"
    ):
        rt.fuse(lambda v: np.sinc(x=v))(rt.array(np.ones(3)))
