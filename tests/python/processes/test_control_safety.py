"""Permissions of the socket; clients that misbehave have no effect."""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from control_support import Load, connected, open_files
from deadlines import WAIT_S, until
from program_support import captured, python

import gpuos
from gpuos.control import client, socket_file
from gpuos.control import server as servers

only_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root becomes somebody else"
)
LIST = b'{"command":"list"}\n'


@pytest.fixture
def server(host, tmp_path):
    with (
        Load(host),
        gpuos.serve(tmp_path / "run" / "s", runtime=host) as made,
    ):
        yield made


def listed(path):
    return client.ask(path, {"command": "list"})["runtimes"]


def mode_of(path):
    return path.lstat().st_mode & 0o7777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folder_and_socket_are_ours_alone(host, tmp_path, umask):
    before = os.umask(umask)
    try:
        server = gpuos.serve(tmp_path / "run" / "s", runtime=host)
    finally:
        os.umask(before)
    with server:
        assert server.path == tmp_path / "run" / "s"
        assert mode_of(server.path.parent) == 0o700
        assert mode_of(server.path) == 0o600
        assert server.path.is_socket()
        assert mode_of(tmp_path / "run" / ".s.lock") == 0o600
    assert [*server.path.parent.iterdir()] == []


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777, 0o1777])
def test_a_folder_that_others_may_enter_is_refused(host, tmp_path, mode):
    tmp_path.chmod(mode)
    with pytest.raises(gpuos.InvalidArgument, match="expected mode 700"):
        gpuos.serve(tmp_path / "s", runtime=host)
    assert [*tmp_path.iterdir()] == []


@only_root
def test_a_folder_of_another_user_is_refused(host, tmp_path):
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(gpuos.InvalidArgument, match="of user 65534"):
        gpuos.serve(tmp_path / "s", runtime=host)
    assert [*tmp_path.iterdir()] == []


def inodes(folder):
    return {path: path.lstat().st_ino for path in folder.rglob("*")}


def link_to_folder(folder):
    (folder / "real").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "real")
    return folder / "link" / "s"


def link_to_socket(folder):
    (folder / "s").symlink_to(folder / "other")
    return folder / "s"


def link_to_lock(folder):
    (folder / ".s.lock").symlink_to(folder / "other")
    return folder / "s"


def foreign_lock(folder):
    (folder / ".s.lock").write_text("precious")
    return folder / "s"


def plain_file(folder):
    (folder / "s").write_text("precious")
    return folder / "s"


def folder_as_socket(folder):
    (folder / "s").mkdir()
    return folder / "s"


def foreign_socket(folder):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "s"))
    return folder / "s"


def no_folder(folder):
    return folder / "no" / "folder" / "s"


def name_too_long(folder):
    return folder / ("s" * 200)


@pytest.mark.parametrize(
    "make",
    [
        link_to_folder,
        link_to_socket,
        link_to_lock,
        foreign_lock,
        plain_file,
        folder_as_socket,
        foreign_socket,
        no_folder,
        name_too_long,
    ],
)
def test_an_occupied_path_is_refused_and_stays(host, tmp_path, make):
    path = make(tmp_path)
    before = inodes(tmp_path)
    with pytest.raises(gpuos.InvalidArgument):
        gpuos.serve(path, runtime=host)
    assert inodes(tmp_path) == before
    for file in before:
        assert not file.is_file() or file.read_text() == "precious"


@pytest.mark.parametrize("path", ["", "\0abstract", "s\0", 3, b"\0abstract"])
def test_invalid_paths_are_refused(host, path):
    with pytest.raises((gpuos.InvalidArgument, TypeError)):
        gpuos.serve(path, runtime=host)


def test_no_runtime_is_refused(tmp_path):
    with pytest.raises(TypeError, match="expected a Runtime, got str"):
        gpuos.serve(tmp_path / "s", runtime="host")
    assert [*tmp_path.iterdir()] == []


def test_only_one_serves_at_a_path(server, host):
    with pytest.raises(socket_file.Taken, match="another serves it"):
        gpuos.serve(server.path, runtime=host)
    assert listed(server.path)


def test_one_of_many_concurrent_servers_serves(host, tmp_path):
    for turn in range(20):
        path = tmp_path / f"s{turn % 2}"

        def begin(_number, path=path):
            try:
                return gpuos.serve(path, runtime=host)
            except socket_file.Taken:
                return None

        with ThreadPoolExecutor(8) as pool:
            made = [one for one in pool.map(begin, range(8)) if one]
        assert len(made) == 1
        assert listed(path)
        made[0].close()
    assert [*tmp_path.iterdir()] == []


def test_a_lock_that_was_removed_before_it_was_ours_counts_for_nothing(
    host, tmp_path, monkeypatch
):
    path, lock = tmp_path / "s", tmp_path / ".s.lock"
    flock, others = fcntl.flock, []

    def lose_the_race(file, how):
        if not others:
            # An ended server removes its lock, and another one starts.
            lock.unlink()
            others.append(lock.open("w"))
            flock(others[0], fcntl.LOCK_EX)
        flock(file, how)

    monkeypatch.setattr(socket_file.fcntl, "flock", lose_the_race)
    with pytest.raises(socket_file.Taken):
        gpuos.serve(path, runtime=host)
    others[0].close()


def test_a_file_that_took_the_place_stays(host, tmp_path):
    server = gpuos.serve(tmp_path / "s", runtime=host)
    server.path.unlink()
    server.path.write_text("of somebody else")
    server.close()
    assert server.path.read_text() == "of somebody else"


def test_the_socket_moves_with_its_folder(host, tmp_path):
    folder = tmp_path / "run"
    with gpuos.serve(folder / "s", runtime=host):
        folder.rename(tmp_path / "moved")
        folder.mkdir(mode=0o700)
        (folder / "s").write_text("of somebody else")
        assert listed(tmp_path / "moved" / "s")
    assert (folder / "s").read_text() == "of somebody else"
    assert [*(tmp_path / "moved").iterdir()] == []


def count_sockets():
    return sum(file.startswith("socket:") for file in open_files())


def test_close_ends_everything(host, tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "MOST_S", 2 * WAIT_S)
    sockets = count_sockets()
    server = gpuos.serve(tmp_path / "s", runtime=host)
    with connected(server.path) as idle:
        idle.sendall(b"{")
        assert until(lambda: server._connections)
        start = time.monotonic()
        server.close()
        # A client that has not said anything whole is not waited for.
        assert time.monotonic() - start < WAIT_S
        server.close()
    assert not any(thread.is_alive() for thread in server._threads)
    assert count_sockets() <= sockets
    with pytest.raises(gpuos.Error, match="expected a process that serves"):
        listed(server.path)


def test_a_failed_thread_start_leaves_nothing(host, tmp_path, monkeypatch):
    started = []
    start = threading.Thread.start

    def start_some(thread):
        if len(started) == 3:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    with pytest.raises(RuntimeError, match="can't start"):
        gpuos.serve(tmp_path / "s", runtime=host)
    assert not any(thread.is_alive() for thread in started)
    assert [*tmp_path.iterdir()] == []


def test_a_hundred_clients_at_once_are_answered(server):
    gate = threading.Barrier(100)

    def ask(number):
        gate.wait(WAIT_S)
        name = f"made{number}"
        fields = {"name": name, "expression": f"o = x + {number}"}
        answer = client.ask(server.path, {"command": "define", **fields})
        return answer["operator"] == name

    with ThreadPoolExecutor(100) as pool:
        assert all(pool.map(ask, range(100)))
    (entry,) = listed(server.path)
    assert {f"made{n}" for n in range(100)} <= {*entry["operators"]}


def test_at_most_eight_are_talked_to(server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(servers, "MOST_S", WAIT_S)
        most = 0
        clients = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for one in clients:
            client._connect(one, server.path)
        assert until(lambda: len(server._connections) == servers.CLIENTS)
        for one in clients:
            most = max(most, len(server._connections))
            one.close()
    assert most == servers.CLIENTS
    assert listed(server.path)


def test_clients_that_say_nothing_are_left_after_a_time(server, monkeypatch):
    monkeypatch.setattr(servers, "MOST_S", 0.2)
    slow = [socket.socket(socket.AF_UNIX) for _ in range(3 * servers.CLIENTS)]
    for number, one in enumerate(slow):
        client._connect(one, server.path)
        one.sendall(LIST[: number % 3])
    for one in slow:  # the last ones are talked to after the first
        one.settimeout(WAIT_S)
        assert b"TimeoutError" in one.recv(1 << 16)
        one.close()
    monkeypatch.undo()
    assert listed(server.path)


def test_a_slow_client_is_dropped(server, monkeypatch):
    monkeypatch.setattr(servers, "MOST_S", 0.3)
    sent = 0
    with (
        connected(server.path) as connection,
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
    ):
        while sent < 10_000:
            connection.sendall(b" ")
            sent += 1
            time.sleep(0.01)
    assert sent < 10_000


def test_a_client_that_reads_nothing_is_dropped(server, host, monkeypatch):
    # An answer that does not fit into the kernel's buffers.
    for number in range(40):
        host.define("n" * 10_000 + str(number), "o = x")
    monkeypatch.setattr(servers, "MOST_S", 0.2)
    deaf = [socket.socket(socket.AF_UNIX) for _ in range(servers.CLIENTS)]
    for one in deaf:
        client._connect(one, server.path)
        one.sendall(LIST)
    for one in deaf:  # the server is at its answer
        one.settimeout(WAIT_S)
        assert one.recv(1, socket.MSG_PEEK)
    assert until(lambda: not server._connections)
    monkeypatch.undo()
    assert listed(server.path)
    for one in deaf:
        one.close()


KILLED = """
import os, signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode())
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"command":"li',
        '{"command":"list"}\n',
        '{"command":"stats"}\n' * 5_000,
        '{"command":"define","name":"made","expression":"o = x"}\n',
    ],
    ids=["nothing", "a part", "one", "many", "a change"],  # short ones
)
def test_a_client_that_is_killed_harms_nothing(server, text):
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, server.path, text],
            check=False,
            timeout=WAIT_S,
        )
        assert done.returncode == -signal.SIGKILL
    assert until(lambda: not server._connections)
    assert listed(server.path)


OTHER_USER = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
try:
    s.connect(sys.argv[1])
    print(s.recv(65536).decode())
except PermissionError:
    print("denied")
"""


@only_root
def test_another_user_is_refused(host):
    with tempfile.TemporaryDirectory() as folder:
        server = gpuos.serve(f"{folder}/s", runtime=host)

        def try_it():
            return python(
                "-c", OTHER_USER, server.path, timeout=WAIT_S, check=True
            ).stdout

        with server:
            assert try_it() == "denied\n"
            # It is refused even with open permissions.
            Path(folder).chmod(0o755)
            server.path.chmod(0o666)
            assert "expected user 0, got 65534" in try_it()


FORK = """
import gpuos, os, pathlib, sys, warnings
from gpuos.control import client
warnings.simplefilter("ignore")
path = pathlib.Path({path!r})
rt = gpuos.Runtime("host")
{serve}
def listed():
    return client.ask(path, {{"command": "list"}})["runtimes"]
def is_socket(number):
    try: return "socket:" in os.readlink(f"/proc/self/fd/{{number}}")
    except OSError: return False
def sockets():
    return [*filter(is_socket, range(3, 64))]
assert listed()
assert sockets()
child = os.fork()
if child == 0:
    try:
        assert not sockets(), sockets()
        {close}
        other = gpuos.Runtime("host")
        assert not sockets(), sockets()
        assert path.is_socket()
        assert listed()  # of the parent
    except BaseException as error:
        print("child:", repr(error), flush=True)
        os._exit(1)
    sys.exit(0)  # with what Python does at the end
_, status = os.waitpid(child, 0)
assert path.is_socket()
assert listed()
print(status)
"""


@pytest.mark.parametrize("by_variable", [False, True])
def test_a_forked_child_does_not_serve(printed_by, tmp_path, by_variable):
    path = tmp_path / "s"
    text = FORK.format(
        path=str(path),
        serve="" if by_variable else "server = gpuos.serve(path)",
        close="" if by_variable else "server.close()",
    )
    variables = {"GPUOS_CONTROL": str(path)} if by_variable else {}
    assert printed_by(text, **variables) == "0\n"


ENDS = """
import gpuos, sys, time
rt = gpuos.Runtime("host")
rt.define("wave", "o = x + 1")
server = gpuos.serve(sys.argv[1])
print(flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
def test_a_process_may_end_while_it_is_asked(tmp_path, seconds):
    path = tmp_path / "s"
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", ENDS, path, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    program.stdout.readline()
    source = "GPUOS_OPERATOR({0}) {{ task.pointer<float>(0)[0] = 1; }}"

    def ask(kind):
        count = 0
        while program.poll() is None:
            count += 1
            name = f"made{count}"
            fields = {
                "define": {"name": name, "source": source.format(name)},
                "replace": {"op": "wave", "expression": f"o = x + {count}"},
            }
            with contextlib.suppress(gpuos.Error):
                message = {"command": kind, **fields.get(kind, {})}
                client.ask(path, message)

    threads = [
        threading.Thread(target=ask, args=(kind,))
        for kind in ("define", "replace", "wait", "stats")
    ]
    for thread in threads:
        thread.start()
    _, errors = program.communicate(timeout=WAIT_S)
    for thread in threads:
        thread.join()
    assert (program.returncode, errors) == (0, "")
    assert [*tmp_path.iterdir()] == []


EARLY = """
import gpuos, os, sys, warnings
warnings.simplefilter("ignore")
child = os.fork()
gpuos.Runtime("host")
print(len(os.listdir(sys.argv[1])), flush=True)
if child:
    os.waitpid(child, 0)
"""


def test_the_child_of_a_fork_before_any_runtime_does_not_serve(tmp_path):
    done = python(
        "-c",
        EARLY,
        tmp_path,
        check=True,
        variables={"GPUOS_CONTROL": str(tmp_path / "%p")},
    )
    # The parent's socket and lock; the child sees them or not yet.
    assert max(map(int, done.stdout.split())) == 2


def test_no_new_file_reaches_programs_that_are_started(server):
    before = captured(
        "/bin/sh", "-c", "ls -l /proc/self/fd", check=True, close_fds=False
    ).stdout
    assert "socket:" not in before
    assert str(server.path.parent) not in before


SECURE = """
import ctypes, gpuos
AT_SECURE = 23
print(ctypes.CDLL(None).getauxval(AT_SECURE),
      gpuos._core._secure_variable("GPUOS_CONTROL"))
"""


@only_root
def test_the_variable_of_a_privileged_program_is_not_read(tmp_path):
    # One that runs with another group's rights is.
    program = tmp_path / "python"
    program.write_bytes(Path(sys.executable).resolve().read_bytes())
    os.chown(program, 0, 65534)
    found = {}
    for mode in (0o755, 0o2755):
        program.chmod(mode)
        done = captured(
            program,
            "-c",
            SECURE,
            variables={
                "GPUOS_CONTROL": "/nowhere/s",
                "PYTHONHOME": sys.base_prefix,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
        if done.returncode:
            pytest.skip(f"a copy of Python does not start: {done.stderr}")
        found.update([done.stdout.split()])
    if "1" not in found:
        pytest.skip("programs get no rights of their file here")
    assert found == {"0": "/nowhere/s", "1": "None"}
