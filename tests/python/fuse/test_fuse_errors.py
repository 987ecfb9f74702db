"""Forbidden code in a fused function is refused, with the line."""

import inspect
import linecache
import math
import operator
import re
from typing import NamedTuple

import numpy as np
import pytest
from threads_support import in_threads

import gpuos
from gpuos import functions as F

CAPTURED = np.arange(3.0)


def branch(x):
    y = x + 1
    if y.sum() > 0:  # here
        return y
    return x


def assign(x):
    x[...] = 1  # here
    return x


def assign_a_row(x):
    x[1] = 0  # here
    return x


def add_in_place(x):
    x += x


def an_attribute(x):
    assert not hasattr(x, "strides")
    return x.take(0)


def line_of(function):
    """Return the line of a lambda, or the marked one of a function."""
    if function.__name__ == "<lambda>":
        return function.__code__.co_firstlineno
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, text in enumerate(lines) if "# here" in text)


FORBIDDEN = [
    (branch, "where()"),
    (assign, "make a new one, which the function returns"),
    (assign_a_row, "where() and concatenate() make a new one"),
    (
        lambda x: np.copyto(x, 1),
        "where() makes a new one, which the function returns",
    ),
    (lambda x: x * math.exp(x), "__float__"),
    (lambda x: x * int(x), "__int__"),
    (lambda x: CAPTURED[x], "no memory"),
    (lambda x: np.asarray(x) + 1, "__array__"),
    (lambda x: x[x > 0], "where() chooses"),
    (lambda x: x[CAPTURED], "no indices by arrays"),
    (lambda x: x[True], "got bool; a program"),
    (lambda x: x[0, 1], "at most 1 indices"),
    (lambda x: x[::0], "step is not 0"),
    (
        lambda x: x[:, None].sum(axis=1).reshape(1, -1),
        "got one of sum; reshape the results",
    ),
    (lambda x: x.ravel("F"), "order='C', got 'F'"),
    (lambda x: x.reshape(-1, -1), "one of -1, got (-1, -1)"),
    (lambda x: np.broadcast_to(x, ()), "at least 1 dimensions, got ()"),
    (lambda x: x + CAPTURED, "argument of the function"),
    (lambda x: CAPTURED * x, "argument of the function"),
    (lambda x: np.where(x > 0, x, CAPTURED), "argument of the function"),
    (lambda x: np.sort(x) + 1, "numpy.sort: a fused function has no such"),
    (lambda x: np.spacing(x) + 1, "spacing"),
    (
        lambda x: x[None] @ x[:, None],
        "no products of matrices; multiply outside of the function",
    ),
    (
        lambda x: np.add(x, 1, out=x),
        "return what is computed, and give out= to the call",
    ),
    (
        lambda x: np.add(x, 1, where=x > 2),
        "return what is computed of where()",
    ),
    (lambda x: x.astype("int32") ** -1, "exponent of 0 or more"),
    (lambda x: x + "1", "builtins.str"),
    (lambda x: np.where(x > 0), "where"),
    (lambda x: x.sum(axis=3), "axes of -1 to 0, got 3"),
    (lambda x: x & 1, "bitwise_and"),
    (lambda x: np.array_split(x, 2), "split() makes parts of one size"),
    (
        lambda x: np.concatenate([x, x]).argmax(),
        "argmax: expected no axis along which",
    ),
    (lambda x: np.roll(x, 1).reshape(-1, 1), "or the parts"),
    (
        lambda x: np.concatenate([x, 1.0]),
        "concatenate: expected a value of a fused",
    ),
    (lambda x: np.concatenate([x, x[None]]), "of 1 axes, got one of 2"),
    (lambda x: np.stack([x, x], out=x), "give out= to its call"),
    (lambda x: x.astype("int64") + 10**30, "a number that fits int64"),
]


@pytest.mark.parametrize(("function", "told"), FORBIDDEN)
def test_the_line_is_named(host, function, told):
    line = line_of(function)
    fused = host.fuse(function)
    with pytest.raises(gpuos.InvalidArgument) as caught:
        fused(host.zeros(3))
    reason, place = str(caught.value).splitlines()
    assert told in reason
    assert __file__ not in reason
    text = linecache.getline(__file__, line).strip()
    assert place == f"  {__file__}:{line}: {text}"
    assert fused.programs() == []
    # The traceback leads there by itself, and no other error is shown.
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert line in [entry.lineno + 1 for entry in caught.traceback]


def test_changing_an_argument_says_to_return_it(host):
    with pytest.raises(gpuos.InvalidArgument, match="return x, and give out=x"):
        host.fuse(add_in_place)(host.zeros(3))


def test_a_missing_attribute_is_named(host):
    with pytest.raises(AttributeError, match=r"^take: a traced value has no"):
        host.fuse(an_attribute)(host.zeros(3))


def helper(x):
    return float(x)


def test_the_innermost_line_of_the_user_is_named(host):
    line = helper.__code__.co_firstlineno + 1
    with pytest.raises(
        gpuos.InvalidArgument,
        match=rf"\n  {re.escape(__file__)}:{line}: return float\(x\)$",
    ):
        host.fuse(lambda x: x * helper(x))(host.zeros(3))


def test_a_function_without_a_file_has_an_error_of_its_own(host):
    function = eval("lambda x: x if x > 0 else -x")
    with pytest.raises(gpuos.InvalidArgument, match=r"\n  <string>:1(: .*)?$"):
        host.fuse(function)(host.zeros(3))


@pytest.mark.parametrize(
    "name", ["less", "less_equal", "greater", "greater_equal"]
)
@pytest.mark.parametrize("other", [1, 1j, "i4", "c8"])
def test_a_comparison_of_complex_numbers_is_refused_by_its_name(
    host, name, other
):
    signs = {"less": "<", "less_equal": "<=", "greater": ">"}
    sign = signs.get(name, ">=")
    z = host.zeros(3, "complex64")
    y = host.zeros(3, other) if isinstance(other, str) else other
    for function in (
        getattr(np, name),
        eval(f"lambda x, y: x {sign} y"),
    ):
        with pytest.raises(gpuos.InvalidArgument, match=rf"^{name}: "):
            host.fuse(function)(z, y)


class Scaled:
    @gpuos.fuse
    def by(self, x):
        return x * 2


class Scale(NamedTuple):
    factor: float

    @gpuos.fuse
    def of(self, x):
        return x * self.factor


def test_a_method_gets_its_object(host):
    x = host.array([1.0, 2.0])
    # A tuple is static, so each is a program.
    assert Scale(2.0).of(x).numpy().tolist() == [2, 4]
    assert Scale(3.0).of(x).numpy().tolist() == [3, 6]
    assert len(Scale.of.programs()) == 2
    assert Scale.of(Scale(4.0), x).numpy().tolist() == [4, 8]
    with pytest.raises(gpuos.InvalidArgument, match=r"Scaled"):
        Scaled().by(x)


@pytest.mark.parametrize(
    "result",
    [
        lambda _x: None,
        lambda _x: 1.0,
        lambda _x: (),
        lambda _x: (1, "text", None),
        lambda x: (x, CAPTURED),
        lambda x: {"x": x, "y": object()},
        lambda _x: {},
        lambda _x: CAPTURED,
    ],
)
def test_results_that_are_no_arrays_are_refused(host, result):
    with pytest.raises(gpuos.InvalidArgument, match="as results"):
        host.fuse(result)(host.zeros(3))


def test_a_number_as_a_result_is_refused(host):
    with pytest.raises(gpuos.InvalidArgument, match="depends on no array"):
        host.fuse(lambda x, k: (x, k * 2))(host.zeros(3), 1.0)


def test_an_error_of_the_function_passes(host):
    with pytest.raises(ZeroDivisionError):
        host.fuse(lambda x: x + 1 / 0)(host.zeros(3))


def test_arguments_that_mean_nothing_are_refused(host):
    with pytest.raises(gpuos.InvalidArgument, match="input 1"):
        host.fuse(lambda x, _: x)(host.zeros(3), object())
    with pytest.raises(TypeError):
        host.fuse(lambda x: x)(host.zeros(3), host.zeros(3))
    for inside in ((1, {2}), [1, object()]):
        with pytest.raises((TypeError, gpuos.InvalidArgument)):
            host.fuse(lambda x, _: x)(host.zeros(3), inside)


@pytest.mark.parametrize(
    "function", [lambda x, out: x + out, lambda x, *, stream=1: x + stream]
)
def test_parameters_with_a_meaning_of_their_own_are_refused(host, function):
    with pytest.raises(gpuos.InvalidArgument, match="no parameter named"):
        host.fuse(function)


def test_values_of_two_programs_do_not_mix(host):
    kept = []

    def keep(x):
        kept.append(x)
        return x + 1

    host.fuse(keep)(host.zeros(3))
    with pytest.raises(gpuos.InvalidArgument, match="one program"):
        host.fuse(lambda x: x + kept[0])(host.zeros(3))


def test_a_value_lives_on_alone(host):
    kept = []
    host.fuse(lambda x: kept.append(x) or x + 1)(host.zeros(3))
    assert repr(kept[0]) == "gpuos.Value(dtype=float32, ndim=1)"
    assert (kept[0] * 2).dtype == np.float32


def test_functions_take_values_only():
    with pytest.raises(gpuos.InvalidArgument, match="fused function"):
        F.relu(CAPTURED)


def test_a_closed_runtime_is_reported():
    rt = gpuos.Runtime(backend="host")
    f = rt.fuse(lambda x: x + 1)
    x = rt.zeros(3)
    rt.close()
    with pytest.raises(gpuos.Error):
        f(x)


def test_outputs_that_overlap_are_refused(rt):
    x = rt.array(np.arange(8.0))
    big = rt.array(np.zeros((9, 2)))
    both = rt.fuse(lambda v: (v + 1, v * 2))
    for one, other in (
        (big[:8, 0], big[1:, 0]),
        (big[:8, 0], big[:8, 0]),
        (big.reshape(18)[:8], big.reshape(18)[7:15]),
        (big[8:0:-1, 1], big[:8, 1]),
    ):
        with pytest.raises(
            gpuos.InvalidArgument, match=r"outputs 0 and 1 (overlap|are the)"
        ):
            both(x, out=(one, other))


def test_outputs_whose_elements_overlap_are_refused(host):
    windows = np.lib.stride_tricks.sliding_window_view(
        np.zeros(10), 3, writeable=True
    )
    double = host.fuse(lambda x: x * 2)
    with pytest.raises(gpuos.InvalidArgument, match="do not overlap"):
        double(np.ones((8, 3)), out=windows)
    np.testing.assert_array_equal(double(windows).numpy(), np.zeros((8, 3)))
    double(np.ones((2, 3)), out=windows[::4])
    host.synchronize()
    np.testing.assert_array_equal(windows[::4], 2)


def test_interleaved_outputs_are_accepted(rt):
    x = rt.array(np.arange(8.0))
    both = rt.fuse(lambda v: (v + 1, v * 2))
    big = rt.array(np.zeros((8, 2)))
    both(x, out=(big[:, 0], big[:, 1]))
    wanted = np.stack([np.arange(8) + 1, np.arange(8) * 2], axis=1)
    np.testing.assert_array_equal(big.numpy(), wanted)
    both(x, out=(big[:, 1], big[::-1, 0]))
    np.testing.assert_array_equal(big.numpy()[:, 1], wanted[:, 0])
    np.testing.assert_array_equal(big.numpy()[::-1, 0], wanted[:, 1])


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**31,) * 3, (2**40,) * 3])
def test_more_elements_than_can_be_counted_are_refused(host, shape):
    ones = [
        np.lib.stride_tricks.as_strided(
            np.ones(1, "int8"),
            [size if d == axis else 1 for d, size in enumerate(shape)],
            [0] * len(shape),
        )
        for axis, size in enumerate(shape)
    ]
    for function in (lambda *x: sum(x), lambda *x: sum(x).sum()):
        with pytest.raises(gpuos.InvalidArgument, match="expected at most"):
            host.fuse(function)(*ones)


# Code that fits the traced call but not the next one: the function, the shapes
# of both calls, and the message.
LATER = {
    "index": (
        lambda x: x[4] * 2,
        [(5,), (3,)],
        "index: expected a place of -3 to 2 in an axis of 3 elements, got 4",
    ),
    "index of a value": (
        lambda x: (x + 1)[:, 2],
        [(2, 3), (2, 1)],
        "index: expected a place of -1 to 0 in an axis of 1 element, got 2",
    ),
    "squeeze": (
        lambda x: x.squeeze(0),
        [(1, 3), (2, 3)],
        "squeeze: expected an axis of 1 element, got 2",
    ),
    "split": (
        lambda x: np.split(x, 2)[0],
        [(4,), (3,)],
        "split: expected an axis whose length is a multiple of 2, got 3",
    ),
    "reshape": (
        lambda x: x.reshape(2, -1),
        [(4,), (3,)],
        "reshape: expected a shape of 3 elements, got (2, -1) for (3,)",
    ),
    "broadcast_to": (
        lambda x: np.broadcast_to(x, (2, 3)),
        [(3,), (2,)],
        "broadcast_to: expected an axis of 1 or 3 elements for (2, 3), got 2",
    ),
    "where": (
        lambda x: np.where(x > 0, x[:2], x),
        [(2,), (3,)],
        "where: expected shapes that broadcast, got (3,) and (2,)",
    ),
    "difference": (
        lambda x: x[1:] - x[:2],
        [(3,), (5,)],
        "subtract: expected shapes that broadcast, got (4,) and (2,)",
    ),
    "parts": (
        lambda x: np.concatenate([x[:, :2], x.T]),
        [(2, 2), (3, 1)],
        "concatenate: expected parts of one size along axis 1, got 1 and 3",
    ),
    "maximum": (
        lambda x: x.max(axis=0),
        [(2,), (0,)],
        "max: expected at least 1 element, got 0",
    ),
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_later_misfit_names_its_line(host, name, is_foreign):
    function, (fits, wrong), told = LATER[name]
    fused = gpuos.fuse(function)
    make = np.ones if is_foreign else host.zeros
    fused(make(fits, "f4"))
    with pytest.raises(gpuos.InvalidArgument) as caught:
        fused(make(wrong, "f4"))
    line = function.__code__.co_firstlineno
    reason, place = str(caught.value).splitlines()
    assert reason == told
    assert place.startswith(f"  {__file__}:{line}: ")
    fused(make(fits, "f4"))
    assert len(fused.programs()) == 1


def test_a_reshape_that_another_line_finds_keeps_its_name(host):
    def function(x):
        y = np.diff(x)
        z = np.concatenate([y[1:], y[:1]])
        return y.reshape((6,)), np.flip(z)

    with pytest.raises(gpuos.InvalidArgument, match=r"^reshape: .* in order"):
        host.fuse(function)(host.zeros((2, 4)))


@pytest.mark.parametrize(
    ("dtype", "most"), [("float32", 249), ("float64", 124)]
)
def test_different_constants_have_the_room_that_the_docs_say(rt, dtype, most):
    """docs/programs.md, in what is said of results."""

    def with_constants(count):
        def compute(x):
            for k in range(count):
                x = x * 0.5 + (k + 0.25)
            return x

        return rt.fuse(compute)

    x = np.zeros(3, dtype)
    wanted = x
    for k in range(most):
        wanted = wanted * 0.5 + (k + 0.25)
    made = with_constants(most)(rt.array(x)).numpy()
    np.testing.assert_allclose(made, wanted, rtol=1e-5)
    with pytest.raises(gpuos.InvalidArgument, match="at most 250 cells"):
        with_constants(most + 1)(rt.array(x))


def calls_itself():
    @gpuos.fuse
    def endless(x):
        return endless(x) * 2

    return endless


def in_a_circle():
    there = gpuos.fuse(lambda x: back(x) + 1)
    back = gpuos.fuse(lambda x: there(x) + 1)
    return there


def replaced_by_itself():
    step = gpuos.fuse(lambda x: x + 1)
    step.replace(lambda x: step(x) * 2)
    return step


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize(
    "make", [calls_itself, in_a_circle, replaced_by_itself]
)
def test_endless_recursion_is_refused(rt, make, in_thread):
    """The stack would end before Python's own limit."""
    endless = make()

    def call():
        for x in (rt.ones(3), CAPTURED):
            with pytest.raises(RecursionError, match="at most 64 deep"):
                endless(x)

    in_threads(call) if in_thread else call()


def test_fused_functions_that_call_each_other_deeply(rt):
    f = gpuos.fuse(lambda x: x + 1)
    for _ in range(40):
        f = gpuos.fuse(lambda x, f=f: f(x) + 1)
    assert f(rt.zeros(2)).tolist() == [41, 41]


class Item:
    """NumPy would ask how long it is."""

    asked = 0

    def __len__(self):
        Item.asked += 1
        return 0


def test_shifts_of_two_axes_are_refused(host):
    for shift in (np.ones((1, 2), "i8"), np.ones((1,) * 63, "i8"), []):
        with pytest.raises(gpuos.InvalidArgument, match="roll: expected shift"):
            host.fuse(lambda x, by=shift: np.roll(x, by, 0))(host.ones(2))


def test_a_captured_array_is_refused_by_name(host):
    a = host.ones(2)
    with pytest.raises(gpuos.InvalidArgument, match="must be an argument"):
        host.fuse(lambda x, k: x + F.where(x > 0, a, k))(a, 1.5)


def test_arguments_that_are_no_tuple_or_dict_are_refused(host):
    def ask(x, y):
        rest = ((y, {}), (3, {}), ([x], {}), ((x,), y), ((x,), [("out", y)]))
        for args, keywords in rest:
            with pytest.raises((gpuos.InvalidArgument, TypeError)):
                x.__array_function__(np.sort, (), args, keywords)
        return x

    host.fuse(ask)(host.ones(2), host.ones(2))


@pytest.mark.parametrize("function", [np.matmul, np.dot, np.inner, np.multiply])
def test_a_list_operand_is_refused_unread(host, function):
    with pytest.raises((gpuos.InvalidArgument, TypeError)):
        host.fuse(lambda x: function(x, [1.0, 2.0]))(host.ones(2))
    for operation in (operator.matmul, operator.mul):
        with pytest.raises(gpuos.InvalidArgument):
            host.fuse(lambda x, of=operation: of(x, [Item()]))(host.ones(2))
    assert Item.asked == 0
