"""Every number of parameters and inputs that an operator may have."""

import numpy as np
import pytest
from jit_support import or_skip

import gpuos

MOST = 32  # output, inputs and parameters of an expression together
MOST_OF_ONE_TASK = 25
ELEMS = 5


def counts():
    for params in range(MOST + 2):
        for most in (MOST, MOST_OF_ONE_TASK):
            for inputs in {1, 2, most - 1 - params, most - params}:
                if inputs >= 1:
                    yield inputs, params


@pytest.fixture(scope="module")
def shared(backend):
    with gpuos.Runtime(backend) as runtime:
        yield runtime


@pytest.mark.parametrize(("inputs", "params"), sorted(set(counts())))
def test_each_argument_reaches_the_operator(shared, inputs, params):
    names = [f"p{i}" for i in range(params)]
    columns = [f"x{i}" for i in range(inputs)]
    # Each argument has a weight of its own: to mix up two is another sum.
    terms = [f"{2 * i + 3} * {name}" for i, name in enumerate(columns + names)]

    def define():
        return shared.define(
            f"weigh_{inputs}_{params}",
            "o = " + " + ".join(terms),
            params=dict.fromkeys(names, "float64"),
            dtype="float64",
        )

    if 1 + inputs + params > MOST:
        with pytest.raises(gpuos.InvalidArgument, match="32"):
            define()
        return
    op = define()
    given = {name: float(7 + i * i) for i, name in enumerate(names)}
    tasks = 3
    rows = [
        np.arange(tasks * ELEMS, dtype="f8").reshape(tasks, ELEMS) * (i + 1)
        for i in range(inputs)
    ]
    wanted = sum((2 * i + 3) * row for i, row in enumerate(rows)) + sum(
        (2 * (inputs + i) + 3) * value for i, value in enumerate(given.values())
    )
    arrays = [shared.array(row) for row in rows]
    one = shared.empty(ELEMS, "float64")
    shared.submit(op, *(a[1] for a in arrays), out=one, **given)
    np.testing.assert_array_equal(one.numpy(), wanted[1])
    many = shared.empty((tasks, ELEMS), "float64")
    if 1 + inputs + params > MOST_OF_ONE_TASK:
        with pytest.raises(gpuos.InvalidArgument, match="at most 25"):
            shared.submit_many(op, *arrays, out=many, **given)
    else:
        shared.submit_many(op, *arrays, out=many, **given)
        np.testing.assert_array_equal(many.numpy(), wanted)
    shared.undefine(op)


@pytest.mark.parametrize("params", range(1, MOST - 1))
def test_a_missing_parameter_is_named(shared, params):
    names = [f"p{i}" for i in range(params)]
    op = shared.define(
        f"missing_{params}",
        "o = x + " + " + ".join(names),
        params=dict.fromkeys(names, "float32"),
    )
    x = shared.zeros(1)
    for absent in names:
        given = {name: 1.0 for name in names if name != absent}
        with pytest.raises(gpuos.InvalidArgument, match=rf"\b{absent}\b"):
            shared.submit(op, x, out=x, **given)
        with pytest.raises(gpuos.InvalidArgument, match=rf"\b{absent}\b"):
            shared.submit_many(op, [x], out=[x], **given)
    shared.undefine(op)


@pytest.mark.parametrize("count", [32, 33, 100, 1000])
def test_more_inputs_than_arguments_are_refused(shared, count):
    x = shared.zeros(1)
    with pytest.raises(gpuos.InvalidArgument, match="expected at most 31"):
        shared.submit("add", *[x] * count, out=x)
    with pytest.raises(gpuos.InvalidArgument, match="32"):
        shared.submit_many("add", *[[x]] * count, out=[x])


@pytest.mark.parametrize("inputs", [0, 1, 16, 17, 30, 31])
def test_whole_operators_take_many_inputs(shared, inputs):
    adds = "".join(
        f"sum += {i + 1} * task.pointer<const double>({i + 1})[k];"
        for i in range(inputs)
    )
    op = or_skip(
        shared.define,
        f"whole_{inputs}",
        source=f"""
            GPUOS_OPERATOR(whole_{inputs}) {{
              for (gpuos::u32 k = lane.index(); k < task.count;
                   k += lane.count()) {{
                double sum = 0;
                {adds}
                task.pointer<double>(0)[k] = sum;
              }}
            }}""",
        inputs=inputs,
        dtype="float64",
    )
    rows = [np.arange(ELEMS, dtype="f8") + i for i in range(inputs)]
    out = shared.empty(ELEMS, "float64")
    shared.submit(op, *map(shared.array, rows), out=out)
    wanted = sum((i + 1) * row for i, row in enumerate(rows))
    np.testing.assert_array_equal(out.numpy(), np.zeros(ELEMS) + wanted)
