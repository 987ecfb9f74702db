import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from deadlines import WAIT_S

import gpuos


def test_options_are_what_was_given(backend):
    with gpuos.Runtime(
        backend=backend,
        residency="burst",
        queue_capacity=256,
        workers=2,
        threads_per_worker=64,
        linger_us=50,
        lease_us=1500.5,
        watchdog_s=2.5,
        submit_timeout_s=1,
        flush_after_us=10,
        deterministic=True,
        worker_image=None,
    ) as rt:
        options = rt.options
        assert options["queue_capacity"] == 256
        assert options["workers"] == 2
        assert options["linger_us"] == 50
        assert options["lease_us"] == 1501
        assert options["watchdog_s"] == 2.5
        assert options["residency"] == "burst"
        assert options["worker_image"] == "auto"
        assert options["deterministic"] is True
        assert rt.backend == backend


def test_the_option_list_matches_the_docs():
    root = Path(__file__).parents[3]
    script = root / "scripts/option_list"
    subprocess.run([sys.executable, script, "--check"], check=True)
    page = (root / "docs/python.md").read_text(encoding="utf-8")
    defaults = dict(
        re.findall(r"^\| `(\w+)` \| `(.*?)` \|", page, re.MULTILINE)
    )
    with gpuos.Runtime("host") as rt:
        options = rt.options
    assert list(options)[:2] == ["backend", "device"]
    for name, value in options.items():
        assert ast.literal_eval(defaults[name]) == value or name in (
            "backend",  # it was named
            "workers",  # as many as the machine has
        )
        kind = "int" if value is None else type(value).__name__
        assert f"\n{name} : {kind}\n    " in gpuos.Runtime.__init__.__doc__


def test_wrong_options_are_refused():
    cases = [
        {"backend": "gpu"},
        {"backend": "host", "residency": "often"},
        {"backend": "host", "queue_capacity": 100},
        {"backend": "host", "queue_capacity": -1},
        {"backend": "host", "watchdog_s": -1},
        {"backend": "host", "linger_us": float("nan")},
        {"backend": "host", "worker_image": "best"},
    ]
    for case in cases:
        with pytest.raises(gpuos.InvalidArgument):
            gpuos.Runtime(**case)
    with pytest.raises(TypeError, match="bakend"):
        gpuos.Runtime(bakend="host")
    with pytest.raises(TypeError):
        gpuos.Runtime("host", 0, "auto", 64)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("host", "host"),
        ("gpu", "GPUOS_BACKEND: expected auto, cuda or host, got 'gpu'"),
    ],
)
def test_the_environment_names_the_backend(run_python, name, said):
    done = run_python(
        f"import os; os.environ['GPUOS_BACKEND'] = '{name}'\n"
        "import gpuos\n"
        "try: print(gpuos.Runtime().backend)\n"
        "except gpuos.InvalidArgument as error: print(error)"
    )
    assert (done.stdout, done.stderr) == (f"{said}\n", "")


def test_close_runs_what_is_pending(backend):
    rt = gpuos.Runtime(backend=backend)
    x, out = np.ones(1 << 20, dtype="f4"), rt.zeros(1 << 20)
    one = rt.array(x)
    for _ in range(50):
        ticket = rt.submit("add", out, one, out=out)
    rt.close()
    rt.close()
    assert rt.is_closed
    assert "closed" in repr(rt)
    assert ticket.done
    for use in (
        lambda: rt.submit("add", out, one, out=out),
        lambda: rt.define("f", "o = x"),
        lambda: rt.empty(3),
    ):
        with pytest.raises(gpuos.QueueClosed):
            use()
    assert rt.stats()["tasks_completed"] == rt.stats()["tasks_submitted"]


def test_a_wait_for_two_tasks_counts_as_none(rt, gate):
    a, b, many = rt.zeros(1), rt.zeros(1), rt.zeros(1 << 20)
    gate.submit(a)
    gate.submit(b)
    # Its tiles follow neither of them in a worker.
    sums = rt.fuse(lambda a, b, c: a + b + c)(a, b, many)
    gate.open()
    rt.synchronize()
    assert (sums.numpy() == 2).all()
    assert rt.stats()["tasks_completed"] == rt.stats()["tasks_submitted"]


def test_a_with_block_closes(backend):
    with gpuos.Runtime(backend=backend) as rt:
        assert not rt.is_closed
    assert rt.is_closed


def test_waits_end_at_their_deadline(rt, gate):
    out = rt.zeros(1)
    rt.synchronize(WAIT_S)
    ticket = gate.submit(out)
    rt.flush()
    assert not ticket.done
    with pytest.raises(gpuos.Timeout, match=r"0\.05 s"):
        rt.wait(ticket, timeout=0.05)
    with pytest.raises(TimeoutError):
        rt.synchronize(timeout=0)
    assert not ticket.done
    gate.open()
    rt.wait(ticket, timeout=WAIT_S)
    assert out.numpy()[0] == 1
    assert issubclass(gpuos.Timeout, gpuos.Error)


def test_wrong_timeouts_are_refused(rt):
    ticket = rt.submit("fill", out=rt.zeros(1), value=1)
    for wrong in (-1, float("nan")):
        with pytest.raises(gpuos.InvalidArgument, match="seconds"):
            rt.wait(ticket, timeout=wrong)
    with pytest.raises(TypeError):
        rt.wait(ticket, timeout="1")
    with pytest.raises(TypeError, match="Ticket"):
        rt.wait(3)


def test_public_classes_belong_to_gpuos():
    assert gpuos.Runtime.__module__ == "gpuos"
    assert gpuos.InvalidArgument.__module__ == "gpuos"
    assert issubclass(gpuos.InvalidArgument, ValueError)
    for name in gpuos.__all__:
        value = getattr(gpuos, name)
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, gpuos.Error)


def test_diagnose_is_a_table():
    findings = gpuos.diagnose()
    names = {finding.what for finding in findings}
    assert {"driver", "nvrtc", "nvjitlink", "compiler"} <= names
    assert {"cuda headers", "cccl headers", "bundled headers"} <= names
    lines = str(findings).splitlines()
    assert sum(not line.startswith(" ") for line in lines) == len(findings)
    for finding in findings:
        assert finding.found or finding.hint


def test_diagnose_lists_the_searched_places():
    findings = gpuos.diagnose()
    searched = {finding.what: finding.searched for finding in findings}
    assert "/usr/local/cuda/include" in searched["cuda headers"]
    assert searched["compiler"][0] == "CXX"
    missing = [f.what for f in findings if not f.found and f.searched]
    lines = [x for x in findings.places().splitlines() if x[0] != " "]
    assert [line.split(" was looked")[0] for line in lines] == missing
