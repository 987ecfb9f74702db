import numpy as np
import pytest
from bench_support import check_rows, tiny_run

import gpuos
from gpuos.bench import _loops, context, program_scaling
from gpuos.bench.command import PROGRAMS
from gpuos.bench.program_arrays import ask_beside_compiled
from gpuos.bench.program_chain import run_host
from gpuos.bench.program_peers import (
    add_peers,
    exact,
    fastest,
    make_ours,
    make_peers,
)
from gpuos.bench.program_work import chain_work, rmsnorm_work, softmax_work
from gpuos.bench.row import Row, Unavailable, run_measure

TINY = context.Sizes(
    reps=2,
    large_elems=10_000,
    submits=100,
    program_reps=5,
    program_calls=20,
    program_firsts=2,
    program_shapes=10,
    program_operations=(1, 10),
    program_elems=(64, 1024),
)


run_tiny = tiny_run(PROGRAMS, TINY)


def test_every_row_is_measured_or_says_why_not(run_tiny, capsys):
    content = run_tiny("--asked")
    printed = capsys.readouterr().out
    rows = check_rows(PROGRAMS, content, printed, "compiler")
    assert not rows["140 operations, n=4096, trace"]["peers"]
    host = rows["host, 140 operations, n=1024, over NumPy and torch"]
    assert host["peers"]["numpy"] > 0
    torch = host["peers"]["torch eager"]
    assert torch == "torch is not installed" or torch > 0
    # Lines of the plot have a value for each x.
    series = content["series"]
    for name, x in (
        ("operations", [1, 10]),
        ("elements", [64, 1024]),
    ):
        assert series[name]["x"] == x
    for one in series.values():
        assert all(value > 0 for value in one["lines"]["interpreted"])
        for line in one["lines"].values():
            assert len(line) == 2


@pytest.mark.parametrize(
    "work",
    [chain_work(100, 20), softmax_work(3, 50), rmsnorm_work(3, 50)],
    ids=["chain", "softmax", "rmsnorm"],
)
def test_wrong_results_are_an_error(work):
    expected = exact(work)
    with gpuos.Runtime("host") as rt:
        ours = make_ours(rt, work)
        ours.check(expected, 1e-2, 1e-6)
        expected[..., -1] += 1
        with pytest.raises(ValueError, match="expected 0 wrong elements"):
            ours.check(expected, 1e-2, 1e-6)


def test_output_that_is_not_written_is_an_error():
    work = chain_work(100, 1)
    with gpuos.Runtime("host") as rt:
        ours = make_ours(rt, work)
        ours.check(np.multiply(*work.inputs))
        ours.call = lambda *_inputs: None
        with pytest.raises(ValueError, match="came 100"):
            ours.check(np.multiply(*work.inputs))


def test_loops_refuse_more_elements_than_a_buffer_has():
    rig = _loops.Rig(2, 64, backend="host")
    program = _loops.Program(3)
    assert _loops.program_wrong(rig, 3, 64, 2) == 0
    assert _loops.program_wrong(rig, 3, 33, 2) == 0
    with pytest.raises(ValueError, match="expected 1 to 64, got 65"):
        _loops.program_latency_us(rig, program, 65, 1)
    rig.close()


def test_without_a_compiler_rows_say_so(monkeypatch):
    monkeypatch.setattr(
        _loops, "compile_program", lambda *_arguments: "no compiler"
    )
    made = context.Context("host", 0, TINY)
    [chain] = [m for m in PROGRAMS.measures() if m.name == "chain"]
    run_measure(made, chain)
    for row in chain.rows:
        if "compiled" in row.name:
            assert row.error == "no compiler"
            assert row.is_unavailable
        else:
            assert row.value > 0


def test_compilation_for_a_shape_is_an_error(monkeypatch):
    counts = iter([1, 2])
    monkeypatch.setattr(program_scaling, "compile_now", lambda *_: None)
    monkeypatch.setattr(program_scaling, "_shapes_ratio", lambda *_: 1.0)

    class Rig:
        def __init__(self, *_arguments, **_options):
            pass

        def stats(self):
            return {"programs_compiled": next(counts)}

        def close(self):
            pass

    monkeypatch.setattr(_loops, "Rig", Rig)
    row = Row("shapes", "x")
    with pytest.raises(ValueError, match="no compilation for a shape, came 1"):
        program_scaling.run_shapes(context.Context("host", 0, TINY), row)


def test_host_row_is_over_the_faster_peer(monkeypatch):
    def peers(row, *_):
        row.peers = {"numpy": 100.0, "torch eager": 50.0}

    monkeypatch.setattr("gpuos.bench.program_chain.add_peers", peers)
    row = Row("host", "x")
    run_host(context.Context("host", 0, TINY), row)
    times = [v for k, v in row.also.items() if isinstance(v, float)]
    assert row.value == 50.0 / times[-1]


def test_asked_values_follow_torch_compile():
    row = Row("name", "%", 60, more_is_better=True)
    for theirs, asked in (("not installed", 60), (50.0, 60), (90.0, 85.5)):
        row.peers["torch.compile"] = theirs
        ask_beside_compiled(row)
        assert row.asked == pytest.approx(asked)


def test_fastest_looks_at_numbers_only():
    row = Row("row", "us", peers={"a": 3.0, "b": "absent", "c": 1.0})
    assert fastest(row, "a", "b") == 3.0
    assert fastest(row, "b", "d") is None


def test_peer_that_is_absent_leaves_its_reason():
    made = context.Context("cuda", 0, TINY)
    row = Row("row", "us")
    peers = {"torch eager": "torch is not installed"}
    add_peers(row, peers, lambda _peer: 1.0)
    assert row.peers == peers

    def fail(*_arguments):
        raise Unavailable("no such thing")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "gpuos.bench.program_peers.KINDS",
            dict.fromkeys(
                (
                    "torch eager",
                    "torch CUDA graph",
                    "torch.compile",
                    "cupy.fuse",
                ),
                fail,
            ),
        )
        assert set(make_peers(made, chain_work(8)).values()) == {
            "no such thing"
        }
