import os
import re
import time
from concurrent.futures.process import BrokenProcessPool

import pytest
from bench_support import check_rows, tiny_run
from deadlines import WAIT_S
from jit_support import or_skip

import gpuos
from gpuos.bench import context, jit, jit_child, main
from gpuos.bench.command import COMMANDS, JIT
from gpuos.bench.jit_sources import many_kernels, new_name, small_kernel
from gpuos.bench.row import Row, Unavailable, run_measure

TINY = context.Sizes(jit_reps=2, jit_many=4, jit_async=3, jit_hits=10)


@pytest.fixture(scope="module")
def nvrtc():
    or_skip(gpuos.JitModule, small_kernel(new_name()))


run_tiny = tiny_run(JIT, TINY)


@pytest.mark.usefixtures("nvrtc")
def test_every_row_without_a_gpu_is_measured(run_tiny, capsys):
    before = os.environ["GPUOS_CACHE_DIR"]
    content = run_tiny("--asked")
    may_lack = "needs the cuda backend|expected NVRTC 12.8 or newer"
    rows = check_rows(JIT, content, capsys.readouterr().out, may_lack)
    assert os.environ["GPUOS_CACHE_DIR"] == before
    assert content["versions"]["nvrtc"]
    # Limits are those of this machine.
    cold = rows["small kernel, cold"]
    assert (cold["asked"], rows["hit in memory"]["asked"]) == (25, 5)
    assert cold["ok"] is not None
    ours, theirs = "cuda.core Program", "CuPy RawModule with the load"
    assert list(cold["peers"]) == [ours, theirs]
    value = cold["peers"][ours]
    assert value if isinstance(value, str) else value > 0
    assert cold["peers"][theirs] == "needs the cuda backend"


def test_without_nvrtc_rows_say_so(monkeypatch):
    def missing(*_arguments, **_keywords):
        raise gpuos.BackendUnavailable("no NVRTC")

    monkeypatch.setattr(gpuos, "JitModule", missing)
    made = context.Context("host", 0, TINY)
    for measure in JIT.measures():
        if measure.name != "tiered":
            run_measure(made, measure)
            for row in measure.rows:
                assert row.error == "no NVRTC"
                assert row.is_unavailable


@pytest.mark.usefixtures("nvrtc")
def test_hit_that_was_compiled_is_an_error(monkeypatch):
    def run_without_a_cache(*arguments, **environment):
        environment["GPUOS_CACHE_DIR"] = "off"
        return jit_child.run_child(*arguments, **environment)

    monkeypatch.setattr(jit, "run_child", run_without_a_cache)
    row = Row("hit", "ms")
    with pytest.raises(ValueError, match="expected hits in the disk cache"):
        jit.run_disk(context.Context("host", 0, TINY), row)


@pytest.mark.parametrize("before", [None, "on"])
def test_a_child_has_its_own_environment(monkeypatch, before):
    name = "GPUOS_LOG"
    monkeypatch.delenv(name, raising=False)
    if before:
        monkeypatch.setenv(name, before)
    assert jit_child.run_child(os.getenv, name, GPUOS_LOG="off") == "off"
    assert os.environ.get(name) == before
    with pytest.raises(ZeroDivisionError):
        jit_child.run_child(divmod, 1, 0, GPUOS_LOG="off")
    assert os.environ.get(name) == before


def test_a_child_that_hangs_ends(monkeypatch):
    monkeypatch.setattr(jit_child, "LIMIT_S", 1)
    with pytest.raises(BrokenProcessPool):
        jit_child.run_child(time.sleep, WAIT_S)


def test_peer_that_is_not_installed_says_so(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(Unavailable, match=r"cuda\.core is not installed"):
        jit.cuda_core_ms(lambda: "", "sm_90", 1)


def test_sources_are_new_each_time():
    assert small_kernel(new_name()) != small_kernel(new_name())
    names = re.findall(r"scale_\w+", many_kernels(8) + many_kernels(8))
    assert len(set(names)) == 16


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command.name, "--help"])
    assert end.value.code == 0
    printed = "".join(capsys.readouterr().out.split())
    assert ("--plot" in printed) is command.has_plot
    for measure in command.measures():
        assert measure.name in printed
