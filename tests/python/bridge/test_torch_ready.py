"""Until the bridge is compiled schedulers are eager, and nothing waits for it."""

import os
import re
import signal
from pathlib import Path

import pytest
from building_support import COMMANDS, output_of, site
from deadlines import COMPILE_S, until

__all__ = ["site"]

pytest.importorskip("torch")
pytestmark = [pytest.mark.host, pytest.mark.torch]

TAKES_OVER = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert not defers()
    until(started)
    for k in range(3):
        with gt.scheduler() as outer:
            assert not defers()
            outer.flush(sync=True)
    counted = gt.stats()
    assert counted.pop("eager") == 7, counted
    assert not any(counted.values()), counted
    assert all("gpuos" not in repr(f) for f in vars(torch.Tensor).values())
    with gt.scheduler():
        touch("go")
        until(defers)  # also inside of one that is eager
        assert torch.ones(2).add(1).sum() == 4
    assert defers()
    eager = gt.stats()["eager"]
    assert defers()
    assert gt.stats()["eager"] == eager
    assert gt.stats()["intercepted"] > 0
    from gpuos.torch import scheduling
    assert not scheduling._blocks and not scheduling._thread.eager
assert len(caught) == 1, list(map(str, caught))
[warning] = caught
assert warning.category is UserWarning, warning
assert warning.filename == "<string>", warning
print(warning.message)
"""


def test_a_scheduler_takes_over_when_the_bridge_is_there(site):
    said = site.run(TAKES_OVER)
    assert re.search(r"compiled in the background, once, about \d+ s", said)
    assert "wait_ready()" in said
    assert [priority for _, priority in site.started()] == [19] * COMMANDS
    [bridge, lock] = site.left()
    assert bridge.endswith(".so")
    assert lock == "lock"
    # The next process has it at once.
    site.run("assert defers()\nassert gt.stats()['eager'] == 0")
    assert len(site.started()) == COMMANDS


WAITS = {
    "deterministic=True": "assert defers(deterministic=True)",
    "PyTorch is deterministic": """
torch.use_deterministic_algorithms(True)
assert defers()
""",
    "ranks": """
torch.distributed.is_initialized = lambda: True
torch.distributed.get_world_size = lambda: 2
assert defers()
""",
    "a request": """
x = torch.ones(2)
out = torch.empty(2)
gt.submit_add(x, x, out)
assert gt.pending() == 1
gt.flush()
assert out.tolist() == [2.0, 2.0]
""",
    "runtime": "assert gt.runtime().backend == 'host'",
    "wait_ready": "gt.wait_ready()\nassert defers()",
    "init": "gt.init()\nassert defers()",
    "build": "print(gt.build())\nassert defers()",
}
IS_TOLD = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    threading.Thread(target=lambda: until(started) or touch("go")).start()
{}
    assert gt.stats()["eager"] == 0
    assert started() == {}
print(len(caught))
"""


@pytest.mark.parametrize("what", WAITS)
def test_uses_that_need_the_bridge_wait_for_it(site, what):
    block = "\n".join(f"    {line}" for line in WAITS[what].splitlines())
    said = site.run(IS_TOLD.format(block, COMMANDS)).split()
    # A caller that asked for the wait gets no message about it.
    asked = what in ("wait_ready", "init", "build")
    assert said[-1] == ("0" if asked else "1")
    assert {priority for _, priority in site.started()} == {os.nice(0)}


def test_a_wait_may_have_an_end(site):
    site.run("""
for timeout in (0, 0.05):
    error = error_of(gpuos.Timeout, gt.wait_ready, timeout)
    assert f"within {timeout} s" in error, error
for wrong in (-1, float("nan")):
    error_of(gpuos.InvalidArgument, gt.wait_ready, timeout=wrong)
assert not defers()
touch("go")
gt.wait_ready(timeout=60)
assert defers()
""")


def test_one_thread_may_wait_while_others_go_on(site):
    site.run("""
waiting = threading.Thread(target=gt.wait_ready)
waiting.start()
until(started)
for _ in range(20):
    assert not defers()
assert waiting.is_alive()
touch("go")
waiting.join()
assert defers()
""")


def test_a_failed_compilation_is_not_repeated(site):
    site.touch("refuse")
    site.touch("go")
    said = site.run("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    until(lambda: defers() or len(caught) == 2)
    count = started()
    for _ in range(10):
        assert not defers()
assert len(caught) == 2 and started() == count
assert caught[1].category is RuntimeWarning
assert caught[1].filename == "<string>"
print(caught[1].message)
x = torch.ones(2)
for use in (
    lambda: defers(deterministic=True),
    gt.runtime,
    lambda: gt.submit_add(x, x, x),
):
    assert "expected a wonder" in error_of(gpuos.CompileError, use)
assert started() == count
for use in (gt.wait_ready, gt.init, gt.build):
    count = started()
    assert "expected a wonder" in error_of(gpuos.CompileError, use)
    assert started() > count
assert not defers()
(FOLDER / "refuse").unlink()
gt.wait_ready()
assert defers()
""")
    assert "expected a wonder" in said
    assert "build-torch" in said
    assert "wait_ready() tries again" in said


def test_without_a_compiler_it_is_eager_and_says_so(site):
    site.take_compiler()
    said = site.run("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert not defers() and not defers()
[warning] = caught
assert warning.category is RuntimeWarning
print(warning.message)
for use in (lambda: defers(deterministic=True), gt.wait_ready, gt.build):
    print(error_of(gpuos.BackendUnavailable, use))
""")
    assert said.count("expected a C++20 compiler") == 4
    assert "It needs a C++ compiler" in said.splitlines()[0]
    assert site.left() == []


IN_BACKGROUND = "warnings.simplefilter('ignore')\nassert not defers()\n"
WAITING = "threading.Thread(target=gt.wait_ready, daemon=True).start()\n"
ENDINGS = {
    "interrupt": (signal.SIGINT, "time.sleep(1000)"),
    "terminate": (signal.SIGTERM, "time.sleep(1000)"),
    "kill": (signal.SIGKILL, "time.sleep(1000)"),
    "end": (None, ""),
    "error": (None, "1 / 0"),
    "_exit": (None, "os._exit(3)"),
}


def end_program(site, beginning, ending):
    """Start a program that has compilers, and end it; return what it said."""
    number, last = ENDINGS[ending]
    text = f"{beginning}until(started)\ntouch('ready')\n{last}"
    with site.start(text) as process:
        until((site.folder / "ready").exists)
        if number is not None:
            assert len(site.process_ids()) > 1
            process.send_signal(number)
        return process.communicate(timeout=COMPILE_S)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end_of_a_wait_ends_its_compiler(site, ending):
    end_program(site, WAITING, ending)
    until(lambda: site.process_ids() == [])
    until(lambda: site.left() == ["lock"])


OPENS = """
pipes = os.pipe()
for end in pipes:
    os.set_inheritable(end, True)
touch(f"session-{os.getsid(0)}")
touch(f"pipe-{os.stat(pipes[0]).st_ino}")
"""


@pytest.mark.parametrize("ending", ["interrupt", "kill", "end"])
def test_a_background_compilation_outlives_its_program(site, ending):
    said = end_program(site, OPENS + IN_BACKGROUND, ending)
    if ending == "end":
        assert said == ("", "")
    (theirs,) = (int(p.name[8:]) for p in site.folder.glob("session-*"))
    (pipe,) = (int(p.name[5:]) for p in site.folder.glob("pipe-*"))
    ids = site.process_ids()
    assert len(ids) > 1
    for one in ids:
        assert os.getsid(one) != theirs
        assert pipe not in opened_by(one)
    # Another program leaves it alone, and so does its end.
    site.run(IN_BACKGROUND)
    site.touch("go")
    until(lambda: len(site.left()) == 2)
    until(lambda: site.process_ids() == [])
    site.run("assert defers()\nassert gt.stats()['eager'] == 0")
    assert [priority for _, priority in site.started()] == [19] * COMMANDS


def opened_by(process):
    """The files that a process has open, by their inodes."""
    return [one.stat().st_ino for one in Path(f"/proc/{process}/fd").iterdir()]


def test_the_next_program_reports_a_failed_compilation(site):
    site.touch("refuse")
    end_program(site, IN_BACKGROUND, "end")
    site.touch("go")
    until(lambda: any(name.endswith(".error") for name in site.left()))
    count = len(site.started())
    site.run("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert not defers() and not defers()
[warning] = caught
assert warning.category is RuntimeWarning
assert "expected a wonder" in str(warning.message), warning
""")
    assert len(site.started()) == count
    (site.folder / "refuse").unlink()
    site.run("gt.wait_ready()\nassert defers()")
    assert not any(name.endswith(".error") for name in site.left())


def test_control_c_ends_a_wait_and_its_compiler_at_once(site):
    text = """
try:
    gt.wait_ready()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.readline()
"""
    with site.start(text) as process:
        until(site.started)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        # Before the program ends.
        assert site.left() == ["lock"]
        process.kill()
        process.communicate(timeout=COMPILE_S)


def test_two_processes_start_one_compiler(site):
    text = """
warnings.simplefilter("ignore")
assert not defers()
until(started)
touch(f"one-{os.getpid()}")
until(defers)
"""
    with site.start(text) as one, site.start(text) as other:
        until(lambda: len(list(site.folder.glob("one-*"))) == 2)
        assert len(site.started()) == 1
        site.touch("go")
        for process in (one, other):
            output_of(process)
    assert len(site.started()) == COMMANDS


def test_a_waiting_process_replaces_a_killed_compiler(site):
    last = "until(started)\ntime.sleep(1000)"
    with site.start(WAITING + last) as one:
        until(site.started)
        with site.start(IN_BACKGROUND + "until(defers)") as other:
            one.kill()
            until(lambda: 19 in dict(site.started()).values())
            site.touch("go")
            output_of(other)
        one.communicate(timeout=COMPILE_S)


def test_remains_of_a_killed_compiler_are_removed(site):
    left = site.cache / "bridge/building-x"
    left.mkdir(parents=True)
    (left / "python.o").touch()
    site.touch("go")
    said = site.run("""
import logging
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
gt.wait_ready()
""")
    assert not left.exists()
    assert "INFO:gpuos.torch:the bridge was compiled within " in said
    assert "INFO:gpuos.torch:loaded " in said


def test_the_child_of_a_fork_leaves_the_compiler_alone(site):
    site.run("""
warnings.simplefilter("ignore")
assert not defers()
until(started)
child = os.fork()
if child == 0:
    assert not defers()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert started() == 1
child = os.fork()
if child == 0:
    touch("go")
    until(defers)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
until(defers)
""")
    assert len(site.started()) == COMMANDS


def test_a_forked_child_does_not_hold_the_compilers_lock(site):
    text = """
threading.Thread(target=gt.wait_ready, daemon=True).start()
until(started)
if os.fork() == 0:
    touch("child")
    until((FOLDER / "enough").exists)
    os._exit(0)
time.sleep(1000)
"""
    with site.start(text) as process:
        until((site.folder / "child").exists)
        process.kill()
        until(lambda: site.left() == ["lock"])
        site.touch("enough")
        process.communicate(timeout=COMPILE_S)


def test_a_warning_that_is_an_error_comes_once(site):
    site.run("""
warnings.simplefilter("error")
error_of(UserWarning, defers)
assert not defers()
from gpuos.torch import scheduling
assert not scheduling._thread.eager
""")


def test_threads_leave_the_scheduler_they_entered(site):
    site.run("""
warnings.simplefilter("ignore")
shared = gt.scheduler(auto_flush_ms=60_000)
inside, leave, left = (threading.Event() for _ in range(3))

def work():
    with shared:
        inside.set()
        leave.wait()
    left.set()

thread = threading.Thread(target=work, daemon=True)
thread.start()
inside.wait()
touch("go")
gt.wait_ready()
from gpuos.torch import scheduling
with torch.no_grad(), shared:
    x = torch.ones(2) + 1
    waiting = gt.pending()
    assert waiting > 0
    leave.set()
    assert left.wait(60)
    assert gt.pending() == waiting
    assert len(scheduling._blocks) == 1
assert not scheduling._blocks
assert defers()
""")
