"""Versions of operators: replaced, taken back, restored, changed together.

tests/cpp/runtime/runtime_versions_test.cpp has what the runtime itself does;
here is what Python adds.
"""

import itertools
import threading

import pytest

import gpuos


def run(rt, op, *inputs):
    out = rt.empty(inputs[0].shape, inputs[0].dtype)
    rt.submit(op, *inputs, out=out)
    return out.numpy().tolist()


@pytest.fixture
def x(rt):
    return rt.array([1.0, 2.0], dtype="float32")


def test_versions_say_what_they_are(rt, x):
    op = rt.define("step", "o = x + 1")
    assert op.version == 1
    assert rt.replace(op, "o = x + 2") == 2
    assert rt.rollback(op) == 3
    assert run(rt, op, x) == [2.0, 3.0]
    shown = [(v.number, v.before, v.expression) for v in op.versions]
    assert shown == [
        (1, 0, "o = x + 1"),
        (2, 1, "o = x + 2"),
        (3, 0, "o = x + 1"),
    ]
    assert [v.is_current for v in op.versions] == [False, False, True]
    assert all(v.source is None and not v.is_builtin for v in op.versions)
    assert repr(op.versions[-1]) == (
        "gpuos.OperatorVersion(3, 'o = x + 1', current)"
    )
    rt.undefine(op)
    assert (op.version, op.versions) == (0, [])


def test_an_expression_is_replaced_without_an_injection(backend):
    # An expression that is called often would be compiled, and then injected.
    with gpuos.Runtime(backend, compile_programs_after=0) as rt:
        x, op = rt.ones(2), rt.define("step", "o = x + 1")
        for k in range(6):
            rt.replace(op, f"o = x + {k}")
            assert run(rt, op, x) == [1.0 + k] * 2
        assert rt.stats()["injections"] == 0


def test_a_source_is_kept_with_its_version(rt, x):
    source = """
    GPUOS_OPERATOR(step) {
      for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
        task.pointer<float>(0)[i] = 7 * task.pointer<const float>(1)[i];
    }"""
    op = rt.define("step", source=source, inputs=1)
    rt.replace(op, "o = x + 2")
    assert run(rt, op, x) == [3.0, 4.0]
    rt.rollback(op)
    assert run(rt, op, x) == [7.0, 14.0]
    assert op.versions[0].source == source
    assert op.versions[0].expression is None


@pytest.mark.parametrize("versions", [1, 2, 8])
def test_the_option_versions_limits_kept_versions(backend, versions):
    with gpuos.Runtime(backend, versions=versions) as rt:
        op = rt.define("step", "o = x + 1")
        for k in range(12):
            rt.replace(op, f"o = x + {k}")
        assert [v.number for v in op.versions] == [*range(14 - versions, 14)]
        with pytest.raises(gpuos.InvalidArgument, match="still loaded"):
            rt.rollback(op, to=2)


def test_a_late_change_with_expected_is_refused(rt, x):
    op = rt.define("step", "o = x + 1")
    rt.replace(op, "o = x + 2", expected=1)
    for change in (
        lambda: rt.replace(op, "o = x + 3", expected=1),
        lambda: rt.rollback(op, expected=1),
    ):
        with pytest.raises(
            gpuos.InvalidArgument,
            match="expected version 1, it has become version 2",
        ):
            change()
    assert run(rt, op, x) == [3.0, 4.0]


def test_a_transaction_is_whole_or_not_at_all(rt, x):
    first = rt.define("first", "o = x + 1")
    with rt.transaction() as change:
        change.replace(first, "o = x + 2")
        change.define("second", "o = x + 2")
        assert run(rt, first, x) == [2.0, 3.0]  # not yet
    assert run(rt, first, x) == run(rt, "second", x) == [3.0, 4.0]

    def broken(change):
        change.replace(first, "o = x + 9")
        change.define("third", "o = x +")

    def late(change):
        change.replace(first, "o = x + 9")
        change.replace("second", "o = x + 9", expected=7)

    def failing(change):
        change.replace(first, "o = x + 9")
        raise KeyError("mine")

    for wrong in (broken, late, failing):
        with (
            pytest.raises((gpuos.InvalidArgument, KeyError)),
            rt.transaction() as change,
        ):
            wrong(change)
        assert run(rt, first, x) == run(rt, "second", x) == [3.0, 4.0]
        assert "third" not in rt.operators()


def test_a_transaction_says_what_to_do_with_two_texts_of_a_name(rt):
    first = rt.define("first", "o = x + 1")

    def run(*changes):
        with rt.transaction() as change:
            for verb, op in changes:
                getattr(change, verb)(op, "o = x + 2")

    for changes in (
        [("define", "new"), ("define", "new")],
        [("define", "new"), ("replace", "new")],
        [("replace", first), ("replace", first)],
        [("replace", "first"), ("replace", first)],
        [("replace", "first"), ("define", "first")],
    ):
        with pytest.raises(gpuos.InvalidArgument, match="the last text"):
            run(*changes)
    assert first.version == 1
    assert "new" not in rt.operators()


def test_a_transaction_has_two_calls(rt):
    with rt.transaction() as change:
        for name in ("alias", "rollback", "undefine", "watch"):
            sentence = rf"transaction: expected define\(\) .*, got {name}; "
            with pytest.raises(AttributeError, match=sentence):
                getattr(change, name)


def test_a_transaction_ends_with_its_block(rt):
    change = rt.transaction()
    with pytest.raises(gpuos.InvalidArgument, match="inside its `with`"):
        change.define("early", "o = x")
    with change:
        change.define("inside", "o = x")
    with pytest.raises(gpuos.InvalidArgument, match="a new transaction"):
        change.__enter__()
    with rt.transaction():
        pass
    assert "inside" in rt.operators()


AT_ONCE = {
    "define": lambda rt, _op, _: rt.define("new", "o = x"),
    "define_many": lambda rt, _op, _: rt.define_many(
        [{"name": "new", "expression": "o = x"}]
    ),
    "replace": lambda rt, op, _: rt.replace(op, "o = x + 9"),
    "rollback": lambda rt, op, _: rt.rollback(op),
    "restore": lambda rt, _op, _: rt.restore("add"),
    "undefine": lambda rt, op, _: rt.undefine(op),
    "alias": lambda rt, op, _: rt.alias("new", op),
    "switch": lambda _rt, _op, alias: alias.switch("add"),
    "rollback of an alias": lambda _rt, _op, alias: alias.rollback(),
    "transaction": lambda rt, _op, _: rt.transaction().__enter__(),
    "watch": lambda rt, op, _: rt.watch(op),
}


@pytest.mark.parametrize("way", AT_ONCE)
def test_a_change_past_a_transaction_is_refused(rt, x, way):
    op = rt.define("first", "o = x + 0")
    rt.replace(op, "o = x + 1")
    alias = rt.alias("other", op)
    alias.switch(rt.define("second", "o = x + 2"))
    alias.switch(op)
    before = rt.operators()
    with (
        pytest.raises(gpuos.InvalidArgument, match="as change"),
        rt.transaction(),
    ):
        AT_ONCE[way](rt, op, alias)
    assert rt.operators() == before
    assert run(rt, op, x) == run(rt, "other", x) == [2.0, 3.0]
    # Another thread changes its operator, and the next block starts again.
    with rt.transaction() as change:
        thread = threading.Thread(target=rt.replace, args=(op, "o = x + 3"))
        thread.start()
        thread.join()
        assert run(rt, op, x) == [4.0, 5.0]
        change.replace(op, "o = x + 4")
    left = rt.transaction().__enter__()
    del left
    rt.define("after", "o = x")
    assert run(rt, op, x) == [5.0, 6.0]


NAMES = ("x", "y", "z")
PAIRS = [*itertools.permutations(NAMES, 2)]


@pytest.mark.parametrize("given", [None, *PAIRS], ids=str)
@pytest.mark.parametrize("names", PAIRS, ids=" ".join)
def test_a_name_in_a_new_text_is_the_array_of_that_name(rt, names, given):
    """Or it is refused; a name that is new is the array that is left."""
    values = {"x": 1.0, "y": 10.0}
    op = rt.define("step", "o = x - 3 * y")
    first, second = names
    text = f"o = {first} - 3 * {second}"
    new = set(names) - set(values)
    arrays = {key: rt.array([values[key]]) for key in values}
    out = rt.empty(1, "float64")
    places = given or (names if new else ("x", "y"))
    fits = set(names) == set(places) and all(
        name in new or ("x", "y")[i] == name for i, name in enumerate(places)
    )
    if not fits:
        with pytest.raises(gpuos.InvalidArgument, match="step: expected"):
            rt.replace(op, text, inputs=given)
    else:
        rt.replace(op, text, inputs=given)
    rt.submit(op, out=out, **arrays).wait()
    left = (set(values) - set(names)).pop() if new else None
    all_values = {**values, **dict.fromkeys(new, values.get(left))}
    if not fits:
        first, second = "x", "y"
    assert out.numpy() == all_values[first] - 3 * all_values[second]


@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_version_is_a_number_from_one_on(rt, number):
    op = rt.define("step", "o = x")
    rt.replace(op, "o = x + 1")

    def together():
        with rt.transaction() as change:
            change.replace(op, "o = x + 2", expected=number)

    for call in (
        lambda: rt.replace(op, "o = x + 2", expected=number),
        lambda: rt.rollback(op, expected=number),
        lambda: rt.rollback(op, to=number),
        together,
    ):
        with pytest.raises((TypeError, gpuos.InvalidArgument)):
            call()
    assert op.version == 2
