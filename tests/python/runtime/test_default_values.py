"""Parameters with default values, which a replacement may add."""

import itertools
import re
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from deadlines import WAIT_S
from jit_support import or_skip

import gpuos

BASE = {"a": "float32"}
SOURCE = """
GPUOS_OPERATOR({name}) {{
  float sum = 0;
  const float factors[] = {{ {factors} }};
  for (gpuos::u32 k = 0; k < {count}; ++k) sum += factors[k];
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    task.pointer<float>(0)[i] = task.pointer<const float>(1)[i] + sum;
}}"""


@dataclass(frozen=True)
class Body:
    """Computes x + a * weight + the added ones, each times 10."""

    weight: int
    added: dict[str, int] = field(default_factory=dict)  # name to default

    def params(self):
        added = {k: ("float32", v) for k, v in self.added.items()}
        return BASE | added

    def definition(self, is_source):
        if not is_source:
            terms = "".join(f" + {name} * 10" for name in self.added)
            return {"expression": f"o = x + a * {self.weight}{terms}"}
        words = [f"{self.weight} * task.scalar<float>(2)"]
        words += [
            f"10 * task.scalar<float>({3 + k})" for k in range(len(self.added))
        ]
        return {
            "source": SOURCE.format(
                name="op", factors=", ".join(words), count=len(words)
            )
        }

    def value(self, x, given):
        """Return the result, or None if the call is refused."""
        if "a" not in given or given.keys() - self.params().keys():
            return None
        values = self.added | given
        return (
            x
            + values["a"] * self.weight
            + sum(10 * values[name] for name in self.added)
        )


def call(rt, op, x, given, many):
    array = rt.array(np.full(3, x, "f4"))
    out = rt.zeros(3)
    if many:
        rt.submit_many(op, array.reshape(1, 3), out=out.reshape(1, 3), **given)
    else:
        rt.submit(op, array, out=out, **given)
    return out.numpy().tolist()


KINDS = [
    ("float32", 0.5),
    ("float64", -2),
    ("int32", 7),
    ("int64", -(2**40)),
    ("uint64", 2**64 - 1),
    ("bool", True),
    ("complex64", 1 - 2j),
    ("complex128", 1 - 0.1j),
]


@pytest.mark.parametrize(("dtype", "value"), KINDS)
def test_each_dtype_has_default_values(rt, dtype, value):
    op = rt.define("op", "o = k", params={"k": (dtype, value)})
    out = rt.empty(2, dtype)
    rt.submit(op, out=out)
    np.testing.assert_array_equal(out.numpy(), np.full(2, value, dtype))
    assert op.params == {"k": dtype}
    assert op.defaults == {"k": value}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"b": ("float32", 1)}, "expected 1 inputs, got 2"),
        ({"a": "float64"}, "a of float32, got the parameter a of float64"),
        (
            {"a": "float32", "b": "float32"},
            "default value of the new parameter b",
        ),
        ({"b": ("float32", 1), "a": "float32"}, "a: expected a default value"),
        ({"a": "float32", "b": ("int8", 1000)}, "b: default value: .*int8"),
    ],
)
def test_wrong_replacements_are_refused(rt, params, message):
    op = rt.define("op", "o = x + a", params=BASE)
    with pytest.raises(gpuos.InvalidArgument, match=message):
        rt.replace(op, "o = x + a", params=params)
    assert op.version == 1


@pytest.mark.parametrize(
    "wrong", [("float32",), ("float32", 1, 2), ("f4", "1")]
)
def test_a_default_value_is_a_number(rt, wrong):
    with pytest.raises(TypeError, match="a dtype, or a tuple of a dtype and"):
        rt.define("op", "o = x + a", params={"a": wrong})


def test_a_replacement_keeps_unstated_defaults(rt):
    op = rt.define("op", "o = x + a", params=BASE)
    rt.replace(op, "o = x + a + b", params=BASE | {"b": ("float32", 4)})
    rt.replace(op, "o = x + a - b")
    assert op.defaults == {"b": 4}
    assert call(rt, op, 1, {"a": 1}, False) == [-2.0] * 3
    assert [version.defaults for version in op.versions] == [
        {},
        {"b": 4},
        {"b": 4},
    ]


def test_an_alias_uses_the_defaults_of_its_target(rt):
    op = rt.define("op", "o = x + a", params=BASE)
    more = rt.define(
        "more", "o = x + a + b", params=BASE | {"b": ("float32", 4)}
    )
    alias = rt.alias("alias", op)
    alias.switch(more)
    assert call(rt, alias, 1, {"a": 1}, False) == [6.0] * 3
    assert call(rt, alias, 1, {"a": 1, "b": 2}, True) == [4.0] * 3
    alias.rollback()
    with pytest.raises(
        gpuos.InvalidArgument, match="no parameter or input 'b'"
    ):
        call(rt, alias, 1, {"a": 1, "b": 2}, False)
    with pytest.raises(
        gpuos.InvalidArgument,
        match="what op takes, got other: expected the parameter a of float32, "
        "got the parameter b of float32",
    ):
        alias.switch(rt.define("other", "o = x + b", params={"b": "float32"}))


def test_a_built_in_operator_gets_another_parameter(rt):
    rt.replace("add", "o = (x + y) * k", params={"k": ("float32", 2)})
    x = rt.array([1.0, 2.0], dtype="float32")
    out = rt.empty(2)
    rt.submit("add", x, x, out=out)
    assert out.numpy().tolist() == [4.0, 8.0]
    rt.submit("add", x, x, out=out, k=3)
    assert out.numpy().tolist() == [6.0, 12.0]
    rt.restore("add")
    rt.submit("add", x, x, out=out)
    assert out.numpy().tolist() == [2.0, 4.0]
    assert (x + x).numpy().tolist() == [2.0, 4.0]


ADDED = [Body(3), Body(1, {"b": 100}), Body(2, {"c": 200})]
CHANGED = [Body(k, {"b": 100 * k}) for k in (1, 2, 3)]


@pytest.mark.parametrize("is_source", [False, True])
@pytest.mark.parametrize("bodies", [ADDED, CHANGED], ids=["added", "changed"])
def test_no_call_meets_the_parameters_of_another_version(rt, bodies, is_source):
    """Each sum shows which weight and which default values it used."""
    first = bodies[0]
    definition = first.definition(is_source)
    op = rt.define("op", params=first.params(), inputs=1, **definition)
    for body in bodies[1:]:
        rt.replace(op, params=body.params(), **body.definition(is_source))
    is_done = threading.Event()
    wrong = []
    names = ["", "b", "c"]
    calls = dict.fromkeys(names, 0)

    def submit(name):
        x, out = rt.zeros(3), rt.zeros(3)
        given = {"a": 1} | ({name: 5} if name else {})
        right = {body.value(0, given) for body in bodies}
        while not is_done.is_set():
            calls[name] += 1
            try:
                rt.submit(op, x, out=out, **given)
            except gpuos.InvalidArgument as error:
                if None not in right or "no parameter" not in str(error):
                    wrong.append(str(error))
                continue
            if not {*out.numpy().tolist()} <= right:
                wrong.append(out.numpy().tolist())

    threads = [threading.Thread(target=submit, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + WAIT_S
        while min(calls.values()) < 300 and time.monotonic() < end:
            rt.rollback(op, to=op.versions[-3].number)
    finally:
        is_done.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert min(calls.values()) >= 300


WHOLE = "GPUOS_OPERATOR(f) { task.pointer<float>(0)[lane.index()] = 0; }"
PARAMS = [
    {},
    {"k": "f4"},
    {"k": "f8"},
    {"k": ("f4", 1)},
    {"m": "f4"},
    {"k": "f4", "m": "f4"},
    {"k": "f4", "m": ("f4", 2)},
    {"m": "f4", "k": "f4"},
]
EXPECTED = re.compile("replace: f: expected (.+), got (.+?);|f: (.+), got (.+)")


def definitions():
    """Yield definitions.

    Each has the number of inputs, whether it is elementwise, the parameters, and
    the arguments of define() and replace().
    """
    for inputs, params in itertools.product((1, 2), PARAMS):
        text = "o = x + y" if inputs == 2 else "o = z"
        yield inputs, True, params, {"expression": text}
    for inputs in (None, 1):
        for is_elementwise, params in itertools.product((True, False), PARAMS):
            yield (
                inputs,
                is_elementwise,
                params,
                {
                    "source": WHOLE,
                    "inputs": inputs,
                    "elementwise": is_elementwise,
                },
            )


def has_default(param):
    return isinstance(param, tuple)


def fits(before, after):
    """Whether calls that were right stay so."""
    if after[0] not in (None, before[0]) or after[1] != before[1]:
        return False  # None: as many as before
    known, given = (list(each[2].items()) for each in (before, after))
    if not given:
        return True  # they stay as they were
    dtypes = [
        (name, param[0] if has_default(param) else param)
        for name, param in given
    ]
    return (
        len(given) >= len(known)
        and all(
            dtypes[i] == (name, param[0] if has_default(param) else param)
            and (has_default(given[i][1]) or not has_default(param))
            for i, (name, param) in enumerate(known)
        )
        and all(has_default(param) for _, param in given[len(known) :])
    )


def test_a_refused_replacement_names_the_difference(rt):
    seen = set()
    for before in definitions():
        op = or_skip(rt.define, "f", params=before[2], **before[3])
        for after in definitions():
            if fits(before, after):
                continue
            new = {"inputs": after[0], "elementwise": after[1], **after[3]}
            if "expression" in new:
                del new["inputs"], new["elementwise"]
            with pytest.raises(gpuos.InvalidArgument) as caught:
                rt.replace(op, params=after[2] or None, **new)
            text = str(caught.value)
            expected, got = filter(None, EXPECTED.match(text).groups())
            assert expected != got, text
            seen.add(text)
            assert op.version == 1
        rt.undefine(op)
    assert len(seen) > 20, seen
