"""Ctrl-C in what takes long: the call ends, and nothing of it happened."""

import moments
import pytest

# `interrupted(call)` has a signal come in the middle of `call()`.
PREFIX = """
import os, signal, sys, tempfile, threading, time
import numpy as np
import gpuos

folder = tempfile.TemporaryDirectory()
def compile_for_ever():
    path = os.path.join(folder.name, "cxx")
    with open(path, "w") as script:
        script.write("#!/bin/sh\\n[ $1 = --version ] && exec echo 1\\n"
                     "exec sleep 1000\\n")
    os.chmod(path, 0o700)
    os.environ["CXX"] = path

def interrupted(call):
    sent = []
    def send():
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        call()
    except KeyboardInterrupt:
        print("took", time.monotonic() - sent[0])
    else:
        print("was done")
    thread.join()

def without_nvrtc(call):
    try:
        return call()
    except gpuos.BackendUnavailable as error:
        print("unavailable", error)
        sys.exit(0)
"""
# Less than the call would take, and far more than a busy machine needs.
MOST_S = 30.0

# NVRTC takes longer than any test waits.
SLOW_SOURCE = """
slow = ["__global__ void k(float* x) {"]
slow += [f"x[{i}] = sinf(x[{i}] * {i}) + powf(x[{i}], {i});" for i in range(20_000)]
source = "".join([*slow, "}"])
"""


def run(run_python, text):
    done = run_python(PREFIX + text)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("unavailable"):
        pytest.skip(done.stdout)
    for line in done.stdout.splitlines():
        if line.startswith("took"):
            assert float(line.split()[1]) < MOST_S
        else:
            assert line == "right", done.stdout
    assert "took" in done.stdout
    assert done.stdout.endswith("right\n")


DEFINE = """
compile_for_ever()
rt = gpuos.Runtime("host")
source = "GPUOS_OPERATOR(f) {{}}"
{how}
assert "f" not in rt.operators()
del os.environ["CXX"]
rt.define("f", "o = x")
print("right")
"""


@pytest.mark.parametrize(
    "how",
    [
        'interrupted(lambda: rt.define("f", source=source))',
        (
            'interrupted(lambda: rt.define_many([{"name": "f",'
            ' "source": source}]))'
        ),
        (
            'rt.define("g", "o = x");'
            'interrupted(lambda: rt.replace("g", source=source, inputs=1))'
        ),
    ],
)
def test_the_host_compiler_is_ended(run_python, how):
    run(run_python, DEFINE.format(how=how))


def test_a_full_queue_is_left(run_python, backend, nap_source):
    run(
        run_python,
        f"""
source = {nap_source!r}
rt = gpuos.Runtime({backend!r}, queue_capacity=64, workers=1,
                   submit_timeout_s=500)
nap = without_nvrtc(lambda: rt.define(
    "nap", source=source, params={{"ns": "int64"}}, inputs=0,
    elementwise=False))
out = [rt.zeros(1) for _ in range(8)]
taken = 0
def fill():
    global taken
    while True:
        rt.submit(nap, out=out[taken % 8], ns=2_000_000)
        taken += 1
interrupted(fill)
# Queued tasks run, and nothing else.
x = rt.array([1.0], dtype="float32")
rt.synchronize(timeout=500)
assert rt.stats()["tasks_submitted"] >= taken
assert all(o.numpy()[0] == 1 for o in out)
rt.submit("add", x, x, out=x)
assert x.numpy()[0] == 2
print("right")
""",
    )


def test_nvrtc_is_left(run_python):
    run(
        run_python,
        f"""
{SLOW_SOURCE}
without_nvrtc(lambda: gpuos.JitModule(""))
interrupted(lambda: gpuos.JitModule(source))
print("right", flush=True)
os._exit(0)  # NVRTC may still be at work
""",
    )


# The abandoned NVRTC blocks others until its next check for cancellation, so
# this source compiles faster.
LESS_SLOW_SOURCE = SLOW_SOURCE.replace("20_000", "2_000")
CELLS = {
    "two kernels, compiled side by side": """
session = without_nvrtc(gpuos.Session)
before = []
call = lambda: session.run(source + source.replace(" k(", " l("))
""",
    "an instance of a template": """
session = without_nvrtc(gpuos.Session)
session.run(source.replace("__global__", "template <int> __global__", 1))
before = session.names()
call = lambda: session.link("k<3>")
""",
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=list(CELLS))
def test_a_session_that_compiles_is_left(run_python, cell):
    run(
        run_python,
        f"""
{LESS_SLOW_SOURCE}
{cell}
interrupted(call)
assert session.names() == before
session.run("__device__ int n;")
assert session.names() == sorted([*before, "n"])
print("right", flush=True)
os._exit(0)  # NVRTC may still be at work
""",
    )


@pytest.mark.gpu
def test_launches_of_a_session_are_left(run_python, cuda):
    del cuda  # it is there
    run(
        run_python,
        """
session = gpuos.Runtime("cuda").session()
nap = '''__global__ void nap() {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < 10000000000ull);
}'''
begin = time.monotonic()
interrupted(lambda: session.run(nap + "nap<<<1, 1>>>();"))
interrupted(gpuos.synchronize)
assert time.monotonic() - begin < 10
# Completed work is not reverted.
assert session.names() == ["nap"]
gpuos.synchronize()
assert time.monotonic() - begin >= 10
print("right")
""",
    )


def test_a_handler_that_raises_something_else(run_python):
    done = run_python(
        PREFIX
        + """
class Stop(Exception): pass
def handler(*_):
    raise Stop
signal.signal(signal.SIGALRM, handler)
compile_for_ever()
rt = gpuos.Runtime("host")
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    rt.define("f", source="GPUOS_OPERATOR(f) {}")
except Stop:
    print("right")
""",
    )
    assert done.stdout == "right\n", done.stderr


def test_a_handler_that_returns_ends_nothing(run_python):
    done = run_python(
        PREFIX
        + """
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
rt = gpuos.Runtime("host")
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
rt.define("f", source="GPUOS_OPERATOR(f) { if (task.count > 0) "
                      "task.pointer<float>(0)[0] = 3; }", inputs=0)
out = rt.zeros(1)
rt.submit("f", out=out)
assert out.numpy()[0] == 3
print("right" if calls else "no signal")
""",
        # With a cache, nothing would be compiled the second time.
        GPUOS_CACHE_DIR="off",
    )
    assert done.stdout == "right\n", (done.stdout, done.stderr)


def test_handlers_and_finalizers_compute_at_any_moment():
    assert moments.first_finding(2.0, with_torch=False) == ""
