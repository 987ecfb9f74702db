"""A scheduler's block that runs begins to defer when the bridge is there."""

import re

import pytest
from building_support import output_of, site
from deadlines import WAIT_S, until

from gpuos import choosing

torch = pytest.importorskip("torch")

from gpuos.torch import building

__all__ = ["site"]
pytestmark = pytest.mark.torch

JOINS = """
warnings.simplefilter("ignore")
from gpuos.torch import readiness, scheduling
mine = scheduling._thread
state = threading.local()
ready = threading.Semaphore(0)
go = threading.Event()
failed = []

def loop(wanted=True, most=2000):
    "Go on with a program; return whether it defers, which each value is right."
    x = torch.ones(4)
    count = 0
    while bool(mine.blocks) != wanted or most and not wanted:
        x = x + 1 if count % 2 else x - 1
        count += 1
        assert x.tolist() == [float(count % 2 == 0)] * 4, (x, count)
        most -= 1 if readiness.bridge_if_loaded() else 0
        time.sleep(0.0005)
        if most < 0:
            return False
    return True

def begin():
    ready.release()
    go.wait()

def plain():
    with torch.no_grad(), gt.scheduler():
        begin()
        assert loop()

def grad():
    w = torch.ones(4, requires_grad=True)
    with gt.scheduler():
        begin()
        y = (w * 2).sum()
        assert loop()
        ((w * 3).sum() + y).backward()
    assert w.grad.tolist() == [5.0] * 4

def nested():
    with torch.no_grad(), gt.scheduler():
        with gt.scheduler(auto_flush_ms=50):
            begin()
            assert loop()
            assert len(mine.blocks) == 2 and not mine.eager
        assert len(mine.blocks) == 1
        assert loop()

def inner_is_newer():
    with torch.no_grad(), gt.scheduler():
        begin()
        until(readiness.bridge_if_loaded)
        with gt.scheduler():
            assert len(mine.blocks) == 2 and not mine.eager
        assert len(mine.blocks) == 1

def left_meanwhile():
    with torch.no_grad(), gt.scheduler():
        begin()
    until(readiness.bridge_if_loaded)
    assert loop(False, 100)

def left_by_an_error():
    try:
        with gt.scheduler():
            begin()
            assert loop()
            1 / 0
    except ZeroDivisionError:
        assert not mine.blocks and not mine.eager

def autocast():
    with torch.no_grad(), gt.scheduler(), torch.autocast("cpu"):
        begin()
        assert loop()

def inference():
    with gt.scheduler():
        with torch.inference_mode():
            begin()
            until(readiness.bridge_if_loaded)
            assert loop(False, 100)  # its end would take our key along
        assert loop()

def inference_outside():
    with torch.inference_mode(), gt.scheduler():
        begin()
        assert loop()

def backward():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2
        @staticmethod
        def backward(context, gradient):
            begin()
            until(readiness.bridge_if_loaded)
            assert loop(False, 100)
            return gradient * 2
    w = torch.ones(4, requires_grad=True)
    with gt.scheduler():
        Twice.apply(w).sum().backward()
        assert loop()
    assert w.grad.tolist() == [2.0] * 4

def not_here():
    begin()
    until(readiness.bridge_if_loaded)
    assert loop(False, 100)

def run(program):
    try:
        program()
        assert not mine.blocks and not mine.eager
    except BaseException as error:
        failed.append((program.__name__, repr(error)))

programs = [plain, grad, nested, inner_is_newer, left_meanwhile,
            left_by_an_error, autocast, inference, inference_outside, backward,
            not_here]
threads = [threading.Thread(target=run, args=(one,)) for one in programs]
for thread in threads:
    thread.start()
for _ in threads:
    ready.acquire()
go.set()
touch("go")
for thread in threads:
    thread.join()
assert not failed, failed
assert not scheduling._blocks and not scheduling._waiting
until(lambda: threading.active_count() == 1)
assert gt.stats()["intercepted"] > 0
"""


def test_blocks_that_run_begin_to_defer(site):
    site.run(JOINS)


FIXED_MEANWHILE = {
    "deterministic": "torch.use_deterministic_algorithms(True)",
    "ranks": """
torch.distributed.is_initialized = lambda: True
torch.distributed.get_world_size = lambda: 2
""",
}


@pytest.mark.parametrize("how", FIXED_MEANWHILE)
def test_a_block_that_may_not_depend_on_time_stays_eager(site, how):
    fix = "\n    ".join(FIXED_MEANWHILE[how].strip().splitlines())
    site.run(f"""
warnings.simplefilter("ignore")
from gpuos.torch import readiness, scheduling
with torch.no_grad(), gt.scheduler():
    x = torch.ones(4)
    {fix}
    touch("go")
    until(readiness.bridge_if_loaded)
    end, count = time.monotonic() + {WAIT_S}, 1
    while scheduling._waiting:  # until this thread was asked
        assert time.monotonic() < end
        x, count = x + 1, count + 1
    assert not scheduling._thread.blocks
    assert x.tolist() == [count] * 4
assert defers()
""")


def test_ready_uses_a_bridge_that_another_process_compiles(site):
    text = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.no_grad(), gt.scheduler():
        x = torch.ones(4)
        touch("inside")
        while gt.stats()["intercepted"] == 0:
            x = x + 1
            time.sleep(0.001)
[warning] = caught
print(warning.message)
"""
    with site.start(text, GPUOS_TORCH="ready") as process:
        until((site.folder / "inside").exists)
        assert site.started() == []
        site.touch("go")
        site.run("gt.build()")
        said = output_of(process)
    assert "GPUOS_TORCH=ready" in said
    assert "build-torch" in said


# Fake what the test is of, then run a program in which all of it is used.
PROGRAM = """
import sys
import warnings
import torch
import gpuos

{fake}
import gpuos.torch as gt

def program():
    with gt.scheduler(deterministic=True) as outer:
        x = torch.arange(4.0)
        with gt.scheduler():
            y = (x + x).relu()
        gt.flush()
        outer.flush(sync=True)
        assert gt.pending() == 0
        return y.sum().item()

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert program() == 12.0
    assert program() == 12.0
    gt.shutdown()
[warning] = caught
assert warning.category is RuntimeWarning, warning
assert warning.filename == "<string>", warning
print(warning.message)
counted = gt.stats()
assert counted.pop("eager") == 4, counted
assert not any(counted.values()), counted
x = torch.ones(2)
for use in (
    lambda: gt.submit_add(x, x, x),
    lambda: gt.submit_unary("exp", x, x),
    lambda: gt.runtime("cpu"),
    gt.init,
):
    try:
        use()
    except gpuos.BackendUnavailable as error:
        print(error)
    else:
        raise AssertionError(use)
for name in ("add", "__add__", "numpy", "data_ptr"):
    assert "gpuos" not in repr(getattr(torch.Tensor, name)), name
"""
OF_ANOTHER = 'torch.__version__ = "2.99.0"'
# Differences of layout show when the bridge has been loaded.
LIES_ELSEWHERE = """
from gpuos.torch import loading

def load(spec, original=loading.importlib.util.module_from_spec):
    module = original(spec)
    execute = spec.loader.exec_module

    def exec_module(module):
        execute(module)
        def check():
            raise RuntimeError("expected a tensor's keys elsewhere\\nat f()")
        module.check_private_parts = check

    spec.loader.exec_module = exec_module
    return module

loading.importlib.util.module_from_spec = load
"""


@pytest.mark.parametrize(
    ("fake", "says"),
    [
        (OF_ANOTHER, "expected PyTorch 2.11 or 2.13, which were tried, got"),
        (LIES_ELSEWHERE, "expected a tensor's keys elsewhere"),
    ],
)
def test_schedulers_are_eager_and_say_so_once(printed_by, fake, says):
    done = printed_by(PROGRAM.format(fake=fake))
    warning, *errors = done.splitlines()
    assert says in warning
    assert warning.endswith("schedulers defer nothing, PyTorch does everything")
    assert errors == [warning.split(";")[0]] * 4


@pytest.mark.parametrize("version", ["2.99.0", "3.0", "2.110.0+cu130"])
def test_nothing_is_compiled_for_another_version(monkeypatch, version):
    monkeypatch.setattr(torch, "__version__", version)
    text = f"expected PyTorch 2.11 or 2.13, which were tried, got {version}"
    with pytest.raises(choosing.UntriedPyTorch, match=re.escape(text)):
        building.build(print)


def test_the_bridge_asserts_the_tested_versions():
    # The C++ of the bridge asserts the same versions.
    text = (choosing.SOURCES / "pytorch/private_parts.h").read_text()
    for version in choosing.TRIED:
        major, minor = map(int, version.split("."))
        assert f"GPUOS_TORCH_VERSION == {major * 100 + minor}" in text
    assert text.count("GPUOS_TORCH_VERSION ==") == len(choosing.TRIED)
