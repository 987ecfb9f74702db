"""Every overload of every operator of the table, with odd numbers and outs.

Calls that eager refuses raise its error, and corner cases give its results.
"""

import functools
import itertools
import math
import warnings

import pytest
import torch_overloads
from torch_support import scheduler, taken, torch

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),
]

OVERLOADS = [one for one in torch_overloads.OVERLOADS if one.numbers]
WITH_OUT = [
    one for one in torch_overloads.OVERLOADS if one.out and not one.is_list
]
INF, NAN = math.inf, math.nan
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
OTHERS = [torch.int32, torch.uint8, torch.bool]
# Numbers near the limits of halves and singles, and integers.
NUMBERS = [
    *(2, -1, True, False, 2j, 0.1, -1.5, 5.3, 9.003, 300, 2**31, 2**62),
    *(65504, 65519.0, 65520, 70000.0, -1e9, 2**53 + 1),
    *(3.39e38, 3.4e38, 3.41e38, -1e39, 1e300),
    *(5e-39, 1e-46, 1e-320, INF, -INF, NAN),
]
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 10.0, INF, -INF, NAN]
# At infinity, or at the sign of a NaN, the kernels of eager differ.
DIFFERENT = ("gelu", "rsqrt", "signbit", "silu", "sqrt")


def tensors(dtype, device, others=None):
    values = torch.tensor(VALUES, device=device)
    if not dtype.is_floating_point:
        values = values.nan_to_num(7, 5, -5)
    if dtype == torch.uint8:
        values = values.abs()
    made = [values.to(dtype)]
    made += [values.roll(k).to(others or dtype) for k in (3, 5, 7)]
    return made


def came_of(call, given, named):
    """Return the result and the written values, or an error or a warning."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = call(*given, **named)
    except Exception as error:  # noqa: BLE001 (compared with eager's)
        return f"{type(error).__name__}: {error}"
    if caught:
        return f"{made}, {[str(one.message) for one in caught]}"
    together = [made, given[0], named.get("out")]
    flat = []
    for one in together:
        flat += one if isinstance(one, (list, tuple)) else [one]
    return [one for one in flat if isinstance(one, torch.Tensor)]


def is_of_its_own_kind(overload, at, number, dtype, device):
    """Return whether eager's kernels differ in rounding near infinity."""
    if not dtype.is_floating_point or not number:
        return False
    limits = torch.finfo(dtype)
    # On a GPU eager multiplies by infinity instead of dividing by such a number.
    if device == "cuda" and "div" in overload.name:
        return abs(number) * limits.max < 1
    is_alpha = overload.arguments[at][0] == "alpha"
    is_small = abs(number) < limits.smallest_normal
    return (is_small and (is_alpha or dtype in FLOATS[:2])) or (
        is_alpha and limits.max / 100 < abs(number) <= limits.max
    )


def difference(expected, came):
    if isinstance(expected, str) or isinstance(came, str):
        return "" if expected == came else f"expected {expected}, got {came}"
    for one, other in zip(expected, came, strict=True):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"expected {one.dtype} {one.shape}, got {other}"
        if one.stride() != other.stride():
            return f"expected strides {one.stride()}, got {other.stride()}"
        # On a GPU eager has the sixth of hardsigmoid as a single.
        double = 1e-7 if one.is_cuda else 1e-12
        wide = 1e-5 if one.dtype == torch.float32 else double
        limit = 1e-2 if one.dtype in FLOATS[:2] else wide
        if not torch.isclose(
            other.double(), one.double(), rtol=limit, atol=limit, equal_nan=True
        ).all():
            return f"expected {one}, got {other}"
    return ""


def check(calls, takes):
    """Check that calls give the same in a scheduler.

    `takes`: the part of them that it must take, so that it is asked at all.
    """
    expected = [came_of(call, *make()) for _, call, make in calls]
    before = taken()
    # Deterministic: else a thread that gains nothing is left alone.
    with torch.no_grad(), scheduler(takes=0, deterministic=True):
        came = [came_of(call, *make()) for _, call, make in calls]
    assert taken() - before >= takes * len(calls)
    found = []
    for (what, *_), one, other in zip(calls, expected, came, strict=True):
        wrong = difference(one, other)
        if wrong:
            found.append(f"{what}: {wrong}")
    assert not found, f"{len(found)} of {len(calls)}:\n" + "\n".join(found[:40])


@pytest.mark.parametrize("dtype", FLOATS + OTHERS, ids=str)
def test_any_number_means_what_it_means_in_eager(device, dtype):
    calls = []
    for overload in OVERLOADS:
        for at, number in itertools.product(overload.numbers, NUMBERS):
            if is_of_its_own_kind(overload, at, number, dtype, device):
                continue
            what = f"{overload.name}, {number!r} as argument {at}"

            def make(overload=overload, number=number, at=at):
                given = tensors(dtype, device)
                return overload.make(given, number, at)

            calls.append((what, overload.call, make))
    check(calls, takes=0.1)


@pytest.mark.parametrize("others", [torch.float32, torch.int32], ids=str)
@pytest.mark.parametrize("dtype", FLOATS + OTHERS, ids=str)
def test_every_pair_of_values_means_what_it_means_in_eager(
    device, dtype, others
):
    def make(overload):
        given = tensors(dtype, device, others)
        count = len(VALUES)
        given[0] = given[0].repeat(count)
        given[1:] = [x.repeat_interleave(count) for x in given[1:]]
        if overload.name.split(".")[0].strip("_") in DIFFERENT:
            given = [x.nan_to_num(7, 5, -5) for x in given]
        return overload.make(given, other=2)

    calls = [
        (o.name, o.call, functools.partial(make, o))
        for o in torch_overloads.OVERLOADS
        if not o.out and not o.is_list
    ]
    check(calls, takes=0.1)


@pytest.mark.parametrize("dtype", FLOATS + OTHERS, ids=str)
def test_an_out_of_any_dtype_is_taken_or_refused_as_in_eager(device, dtype):
    calls = []
    for overload in WITH_OUT:
        for second, into in itertools.product(
            (dtype, torch.float32), FLOATS + OTHERS
        ):
            what = f"{overload.name} of {dtype} and {second} into {into}"

            def make(overload=overload, second=second, into=into):
                given = tensors(dtype, device, second)
                # At infinity the kernels of gelu and of roots differ.
                given = [x.nan_to_num(NAN, 5, -5) for x in given]
                arguments, named = overload.make(given, other=1.5)
                named[overload.out] = torch.zeros_like(given[0], dtype=into)
                return arguments, named

            calls.append((what, overload.call, make))
    check(calls, takes=0.1)


WIDE = [70000.0, -70000.0, 3.0, 1e15, -2.5, 0.0]
OPTIONS = {
    "dtype": [None, *FLOATS, torch.int32, torch.int64, torch.bool],
    "keepdim": [False, True],
    "correction": [None, 0, 1, 2, 1.5],
    "ord": [2, 2.0, 1, INF],
    "half_to_float": [False],
}


def options_of(argument):
    if argument.name == "dim":
        if str(argument.type) == "int":
            return [0, -1, 7]
        lists = [[], [0], [0, 1], [-1], [1, 1], [7]]
        return [None, *lists] if "Optional" in str(argument.type) else lists
    return OPTIONS[argument.name]


def row_calls(tensor):
    for name in torch_overloads.names(rows=True):
        if "norm" in name and "vector" not in name:
            continue
        packet, _, overload = name.partition(".")
        overloads = getattr(torch.ops.aten, packet)
        arguments = getattr(overloads, overload or "default")._schema.arguments
        # Python's own calls warn as Python does.
        call = getattr(torch, packet, overloads)
        if packet == "linalg_vector_norm":
            call = torch.linalg.vector_norm
        for chosen in itertools.product(*map(options_of, arguments[1:])):
            names = [argument.name for argument in arguments[1:]]
            named = dict(zip(names, chosen, strict=True))
            what = f"{name} of {tensor.dtype}, {tuple(tensor.shape)}: {named}"
            yield what, call, lambda named=named: ([tensor], named)


@pytest.mark.parametrize("shape", [(1,), (2, 1), (1, 1), (3, 2)], ids=str)
def test_any_rows_are_those_of_eager(device, shape):
    calls = []
    for dtype in FLOATS + OTHERS:
        values = torch.tensor(WIDE, device=device)[: math.prod(shape)]
        if not dtype.is_floating_point:
            values = values.clamp(0, 7)
        calls += row_calls(values.to(dtype).reshape(shape))
    check(calls, takes=0.05)


# Copies: a tensor with a history, a view with autograd's metadata, and a tensor
# of inference mode.
def view(x):
    return torch.stack([x, x], -1)[..., 0]


def inference(x):
    with torch.inference_mode():
        return x.clone()


def versions(call, given, named):
    try:
        made = call(*given, **named)
    except Exception as error:  # noqa: BLE001 (compared with eager's)
        return f"{type(error).__name__}: {error}"
    flat = []
    for one in (made, *given, *named.values()):
        flat += one if isinstance(one, (list, tuple)) else [one]
    return [
        None if x.is_inference() else x._version
        for x in flat
        if isinstance(x, torch.Tensor)
    ]


def is_counted_less(name, device, expected, came):
    """Whether eager's kernels for lists on a GPU count not all they write."""
    if device != "cuda" or not name.startswith("_foreach_"):
        return False
    are_counts = isinstance(expected, list) and isinstance(came, list)
    return are_counts and all(
        one == other or (one is not None and one < other)
        for one, other in zip(expected, came, strict=True)
    )


@pytest.mark.parametrize("fresh", [torch.clone, view, inference])
def test_versions_are_those_of_eager(device, fresh):
    calls = []
    for overload in torch_overloads.OVERLOADS:
        # PyTorch gives results of inference-mode tensors other strides.
        is_copy = overload.name.split(".")[0] in ("clone", "_to_copy")
        is_asked = fresh is not inference or overload.is_in_place or is_copy
        if overload.out or not is_asked:
            continue

        def make(overload=overload):
            given = tensors(torch.float32, device)
            return overload.make(given, fresh=fresh)

        calls.append((overload.name, overload.call, make))
    with torch.no_grad():
        made = [make() for *_, make in calls]
        expected = [
            versions(call, *given)
            for (_, call, _), given in zip(calls, made, strict=True)
        ]
        made = [make() for *_, make in calls]
        takes = len(calls) // 4 if fresh is not inference else 0
        with scheduler(takes=takes, deterministic=True):
            came = [
                versions(call, *given)
                for (_, call, _), given in zip(calls, made, strict=True)
            ]
    found = [
        f"{name}: expected {one}, got {other}"
        for (name, *_), one, other in zip(calls, expected, came, strict=True)
        if one != other and not is_counted_less(name, device, one, other)
    ]
    assert not found, "\n".join(found)
