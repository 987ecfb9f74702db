from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from deadlines import COMPILE_S, WAIT_S
from jit_support import or_skip
from program_support import python

import gpuos

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

# Each xdist process has its own GPU, and sees the others after it.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
_gpus = int(os.environ.get("GPUOS_TEST_GPUS", "1"))
if _gpus > 1:
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(
        str((_worker + i) % _gpus) for i in range(_gpus)
    )

# Tests neither write to the user's caches nor read from them. PyTorch's
# compiler stores there the header folders of another environment.
CACHE = Path(__file__).parents[2] / "build" / "test_cache"
os.environ["GPUOS_CACHE_DIR"] = str(CACHE)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(CACHE / "inductor")

# A build without benchmarks lacks a module that these files import.
if not any((Path(gpuos.__file__).parent / "bench").glob("_loops*.so")):
    collect_ignore_glob = ["tools/test_bench*.py"]

# A shell starts background processes with Ctrl-C ignored, and children inherit
# that. Children that wait for it would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Runs for `ns` nanoseconds, then sets its one element to 1.
NAP = """
#if defined(__CUDACC__)
static __device__ long long now_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return static_cast<long long>(t);
}
#else
#include <time.h>
static long long now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}
#endif
GPUOS_OPERATOR(nap) {
  const long long end = now_ns() + task.scalar<long long>(1);
  while (now_ns() < end) {
  }
  if (lane.index() == 0) task.pointer<float>(0)[0] = 1;
}
"""

# Runs until the byte at `opens` is set, or on a GPU, which does not see it, for a
# second. Then it sets its one element to 1.
GATE = (
    NAP.partition("GPUOS_OPERATOR")[0]
    + """
#if !defined(__CUDACC__)
#include <unistd.h>
#endif
GPUOS_OPERATOR(gate) {
#if defined(__CUDACC__)
  const long long end = now_ns() + 1000000000;
  while (now_ns() < end) {
  }
#else
  const auto* opens =
      reinterpret_cast<const volatile char*>(task.scalar<long long>(1));
  while (*opens == 0) usleep(100);
#endif
  if (lane.index() == 0) task.pointer<float>(0)[0] = 1;
}
"""
)


pytest_plugins = ["tiers"]


@functools.cache
def has_cuda() -> bool:
    if os.environ.get("GPUOS_TEST_CUDA"):
        return True  # a GPU that is not found is a failure then
    return any(
        finding.found and finding.what.startswith("device")
        for finding in gpuos.diagnose()
    )


def can_pass(item: pytest.Item) -> bool:
    """Return whether it may do more than skip, as far as is known."""
    names = getattr(item, "fixturenames", ())
    needs_gpu = "cuda" in names or item.get_closest_marker("gpu") is not None
    if needs_gpu and not has_cuda():
        return False
    if any(mark.args[0] for mark in item.iter_markers("skipif")):
        return False
    params = item.callspec.params if hasattr(item, "callspec") else {}
    for mark in item.iter_markers("never"):
        (is_so,) = mark.args
        wanted = inspect.signature(is_so).parameters
        if wanted.keys() <= params.keys() and is_so(
            *(params[name] for name in wanted)
        ):
            return False
    return True


def pytest_report_header() -> list[str]:
    return [] if has_cuda() else ["no GPU: tests that need one are left out"]


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    made = yield  # of a function: its items
    return [*filter(can_pass, made)] if isinstance(made, list) else made


@pytest.fixture(scope="session")
def bridge() -> Any:
    """The bridge to PyTorch, which the first process compiles."""
    gt = importlib.import_module("gpuos.torch")
    gt.wait_ready()  # no test passes by having been eager
    return gt.bridge()


@pytest.fixture(autouse=True)
def takes_what_it_can(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make schedulers defer all they can, even where PyTorch is faster."""
    if request.node.get_closest_marker("torch") is None:
        yield
        return
    bridge = request.getfixturevalue("bridge")
    bridge.weigh_costs(False)
    yield
    bridge.weigh_costs(True)
    blocks = importlib.import_module("gpuos.torch.scheduling")._blocks
    assert not blocks, "expected no thread to stay in a scheduler"


def here_and(name: str) -> list[Any]:
    """Return `name`, which is of this processor, and a GPU where there is one."""
    gpu = pytest.param("cuda", marks=pytest.mark.gpu)
    return [name, gpu] if has_cuda() else [name]


@pytest.fixture(scope="session", params=here_and("host"))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rt(backend: str) -> Iterator[gpuos.Runtime]:
    # A task of a busy machine may take long.
    with gpuos.Runtime(backend=backend, watchdog_s=WAIT_S) as runtime:
        yield runtime


@pytest.fixture
def host() -> Iterator[gpuos.Runtime]:
    with gpuos.Runtime(backend="host", watchdog_s=WAIT_S) as runtime:
        yield runtime


@pytest.fixture
def session(host: gpuos.Runtime) -> Any:
    return importlib.import_module("session_support").make_session(host)


@pytest.fixture
def cuda() -> Iterator[gpuos.Runtime]:
    with gpuos.Runtime(backend="cuda") as runtime:
        yield runtime


@pytest.fixture(scope="session", params=here_and("cpu"))
def device(request: pytest.FixtureRequest) -> str:
    """Where the tensors of a test of gpuos.torch are."""
    return str(request.param)


@pytest.fixture(autouse=True)
def _wide_awake(request: pytest.FixtureRequest) -> None:
    # A thread that an earlier test left alone would not be intercepted.
    if request.node.get_closest_marker("torch") is not None:
        importlib.import_module("torch_support").watch_anew()


@pytest.fixture
def same(device: str) -> Any:
    """See torch_support.Same."""
    return importlib.import_module("torch_support").Same(device)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """The module `ray`, see ray_support.start()."""
    ray = importlib.import_module("ray_support").start()
    yield ray
    ray.shutdown()


@pytest.fixture
def nap_source() -> str:
    return NAP


@pytest.fixture
def nap(rt: gpuos.Runtime) -> gpuos.Operator:
    return define_nap(rt)


def define_nap(rt: gpuos.Runtime) -> gpuos.Operator:
    """Return an operator that takes `ns` nanoseconds."""
    return define(rt, "nap", NAP, "ns")


def define(
    rt: gpuos.Runtime, name: str, source: str, param: str
) -> gpuos.Operator:
    return or_skip(
        rt.define,
        name,
        source=source,
        params={param: "int64"},
        inputs=0,
        elementwise=False,
    )


class Gate:
    """Tasks that are not done before open(), however slow the test is."""

    def __init__(self, rt: gpuos.Runtime) -> None:
        self._rt = rt
        self._op = define(rt, "gate", GATE, "opens")
        self._opens = np.zeros(1, "int8")

    def submit(self, out: Any) -> gpuos.Ticket:
        at = self._opens.ctypes.data
        return self._rt.submit(self._op, out=out, opens=at)

    def open(self) -> None:
        self._opens[0] = 1


@pytest.fixture
def gate(rt: gpuos.Runtime) -> Iterator[Gate]:
    made = Gate(rt)
    yield made
    made.open()  # else a test that fails waits at its end


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program text in another interpreter; names are variables of it."""

    def run(
        text: str, *, timeout: float = COMPILE_S, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return python(
            "-W", "error", "-c", text, timeout=timeout, variables=variables
        )

    return run


@pytest.fixture
def printed_by(run_python: Callable[..., Any]) -> Callable[..., str]:
    """Run a program text that succeeds without a word; return its output."""

    def run(text: str, **options: Any) -> str:
        done = run_python(text, **options)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return str(done.stdout)

    return run
