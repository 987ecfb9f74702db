import enum
import gc
import inspect
import math
import operator
import os
import stat
import warnings
import weakref

import numpy as np
import pytest

import gpuos
from gpuos import functions as F


def make(rt, values, dtype="float32"):
    return rt.array(np.asarray(values, dtype))


def test_one_trace_serves_every_shape(rt):
    calls = []

    def f(x):
        calls.append(x.ndim)
        return x + 1

    fused = rt.fuse(f)
    for shape in [(3,), (7,), (0,), (1000,), (2, 2), (5, 1)]:
        got = fused(rt.zeros(shape)).numpy()
        np.testing.assert_array_equal(got, np.ones(shape, "float32"))
    assert calls == [1, 2]
    assert len(fused.programs()) == 2


def test_another_dtype_is_another_program(rt):
    f = rt.fuse(lambda x: x * 2)
    assert f(make(rt, [1], "int32")).dtype == np.int32
    assert f(make(rt, [1], "float64")).dtype == np.float64
    assert f(make(rt, [1], "int32")).numpy() == [2]
    assert len(f.programs()) == 2


def test_a_number_is_a_parameter(rt):
    f = rt.fuse(lambda x, k: x * k)
    x = make(rt, [1, 2, 3])
    for k in (1.5, 2.5, -1.0):
        np.testing.assert_array_equal(f(x, k).numpy(), x.numpy() * k)
    assert len(f.programs()) == 1
    assert f(x, 2).dtype == np.float32  # an int is another structure
    assert len(f.programs()) == 2


def test_a_number_is_weak_and_a_numpy_scalar_is_not(rt):
    f = rt.fuse(lambda x, k: x + k)
    x = make(rt, [1, 2], "int8")
    assert f(x, 1).dtype == np.int8
    assert f(x, 1.0).dtype == np.float64
    assert f(x, True).dtype == np.int8
    assert f(x, np.int32(1)).dtype == np.int32
    assert f(make(rt, [1]), np.float64(1)).dtype == np.float64
    np.testing.assert_array_equal(f(x, np.int32(200)).numpy(), [201, 202])


class Mode(enum.Enum):
    DOUBLE = 2
    TRIPLE = 3


def test_other_arguments_decide_what_is_traced(rt):
    traces = []

    @rt.fuse
    def f(x, mode, axes=None, *, name="sum"):
        traces.append(mode)
        y = x * mode.value
        return y.sum(axes) if name == "sum" else y.max(axes)

    x = rt.array(np.arange(6, dtype="float32").reshape(2, 3))
    assert f(x, Mode.DOUBLE).numpy() == 30
    assert f(x, Mode.TRIPLE).numpy() == 45
    np.testing.assert_array_equal(f(x, Mode.DOUBLE, (0,)).numpy(), [6, 10, 14])
    np.testing.assert_array_equal(
        f(x, Mode.DOUBLE, axes=(0,)).numpy(), [6, 10, 14]
    )
    assert f(x, Mode.DOUBLE, name="max").numpy() == 10
    assert f(x, Mode.DOUBLE, name="max").numpy() == 10
    assert len(traces) == 5


def test_an_argument_as_a_result_is_a_copy(rt):
    x = make(rt, [1, 2])
    for function in (lambda x: x, lambda x: x.copy()):
        y = rt.fuse(function)(x)
        assert y.ptr != x.ptr
        np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_an_operator_in_place_makes_a_new_value(rt):
    x = make(rt, [1, 2])
    f = rt.fuse(lambda x, y: operator.iadd(x, np.add(y, y, out=None)))
    np.testing.assert_array_equal(f(x, x).numpy(), [3, 6])
    np.testing.assert_array_equal(x.numpy(), [1, 2])


def test_out_takes_the_results(rt):
    f = rt.fuse(lambda x: x + 1)
    x, out = make(rt, [1, 2]), rt.empty(2)
    assert f(x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), [2, 3])
    pair = rt.fuse(lambda x: (x + 1, x > 1))
    outs = (rt.empty(2), rt.empty(2, "bool"))
    got = pair(x, out=outs)
    assert got[0] is outs[0]
    assert got[1] is outs[1]
    np.testing.assert_array_equal(outs[1].numpy(), [False, True])


def test_out_may_be_an_input(rt):
    f = rt.fuse(lambda x: x * 2)
    x = make(rt, [1, 2])
    for _ in range(3):
        f(x, out=x)
    np.testing.assert_array_equal(x.numpy(), [8, 16])


@pytest.mark.parametrize("out", ["shape", "dtype", "count"])
def test_an_out_that_does_not_fit_is_refused(rt, out):
    f = rt.fuse(lambda x: x + 1)
    wrong = {
        "shape": rt.empty(3),
        "dtype": rt.empty(2, "float64"),
        "count": (rt.empty(2), rt.empty(2)),
    }
    with pytest.raises(gpuos.InvalidArgument):
        f(make(rt, [1, 2]), out=wrong[out])


def test_numpy_arrays_are_taken_by_the_host(host):
    f = host.fuse(lambda x, y: x - y)
    x = np.arange(6.0).reshape(2, 3)
    got = f(x[:, ::-1], x)
    assert isinstance(got, gpuos.Array)
    np.testing.assert_array_equal(got.numpy(), x[:, ::-1] - x)
    out = np.empty((2, 3))
    assert f(x, x, out=out) is out
    host.synchronize()
    np.testing.assert_array_equal(out, 0)


def test_the_decorator_finds_the_runtime_of_the_first_array(rt):
    @gpuos.fuse
    def f(k, x):
        """Doc."""
        return x * k

    assert f.__name__ == "f"
    assert f.__doc__ == "Doc."
    np.testing.assert_array_equal(f(2.0, make(rt, [1, 2])).numpy(), [2, 4])
    with pytest.raises(gpuos.InvalidArgument, match=r"runtime="):
        f(2.0, 1.0)


def test_the_decorator_takes_a_runtime(host):
    @gpuos.fuse(runtime=host)
    def f(x):
        return x + 1

    np.testing.assert_array_equal(f(np.ones(2)).numpy(), [2, 2])
    with pytest.raises(TypeError, match="kernel_name"):
        gpuos.fuse(f, kernel_name="mine")


def test_a_fused_function_may_call_another(rt):
    gate = rt.fuse(F.sigmoid)
    f = rt.fuse(lambda x: x * gate(x))
    x = make(rt, [0.0, 1.0])
    np.testing.assert_allclose(f(x).numpy(), [0, 0.7310586], rtol=1e-6)
    assert len(f.programs()) == 1
    assert gate.programs() == []


def test_a_program_describes_itself(rt):
    f = rt.fuse(lambda x, k: (x * k + 1, (x * k).sum()))
    program = f.warm(rt.zeros((2, 3)), 2.0)
    assert program.inputs == [("float32", 2)]
    assert program.outputs == [("float32", 2), ("float32", 0)]
    assert program.scalars == 1
    assert program.operations == 3
    assert [p.hash for p in f.programs()] == [program.hash]
    same = rt.fuse(lambda y, s: (y * s + 3, (y * s).sum()))
    assert same.warm(rt.zeros((2, 3)), 1.0).hash == program.hash
    assert "programs=1" in repr(f)


def test_a_fused_function_that_knows_itself_is_collected(host):
    class Owner:
        pass

    owner = Owner()
    owner.f = host.fuse(lambda x, of=owner: x + (of is None))
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.torch
def test_fused_functions_accept_tensors(rt):
    torch = pytest.importorskip("torch")
    device = "cuda" if rt.backend == "cuda" else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("PyTorch without CUDA")
    x = torch.arange(6, dtype=torch.bfloat16, device=device).reshape(2, 3)
    out = torch.empty(3, 2, dtype=torch.bfloat16, device=device)
    f = rt.fuse(lambda x: F.relu(x - 2))
    f(x.T, out=out)
    rt.synchronize()
    assert torch.equal(out, torch.relu(x.T - 2))


@pytest.fixture
def copying_compiler(tmp_path, monkeypatch):
    """A compiler that repeats its first result, whose code must not be called."""
    made, script = tmp_path / "made.so", tmp_path / "cxx"
    compiler = os.environ.get("CXX", "c++")
    script.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f'[ -f {made} ] && exec cp {made} "$last"\n'
        f'{compiler} "$@" && if [ -f "$last" ]; then cp "$last" {made}; fi\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(script))
    monkeypatch.setenv("GPUOS_CACHE_DIR", "off")


@pytest.mark.usefixtures("copying_compiler")
def test_code_of_dropped_programs_is_unloaded():
    """More of them are compiled than the operator table has slots."""
    functions = [np.add, np.subtract, np.multiply, np.maximum, np.minimum]

    def other(number):
        def f(x):
            y = x
            for digit in range(5):
                y = functions[number // 5**digit % 5](y, x)
            return y

        return f

    with gpuos.Runtime("host", workers=1) as rt:
        x = rt.zeros(4)
        for number in range(1100):
            rt.fuse(other(number)).compile(x)
        assert rt.stats()["programs_compiled"] == 1100
        assert rt.stats()["unloads"] > 0


def test_values_that_are_used_twice_are_looked_through_once(host):
    @host.fuse
    def shared(x):
        for _ in range(60):  # 2**60 ways from the last to the first
            x = x - x * 0.5
        total = x.sum()
        for _ in range(60):
            total = total - total * 0.5
        return x, total

    x, total = shared(host.array(np.ones(4, np.float32)))
    assert x.numpy().tolist() == [0.5**60] * 4
    assert total.numpy() == 4 * 0.5**120


def if_large(x, t):
    return x * 2 if float(t) > 3 else x  # here


def a_cosine(x, t):
    return x + math.cos(t)  # here


def a_length(x, _):
    return x * len(x)


def a_text(x, mode):
    return x * len(mode)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (if_large, "the value of 't'"),
        (a_cosine, "the value of 't'"),
        (a_length, "shapes"),
        (a_text, "the value of 'mode'"),
    ],
)
def test_many_programs_of_one_function_warn_and_are_bounded(
    host, function, told
):
    fused = host.fuse(function)
    call = {
        a_length: lambda i: fused(np.ones(i + 1), 0),
        a_text: lambda i: fused(np.ones(3), "m" * i),
    }.get(function, lambda i: fused(np.ones(3), i * 0.5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(600):
            call(i)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert f"{function.__name__}: expected few programs" in text
    assert f"asks for {told}, so" in text
    assert caught[0].filename == __file__
    source, begin = inspect.getsourcelines(function)
    line = begin + ("# here" in source[-1])
    assert f"{__file__}:{line}" in text
    assert len(fused.programs()) == 256


@pytest.mark.parametrize(
    ("function", "argument", "told"),
    [
        (lambda x: x * len(x), lambda i: np.ones(i + 1), "shapes"),
        (sum, lambda i: [np.ones(3)] * (i + 1), "length of a list"),
        (
            lambda named: sum(named.values()),
            lambda i: {j: np.ones(3) for j in range(i + 1)},
            "key of a dict",
        ),
        (
            lambda named: named["x"] * int(named["t"]),
            lambda i: {"x": np.ones(3), "t": i},
            "the value of",
        ),
    ],
)
def test_a_warning_names_the_line_of_the_call(function, argument, told):
    fused = gpuos.fuse(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(50):
            fused(argument(i))
    assert [one.filename for one in caught] == [__file__]
    assert "expected few programs" in str(caught[0].message)
    assert told in str(caught[0].message)
