"""Inputs of an operator by place and by name."""

import itertools

import numpy as np
import pytest
from deadlines import WAIT_S

import gpuos

VALUES = {"a": 3.0, "b": 5.0, "c": 11.0}
TEXT = "o = c - 2 * a + 4 * b"
EXPECTED = 11.0 - 6.0 + 20.0
SOURCE = """GPUOS_OPERATOR(minus) {
  float* o = task.pointer<float>(0);
  const float* x = task.pointer<const float>(1);
  const float* y = task.pointer<const float>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    o[i] = x[i] - y[i];
}"""


def arrays(rt):
    return {
        name: rt.array(np.full(3, value, np.float32))
        for name, value in VALUES.items()
    }


def ways():
    """Yield the defined names, the positional ones, and the others."""
    for names in [None, *itertools.permutations(VALUES)]:
        order = list(names or "cab")
        for positional in range(4):
            for named in itertools.permutations(order[positional:]):
                yield names, order[:positional], named


def test_every_way_to_give_inputs(rt):
    x, out = arrays(rt), rt.empty(3)
    ops = {}
    for names, places, named in ways():
        if names not in ops:
            ops[names] = rt.define(f"op{len(ops)}", TEXT, inputs=names)
        op = ops[names]
        assert op.inputs == (names or tuple("cab"))
        rt.submit(
            op, *(x[n] for n in places), out=out, **{n: x[n] for n in named}
        )
        assert out.numpy().tolist() == [EXPECTED] * 3, (names, places, named)


def test_columns_by_name(rt):
    op = rt.define("op", TEXT, inputs=["a", "b", "c"])
    x = {n: rt.array(np.full((4, 3), v, "f")) for n, v in VALUES.items()}
    out = rt.empty((4, 3))
    rt.wait(rt.submit_many(op, x["a"], c=x["c"], b=x["b"], out=out), WAIT_S)
    assert (out.numpy() == EXPECTED).all()
    with pytest.raises(gpuos.InvalidArgument, match="expected out= with"):
        rt.submit_many(op, x["a"], b=x["b"], c=x["c"])


def test_parameters_and_inputs_by_name(rt):
    op = rt.define(
        "op", "o = k * a - b", params={"k": "float32"}, inputs=["b", "a"]
    )
    x, out = arrays(rt), rt.empty(3)
    rt.submit(op, a=x["a"], k=7, b=x["b"], out=out)
    assert out.numpy().tolist() == [16.0] * 3


def test_names_that_an_expression_does_not_use(rt):
    op = rt.define("op", "o = a + 1", inputs=["unused", "a"])
    x, out = arrays(rt), rt.empty(3)
    rt.submit(op, x["b"], x["a"], out=out)
    assert out.numpy().tolist() == [4.0] * 3


def test_a_whole_operator_has_names(rt):
    op = rt.define("minus", source=SOURCE, inputs=["x", "y"])
    assert op.inputs == ("x", "y")
    assert op.expression is None
    x, out = arrays(rt), rt.empty(3)
    rt.submit(op, y=x["a"], x=x["c"], out=out)
    assert out.numpy().tolist() == [8.0] * 3
    rt.replace(op, "o = y - x")
    assert op.expression == "o = y - x"
    rt.submit(op, y=x["a"], x=x["c"], out=out)
    assert out.numpy().tolist() == [-8.0] * 3
    rt.replace(op, source=SOURCE)  # with as many inputs as before
    rt.submit(op, x["c"], x["a"], out=out)
    assert out.numpy().tolist() == [8.0] * 3


def test_an_expression_becomes_a_whole_operator(rt):
    op = rt.define("minus", "o = x + y")
    rt.replace(op, source=SOURCE)
    x, out = arrays(rt), rt.empty(3)
    rt.submit(op, y=x["a"], x=x["c"], out=out)
    assert out.numpy().tolist() == [8.0] * 3
    assert op.expression is None


def test_an_alias_has_the_names_of_its_target(rt):
    rt.define("ab", "o = a - b")
    rt.define("ba", "o = b - 2 * a")
    alias = rt.alias("either", "ab")
    x, out = arrays(rt), rt.empty(3)
    rt.submit(alias, b=x["b"], a=x["a"], out=out)
    assert out.numpy().tolist() == [-2.0] * 3
    alias.switch("ba")
    rt.submit("either", b=x["b"], a=x["a"], out=out)
    assert out.numpy().tolist() == [-1.0] * 3


def test_an_operator_shows_its_inputs(rt):
    op = rt.define("sub2", "o = y - x")
    assert op.inputs == ("y", "x")
    assert op.expression == "o = y - x"
    assert repr(op) == (
        "gpuos.Operator('sub2', 'o = y - x', inputs=('y', 'x'))"
    )
    rt.undefine(op)
    assert repr(op).endswith(", undefined)")
    assert rt.find("add").inputs is None
    assert rt.find("add").expression is None
    assert rt.define("ones", "o = 1").inputs == ()


WRONG = {
    "there is no parameter or input 'd'; it has a b": ([], "abd"),
    "expected the input 'a' once": (["a"], "ab"),
    "expected the input 'b', got none": ([], "a"),
    "expected the input 'a', got none": ([], "b"),
    "expected 2 inputs, got 3": (["a", "b", "c"], ""),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_names(rt, text):
    places, named = WRONG[text]
    rt.define("op", "o = a - b")
    x, out = arrays(rt) | {"d": rt.zeros(3)}, rt.empty(3)
    with pytest.raises(gpuos.InvalidArgument, match=text):
        rt.submit(
            "op", *(x[n] for n in places), out=out, **{n: x[n] for n in named}
        )


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        (["a"], "expected no inputs except a, got 'b'"),
        (["a", "b", "a"], "'a' twice"),
        (["a", "b", "k"], "'k' twice"),
        (["a", "b", "2c"], "letters, digits and '_', got '2c'"),
        (["a", "b", "out"], "other than those of submit"),
        (1, "expected 1 inputs, got 2 in the expression"),
        (3, "expected 3 inputs, got 2 in the expression"),
    ],
)
def test_wrong_definitions(rt, inputs, text):
    with pytest.raises(gpuos.InvalidArgument, match=text):
        rt.define("op", "o = a - b * k", params={"k": "float32"}, inputs=inputs)
    op = rt.define("op", "o = a - b * k", params={"k": "float32"}, inputs=2)
    with pytest.raises(gpuos.InvalidArgument, match=text):
        rt.replace(op, "o = b - a * k", inputs=inputs)
    rt.undefine(op)
    for wrong in ([1], "ab", 1.5):
        with pytest.raises(TypeError):
            rt.define("op", "o = a - b", inputs=wrong)
