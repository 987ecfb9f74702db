"""Replacements that take other arguments, of all kinds: the error has them."""

from __future__ import annotations

import itertools
import re

import pytest

import gpuos

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


@pytest.fixture
def rt(backend):
    with gpuos.Runtime(backend) as runtime:
        yield runtime


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


def test_a_misfit_says_what_differs(rt):
    seen = set()
    for before in definitions():
        try:
            op = rt.define("f", params=before[2], **before[3])
        except gpuos.BackendUnavailable as error:
            pytest.skip(str(error))
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
