"""The wave of examples/ is drawn, and its formula replaced from outside."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from control_support import ctl
from deadlines import WAIT_S, until
from program_support import captured

WAVE = Path(__file__).parents[3] / "examples" / "wave.py"
ROWS, COLUMNS = 24, 80
ESCAPES = re.compile(r"\x1b\[[?\d;]*[a-zA-Z]")


class Terminal:
    """A program at a separate terminal, and its picture."""

    def __init__(self, *words):
        ours, theirs = pty.openpty()
        size = struct.pack("4H", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        self.program = subprocess.Popen(
            [sys.executable, "-W", "error", WAVE, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            # One call of the kernel, so that Ctrl-C comes as a signal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(theirs)
        self._ours = ours
        self._text = ""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while True:
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:  # on Linux: the other side has closed
                return
            self._text += data.decode()

    def frame(self):
        """The last frame that is whole."""
        frames = self._text.split("\x1b[H")
        return ESCAPES.sub("", frames[-2] if len(frames) > 2 else "")

    def rows(self):
        """Return the rows of the picture that are not empty."""
        picture = self.frame().partition("step ")[0]
        return [row for row in picture.splitlines() if row.strip()]

    def press(self, key):
        os.write(self._ours, key)

    def end(self):
        """Return its output and its exit code."""
        try:
            code = self.program.wait(WAIT_S)
        finally:
            self.program.kill()
            self._thread.join()
            os.close(self._ours)
        return self._text, code


@pytest.fixture
def start():
    started = []

    def run(*words):
        started.append(Terminal(*words))
        return started[-1]

    yield run
    for terminal in started:
        terminal.program.kill()
        terminal._thread.join(WAIT_S)


def test_a_wave_is_drawn_while_its_formula_is_replaced(start, tmp_path):
    path = tmp_path / "run" / "s"
    terminal = start("--control", path)
    assert until(lambda: len(terminal.rows()) > 1), terminal._text
    assert "o = 2 * u - before + c" in terminal.frame()
    # The command that the picture shows can be typed.
    lines = terminal.frame().replace("\r", "").split("for example:\n")[1]
    command = lines.split("python -m gpuos ctl ")[1].split('"')
    assert command[0] == f"{path} replace wave -e "
    done = ctl(path, "replace", "wave", "-e", command[1])
    assert (done.returncode, done.stderr) == (0, "")
    assert until(lambda: f"   {command[1]}" in terminal.frame())

    assert ctl(path, "replace", "wave", "-e", "o = u +").returncode == 2
    assert f"   {command[1]}" in terminal.frame()

    # A string at rest is a flat line, which is still drawn.
    assert ctl(path, "replace", "wave", "-e", "o = 0 * u").returncode == 0
    assert until(lambda: [*map(str.strip, terminal.rows())] == ["o" * COLUMNS])
    before = terminal.frame()
    assert until(lambda: terminal.frame() != before)
    assert ctl(path, "replace", "wave", "-e", "o = 2 * u + 1").returncode == 0
    assert until(lambda: "plucked again" in terminal.frame())

    terminal.press(b"\x03")
    text, code = terminal.end()
    assert code == 0, text
    assert "the first as NumPy's" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    assert not path.exists()


def test_a_watched_formula_is_taken(start, tmp_path):
    file = tmp_path / "formula"
    terminal = start("--control", tmp_path / "run" / "s", "--watch", file)
    assert until(lambda: len(terminal.rows()) > 1), terminal._text
    file.write_text("o = u +")
    assert until(lambda: "expected an operand" in terminal.frame())
    file.write_text("o = 0 * u")
    assert until(lambda: len(terminal.rows()) == 1)
    os.kill(terminal.program.pid, signal.SIGINT)
    text, code = terminal.end()
    assert code == 0, text


def test_the_example_starts_again_after_a_kill(start, tmp_path):
    path = tmp_path / "run" / "s"
    for _ in range(2):
        terminal = start("--control", path)
        assert until(terminal.rows)
        terminal.program.kill()
        terminal.end()


def test_without_a_terminal_one_picture_is_printed(tmp_path):
    done = captured(
        *(sys.executable, "-W", "error", WAVE),
        *("--seconds", "0.2", "--control", tmp_path / "s"),
        timeout=WAIT_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert done.stdout.count("step ") == 1
    assert "the first as NumPy's" in done.stdout
