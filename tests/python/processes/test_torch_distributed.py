"""Ranks of a process group under a scheduler, compared with eager ranks.

All cases of a kind share one start of two ranks. Each has a deadline; a rank
that reaches it prints the stacks of all of its threads, and ends.
"""

import ast
import hashlib
import json
from pathlib import Path

import pytest
from deadlines import COMPILE_S
from ranks_support import RANKS, run_ranks

pytest.importorskip("torch")
pytestmark = [pytest.mark.host, pytest.mark.torch]

# A case runs in eager, as schedulers weigh, and with all taken that can be.
RUN = """
import contextlib, faulthandler, hashlib, importlib, json
gt.wait_ready()
CASE_S = 60

def flat(found):
    if isinstance(found, torch.Tensor):
        return [found]
    return [tensor for one in found for tensor in flat(one)]

def digest(tensors):
    made = hashlib.sha256()
    for tensor in tensors:
        made.update(tensor.numpy().tobytes())
    return made.hexdigest()

def distance(expected, got):
    assert len(expected) == len(got), (len(expected), len(got))
    worst = 0.0
    for one, other in zip(expected, got):
        assert one.dtype == other.dtype and one.shape == other.shape
        if not torch.equal(one, other):
            worst = max(worst, float((one - other).abs().max()) or 1e-30)
    return worst

def run(case, manager):
    faulthandler.dump_traceback_later(CASE_S, exit=True)
    with manager:
        found = case()
        mine = flat(found)
    dist.barrier()
    faulthandler.cancel_dump_traceback_later()
    shared = found[1] if isinstance(found, tuple) else []
    return mine, digest(shared)

import ranks_support
importlib.import_module(sys.argv[1])
bridge = gt.bridge()
for name, case in ranks_support.CASES.items():
    print("begins", name, flush=True)
    expected, of_eager = run(case, contextlib.nullcontext())
    told = {"eager": of_eager}
    for way, weighs in (("weighed", True), ("taken", False)):
        bridge.weigh_costs(weighs)
        before = gt.stats()["intercepted"]
        got, of_all = run(case, gt.scheduler())
        told[way] = {
            "digest": of_all, "distance": distance(expected, got),
            "taken": gt.stats()["intercepted"] - before,
        }
    print("RESULT", json.dumps({name: told}), flush=True)
"""
WAYS = ("weighed", "taken")
FOLDER = Path(__file__).parent
# Sums of backward passes are put in another order, as without ranks.
CLOSE = 5e-5


def names_of(module):
    """Return the cases of a module that only ranks import."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text())
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(one) == "case" for one in node.decorator_list)
    ]


def results(module):
    """Return what each rank says to each case."""
    printed = run_ranks(RUN, module, deadline=COMPILE_S)
    told = []
    for text in printed:
        lines = [line for line in text.splitlines() if line[:6] == "RESULT"]
        told.append({})
        for line in lines:
            told[-1] |= json.loads(line[6:])
    assert [list(one) for one in told] == [names_of(module)] * RANKS
    return told


@pytest.fixture(scope="module")
def collectives():
    return results("rank_cases")


@pytest.fixture(scope="module")
def trainings():
    return results("rank_training")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", names_of("rank_cases"))
def test_collectives_give_the_bits_of_eager(collectives, name, way):
    for of_rank in collectives:
        assert of_rank[name][way]["distance"] == 0
        assert of_rank[name]["taken"]["taken"] > 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", names_of("rank_training"))
def test_trainings_give_the_numbers_of_eager(trainings, name, way):
    for of_rank in trainings:
        assert of_rank[name][way]["distance"] <= CLOSE
        assert of_rank[name]["taken"]["taken"] > 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", names_of("rank_training"))
def test_all_ranks_have_the_same_bits(trainings, name, way):
    first, second = (of_rank[name] for of_rank in trainings)
    assert first["eager"] != hashlib.sha256().hexdigest()
    assert first[way]["digest"] == second[way]["digest"]
    assert first["eager"] == second["eager"]


# It reads by a pointer what it has copied, which no PyTorch before 2.13 tells.
COMPARES = """
gt.wait_ready()
with gt.scheduler():
    parameters = [torch.ones(4, 4) + 1]
    gt.flush()
    before = gt.stats()["intercepted"]
    dist._verify_params_across_processes(dist.group.WORLD, parameters, None)
    print("TAKEN", gt.stats()["intercepted"] - before)
"""


def test_a_comparison_of_parameters_defers_nothing():
    printed = run_ranks(COMPARES, deadline=COMPILE_S)
    assert printed == ["TAKEN 0\n"] * RANKS
