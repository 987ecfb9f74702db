"""Every operator with all of its operands pending, in every form it has."""

import pytest
from torch_composites import (
    calls_by_name,
    calls_of,
    calls_of_modules,
    names_in,
    run,
)
from torch_operations import name_of, operators
from torch_support import (
    assert_same,
    cloned,
    compare,
    in_thread,
    scheduler,
    torch,
)

from gpuos.torch import loading
from gpuos.torch.composites import BASES, OVERLOADS, base_of, passes

pytestmark = [
    pytest.mark.torch,
    pytest.mark.together,  # the last test looks at what all have seen
    # PyTorch's samples use functions that warn.
    pytest.mark.filterwarnings("ignore"),
]


COMPOSITE = [name for name in loading.composite() if passes(name)]
SEEN = set()  # names of operators that calls came through
DONE = set()  # names of tests
# These amplify the rounding of a product, whose sum has another order.
TOLERANCES = {"svd_lowrank": {"rtol": 1e-3, "atol": 1e-3}}


def compare_calls(calls, test):
    """Compare calls whose operands are all pending with eager."""
    with scheduler(takes=0):
        came = [cloned(run(*call, puts_off=True)) for call in calls]
    expected = []
    SEEN.update(
        names_in(
            lambda: expected.extend(
                cloned(run(*call, puts_off=False)) for call in calls
            )
        )
    )
    assert_same(expected, came, **TOLERANCES.get(test, {}))
    DONE.add(test)


@pytest.mark.parametrize("op", operators(), ids=name_of)
def test_every_operator_sees_pending_operands(device, op):
    compare_calls(list(calls_of(op, device)), name_of(op))


def test_operators_that_pass_are_there():
    # A PyTorch for GPUs has a separate kernel for it.
    others = {"_fused_rms_norm"} if torch.version.cuda else set()
    if torch.__version__.startswith("2.13"):
        assert BASES - others <= {*map(base_of, COMPOSITE)}
        assert set(COMPOSITE) >= OVERLOADS - others
    assert {"linear", "matmul", "reshape"} <= set(COMPOSITE)


# These run on the CPU: an index that is made up ends the use of a GPU.
@pytest.mark.parametrize("name", COMPOSITE)
def test_operators_by_name(name):
    calls = list(calls_by_name(name, "cpu"))
    compare_calls(calls, name)
    if calls:  # of some, such as is_leaf, profiles do not tell
        SEEN.add(name)


def test_layers(device):
    compare_calls(list(calls_of_modules(device)), "layers")


def tensor_split(x, at):
    return torch.tensor_split(x, at)


def ctc_loss(x, at):
    of = torch.zeros(2, 2, dtype=torch.int64, device=x.device) + 1
    odds = x.reshape(12, 2, 4).log_softmax(2)
    return torch.nn.functional.ctc_loss(odds, of, at * 0 + 12, at * 0 + 2)


@pytest.mark.parametrize("of", [tensor_split, ctc_loss])
@pytest.mark.parametrize("where", ["here", "another thread"])
def test_operators_that_look_at_elements(device, of, where):
    x = torch.arange(96.0, device=device) / 96.0
    expected = of(x, torch.tensor([2, 4]))
    with scheduler():
        at = torch.tensor([1, 3]) + 1
        y = x * 1.0
        got = of(y, at) if where == "here" else in_thread(lambda: of(y, at))
    assert_same(expected, got)


def test_values_read_by_composites_are_not_deferred(device):
    of = torch.ones(2, 2, dtype=torch.int64, device=device)
    odds = torch.rand(12, 2, 4).to(device).log_softmax(2)
    lengths = [
        torch.tensor([12, 9], dtype=torch.int32),
        torch.tensor([2, 1], dtype=torch.int32),
    ]
    compare(lambda: torch.nn.functional.ctc_loss(odds, of, *lengths), takes=0)


@pytest.mark.together(quick=False)
def test_operators_that_pass_were_seen():
    tests = {name_of(op) for op in operators()} | set(COMPOSITE) | {"layers"}
    if not torch.__version__.startswith("2.13") or not tests <= DONE:
        pytest.skip("only behind all tests above, with the list's version")
    assert set(COMPOSITE) <= SEEN
