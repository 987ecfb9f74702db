"""Expressions that all ranks of a group register, or none."""

import json
import re

import pytest
from deadlines import COMPILE_S
from ranks_support import RANKS, run_ranks

pytest.importorskip("torch")
pytestmark = [pytest.mark.host, pytest.mark.torch]

COMMON = """
import json, time
gt.wait_ready()
ones = torch.ones(8)

# A group that is never released may abort the process at its end: a thread of
# Gloo then takes the GIL of an interpreter that ends.
def register(key, text, group=None):
    try:
        gt.register_elementwise(key, text, group=group or dist.group.WORLD)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def value(key):
    out = torch.zeros(8)
    try:
        gt.submit_elementwise(key, ones, out=out)
    except gpuos.InvalidArgument:
        return None
    gt.flush()
    return out.tolist()[0]

def tell(what):
    print("TOLD", json.dumps(what), flush=True)
"""


def told(printed):
    return [
        [json.loads(line[4:]) for line in text.splitlines() if "TOLD" in line]
        for text in printed
    ]


def same_on_all(program, **options):
    """Run it, and return what all ranks told alike."""
    first, *others = told(
        run_ranks(COMMON + program, deadline=COMPILE_S, **options)
    )
    for other in others:
        assert other == first
    return first


# One rank is late by turns; what is deferred stays pending over the calls.
STEPS = """
import contextlib
for manager in (contextlib.nullcontext(), gt.scheduler(auto_flush_ms=60_000)):
    found = []
    with manager:
        for step in range(1, 30):
            if step % 7 in (RANK, RANK + 2):
                time.sleep(0.02)
            if step % 3 == 1:
                assert register("f", f"o = {step} * x") is None
            out = torch.zeros(8)
            gt.submit_elementwise("f", ones * step, out=out)
            found.append(out)
    gt.flush()
    tell([out.tolist()[0] for out in found])
"""


def test_all_ranks_compute_a_step_with_one_text():
    wanted = [step * (step - (step - 1) % 3) for step in range(1, 30)]
    assert same_on_all(STEPS) == [wanted, wanted]


BAD, NONE = "o = nothing_of_torch(x)", "o = x +"
# The arguments of the ranks, and the error of all; `f` is "o = 2 * x" before.
REFUSED = {
    "second rank": ((("f", "o = 3 * x"), ("f", BAD)), "rank 1: .*nothing_of"),
    "first rank": ((("f", NONE), ("f", "o = 3 * x")), "rank 0: .*expression"),
    "both": ((("f", BAD), ("f", BAD)), "ranks 0, 1: .*functions of torch"),
    "each its own": ((("f", BAD), ("f", NONE)), "rank 0: .*; rank 1: "),
    "new name": ((("g", "o = x"), ("g", BAD)), "rank 1: "),
    "no text": ((("f", None), ("f", "o = x")), "rank 0: .*None"),
    "no name": ((("f", "o = x"), ([], "o = x")), "rank 1: .*a name"),
    "two texts": (
        (("f", "o = x"), ("f", "o = x + 1")),
        "one expression.*'f': 'o = x' on rank 0, 'f': 'o = x . 1' on rank 1",
    ),
    "two names": ((("f", "o = x"), ("g", "o = x")), "'f': .*rank 0, 'g': "),
}
REFUSALS = """
import gc
gc.disable()
references = sys.getrefcount(dist.group.WORLD)
assert register("f", "o = 2 * x") is None
for ways in json.loads(sys.argv[1]):
    error = register(*ways[RANK])
    tell([error, value("f"), value("g")])
assert sys.getrefcount(dist.group.WORLD) == references
assert register("f", "o = 4 * x") is None
tell(value("f"))
"""


@pytest.fixture(scope="module")
def refusals():
    program = COMMON + REFUSALS
    ways = json.dumps([ways for ways, _ in REFUSED.values()])
    return told(run_ranks(program, ways, deadline=COMPILE_S))


@pytest.mark.parametrize("name", REFUSED)
def test_an_expression_refused_by_one_rank_changes_no_rank(refusals, name):
    place, (_, message) = list(REFUSED).index(name), REFUSED[name]
    for of_rank in refusals:
        error, of_f, of_g = of_rank[place]
        assert (of_f, of_g) == (2, None)
        assert error.startswith("InvalidArgument: register_elementwise: ")
        assert "nothing was changed on any rank" in error
        assert re.search(message, error)


def test_ranks_continue_after_refusals(refusals):
    assert [of_rank[-1] for of_rank in refusals] == [4] * RANKS


NO_GROUPS = """
lone = dist.new_group([0])
tell([register("f", "o = x", group) for group in (5, "gloo", object())])
tell(register("f", "o = x", lone))
"""


def test_a_foreign_process_group_is_refused():
    of_first, of_second = told(
        run_ranks(COMMON + NO_GROUPS, deadline=COMPILE_S)
    )
    for errors, _ in (of_first, of_second):
        assert all("expected a group of" in error for error in errors)
    assert of_first[1] is None
    assert "expected a group of" in of_second[1]


DEATH = """
assert register("f", "o = 2 * x") is None
if RANK == 1:
    os._exit(3)
tell([register("f", "o = 3 * x"), value("f")])
os._exit(0)
"""


def test_a_rank_that_dies_is_an_error_of_the_others():
    (error, value), *_ = told(
        run_ranks(COMMON + DEATH, deadline=COMPILE_S, one_fails=True)
    )[0]
    assert error.startswith("Error: register_elementwise: 'f': expected ranks")
    assert "nothing was changed here" in error
    assert value == 2


# The second rank comes after the first has stopped waiting for it.
LATE = """
assert register("f", "o = 2 * x") is None
start = time.monotonic()
if RANK == 1:
    time.sleep(8)
error = register("f", "o = 3 * x")
tell([error.split("and nothing")[0], value("f")])
assert time.monotonic() - start < 30
os._exit(0)
"""


def test_a_late_rank_is_an_error_on_all_ranks():
    (error, value), *rest = same_on_all(LATE, GROUP_S="3")
    assert error.startswith("Error: register_elementwise: 'f': expected ranks")
    assert (value, rest) == (2, [])
