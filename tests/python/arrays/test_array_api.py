"""gpuos.array_api: compare each function with NumPy's of the same name."""

import importlib.util
import inspect
import itertools
import subprocess
import sys
from pathlib import Path

import array_api_suite
import numpy as np
import pytest
from deadlines import COMPILE_S
from fuse_support import outcome

import gpuos
from gpuos import array_api as xp

DTYPES = [
    np.dtype(name)
    for name in (
        *("bool", "uint8", "int32", "float32", "float64"),
        *("complex64", "complex128"),
    )
]
# Their results have no counterpart in NumPy, or other fields.
APART = {
    *("__array_namespace_info__", "empty", "empty_like", "finfo", "iinfo"),
    "isdtype",
}
# Elementwise functions are in test_faces.py, except those with keywords.
KEYED = {"clip", "where"}
FUNCTIONS = sorted(
    name
    for name in xp.__all__
    if name not in APART
    and inspect.isfunction(function := getattr(xp, name))
    and (name in KEYED or not function.__module__.endswith("_elementwise"))
)
# NumPy takes some bools here and refuses others; the standard has none.
WITHOUT_BOOL = {"arange", "clip", "diff"}
FEW, OTHERS = [3, 1, 2, 7, 5, 4], [1, 2, 3, 1, 2, 1]
NONE = inspect.Parameter.empty
as_in_numpy_2 = pytest.mark.skipif(
    not hasattr(np, "unstack"),
    reason="NumPy before 2.1 has other functions, arguments and dtypes",
)


def arguments(name, dtype):
    """Return values for a parameter of this name, for any function."""
    few = np.array(FEW) % 2 if dtype.kind == "b" else np.array(FEW)
    x = few.reshape(2, 1, 3).astype(dtype)
    y = np.array(OTHERS).reshape(2, 1, 3).astype(dtype)
    return {
        **{name: [x] for name in ("A", "a", "m", "x", "x1")},
        "append": [NONE],
        "arrays": [[x.ravel(), y.ravel()]],
        "arrays_and_dtypes": [[x, np.dtype("int8")], [x, 1]],
        "axes": [(2, 0, 1)],
        "axis": [NONE, 0, 1, -1],
        "condition": [x.astype(bool)],
        "copy": [NONE, True],
        "correction": [NONE, 1],
        "destination": [-1],
        "device": [NONE],
        "dtype": [dtype],
        "endpoint": [NONE, False],
        "fill_value": [3],
        "from_": [dtype],
        "include_initial": [NONE, True],
        "indexing": [NONE, "ij"],
        "invert": [NONE, True],
        "k": [NONE, 1, -1],
        "keepdims": [NONE, True],
        "max": [NONE, 3],
        "min": [NONE, 2],
        "n": [NONE, 2],
        "n_cols": [NONE, 4],
        "n_rows": [3],
        "num": [5],
        "obj": [x.tolist(), x],
        "out": [NONE],
        "prepend": [NONE, y],
        "repeats": [2],
        "reps": [(2, 1, 2)],
        "shape": [(1, 2, 1, 3)],
        "shapes": [[(2, 1), (3,)]],
        "shift": [1],
        "source": [0],
        "start": [0],
        "step": [NONE, 2],
        "stop": [4],
        "to": [np.dtype("int16")],
        "x2": [y, 2],
    }[name]


def calls(name, dtype):
    """Positional and named arguments for a function of the namespace."""
    parameters = inspect.signature(getattr(xp, name)).parameters
    values = [arguments(one, dtype) for one in parameters]
    for chosen in itertools.product(*values):
        positional, named = [], {}
        given = zip(parameters.items(), chosen, strict=True)
        if any(x is NONE is parameter.default for (_, parameter), x in given):
            continue
        for (one, parameter), value in zip(
            parameters.items(), chosen, strict=True
        ):
            if value is NONE:
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[one] = value
        yield positional, named


def whole(x, rt):
    return rt.array(x)


def gaps(x, rt):
    """A view of every other element, backwards."""
    return rt.array(np.repeat(x[::-1], 2, axis=0))[::-2]


def ours(value, rt, how):
    if isinstance(value, np.ndarray):
        return how(value, rt)
    if isinstance(value, list):
        return [ours(x, rt, how) for x in value]
    return value


def same(got, wanted):
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(got, gpuos.Array)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        rtol = 1e-2 if wanted.dtype == "float16" else 1e-5
        np.testing.assert_allclose(got.numpy(), wanted, rtol, atol=1e-6)
    else:
        assert got == wanted


@as_in_numpy_2
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(rt, name):
    numpys = getattr(np, name)
    computed = 0
    for dtype in DTYPES[1 if name in WITHOUT_BOOL else 0 :]:
        for positional, named in calls(name, dtype):
            wanted = outcome(numpys, *positional, **named)
            for how in (whole, gaps):
                got = outcome(
                    getattr(xp, name),
                    *(ours(x, rt, how) for x in positional),
                    **{one: ours(x, rt, how) for one, x in named.items()},
                )
                what = f"{name}(*{positional}, **{named}): {got!r}"
                what += f", not {wanted!r}"
                if isinstance(wanted, Exception):
                    assert isinstance(got, Exception), what
                elif isinstance(got, Exception):
                    assert dtype.kind == "c", what
                else:
                    same(got, wanted)
                    computed += 1
    assert computed > 0


# ---- Other rules of the standard.


def test_arrays_return_this_namespace(rt):
    x = rt.zeros(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    assert x.__array_namespace__(api_version=xp.__array_api_version__) is xp
    with pytest.raises(gpuos.InvalidArgument, match=r"got '2020\.12'"):
        x.__array_namespace__(api_version="2020.12")
    assert set(dir(xp)) == set(xp.__all__)
    assert all(hasattr(xp, name) for name in xp.__all__)


def test_namespace_info_lists_devices_and_limits(backend):
    info = xp.__array_namespace_info__()
    default = gpuos.default_runtime().empty(0).device
    assert info.default_device() == default
    assert default in info.devices()
    assert info.devices()[0] == "host"
    assert info.capabilities()["max dimensions"] == 8
    x = xp.zeros((1,) * 8, device=backend)
    with pytest.raises(gpuos.InvalidArgument, match="8 dimensions"):
        xp.expand_dims(x, 0)
    assert info.dtypes(kind="real floating") == {
        "float32": xp.float32,
        "float64": xp.float64,
    }
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {
        "bool",
        "complex64",
        "complex128",
    }
    for name, dtype in info.dtypes().items():
        assert xp.empty(0, dtype=dtype, device=backend).dtype == name
    for kind, dtype in info.default_dtypes().items():
        assert kind == "indexing" or xp.isdtype(dtype, kind)


def test_numbers_of_python_have_the_default_dtypes(backend):
    def dtype_of(value):
        return xp.asarray(value, device=backend).dtype.name

    assert [dtype_of(x) for x in (True, 1, 1.0, 1j, [1, 2.0])] == [
        "bool",
        "int64",
        "float32",
        "complex64",
        "float32",
    ]
    assert dtype_of(np.float64(1)) == dtype_of(np.zeros(2)) == "float64"
    assert xp.full(2, 1.5, device=backend).dtype == "float32"
    assert xp.arange(3.0, device=backend).dtype == "float32"


@as_in_numpy_2
def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(OverflowError):
        xp.asarray(300, dtype=xp.uint8)


def test_asarray_copies_on_request(rt):
    x = rt.array([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    copy = xp.asarray(x, copy=True)
    x[0] = 9
    assert copy.tolist() == [1, 2]
    assert xp.asarray([x[1], x[0], 3.0]).tolist() == [2, 9, 3]
    assert xp.asarray([[x[1], 1], [x[0], 2]]).tolist() == [[2, 1], [9, 2]]
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1.0], copy=False)


def test_from_dlpack_imports_foreign_arrays(backend):
    theirs = np.arange(3)
    made = xp.from_dlpack(theirs, device=backend)
    theirs[0] = 9
    assert made.tolist() == [0, 1, 2]
    view = xp.from_dlpack(made)
    view[1] = 7
    assert made.tolist() == [0, 7, 2]
    assert xp.from_dlpack(made, copy=True)[1:].tolist() == [7, 2]
    with pytest.raises(ValueError, match="copy=False"):
        xp.from_dlpack(theirs, copy=False)


def test_devices(backend):
    x = xp.ones(2, device=backend)
    assert x.device.startswith(backend)
    assert x.to_device(x.device) is x
    assert xp.zeros_like(x).device == x.device
    assert xp.eye(2, device=x.device).device == x.device
    host = x.to_device("host", stream=None)
    assert host.device == "host"
    assert host.tolist() == [1, 1]
    with pytest.raises(gpuos.InvalidArgument, match="got 'moon'"):
        x.to_device("moon")


def test_questions_of_dtypes():
    assert xp.finfo(xp.complex64).dtype == xp.float32
    assert xp.finfo(xp.complex128).dtype == xp.float64
    assert xp.finfo(xp.float64).eps == np.finfo("float64").eps
    assert (xp.iinfo(xp.int8).min, xp.iinfo(xp.int8).max) == (-128, 127)
    assert xp.isdtype(xp.int8, ("bool", "integral"))
    assert not xp.isdtype(xp.int8, ("bool", xp.int16))
    with pytest.raises(gpuos.InvalidArgument, match="'number'"):
        xp.isdtype(xp.int8, "number")
    x = xp.zeros(1, dtype=xp.int16)
    assert xp.result_type(x, 2, xp.int32) == xp.int32


def test_empty_arrays_have_their_forms(backend):
    x = xp.empty((2, 0), dtype=xp.int8, device=backend)
    assert (x.shape, x.dtype, x.device) == ((2, 0), xp.int8, x.device)
    like = xp.empty_like(x, dtype=xp.float32)
    assert (like.shape, like.dtype) == ((2, 0), xp.float32)


def fused(rt, function, positional, named):
    """Call it inside a fused function of its arrays."""
    arrays = []

    def place(value):
        if not isinstance(value, np.ndarray):
            return value
        arrays.append(rt.array(value))
        return slice(len(arrays) - 1, None)

    args = [place(x) for x in positional]
    keywords = {name: place(x) for name, x in named.items()}

    def compute(*values):
        def given(x):
            return values[x.start] if isinstance(x, slice) else x

        return function(
            *map(given, args),
            **{name: given(x) for name, x in keywords.items()},
        )

    return rt.fuse(compute)(*arrays)


# They may be refused: a value has no shape, no memory and no runtime.
NEED_SHAPES = {
    *("asarray", "broadcast_to", "cumulative_prod", "cumulative_sum", "diff"),
    *("flip", "from_dlpack", "full_like", "isin", "ones_like", "repeat"),
    *("reshape", "roll", "squeeze", "tile", "tril", "triu", "zeros_like"),
}


@as_in_numpy_2
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_work_inside_fused_functions(rt, name):
    numpys = getattr(np, name)
    for positional, named in calls(name, np.dtype("float32")):
        if not any(isinstance(x, np.ndarray) for x in positional):
            continue
        wanted = outcome(numpys, *positional, **named)
        if not isinstance(wanted, np.ndarray):
            continue
        arguments = (rt, getattr(xp, name), positional, named)
        got = outcome(fused, *arguments)
        if isinstance(got, Exception):
            assert name in NEED_SHAPES, got
        else:
            same(got, wanted)


def test_repeat_with_counts(rt):
    x = rt.array(np.arange(6).reshape(3, 2))
    made = xp.repeat(x, rt.array([2, 0, 1]), axis=0)
    np.testing.assert_array_equal(
        made.numpy(), np.repeat(x.numpy(), [2, 0, 1], axis=0)
    )
    with pytest.raises(gpuos.InvalidArgument, match="3 counts"):
        xp.repeat(x, rt.array([1, 2]), axis=0)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 64, 1000])
def test_running_sums_of_all_sizes(rt, size):
    x = np.random.default_rng(size).integers(-9, 9, size)
    assert xp.cumulative_sum(rt.array(x)).tolist() == np.cumsum(x).tolist()
    narrow = xp.cumulative_sum(rt.array(x), dtype=xp.int8)
    assert narrow.tolist() == np.cumsum(x, dtype="int8").tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: xp.roll(x, (1, 2, 3), axis=(0, 1)),
        lambda x: xp.flip(x, axis=2),
        lambda x: xp.broadcast_to(x, (2, 5)),
        lambda x: xp.broadcast_to(x, (1, 3)),
        lambda x: xp.vecdot(x, x[:, :1]),
        lambda _: xp.concat([]),
        lambda _: xp.stack([1, 2]),
        xp.cumulative_sum,
        lambda x: xp.meshgrid(x, indexing="yx"),
        lambda x: xp.reshape(x.T, (6,), copy=False),
    ],
)
def test_wrong_arguments_are_refused(rt, call):
    x = rt.zeros((2, 3))
    with pytest.raises(ValueError, match=r"expected|mismatch"):
        call(x)


def test_unsupported_functions_are_absent():
    for name in ("sort", "unique_values", "matmul", "take", "linalg", "fft"):
        assert not hasattr(xp, name), name


# ---- The standard's own suite.


@as_in_numpy_2
@pytest.mark.skipif(
    array_api_suite.find() is None,
    reason="the suite, or what it needs, is not here",
)
def test_exactly_the_known_tests_of_the_suite_fail(tmp_path):
    folder = array_api_suite.find()
    outcomes = tmp_path / "outcomes"
    results, output = array_api_suite.run(folder, outcomes, examples=20)
    assert array_api_suite.differences(results) == [], output[-20000:]
    passed = sum(outcome == "passed" for outcome in results.values())
    assert passed >= 750


SCRIPT = Path(__file__).parents[1] / "array_api_consumers.py"


@pytest.mark.parametrize("library", ["scipy", "sklearn"])
def test_functions_take_and_give_arrays(backend, library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    ended = subprocess.run(
        [sys.executable, SCRIPT, library, backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=COMPILE_S,
    )
    assert ended.returncode == 0, ended.stdout
