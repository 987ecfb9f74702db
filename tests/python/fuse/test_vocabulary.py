"""Every function of include/gpuos/vocabulary.h is NumPy's of that name.

The list is read from the header, so that a new line is tested as it comes. It is
tested interpreted and compiled. `test_faces.py` shows that whatever else calls a
function runs the same program.
"""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import vocabulary
from fuse_support import DTYPES, FLOATS, assert_close, compare, quietly, sample
from jit_support import or_skip

import gpuos
from gpuos import complex_functions

FUNCTIONS = {f.name: f for f in vocabulary.functions()}
# NumPy has none; test_fuse_functions.py and test_fuse_numpy.py have PyTorch's,
# Python's and SciPy's.
NOT_NUMPYS = {
    "erf", "erfc", "lgamma", "rsqrt", "sigmoid", "silu", "gelu", "gelu_tanh",
}  # fmt: skip
NUMPYS = sorted(set(FUNCTIONS) - NOT_NUMPYS)
# Against NumPy, which is a few ulps off itself.
ULPS = {"float16": 1, "float32": 4, "float64": 6}
# NumPy's own results are far off: sin(pi x) of large numbers, and log2 of sums
# that come near 1.
LOOSE = {"sinc", "logaddexp", "logaddexp2"}
# These may give either of two zeros.
FREE_SIGNS = {"maximum", "minimum", "fmax", "fmin", "nextafter"}
# These ask each operand alone whether it is true.
LOGICAL = {name for name in FUNCTIONS if name.startswith("logical_")}
COMPLEX = {f.name for f in FUNCTIONS.values() if f.has_complex}
COMPLEX |= {"absolute", "positive"} | LOGICAL
EXACTNESS = vocabulary.ulps()


def is_exact(name):
    """A function without a row in docs/functions.md is exact."""
    return EXACTNESS.get(FUNCTIONS[name].own, (0, 0, 0)) == (0, 0, 0)


def test_list_is_read():
    assert len(FUNCTIONS) > 80
    assert FUNCTIONS["exp"].inputs == 1
    assert FUNCTIONS["less"].inputs == 2
    assert {n for n in FUNCTIONS if not hasattr(np, n)} == NOT_NUMPYS
    assert is_exact("sqrt")
    assert not is_exact("exp")


def test_page_has_the_list():
    script = vocabulary.ROOT / "scripts/vocabulary_list"
    subprocess.run([sys.executable, script, "--check"], check=True)


def is_refused(name, kinds, wanted):
    """Apply the rules of docs/programs.md for complex numbers."""
    has_complex = any(k.kind == "c" for k in kinds)
    return wanted not in DTYPES or (has_complex and name not in COMPLEX)


def refuses(rt, function, arrays):
    with pytest.raises(gpuos.InvalidArgument):
        rt.fuse(function)(*(rt.array(x) for x in arrays))


FEW = 13  # values of each of two operands, which are all combined


def operands(name, kinds):
    """Return special values, each combined with each, and others."""
    arrays = [sample(k, seed=i) for i, k in enumerate(kinds)]
    if len(kinds) == 2:
        x, y = arrays
        size = min(x.size, y.size)
        x = np.concatenate([np.repeat(x[:FEW], FEW), x[:size]])
        y = np.concatenate([np.tile(y[:FEW], FEW), y[-size:]])
        arrays = [x, y]
    is_whole = all(k.kind in "biu" for k in kinds)
    if name == "reciprocal" and is_whole:  # 1 / 0 is not defined
        arrays = [np.where(x == 0, 1, x).astype(x.dtype) for x in arrays]
    if name == "power" and is_whole:  # NumPy refuses values below 0
        arrays[1] = np.where(arrays[1] < 1, 1, arrays[1]).astype(kinds[1])
    return arrays


@pytest.mark.parametrize("name", NUMPYS)
def test_is_numpys(rt, name):
    function = getattr(np, name)
    for kinds in itertools.product(DTYPES, repeat=FUNCTIONS[name].inputs):
        arrays = operands(name, kinds)
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
        # The size of a complex number is rounded more than once.
        more = 2 if name == "absolute" and kinds[0].kind == "c" else 0
        assert_near(name, got, wanted, more)


def assert_near(name, got, wanted, more):
    dtype = wanted.dtype.name
    if wanted.dtype.kind == "c":
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    elif name in LOOSE:
        at = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-9}[dtype]
        np.testing.assert_allclose(got, wanted, rtol=at, atol=at)
    else:
        ulps = more if is_exact(name) else ULPS.get(dtype, 0)
        assert_close(got, wanted, ulps)
        if wanted.dtype.kind == "f" and name not in FREE_SIGNS:
            zeros = wanted == 0
            np.testing.assert_array_equal(
                np.signbit(got[zeros]), np.signbit(wanted[zeros])
            )


@pytest.mark.parametrize("name", NUMPYS)
def test_is_the_same_for_rows_of_any_layout(rt, name):
    function = getattr(np, name)
    x = np.linspace(0.1, 0.9, 5 * 6 * 7, dtype=np.float32).reshape(5, 6, 7)
    exact = name.startswith(("bitwise", "left", "right", "invert", "ldexp"))
    other = (x * 9).astype(np.int32) if exact else x[::-1].copy()
    first = other if exact and name != "ldexp" else x
    arrays = [first, other][: FUNCTIONS[name].inputs]
    plain = rt.fuse(function)(*(rt.array(a) for a in arrays)).numpy()
    turned = [rt.array(a.transpose(2, 0, 1).copy()) for a in arrays]
    got = rt.fuse(lambda *v: function(*(a.transpose(1, 2, 0) for a in v)))
    assert_close(got(*turned).numpy(), plain)


# ---- The same functions in an operator of C++, which is compiled.

# An operator computes one of NumPy's types in one of C++, in such buffers.
TYPES = {
    "float32": ("float", "float32"),
    "float64": ("double", "float64"),
    "int32": ("int", "int32"),
    "uint32": ("unsigned", "int32"),
    "int64": ("long long", "int64"),
    "uint64": ("u64", "int64"),
    "complex64": ("C64", "complex64"),
    "complex128": ("C128", "complex128"),
}
TYPES_OF_KIND = {
    "f": {"kAll", "kOrdered", "kReals", "kFields"},
    "i": {"kAll", "kOrdered", "kIntegers"},
    "c": {"kAll", "kFields", "kComplexes"},
}
TYPES_OF_KIND["u"] = TYPES_OF_KIND["i"]


def compiled(dtype, inputs):
    """Return the functions of this dtype with this number of inputs."""
    for f in FUNCTIONS.values():
        is_known = f.name in NUMPYS and f.types in TYPES_OF_KIND[dtype.kind]
        # ldexp scales by an integer for all dtypes.
        if not is_known or f.inputs != inputs or f.name == "ldexp":
            continue
        if dtype.kind == "c" and f.rule in ("Comparison", "Test", "Parts"):
            continue
        yield f


def text_of(dtype, functions, inputs):
    inner, _ = TYPES[dtype.name]
    cases = "".join(
        f"      case {k}: out[i] = static_cast<{inner}>("
        f"fn::{f.own}(a[i]{', b[i]' if inputs == 2 else ''})); break;\n"
        for k, f in enumerate(functions)
    )
    return f"""
#include "gpuos/functions.h"
using namespace gpuos;
GPUOS_OPERATOR(functions_of_{inputs}) {{
  {inner}* out = task.pointer<{inner}>(0);
  const {inner}* a = task.pointer<const {inner}>(1);
  const {inner}* b = task.pointer<const {inner}>({inputs});
  const int which = task.scalar<int>({inputs + 1});
  for (u32 i = lane.index(); i < task.count; i += lane.count())
    switch (which) {{
{cases}    }}
}}
"""


def numbers(dtype):
    rng = np.random.default_rng(3)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, info.max, info.min]
        if info.min:
            special += [-1, -2, -3, -7, -32, -64, info.min + 1]
        some = rng.integers(info.min, info.max, 30, dtype=dtype)
        return np.concatenate([np.array(special, dtype), some])
    if dtype.kind == "c":
        return (
            rng.normal(0, 3, (60, 2))
            .astype(f"f{dtype.itemsize // 2}")
            .view(dtype)
            .ravel()
        )
    info = np.finfo(dtype)
    special = [0, 0.5, 1, 1.5, 2, 2.5, 3, 1e-3, 7.7, info.max, info.tiny]
    special += [info.smallest_subnormal, np.inf, np.nan]
    special = np.array(special, dtype)
    some = rng.normal(0, 10, 40).astype(dtype)
    return np.concatenate([special, -special, some])


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("dtype", [*map(np.dtype, TYPES)], ids=str)
def test_compiled_functions_match_numpy(rt, dtype, inputs):
    functions = list(compiled(dtype, inputs))
    arrays = [numbers(dtype)]
    if inputs == 2:
        arrays = [x.ravel() for x in np.meshgrid(*arrays * 2)]
    buffers = TYPES[dtype.name][1]
    defined = or_skip(
        rt.define,
        f"functions_of_{inputs}",
        source=text_of(dtype, functions, inputs),
        params={"which": "int32"},
        dtype=buffers,
        inputs=inputs,
    )
    given = [rt.array(x.view(buffers)) for x in arrays]
    for which, f in enumerate(functions):
        out = rt.empty(arrays[0].size, buffers)
        rt.submit(defined, *given, out=out, which=which)
        is_numpys_of(f.name, out.numpy().view(dtype), arrays)


def is_numpys_of(name, got, arrays):
    if got.dtype.kind in "iu" and name in ("power", "reciprocal"):
        known = arrays[-1] >= 0 if name == "power" else arrays[0] != 0
        got, arrays = got[known], [x[known] for x in arrays]
    if name == "sinc":  # NumPy's is far off for large numbers
        known = np.abs(arrays[0]) < 100
        got, arrays = got[known], [arrays[0][known]]
    wanted = quietly(getattr(np, name), *arrays).astype(got.dtype)
    if got.dtype.kind == "c":
        np.testing.assert_allclose(got, wanted, rtol=2e-6, err_msg=name)
    elif got.dtype.kind != "f" or is_exact(name) or name == "sinc":
        assert_near(name, got, wanted, 0)
    else:
        near = 16 * np.finfo(got.dtype).eps
        by = 8 * near if len(arrays) == 2 else 0
        np.testing.assert_allclose(got, wanted, near, by, err_msg=name)


# ---- Special cases.


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


OTHER = set() if hasattr(np, "unstack") else {"sign"}  # of NumPy 1
NAMES = sorted(set(complex_functions._FUNCTIONS) - OTHER)
FINITE = [0.0, 1e-30, 1e-6, 0.3, 0.5, 1.0, 1.5, 3.0, 20.5, 80.0, 1e4]
# Its own: the C library leaves signs of zeros and infinities to itself.
ODD = [0.0, 0.5, 1.0, 30.0, np.inf, np.nan]


# The dtype in which NumPy computes the expected value, and the tolerance.
WIDE = {"complex64": ("complex128", 4e-7), "complex128": ("clongdouble", 2e-12)}


def grid(numbers, dtype):
    both = [sign * x for x in numbers for sign in (1.0, -1.0)]
    return np.array(
        [complex(a, b) for a, b in itertools.product(both, repeat=2)], dtype
    )


def exact(name, z):
    """Return NumPy's result in a wider dtype, rounded once."""
    dtype = z.dtype
    z = z.astype(WIDE[dtype.name][0])
    if name == "log1p":  # NumPy's function loses small values
        a, b = z.real.copy(), z.imag.copy()
        far = np.log(np.hypot(1 + a, b))
        near = np.log1p(a * (2 + a) + b * b) / 2
        z.real = np.where(np.abs(z) < 0.5, near, far)
        z.imag = np.arctan2(b, 1 + a)
        return z.astype(dtype)
    return getattr(np, name)(z).astype(dtype)


def parts(z):
    return z.view(z.real.dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", NAMES)
def test_parts_are_those_of_a_wider_dtype(rt, name, dtype):
    z = np.empty(2000, dtype)
    parts(z)[:] = np.random.default_rng(1).normal(0, 2, 4000)
    z = np.concatenate([grid(FINITE, dtype), z])
    got = parts(complex_functions.call(name, rt.array(z)).numpy())
    wanted = parts(quietly(exact, name, z))
    assert not np.isnan(got).any()
    is_known = ~np.isnan(wanted)  # NumPy's expm1 has some
    got, wanted = got[is_known], wanted[is_known]
    np.testing.assert_allclose(got, wanted, rtol=WIDE[dtype][1], atol=1e-37)
    assert (np.signbit(got) == np.signbit(wanted)).all()


# These functions of NumPy do not follow annex G.
OWN = {"expm1", "log1p"}
if np.lib.NumpyVersion(np.__version__) < "2.3.0":
    OWN.add("arccosh")


@pytest.mark.parametrize("name", sorted({*NAMES} - OWN))
def test_infinities_and_nan_are_those_of_c(rt, name):
    z = grid(ODD, "complex64")
    got = parts(complex_functions.call(name, rt.array(z)).numpy())
    wanted = parts(quietly(exact, name, z))
    np.testing.assert_allclose(
        np.abs(got), np.abs(wanted), rtol=4e-7, atol=1e-37
    )


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_any_shape_and_view(rt, shape):
    z = np.full(shape, 0.5 + 0.25j, "complex64")
    x = rt.array(z)
    x = x.T if len(shape) == 2 else x
    made = complex_functions.call("sin", x)
    assert (made.shape, made.dtype) == (x.shape, np.dtype("complex64"))
    np.testing.assert_allclose(made.numpy(), np.sin(z.T), rtol=1e-6)


def test_parts_of_an_array_are_views(rt):
    x = rt.array(np.arange(4).reshape(2, 2) * (1 + 2j), dtype="complex64")
    x.real[0] = 7
    x.T.imag[0] = 9
    assert x.tolist() == [[7 + 9j, 7 + 2j], [2 + 9j, 3 + 6j]]
    assert x[:, ::-1].imag.tolist() == [[2, 9], [6, 9]]
    y = rt.ones(2)
    y.real[0] = 5
    assert y.tolist() == [5, 1]
    assert y.imag.tolist() == [0, 0]
