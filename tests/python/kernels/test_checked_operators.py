"""Operators whose accesses are checked: what is reported, and what continues."""

import time

import numpy as np
import pytest
from checked_cases import cases
from jit_support import or_skip

import gpuos

MANY = 60  # of operators with one index moved; checked_cases.py runs more

GATHER = """
GPUOS_OPERATOR(gather) {
  float* out = task.pointer<float>(0);
  const float* x = task.pointer<const float>(1);
  const float* index = task.pointer<const float>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = x[static_cast<int>(index[i])];
}
"""
SHIFT = """
GPUOS_OPERATOR(shift) {
  float* out = task.pointer<float>(0);
  const float* x = task.pointer<const float>(1);
  const long long by = task.scalar<long long>(2);
  for (long long i = lane.index(); i < task.count; i += lane.count())
    out[i] = x[i + by];
}
"""


def define(rt, name, source, **rest):
    return or_skip(rt.define, name, source=source, **{"checked": True, **rest})


def floats(rt, values):
    return rt.array(values, dtype="float32")


def body(name, *lines):
    return "\n".join([f"GPUOS_OPERATOR({name}) {{", *lines, "}"])


@pytest.fixture
def gather(rt):
    return define(rt, "gather", GATHER, inputs=2, elementwise=False)


def message(ticket) -> str:
    with pytest.raises(gpuos.TaskError) as caught:
        ticket.wait(60)
    return str(caught.value)


def test_a_shifted_index_is_reported(rt):
    drawn = list(cases(MANY))
    or_skip(rt.define_many, [case.definition() for case in drawn])
    for case in drawn:
        case.check(rt)


def test_reads_outside_are_0_and_the_rest_is_done(rt, gather):
    x = rt.array(np.arange(1, 17, dtype="f4"))
    index = rt.array(np.array([0, 3, 16, 15, -1], "f4"))
    out = rt.empty(5)
    ticket = rt.submit(gather, x, index, out=out)
    with pytest.raises(gpuos.TaskError) as caught:
        ticket.wait(60)
    assert caught.value.operator == "gather"
    assert str(caught.value) in (
        f"operator 'gather', argument 1 ('x'): index {at} is outside of its "
        "16 elements (line 7 of its source)"
        for at in (16, -1)
    )
    assert out.numpy().tolist() == [1, 4, 0, 16, 0]
    assert message(ticket) == str(caught.value)  # each time


def test_other_tasks_of_the_flush_do_not_fail(rt, gather):
    x = rt.array(np.arange(16, dtype="f4"))
    good = rt.array(np.array([1, 2], "f4"))
    bad = rt.array(np.array([1, 99], "f4"))
    tickets = []
    outs = [rt.empty(2) for _ in range(9)]
    for i, out in enumerate(outs):
        index = bad if i % 3 == 1 else good
        tickets.append(rt.submit(gather, x, index, out=out))
        tickets.append(rt.submit("add", good, good, out=rt.empty(2)))
    for i in range(9):
        if i % 3 == 1:
            assert "index 99 is outside of its 16" in message(tickets[2 * i])
        else:
            tickets[2 * i].wait(60)
        tickets[2 * i + 1].wait(60)
        assert outs[i].numpy().tolist() == [1, 0 if i % 3 == 1 else 2]
    rt.synchronize(60)  # all failures were reported


def test_a_wait_for_all_raises_an_error_once(rt, gather):
    x, index = rt.zeros(4), rt.array(np.array([7], "f4"))
    for _ in range(3):
        rt.submit(gather, x, index, out=rt.empty(1))
    with pytest.raises(gpuos.TaskError, match=r"and 2 more submissions"):
        rt.synchronize(60)
    rt.synchronize(60)


def test_close_raises_unreported_errors(backend):
    rt = gpuos.Runtime(backend)
    op = define(rt, "gather", GATHER, inputs=2, elementwise=False)
    rt.submit(op, rt.zeros(4), rt.array(np.array([7], "f4")), out=rt.empty(1))
    with pytest.raises(gpuos.TaskError, match="index 7 is outside of its 4"):
        rt.close()


def test_many_tasks_have_one_ticket(rt):
    shift = define(
        rt, "shift", SHIFT, inputs=1, params={"by": "int64"}, elementwise=False
    )
    x, out = rt.zeros((40, 8)), rt.empty((40, 8))
    rt.submit_many(shift, x, out=out, by=0).wait(60)
    told = message(rt.submit_many(shift, x, out=out, by=1))
    assert "argument 1 ('x'): index 8 is outside of its 8 elements" in told


def test_a_large_task_is_checked_tile_by_tile(rt):
    op = define(rt, "shift", SHIFT, inputs=1, params={"by": "int64"})
    x = rt.array(np.arange(200_000, dtype="f4"))
    out = rt.empty(200_000)
    rt.submit(op, x, out=out, by=0).wait(60)
    np.testing.assert_array_equal(out.numpy(), x.numpy())
    told = message(rt.submit(op, x, out=out, by=-200_001))
    assert "argument 1 ('x'): index -" in told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "const int* y = task.pointer<const int>(1); out[0] = y[0];",
            (
                "argument 1 ('y'): read as an array of int32, but it is an array "
                "of float32"
            ),
        ),
        (
            "out[0] = task.scalar<double>(2);",
            (
                "argument 2 ('a'): read as a scalar of float64, but it is a scalar "
                "of float32"
            ),
        ),
        (
            "out[0] = task.scalar<float>(1);",
            (
                "argument 1 ('input 0'): read as a scalar of float32, but it is an "
                "array of float32"
            ),
        ),
        (
            "auto p = task.pointer<float>(2); p[0] = 3; out[0] = p[0];",
            (
                "argument 2 ('a'): read as an array of float32, but it is a scalar "
                "of float32"
            ),
        ),
        (
            "out[0] = task.scalar<float>(3);",
            "argument 3: there are 3 arguments",
        ),
    ],
)
def test_reading_another_type_gives_0(rt, line, told):
    op = define(
        rt,
        "typed",
        body("typed", "float* out = task.pointer<float>(0);", line),
        inputs=1,
        params={"a": "float32"},
        elementwise=False,
    )
    x, out = floats(rt, [5.0]), floats(rt, [6.0])
    said = message(rt.submit(op, x, out=out, a=7.0))
    assert said == f"operator 'typed', {told} (line 3 of its source)"
    assert out.numpy().tolist() == [0.0]
    assert x.numpy().tolist() == [5.0]


def test_a_false_assertion_is_reported_with_its_text(rt):
    op = define(
        rt,
        "asserts",
        body(
            "asserts",
            "  float* out = task.pointer<float>(0);",
            "  assert(task.count < 3 && 1 + 1 == 2);",
            "  if (lane.index() == 0) out[0] = 1;",
        ),
        inputs=0,
    )
    rt.submit(op, out=rt.empty(2)).wait(60)
    assert message(rt.submit(op, out=rt.empty(3))) == (
        "operator 'asserts': assertion 'task.count < 3 && 1 + 1 == 2' failed "
        "(line 3 of its source)"
    )
    rt.submit(op, out=rt.empty(2)).wait(60)


@pytest.mark.parametrize(
    "header", ["", "#include <cassert>", "#include <assert.h>"]
)
def test_on_the_host_assertions_need_no_checks(host, header):
    source = f"{header}\nGPUOS_OPERATOR(plain) {{ assert(task.count < 3); }}\n"
    op = define(host, "plain", source, inputs=0, checked=False)
    host.submit(op, out=host.empty(2)).wait(60)
    assert message(host.submit(op, out=host.empty(3))) == (
        "operator 'plain': assertion 'task.count < 3' failed "
        "(line 2 of its source)"
    )


@pytest.mark.never(
    lambda backend: backend == "cuda",
    reason="the driver empties its buffer when it likes",
)
def test_printf_prints(backend, printed_by):
    text = f"""
import gpuos
with gpuos.Runtime({backend!r}) as rt:
    op = rt.define("say", inputs=0, checked=True, source='''
GPUOS_OPERATOR(say) {{
  if (lane.index() == 0) printf("count %d\\\\n", static_cast<int>(task.count));
}}''')
    rt.submit(op, out=rt.empty(5)).wait(60)
"""
    assert printed_by(text) == "count 5\n"


def test_a_heap_is_the_hosts_alone(rt):
    source = body(
        "heap",
        "float* out = task.pointer<float>(0);",
        "if (lane.index() != 0) return;",
        "float* x = new float[1];",
        "out[0] = *x = 3;",
        "delete[] x;",
    )
    if rt.stats()["backend"] == "cuda":
        with pytest.raises(gpuos.CompileError, match="an operator has no heap"):
            define(rt, "heap", source, inputs=0)
        return
    out = rt.empty(1)
    rt.submit(define(rt, "heap", source, inputs=0), out=out).wait(60)
    assert out.numpy().tolist() == [3]


def test_a_checked_replacement_stays_checked(rt):
    op = define(
        rt,
        "moved",
        body("moved", "task.pointer<float>(0)[0] = 1;"),
        inputs=0,
        checked=False,
    )
    out = rt.empty(1)
    rt.submit(op, out=out).wait(60)
    wrong = body("moved", "task.pointer<float>(0)[1] = 1;")
    rt.replace(op, source=wrong, checked=True)
    assert "argument 0 ('out'): index 1 is" in message(rt.submit(op, out=out))
    rt.replace(op, source=wrong)
    assert "argument 0 ('out'): index 1 is" in message(rt.submit(op, out=out))
    rt.replace(op, source=wrong.replace("[1]", "[0]"), checked=False)
    rt.submit(op, out=out).wait(60)
    rt.replace(op, "o = 2", dtype="float32")
    rt.submit(op, out=out).wait(60)
    assert out.numpy().tolist() == [2]


def test_any_number_of_inputs(rt):
    source = body(
        "last",
        "auto out = task.pointer<float>(0);",
        "auto x = task.pointer<const float>(14);",
        "if (lane.index() == 0) out[0] = x[2] + task.scalar<float>(15);",
    )
    op = define(rt, "last", source, params={"a": "float32"}, elementwise=False)
    given = [floats(rt, [1.0, 2.0, 3.0]) for _ in range(14)]
    out = rt.empty(1)
    rt.submit(op, *given, out=out, a=4.0).wait(60)
    assert out.numpy().tolist() == [7]
    told = message(rt.submit(op, *given[:13], rt.zeros(2), out=out, a=4.0))
    assert "argument 14 ('x'): index 2 is outside of its 2 elements" in told
    with pytest.raises(gpuos.InvalidArgument, match="at most 14 inputs"):
        rt.submit(op, *given, given[0], out=out, a=4.0)
    told = message(rt.submit(op, given[0], out=out, a=4.0))
    assert "argument 14: there are 3 arguments" in told


def test_device_headers_check_their_arguments(rt):
    op = define(
        rt,
        "packs",
        '#include "gpuos/map.h"\n'
        + body(
            "packs",
            "auto out = task.pointer<float>(0);",
            "const float* x = task.pointer<const float>(1);",
            "gpuos::map<float>(out, task.count, lane,",
            "                  [](const float* v) { return v[0] + 1; }, x);",
            "lane.barrier();",
            "if (lane.index() != 0) return;",
            "const auto v = gpuos::load_vector_unaligned<4>(x);",
            "gpuos::store_vector_unaligned(out, v);",
        ),
        inputs=1,
        elementwise=False,
    )
    out = rt.empty(5)
    rt.submit(op, floats(rt, [1.0, 2, 3, 4, 5]), out=out).wait(60)
    assert out.numpy().tolist() == [1, 2, 3, 4, 6]
    out = floats(rt, [9.0] * 5)
    told = message(rt.submit(op, rt.zeros(3), out=out))
    assert "argument 1 ('x'): index 4 is outside of its 3 elements" in told
    assert out.numpy().tolist() == [0, 0, 0, 0, 9]


def test_a_plain_pointer_is_not_seen(rt):
    op = define(
        rt,
        "raw",
        body(
            "raw",
            "auto out = task.pointer<float>(0);",
            "float* plain = &out[0];",
            "plain[1] = 2;",
        ),
        inputs=0,
        elementwise=False,
    )
    whole = rt.zeros(2)
    rt.submit(op, out=whole[:1]).wait(60)
    assert whole.numpy().tolist() == [0, 2]


def test_a_cast_of_a_checked_pointer_names_the_fix(rt):
    source = body(
        "casts",
        "float* x = task.pointer<float>(0);",
        "*reinterpret_cast<int*>(x) = 1;",
    )
    with pytest.raises(gpuos.CompileError, match=r"write &x\[0\]"):
        define(rt, "casts", source, inputs=0)
    define(rt, "casts", source.replace("(x)", "(&x[0])"), inputs=0)


def test_uncheckable_operators_are_refused(rt):
    with pytest.raises(
        gpuos.InvalidArgument, match="checked: expected a source"
    ):
        rt.define("e", "o = x", checked=True)
    rt.define("e", "o = x", checked=False)
    source = body("wide", "task.pointer<float>(0)[0] = 1;")
    with pytest.raises(gpuos.InvalidArgument, match="at most 32 words, got 33"):
        rt.define(
            "wide", source=source, inputs=15, elementwise=False, checked=True
        )
    op = define(rt, "wide", source, checked=False)
    with pytest.raises(gpuos.InvalidArgument, match="a number of inputs"):
        rt.replace(op, source=source, checked=True)


def test_more_tasks_than_the_queue_holds(backend):
    with gpuos.Runtime(backend, queue_capacity=64) as rt:
        op = define(rt, "gather", GATHER, inputs=2, elementwise=False)
        x, out = rt.zeros(4), rt.empty(1)
        index = [rt.array(np.array([i % 5], "f4")) for i in range(5)]
        tickets = [rt.submit(op, x, index[i % 5], out=out) for i in range(1000)]
        for i, ticket in enumerate(tickets):
            if i % 5 == 4:
                assert "index 4 is outside of its 4" in message(ticket)
            else:
                ticket.wait(60)


def test_the_last_of_many_batches_may_end_first(backend, nap_source):
    source = nap_source.partition("GPUOS_OPERATOR")[0] + body(
        "late",
        "auto x = task.pointer<const float>(1);",
        "const long long end = now_ns() + (long long)x[0];",
        "while (now_ns() < end) {",
        "}",
        "const int at = x[0] > 0 ? 1 : 0;",
        "task.pointer<float>(0)[0] = x[at];",
    )
    with gpuos.Runtime(backend, queue_capacity=64) as rt:
        late = define(rt, "late", source, inputs=1, elementwise=False)
        gather = define(rt, "gather", GATHER, inputs=2, elementwise=False)
        naps = np.zeros((48, 1), "f4")
        naps[0] = 3e8  # ns
        x, out = rt.array(naps), rt.zeros((48, 1))
        ticket = rt.submit_many(late, x, out=out)
        one, two = rt.zeros(1), rt.empty(1)
        for _ in range(30):
            # Each looks at what is done before it.
            rt.submit(gather, one, one, out=two).wait(60)
            time.sleep(0.001)
        assert "operator 'late', argument 1 ('x'): index 1" in message(ticket)
        rt.submit(gather, one, one, out=two).wait(60)
        rt.synchronize()


def test_the_environment_says_what_is_the_default(backend, run_python):
    text = f"""
import gpuos
with gpuos.Runtime({backend!r}) as rt:
    source = "GPUOS_OPERATOR(op) {{ task.pointer<float>(0)[1] = 1; }}"
    op = rt.define("op", source=source, inputs=0)
    try:
        rt.submit(op, out=rt.zeros(2)[:1]).wait(60)
        print("not checked")
    except gpuos.TaskError:
        print("checked")
    rt.replace(op, source=source, checked=False)
    rt.submit(op, out=rt.zeros(2)[:1]).wait(60)
    rt.define("e", "o = x + 1")
"""
    for said, expected in (("1", "checked"), ("0", "not checked")):
        done = run_python(text, GPUOS_CHECKED=said)
        assert done.stdout.split("\n")[0] == expected, done.stderr
    done = run_python(text, GPUOS_CHECKED="yes")
    assert "expected GPUOS_CHECKED to be 0 or 1, got 'yes'" in done.stderr
