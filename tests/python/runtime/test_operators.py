import numpy as np
import pytest
from deadlines import WAIT_S
from fuse_support import DTYPES

import gpuos


def test_an_expression_is_defined_and_run(rt):
    op = rt.define("axpy", "o = alpha * x + y", params={"alpha": "float32"})
    assert (op.name, op.params) == ("axpy", {"alpha": "float32"})
    assert "axpy" in repr(op)
    x, y = rt.array(np.arange(9, dtype="f4")), rt.array(np.ones(9, dtype="f4"))
    out = rt.empty(9)
    for name in (op, "axpy"):
        rt.wait(rt.submit(name, x, y, out=out, alpha=2), timeout=WAIT_S)
        np.testing.assert_array_equal(out.numpy(), 2 * np.arange(9) + 1)


def test_parameters_come_by_name_in_any_order(rt):
    op = rt.define(
        "line",
        "o = m * x + b",
        params={"m": np.float64, "b": np.dtype("f8")},
        dtype="float64",
    )
    x, out = rt.array([1.0, 2.0]), rt.empty(2, "float64")
    rt.submit(op, x, out=out, b=10, m=3)
    assert out.numpy().tolist() == [13, 16]
    with pytest.raises(gpuos.InvalidArgument, match="parameter b"):
        rt.submit(op, x, out=out, m=3)
    with pytest.raises(gpuos.InvalidArgument, match="'c'; it has m b"):
        rt.submit(op, x, out=out, m=3, b=1, c=2)


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_an_output_may_be_of_a_later_kind(rt, kind):
    x = np.array([0, 1, 2, 3], kind)
    op = rt.define("f", "o = x")
    order = "buifc"
    for to in DTYPES:
        out = rt.empty(4, to)
        if order.index(to.kind) < order.index(kind.kind):
            with pytest.raises(gpuos.InvalidArgument):
                rt.submit(op, rt.array(x), out=out)
        else:
            rt.submit(op, rt.array(x), out=out)
            np.testing.assert_array_equal(out.numpy(), x.astype(to))


def test_wrong_definitions_leave_nothing(rt):
    names = rt.operators()
    cases = [
        {"name": "a", "expression": "o = "},
        {"name": "add", "expression": "o = x"},
        {"name": "a"},
        {"name": "a", "expression": "o = x", "source": "x"},
        {"name": "a b", "expression": "o = x"},
        {"name": "a", "expression": "o = x / 2", "dtype": "int32"},
        {"name": "a", "source": "x", "dtype": ["int32", "float32"]},
        {
            "name": "a",
            "expression": "o = out * x",
            "params": {"out": "float32"},
        },
    ]
    for case in cases:
        with pytest.raises(gpuos.InvalidArgument):
            rt.define(**case)
    assert rt.operators() == names


def test_an_undefined_name_is_free_and_means_the_new_operator(rt):
    x, out = rt.array(np.full(4, 3, dtype="f4")), rt.empty(4)
    op = rt.define("f", "o = x + 1")
    rt.submit("f", x, out=out)
    rt.undefine(op)
    assert not op.is_defined
    assert "undefined" in repr(op)
    for use in (op, "f"):
        with pytest.raises(gpuos.InvalidArgument, match="f"):
            rt.submit(use, x, out=out)
    rt.define("f", "o = k * x", params={"k": "float32"})
    rt.submit("f", x, out=out, k=5)
    assert out.numpy().tolist() == [15] * 4


def test_an_alias_switches_and_rolls_back(rt):
    x = rt.array(np.full(4, 3, dtype="f4"))
    out = [rt.empty(4) for _ in range(3)]
    alias = rt.alias("combine", "add")
    assert (alias.name, alias.target.name) == ("combine", "add")
    rt.submit("combine", x, x, out=out[0])
    alias.switch("mul")
    assert "mul" in repr(alias)
    rt.submit(alias, x, x, out=out[1])
    alias.rollback()
    assert alias.target.name == "add"
    rt.submit("combine", x, x, out=out[2])
    assert [array.numpy()[0] for array in out] == [6, 9, 6]
    with pytest.raises(gpuos.InvalidArgument):
        alias.rollback()
    with pytest.raises(gpuos.InvalidArgument):
        alias.switch("copy")
    with pytest.raises(gpuos.InvalidArgument):
        rt.alias("combine", "add")


def test_an_alias_that_was_undefined_is_no_operator(rt):
    x = rt.array(np.full((2, 4), 3, dtype="f4"))
    scaled = rt.define("f", "o = k * x", params={"k": ("float32", 2)})
    ended = [rt.alias("g", "add"), rt.alias("h", scaled), rt.alias("i", "fill")]
    given = [(x, x), (x,), ()]
    more = [{}, {"k": 4}, {"value": 4}]
    ended[0].switch("mul")
    for alias in ended:
        rt.undefine(alias)
    rt.undefine(scaled)
    for alias, inputs, params in zip(ended, given, more, strict=True):
        assert repr(alias) == f"gpuos.Alias('{alias.name}', undefined)"
        for use, *args in (
            (rt.submit, alias, *inputs),
            (rt.submit_many, alias, *inputs),
            (rt.alias, "j", alias),
            (rt.undefine, alias),
            (rt.replace, alias, "o = x"),
            (rt.rollback, alias),
            (alias.switch, "add"),
            (alias.rollback,),
            (getattr, alias, "target"),
        ):
            called = use in (rt.submit, rt.submit_many)
            more_args = {"out": x, **params} if called else {}
            with pytest.raises(gpuos.InvalidArgument, match="defined"):
                use(*args, **more_args)
        with pytest.raises(gpuos.InvalidArgument, match="unknown operator"):
            rt.submit(alias.name, *inputs, out=x, **params)
    again = rt.alias("g", "add")
    rt.submit(again, x, x, out=x)
    assert (x.numpy() == 6).all()


def test_operators_are_found(rt):
    assert {"add", "sub", "mul", "div", "copy", "fill"} <= set(rt.operators())
    assert rt.find("fill").params.keys() == {"value"}
    with pytest.raises(gpuos.InvalidArgument, match="add"):
        rt.find("nope")


def test_an_operator_of_another_runtime_is_refused(host):
    with gpuos.Runtime(backend="host") as other:
        op = other.define("f", "o = x + 1")
        out = host.zeros(3)
        with pytest.raises(gpuos.InvalidArgument):
            host.submit(op, out, out=out)


def test_a_source_is_of_one_dtype_and_the_error_says_where_to_say_it(rt):
    op = rt.define("f", "o = 2 * x")
    x, out = rt.ones(3, "float64"), rt.empty(3, "float64")
    rt.wait(rt.submit(op, x, out=out), WAIT_S)
    rt.replace(op, source="GPUOS_OPERATOR(f) {}")
    with pytest.raises(gpuos.InvalidArgument, match="`dtype` says where it"):
        rt.submit(op, x, out=out)
    rt.replace(op, source="GPUOS_OPERATOR(f) {}", dtype="float64")
    rt.wait(rt.submit(op, x, out=out), WAIT_S)
    with pytest.raises(gpuos.InvalidArgument) as refused:
        rt.submit(
            "add",
            rt.ones(3, "int8"),
            rt.ones(3, "int8"),
            out=rt.empty(3, "int8"),
        )
    assert "`dtype`" not in str(refused.value)


def test_compile_errors_name_the_line(rt):
    """An error has the position in the caller's text, for each compiler."""
    source = "GPUOS_OPERATOR(k) {\n  int x = 0;\n  x += nothing;\n}"
    for checked in (False, True):
        try:
            with pytest.raises(gpuos.CompileError) as caught:
                rt.define("k", source=source, inputs=1, checked=checked)
        except gpuos.BackendUnavailable as error:
            pytest.skip(str(error))
        error = caught.value
        assert error.file.partition(".")[0] == "k"
        assert (error.line, error.column) == (3, 8)
        assert "nothing" in error.log
        assert "k" not in rt.operators()
        assert error.excerpt == "  x += nothing;\n       ^"
