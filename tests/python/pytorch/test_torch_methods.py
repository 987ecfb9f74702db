"""PyTorch's methods stay the same objects, even if a program replaces them."""

import contextlib
import inspect
import itertools
import re
from pathlib import Path

import pytest
from torch_support import (
    PATIENCE,
    assert_same,
    gt,
    hasty_overrides,
    scheduler,
    taken,
    torch,
)

from gpuos.torch import scheduling

pytestmark = pytest.mark.torch

BRIDGE = Path(scheduling.__file__).parent / "bridge"


def methods():
    """Return the names of all methods that the overrides take."""
    text = (BRIDGE / "entry/table.h").read_text()
    doors = text[text.index("// ---- Doors") : text.index("GPUOS_KERNELS(X)")]
    names = re.findall(r"\bX\((\w+)(?:, \w+)?\)", doors)
    return sorted({"clamp", *names} - {"method"})


METHODS = methods()
NUMBERS = {"clamp": (0.25, 1.5), "softmax": (0,), "log_softmax": (0,)}
LOGICAL = {"__and__", "__or__", "__xor__"}


def arguments(name, device):
    x = torch.tensor([0.5, 1.0, 2.0], device=device)
    if name in LOGICAL:
        return x > 1, (x > 0.5,)
    if name in NUMBERS:
        return x, NUMBERS[name]
    try:
        is_enough = getattr(torch.Tensor, name)(x) is not NotImplemented
    except TypeError:
        is_enough = False
    return x, () if is_enough else (x + 1,)


def shut_down():
    gt.shutdown()


def retire():
    with hasty_overrides():
        x = torch.ones(2)
        for _ in range(PATIENCE + 1):
            torch.relu(x)
    assert scheduling._guards is None


@contextlib.contextmanager
def entered():
    with torch.no_grad(), scheduler(takes=0):
        yield


def test_there_are_methods():
    assert {"add", "__add__", "__rsub__", "__pow__", "relu"} <= set(METHODS)
    assert len(METHODS) > 50


@pytest.mark.parametrize("end", [shut_down, retire])
def test_methods_that_are_kept_outlive_the_front(device, end):
    kept = {}
    with entered():
        for name in METHODS:
            x, given = arguments(name, device)
            kept[name] = getattr(torch.Tensor, name), getattr(x, name), x, given
    end()
    for name, (free, bound, x, given) in kept.items():
        expected = getattr(torch.Tensor, name)(x.clone(), *given)
        came = free(x.clone(), *given)
        assert_same([expected, expected], [came, bound(*given)])
    with entered():
        for free, _, x, given in kept.values():
            free(x.clone(), *given)
        gt.flush()


def test_all_methods_are_taken(device):
    calls = {name: arguments(name, device) for name in METHODS}
    expected = {
        name: getattr(x.clone(), name)(*given)
        for name, (x, given) in calls.items()
    }
    with torch.no_grad(), scheduler(takes=0):
        for name, (x, given) in calls.items():
            target = x.clone()
            before = taken()
            came = getattr(torch.Tensor, name)(target, *given)
            assert taken() == before + 1, name
            assert_same(expected[name], came)


def test_methods_are_the_same_objects_in_a_scheduler():
    scheduling.retire()
    before = {name: getattr(torch.Tensor, name) for name in METHODS}
    own = set(vars(torch.Tensor))
    with entered():
        for name, method in before.items():
            assert getattr(torch.Tensor, name) is method
            assert inspect.getattr_static(torch.Tensor, name) is method
        # Ways to the memory are wrapped.
        guarded = {*gt.access.MEMORY, *gt.access.TENSOR, "tolist"}
        assert set(vars(torch.Tensor)) - own <= guarded
    scheduling.retire()
    assert set(vars(torch.Tensor)) == own


def test_handlers_of_a_subclass_are_found_in_a_scheduler(device):
    handlers = {getattr(torch.Tensor, name): name for name in METHODS}

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(handlers.get(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    def called():
        seen.clear()
        for name in METHODS:
            x, given = arguments(name, device)
            seen.append(name)
            getattr(x.as_subclass(Own), name)(*given)
        return list(seen)

    seen = []
    expected = called()
    with entered():
        assert called() == expected


# The moments when a program replaces PyTorch's methods, and restores them.
MOMENTS = ("before", "inside", "after", "ended")


@pytest.mark.parametrize("end", [shut_down, retire])
@pytest.mark.parametrize(
    ("put", "taken_away"),
    [*itertools.combinations_with_replacement(MOMENTS, 2)],
)
def test_methods_that_a_program_replaces_stay_replaced(
    device, put, taken_away, end
):
    scheduling.retire()
    originals = {name: vars(torch.Tensor).get(name) for name in METHODS}
    calls = {name: arguments(name, device) for name in METHODS}

    def look(*, is_put):
        for name, (x, given) in calls.items():
            result = getattr(x.clone(), name)(*given)
            assert isinstance(result, str) == is_put, name

    def pass_by(moment):
        is_put = (
            MOMENTS.index(put)
            < MOMENTS.index(moment)
            <= (MOMENTS.index(taken_away))
        )
        look(is_put=is_put)
        for name in METHODS if moment == put else []:
            setattr(torch.Tensor, name, lambda *_: "the program's")
        look(is_put=is_put or moment == put)
        for name, original in originals.items():
            if moment == taken_away and original is None:
                delattr(torch.Tensor, name)
            elif moment == taken_away:
                setattr(torch.Tensor, name, original)
        look(is_put=(is_put or moment == put) and moment != taken_away)

    pass_by("before")
    with entered():
        pass_by("inside")
    pass_by("after")
    end()
    pass_by("ended")
    assert {n: vars(torch.Tensor).get(n) for n in METHODS} == originals
