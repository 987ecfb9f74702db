"""Files that replace operators when they are saved."""

import errno
import logging
import os
import shutil
import sys
import threading
import time

import numpy as np
import pytest
from control_support import open_files
from deadlines import COMPILE_S, WAIT_S, until
from jit_support import or_skip

import gpuos
from gpuos import watching
from gpuos.texts import digest

WHOLE = """
GPUOS_OPERATOR(wave) {{
  float* out = task.pointer<float>(0);
  const float* in = task.pointer<const float>(1);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = in[i] {body};
}}
"""


@pytest.fixture(autouse=True)
def _nobody_watches():
    """The thread of an earlier test looks once a second whether it is over."""
    assert until(lambda: threads() == 0)


class Screen:
    """An operator, its file and what the operator gives for 3."""

    def __init__(self, rt, folder):
        self.rt = rt
        self.path = folder / "wave.txt"
        self.errors = []
        self.op = rt.define("wave", "o = x + 1")
        self.path.write_text("o = x + 1")
        self._x = rt.array([3.0], dtype="float32")
        self._out = rt.empty(1)

    def watch(self):
        return self.rt.watch(self.op, self.path, on_error=self.errors.append)

    def value(self):
        self.rt.submit(self.op, self._x, out=self._out)
        return float(self._out.numpy()[0])

    def becomes(self, value, timeout=WAIT_S):
        return until(lambda: self.value() == value, timeout)

    def fails(self, timeout=WAIT_S):
        return until(lambda: self.errors, timeout)


def threads():
    """Return how many threads watch: others may end meanwhile."""
    return [each.name for each in threading.enumerate()].count("gpuos-watch")


def watchers():
    """Return how many instances of inotify this process has."""
    return open_files().count("anon_inode:inotify")


@pytest.fixture
def screen(rt, tmp_path):
    return Screen(rt, tmp_path)


def in_place(path, text):
    """Write over it, then cut what is left: what `r+` does."""
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def truncate_and_write(path, text):
    """VS Code's and nano's way, with a pause as of a slow disk."""
    with path.open("w") as file:
        file.flush()
        time.sleep(2 * watching.QUIET_S)
        file.write(text)


def rename_over(path, text):
    """JetBrains', `sed -i`'s and git's way."""
    other = path.with_suffix(".new")
    other.write_text(text)
    other.rename(path)


def move_away_and_create(path, text):
    """Vim's way: the old file becomes the backup."""
    path.rename(path.with_name(path.name + "~"))
    truncate_and_write(path, text)


def delete_and_create(path, text):
    """Copy a file to a free name, as some editors do."""
    path.unlink()
    time.sleep(2 * watching.QUIET_S)
    path.write_text(text)


def in_pieces(path, text):
    """A writer that closes the file only at the end."""
    with path.open("w") as file:
        for piece in ("o =", text.removeprefix("o =")):
            file.write(piece)
            file.flush()
            time.sleep(2 * watching.QUIET_S)


SAVES = [
    in_place,
    truncate_and_write,
    rename_over,
    move_away_and_create,
    delete_and_create,
    in_pieces,
]


@pytest.mark.parametrize("save", SAVES)
def test_every_way_to_save_replaces(screen, save):
    with screen.watch() as watch:
        assert watch.path == screen.path
        for number in (10, 20, 30):
            save(screen.path, f"o = x * {number}\n")
            assert screen.becomes(3.0 * number)
    assert screen.errors == []


@pytest.mark.parametrize("save", SAVES)
def test_a_save_that_does_not_compile_keeps_the_old_one(screen, save):
    with screen.watch():
        save(screen.path, "o = x +\n")
        assert screen.fails()
        assert screen.value() == 4.0
        save(screen.path, "o = x + 5\n")
        assert screen.becomes(8.0)
    assert [type(error) for error in screen.errors] == [gpuos.InvalidArgument]


def test_other_files_of_the_folder_are_not_read(screen):
    with screen.watch():
        screen.path.write_text("o = x +")
        assert screen.fails()
        screen.errors.clear()
        screen.path.with_name("wave.txt~").write_text("o = x * 7")
        screen.path.with_name(".wave.txt.swp").write_text("nonsense")
        # Time to read the wrong text again, or that of another.
        time.sleep(4 * watching.QUIET_S)
        screen.path.write_text("o = x * 2")
        assert screen.becomes(6.0)
    assert screen.errors == []


def test_a_whole_operator_is_compiled(rt, tmp_path):
    path = tmp_path / "wave.cu"
    path.write_text(WHOLE.format(body="+ 1"))
    x, out = rt.array([3.0], dtype="float32"), rt.empty(1)
    errors = []
    or_skip(rt.define, "wave", source=path.read_text(), inputs=1)

    def value():
        rt.submit("wave", x, out=out)
        return float(out.numpy()[0])

    with rt.watch("wave", path, on_error=errors.append):
        path.write_text(WHOLE.format(body="* nothing"))
        assert until(lambda: errors, COMPILE_S)
        assert value() == 4.0
        path.write_text(WHOLE.format(body="* 2"))
        assert until(lambda: value() == 6.0, COMPILE_S)
    (error,) = errors
    assert isinstance(error, gpuos.CompileError)
    assert "nothing" in f"{error}{error.log}"


def test_without_a_callback_the_log_has_the_error(screen, caplog):
    caplog.set_level(logging.INFO, "gpuos.watch")
    with screen.rt.watch(screen.op, screen.path):
        screen.path.write_text("o = x +")
        assert until(lambda: caplog.records)
        screen.path.write_text("o = x * 2")
        assert screen.becomes(6.0)
    first, second = caplog.records
    assert first.levelname == "ERROR"
    assert f"{screen.path}: expression: column" in first.getMessage()
    assert second.levelname == "INFO"
    assert second.getMessage() == (
        f"{screen.path}: replaced, digest {digest('o = x * 2')}, version 2"
    )


def test_a_callback_that_raises_ends_nothing(screen, caplog):
    def fail(_error):
        raise KeyError("of the callback")

    with screen.rt.watch(screen.op, screen.path, on_error=fail):
        screen.path.write_text("o = x +")
        assert until(lambda: caplog.records)
        screen.path.write_text("o = x * 2")
        assert screen.becomes(6.0)
    assert "on_error" in caplog.text
    assert "of the callback" in caplog.text


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(screen, mode):
    screen.path.chmod(mode)
    with pytest.raises(gpuos.InvalidArgument, match="only you may write"):
        screen.watch()
    screen.path.chmod(0o600)
    with screen.watch():
        other = screen.path.with_suffix(".new")
        other.write_text("o = x * 2")
        other.chmod(mode)
        other.rename(screen.path)
        assert screen.fails()
        assert screen.value() == 4.0
    assert "chmod go-w" in str(screen.errors[0])


def test_a_folder_that_others_may_write_is_refused(screen):
    folder = screen.path.parent
    folder.chmod(0o777)
    with pytest.raises(gpuos.InvalidArgument, match="only you may write"):
        screen.watch()
    folder.chmod(0o1777)  # as /tmp is
    screen.watch().close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("which", ["file", "folder"])
def test_files_and_folders_of_other_users_are_refused(screen, which):
    path = screen.path if which == "file" else screen.path.parent
    os.chown(path, 65534, 65534)
    for mode in (0o700, 0o1700):
        path.chmod(mode)
        with pytest.raises(gpuos.InvalidArgument, match="of user 65534"):
            screen.watch()


def test_the_mark_of_an_editor_is_no_text(screen):
    with screen.watch():
        screen.path.write_text("o = x * 2", encoding="utf-8-sig")
        assert screen.becomes(6.0)
    assert screen.errors == []
    assert screen.op.expression == "o = x * 2"


def test_files_that_are_no_text_are_reported(screen):
    with screen.watch():
        for data in (b"o = \xff", b"o = x + 1" + b" " * (1 << 20)):
            screen.errors.clear()
            screen.path.write_bytes(data)
            assert screen.fails()
            assert isinstance(screen.errors[0], gpuos.InvalidArgument)
        screen.errors.clear()
        other = screen.path.with_suffix(".fifo")
        os.mkfifo(other, 0o600)
        other.rename(screen.path)
        assert screen.fails()
        assert "plain file" in str(screen.errors[0])
    assert screen.value() == 4.0


def test_an_empty_file_is_about_to_be_written(screen):
    with screen.watch():
        screen.path.write_text("")
        time.sleep(4 * watching.QUIET_S)
        screen.path.write_text("o = x * 2")
        assert screen.becomes(6.0)
    assert screen.errors == []


def test_a_link_is_followed_once(rt, tmp_path):
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    screen = Screen(rt, real)
    link = tmp_path / "link.txt"
    link.symlink_to(screen.path)
    with rt.watch(screen.op, link) as watch:
        assert watch.path == screen.path
        screen.path.write_text("o = x * 2")
        assert screen.becomes(6.0)


def test_a_removed_folder_is_reported(screen):
    with screen.watch():
        shutil.rmtree(screen.path.parent)
        assert screen.fails()
        assert "watched no longer" in str(screen.errors[0])
    assert screen.value() == 4.0


def test_a_watch_ends_with_close_and_with_the_runtime(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "LOOK_S", 0.01)
    known = watchers()
    with gpuos.Runtime("host") as rt:
        screen = Screen(rt, tmp_path)
        watch = screen.watch()
        watch.close()
        watch.close()
        screen.path.write_text("o = x * 2")
        time.sleep(4 * watching.QUIET_S)
        assert screen.value() == 4.0
        left = screen.watch()
    del watch, left
    assert until(lambda: threads() == 0)
    assert until(lambda: watchers() <= known)


def test_many_watches_are_one_thread_and_one_instance(host, tmp_path):
    known = watchers()
    screens = []
    for i in range(40):
        folder = tmp_path / f"of_{i % 3}"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{i}.txt"
        op = host.define(f"wave{i}", "o = x")
        screens.append((op, path, host.watch(op, path)))
    assert watchers() <= known + 1
    assert threads() == 1
    for i, (_, path, watch) in enumerate(screens):
        if i % 2:
            watch.close()
        path.write_text("o = x * 2")
    assert until(lambda: all(op.version == 2 for op, *_ in screens[::2]))
    assert all(op.version == 1 for op, *_ in screens[1::2])
    for *_, watch in screens:
        watch.close()
    assert until(lambda: threads() == 0)
    assert until(lambda: watchers() <= known)


def test_a_slow_watch_delays_no_other(rt, tmp_path):
    screen, other = Screen(rt, tmp_path), rt.define("other", "o = x")
    path = tmp_path / "other.txt"
    is_told, may_go_on = threading.Event(), threading.Event()

    def wait(_error):
        is_told.set()
        may_go_on.wait(WAIT_S)

    with (
        rt.watch(screen.op, screen.path, on_error=wait),
        rt.watch(other, path),
    ):
        screen.path.write_text("o = x +")
        assert is_told.wait(WAIT_S)
        screen.path.write_text("o = x * 2")
        for number in range(3):
            path.write_text(f"o = x + {number}")
            assert until(lambda number=number: other.version == number + 2)
        assert screen.value() == 4.0
        may_go_on.set()
        assert screen.becomes(6.0)


def test_a_callback_may_close_the_watch(screen):
    watch = None

    def close(error):
        screen.errors.append(error)
        watch.close()

    watch = screen.rt.watch(screen.op, screen.path, on_error=close)
    screen.path.write_text("o = x +")
    assert screen.fails()
    watch.close()
    assert until(lambda: threads() == 0)


def test_a_watch_of_a_parent_goes_on(printed_by, tmp_path):
    path = tmp_path / "wave.txt"
    path.write_text("o = x + 1")
    text = f"""
import gpuos, os, pathlib, sys, time, warnings
warnings.simplefilter("ignore")
path = pathlib.Path({str(path)!r})
rt = gpuos.Runtime("host")
op = rt.define("wave", path.read_text())
watch = rt.watch(op, path)
child = os.fork()
if child == 0:
    watch.close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
path.write_text("o = x * 2")
end = time.monotonic() + {WAIT_S}
while op.expression != "o = x * 2" and time.monotonic() < end:
    time.sleep(0.001)
print(op.expression)
"""
    assert printed_by(text) == "o = x * 2\n"


def test_a_hundred_saves_end_with_the_last(screen):
    with screen.watch():
        for number in range(100):
            rename_over(screen.path, f"o = x + {number}")
            assert screen.value() in {
                4.0,
                *(3.0 + n for n in range(number + 1)),
            }
        assert screen.becomes(3.0 + 99)
    assert screen.errors == []


def test_wrong_watches_are_refused(host, tmp_path):
    op = host.define("wave", "o = x")
    with pytest.raises(gpuos.InvalidArgument, match="unknown operator"):
        host.watch("nothing", tmp_path / "f")
    with pytest.raises(TypeError, match="a name, an Operator or a Fused"):
        host.watch(3, tmp_path / "f")
    with pytest.raises(TypeError, match="expected a path"):
        host.watch(op)
    with pytest.raises(TypeError, match="on_error"):
        host.watch(op, tmp_path / "f", on_error=3)
    for path in (tmp_path / "none" / "f", tmp_path):
        with pytest.raises(gpuos.InvalidArgument, match="can be read"):
            host.watch(op, path)


def test_a_file_that_is_not_there_yet_is_waited_for(screen):
    screen.path.unlink()
    with screen.watch():
        screen.path.write_text("o = x * 2")
        assert screen.becomes(6.0)


MODULE = """
import gpuos
FACTOR = {factor}
def helper(x):
    return FACTOR * x
@gpuos.fuse
def wave(x):
    return helper(x) + 1
if __name__ == "__main__":
    raise SystemExit("a script is not run again")
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with a fused function, and its file."""
    path = tmp_path / "of_a_wave.py"
    path.write_text(MODULE.format(factor=2))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "of_a_wave", raising=False)
    return __import__("of_a_wave"), path


def test_a_fused_function_is_that_of_its_module(rt, module):
    of_a_wave, path = module
    wave, errors = of_a_wave.wave, []
    x = rt.array(np.float32([1, 2]))

    def value():
        return wave(x).numpy().tolist()

    assert value() == [3, 5]
    with rt.watch(wave, on_error=errors.append) as watch:
        assert watch.path == path
        for save in (rename_over, truncate_and_write):
            save(path, MODULE.format(factor=5))
            assert until(lambda: value() == [6, 11])
            save(path, MODULE.format(factor=2))
            assert until(lambda: value() == [3, 5])
        assert errors == []
        version = wave.version
        for text, expected in (
            ("def wave(", SyntaxError),
            ("x = 1", gpuos.InvalidArgument),
            ("raise KeyError", KeyError),
            ("raise SystemExit", gpuos.InvalidArgument),
            ("def wave(x, y):\n  return x", gpuos.InvalidArgument),
            ("def wave(x):\n  return x.sum()", gpuos.InvalidArgument),
        ):
            errors.clear()
            rename_over(path, text)
            assert until(lambda: errors)
            assert isinstance(errors[0], expected), errors
            assert value() == [3, 5]
        assert wave.version == version
        # Not fused in the new text: the old one still is.
        rename_over(path, "def wave(x):\n  return x * 4")
        assert until(lambda: value() == [4, 8])
    assert of_a_wave.FACTOR == 2


def test_a_function_that_no_module_names_is_refused(host, tmp_path):
    with pytest.raises(TypeError):
        host.watch(host.fuse(np.sin))
    with pytest.raises(gpuos.InvalidArgument, match="a module names"):
        host.watch(host.fuse(lambda x: x), tmp_path / "f.py")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOSPC])
@pytest.mark.parametrize("function", ["open_watcher", "add_folder"])
def test_more_watches_than_the_system_has(
    host, tmp_path, monkeypatch, number, function
):
    def none_left(*_):
        raise OSError(number, os.strerror(number), "inotify")

    monkeypatch.setattr(f"gpuos.inotify.{function}", none_left)
    op = host.define("wave", "o = x")
    with pytest.raises(gpuos.Error, match="max_user_instances"):
        host.watch(op, tmp_path / "wave.txt")


def test_a_program_may_end_while_files_are_saved(tmp_path, printed_by):
    text = f"""
import atexit, pathlib, threading, time
atexit.register(time.sleep, 0.3)  # after all exit handlers of gpuos
import gpuos
folder = pathlib.Path({str(tmp_path)!r})
rt = gpuos.Runtime("host", workers=1)
watch = rt.watch(rt.define("wave", "o = x"), folder / "wave.txt")
def edit():
    while True:
        (folder / "other.txt").write_text("x")
        time.sleep(0.001)
threading.Thread(target=edit, daemon=True).start()
"""
    printed_by(text)
