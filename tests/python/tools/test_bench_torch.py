import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from bench_support import check_rows, tiny_run

torch = pytest.importorskip("torch")

from gpuos.bench import (
    context,
    main,
    torch_arms,
    torch_programs,
    torch_runs,
)
from gpuos.bench.command import TORCH
from gpuos.bench.row import Row, Unavailable
from gpuos.bench.torch_models import make_gpt, make_resnet

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
]

# Eager's threads take longer to meet than these tests to compute.
torch.set_num_threads(1)

TINY = context.Sizes(
    torch_operations=30,
    torch_steps=3,
    torch_matmuls=3,
    torch_parameters=10,
    torch_reps=1,
    torch_is_large=False,
    torch_compiles=False,
)


run_tiny = tiny_run(TORCH, TINY, ("--device", "cpu"))


def test_every_row_is_measured_or_says_why_not(run_tiny, capsys):
    content = run_tiny("--quick", "--asked")
    rows = check_rows(TORCH, content, capsys.readouterr().out, "^needs a GPU$")
    peers = {name: row["peers"] for name, row in rows.items()}
    assert all(
        peers[name]["eager us"] > 0 for name in rows if rows[name]["value"]
    )
    requests = peers["independent adds, n=1024, requests"]
    assert requests == peers["independent adds, n=1024, transparent"]
    assert requests["_foreach us"] > 0
    assert not any("compile" in name for name in requests)
    assert (
        "_foreach us" not in peers["add, mul, relu, sigmoid, div, over eager"]
    )


def test_whole_programs_are_measured_if_asked(run_tiny, capsys):
    content = run_tiny("--only", "whole-hmm-forward", "whole-game-of-life")
    names = [row["name"] for row in content["rows"]]
    assert names == [
        "whole: HMM forward, over eager",
        "whole: Game of Life, over eager",
    ]
    printed = " ".join(capsys.readouterr().out.split())
    for row in content["rows"]:
        assert row["value"] > 0
        assert row["peers"]["eager us"] > 0
        also = row["also"]
        assert also["deferred"] >= also["flushes"] > 0
        note = f"{also['deferred']} deferred, {also['by PyTorch']} by PyTorch"
        assert note in printed


def test_whole_programs_that_differ_from_eager_fail():
    # Each run returns another number, as would a scheduler that is wrong.
    calls = iter(range(100))
    make = torch_runs.whole_run(lambda *_: lambda: torch.ones(2) * next(calls))
    where = context.Context("host", 0, TINY)
    with pytest.raises(ValueError, match="eager's results"):
        make(where, Row("whole: odd", "x"))


def test_bridge_is_compiled_before_the_rows(monkeypatch):
    order = []
    monkeypatch.setattr("gpuos.torch.build", lambda _: order.append("bridge"))
    monkeypatch.setattr(
        "gpuos.bench.runner.Run.measure", lambda *_: order.append("rows")
    )
    assert main(["torch", "--device", "cpu", "--only", "host-add"]) == 0
    assert order == ["bridge", "rows"]


@pytest.mark.parametrize("ratios", [(0.5, 2.0), (2.0, 0.5)])
def test_times_are_those_of_the_ratio_that_is_shown(
    run_tiny, monkeypatch, ratios
):
    came = iter(ratios)

    def over_eager(_context, _torch, _gt, row, _eager, _ours):
        value = next(came)
        row.peers["eager us"], row.also["ours us"] = 8.0, 8.0 / value
        return value

    monkeypatch.setattr("gpuos.bench.torch_runs._over_eager", over_eager)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    try:
        content = run_tiny("--only", "host-block")
    finally:
        torch.set_num_threads(1)
    (row,) = content["rows"]
    assert row["value"] == 0.5
    assert row["peers"]["eager us"] / row["also"]["ours us"] == 0.5
    assert row["also"]["2 threads"] == ratios[1]


def test_compiler_is_left_out_if_asked(run_tiny, monkeypatch):
    sizes = replace(TINY, torch_compiles=True)
    monkeypatch.setattr("gpuos.bench.context.host_sizes", lambda: sizes)
    content = run_tiny("--only", "host-add", "--no-compile")
    (row,) = content["rows"]
    assert not any("compile" in name for name in row["peers"])


def test_compilers_are_peers(run_tiny, monkeypatch):
    monkeypatch.setattr(TINY, "torch_compiles", True)
    compiled = []

    def compile_nothing(function, **options):
        compiled.append(options)
        return function

    monkeypatch.setattr(torch, "compile", compile_nothing)
    content = run_tiny("--only", "host-chain", "optimizer")
    optimizer, chain = content["rows"]
    assert "takes minutes" in optimizer["peers"]["torch.compile default"]
    assert chain["peers"]["torch.compile default us"] > 0
    assert chain["peers"]["torch.compile default first ms"] > 0
    assert compiled == [{"mode": "default"}]


def test_schedulers_are_what_is_measured(monkeypatch, run_tiny):
    entered = []
    gt = pytest.importorskip("gpuos.torch")
    scheduler = gt.scheduler

    def counted(**options):
        entered.append(options)
        return scheduler(**options)

    monkeypatch.setattr(gt, "scheduler", counted)
    run_tiny("--only", "rows-8", "gpt")
    assert {"size_threshold": 1 << 18} in entered
    assert {} in entered


def test_wrong_results_are_an_error():
    expected = [torch.ones(3), (torch.zeros(2), torch.ones(1))]
    came = [torch.ones(3), (torch.zeros(2), torch.ones(1))]
    torch_arms.check_same(torch, expected, came, 0.0)
    came[1][1][0] = 1.5
    with pytest.raises(ValueError, match=r"came 0\.5"):
        torch_arms.check_same(torch, expected, came, 0.1)
    came[1][1][0] = math.nan
    with pytest.raises(ValueError, match="came nan"):
        torch_arms.check_same(torch, expected, came, 0.1)
    with pytest.raises(ValueError, match="expected 3 results, came 1"):
        torch_arms.check_same(torch, expected, came[:1], 0.1)


def test_wrong_scheduler_is_an_error():
    gt = pytest.importorskip("gpuos.torch")
    work = torch_programs.adds(torch, "cpu", TINY)
    torch_arms.check_work(torch, gt, work)
    calls = iter(range(100))
    wrong = replace(work, step=lambda a, b: a + b + next(calls))
    with pytest.raises(ValueError, match="eager's results"):
        torch_arms.check_work(torch, gt, wrong)


def test_peers_that_cannot_be_say_why():
    work = torch_programs.optimizer(torch, "cpu", TINY)
    with pytest.raises(Unavailable, match="takes minutes"):
        torch_arms.compiled_arm(torch, work, "default")
    work = torch_programs.mixed(torch, "cpu", TINY)
    with pytest.raises(Unavailable, match="equal operations"):
        torch_arms.foreach_arm(torch, work)


def test_models_have_the_layers_that_their_names_say():
    def parameters(model):
        return sum(p.numel() for p in model.parameters())

    with torch.device("meta"):
        # 25.6 million with 1000 classes instead of 100; 85 without embeddings.
        assert parameters(make_resnet(torch, 64, (3, 4, 6, 3))) == 23_712_932
        assert round(parameters(make_gpt(torch, 768, 12, 12)) / 1e6) == 85


def test_warming_up_ends_when_nothing_is_compiled_any_more():
    runs = []
    # After the first run two programs are new, and one of them is compiled.
    found = iter(
        [
            {"programs": 2, "compiling": 1},
            {"programs": 2, "compiling": 1},
            {"programs": 2, "compiling": 0},
            {"programs": 2, "compiling": 0},
        ]
    )
    arm = torch_arms.Arm(lambda: runs.append(0) or torch.ones(1))
    stats = SimpleNamespace(stats=lambda: next(found))
    assert torch_arms.warm_up(torch, stats, arm) < torch_arms.WARM_S
    assert len(runs) == 2
    assert next(found, None) is None


def test_arms_take_turns_of_some_repetitions_and_one_more():
    seen = []

    def arm(name):
        def run():
            seen.append(name)
            return torch.ones(1)

        return torch_arms.Arm(run, prepare=lambda: seen.append("prepared"))

    arms = {"one": arm("one"), "other": arm("other")}
    torch_arms.seconds_in_turns(torch, arms, 4)
    turn = ["prepared"] + 3 * ["one"] + ["prepared"] + 3 * ["other"]
    assert seen == torch_arms.TURNS * turn
