"""`python -m gpuos run` with files of every kind, complete or not."""

import io
import os
import resource
import socket
import subprocess
import sys

import numpy as np
import pytest
from program_support import captured, gpuos_command

import gpuos
from gpuos.cli import chunks, main, npy, options
from gpuos.cli.chunks import Work, run_in_chunks

NAMES = "run", "--backend", "host", "--expr", "o = 2 * a"
ONE = np.arange(6, dtype="f4").reshape(2, 3)


def run(capsys, *arguments):
    """Run the command in this process: exit code and its one line of error."""
    code = main([*NAMES, *map(str, arguments)])
    error = capsys.readouterr().err
    lines = error.splitlines()
    assert len(lines) == (code != 0), error
    assert not code or error.startswith("gpuos run: "), error
    return code, error


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, ONE)
    return path


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def make(kind, path):
    """Make something of this kind that is no plain file."""
    match kind:
        case "folder":
            path.mkdir()
        case "full folder":
            path.mkdir()
            (path / "x").touch()
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as end:
                here = os.getcwd()  # noqa: PTH109 (a socket's name is short)
                os.chdir(path.parent)
                end.bind(path.name)
                os.chdir(here)
        case "device":
            path.symlink_to("/dev/zero")
        case "null":
            path.symlink_to("/dev/null")
        case "link to itself":
            path.symlink_to(path.name)
        case "link to a folder":
            path.symlink_to(".")
        case "under a file":
            (path / "x").touch()


KINDS = (
    "folder",
    "full folder",
    "FIFO",
    "socket",
    "device",
    "null",
    "link to itself",
    "link to a folder",
)


def look(path):
    found = os.lstat(path)
    return found.st_mode, found.st_ino, found.st_nlink


@pytest.mark.parametrize("kind", KINDS)
def test_special_files_are_neither_read_nor_replaced(
    capsys, tmp_path, source, kind
):
    other = tmp_path / "other"
    make(kind, other)
    before = look(other), left_in(tmp_path)
    assert run(capsys, other, "-o", tmp_path / "out.npy")[0] == 2
    assert run(capsys, source, "-o", other)[0] == 2
    assert (look(other), left_in(tmp_path)) == before


def test_invalid_names_are_refused(capsys, tmp_path, source):
    before = left_in(tmp_path)
    out = tmp_path / "out.npy"
    for name in ("", tmp_path / "none", source / "x", "a" * 5000):
        assert run(capsys, name, "-o", out)[0] == 2
    for name in (
        *("", "/", ".", "..", "/dev/null", "a" * 5000),
        f"{tmp_path}/new/",
        tmp_path / "none" / "out.npy",
        source / "out.npy",
    ):
        assert run(capsys, source, "-o", name)[0] == 2
    assert left_in(tmp_path) == before


def test_the_longest_file_name_is_accepted(capsys, tmp_path, source):
    out = tmp_path / ("a" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    assert run(capsys, source, "-o", out)[0] == 0
    np.testing.assert_array_equal(np.load(out), ONE * 2)


def test_a_name_that_is_no_text(tmp_path, source):
    out = os.fsencode(tmp_path) + b"/\xff.npy"
    done = gpuos_command(*NAMES, source, "-o", os.fsdecode(out))
    assert (done.returncode, done.stderr) == (0, "")
    with open(out, "rb") as file:  # noqa: PTH123
        np.testing.assert_array_equal(np.load(file), ONE * 2)


def test_a_symbolic_link_is_written_through(capsys, tmp_path, source):
    (tmp_path / "sub").mkdir()
    link, middle = tmp_path / "link", tmp_path / "middle"
    link.symlink_to("middle")
    middle.symlink_to("sub/out.npy")
    for _ in ("a new file", "an old one"):
        assert run(capsys, source, "-o", link)[0] == 0
        assert (os.readlink(link), os.readlink(middle)) == (  # noqa: PTH115
            "middle",
            "sub/out.npy",
        )
        assert left_in(tmp_path / "sub") == ["out.npy"]
        np.testing.assert_array_equal(np.load(link), ONE * 2)
    assert left_in(tmp_path) == ["a.npy", "link", "middle", "sub"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_the_mode_of_the_old_output_is_kept(capsys, tmp_path, source, mode):
    out = tmp_path / "out.npy"
    out.touch()
    out.chmod(mode)
    assert run(capsys, source, "-o", out)[0] == 0
    assert out.stat().st_mode & 0o7777 == mode
    assert np.load(out).shape == ONE.shape


def test_a_new_output_has_the_mode_of_a_new_file(capsys, tmp_path, source):
    out, plain = tmp_path / "out.npy", tmp_path / "plain"
    plain.touch()
    assert run(capsys, source, "-o", out)[0] == 0
    assert out.stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to it")
def test_a_read_only_output_stays(capsys, tmp_path, source):
    out = tmp_path / "out.npy"
    out.write_text("old")
    out.chmod(0o444)
    code, error = run(capsys, source, "-o", out)
    assert (code, out.read_text()) == (2, "old")
    assert "read-only" in error


# A file may be as large as it likes here, as on a full disk; its pages may not.
SMALL_DISK = """
mount -t tmpfs -o size=1m none "$0" || exit 77
echo old > "$0/out.npy"
"$@" -o "$0/out.npy"
echo $?
ls -A "$0"
cat "$0/out.npy"
"""


def test_a_full_disk_is_an_error(tmp_path):
    source, disk = tmp_path / "a.npy", tmp_path / "disk"
    np.save(source, np.ones(1 << 20, "f4"))
    disk.mkdir()
    command = [sys.executable, "-m", "gpuos", *NAMES, source]
    for namespace in (["unshare", "-m"], ["unshare", "-Urm"]):
        try:
            done = captured(*namespace, "sh", "-c", SMALL_DISK, disk, *command)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        if done.stdout:
            break
    else:
        pytest.skip(done.stderr)
    assert done.stdout == "1\nout.npy\nold\n"
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_may_not_grow_is_an_error(tmp_path):
    source, out = tmp_path / "a.npy", tmp_path / "out.npy"
    np.save(source, np.ones(1 << 20, "f4"))
    out.write_text("old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = gpuos_command(*NAMES, source, "-o", out, preexec_fn=limit)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("gpuos run: ")
    assert (left_in(tmp_path), out.read_text()) == (["a.npy", "out.npy"], "old")


def test_writing_standard_output_to_a_full_disk_fails():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "gpuos", "cache", "ls"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_pipe_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-m", "gpuos", "cache", "ls"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.parametrize("rest", [0, 1, 4097])
def test_a_file_that_is_cut_while_it_is_read(
    capsys, monkeypatch, tmp_path, rest
):
    source = tmp_path / "a.npy"
    np.save(source, np.ones(100_000, "f4"))

    class Cut(npy.NpyReader):
        def read_into(self, memory):
            os.truncate(source, rest)
            super().read_into(memory)

    monkeypatch.setattr(npy, "NpyReader", Cut)
    code, error = run(
        capsys, source, "-o", tmp_path / "out.npy", "--chunk-mib", 0.01
    )
    assert code == 1
    assert "cut while it was read" in error
    assert left_in(tmp_path) == ["a.npy"]


def test_an_input_may_be_named_twice_and_be_the_output(source):
    expression = ["run", "--backend", "host", "--expr", "o = a + b"]
    assert main([*expression, str(source), str(source), "-o", str(source)]) == 0
    np.testing.assert_array_equal(np.load(source), ONE * 2)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 6, 63, 64, 65])
def test_every_chunk_is_in_its_place(backend, tmp_path, size, chunk):
    a, b = (np.random.default_rng(k).random(size) for k in (0, 1))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    result = io.BytesIO()
    with (
        gpuos.Runtime(backend) as rt,
        npy.opened(str(tmp_path / "a.npy")) as first,
        npy.opened(str(tmp_path / "b.npy")) as second,
    ):
        op = rt.define("difference", "o = x - y", dtype="float64")
        work = Work(rt, op, [first, second], {})
        done = list(run_in_chunks(work, result, chunk))
    assert done == sorted(done)
    assert done[-1] == size
    np.testing.assert_array_equal(np.frombuffer(result.getvalue()), a - b)


BAD_SIZES = ("nan", "inf", "-inf", "-1", "1e400", "1e300")


@pytest.mark.parametrize("number", [*BAD_SIZES, "0"])
def test_a_chunk_has_a_size(capsys, tmp_path, source, number):
    before = left_in(tmp_path)
    code, error = run(
        capsys, source, "-o", tmp_path / "out.npy", f"--chunk-mib={number}"
    )
    assert code == 2
    assert "--chunk-mib" in error
    assert left_in(tmp_path) == before


@pytest.mark.parametrize("number", BAD_SIZES)
def test_a_cache_has_a_size(capsys, number):
    assert main(["cache", "prune", f"--max-mb={number}"]) == 2
    assert capsys.readouterr().err.startswith("gpuos cache: --max-mb: ")


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "0", "1e400"])
def test_a_demo_has_an_end(capsys, number):
    assert main(["demo", f"--seconds={number}"]) == 2
    assert capsys.readouterr().err.startswith("gpuos demo: --seconds: ")


@pytest.mark.parametrize("number", [0, 0.5, options.MOST_MIB])
def test_valid_sizes_are_parsed(number):
    assert options.number_of_bytes("--x", number) == int(number * 2**20)


@pytest.mark.parametrize(
    "device", ["-1", "1000", str(2**31), str(2**70), "1.5", ""]
)
def test_invalid_devices_are_refused(tmp_path, source, device):
    arguments = [*NAMES, str(source), "-o", str(tmp_path / "out.npy")]
    arguments[2] = "cuda"
    try:
        code = main([*arguments, f"--device={device}"])
    except SystemExit as ended:  # argparse's own way
        code = ended.code
    assert code in (1, 2)
    assert left_in(tmp_path) == ["a.npy"]


@pytest.mark.parametrize(
    "text",
    ["", "=", "a", "=1", "k=", "k=x", "1k=1", "k b=1", "o=1", "k=1j"]
    + [f"{name}=1" for name in ("out", "stream", "o")],
)
def test_invalid_parameters_are_refused(capsys, tmp_path, source, text):
    arguments = *NAMES, source, "-o", tmp_path / "out.npy", f"--param={text}"
    assert main(list(map(str, arguments))) == 2
    error = capsys.readouterr().err
    assert error.startswith("gpuos run: ")
    assert left_in(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("value", ["9" * 5000, str(2**70), "nan", "-inf", "1"])
@pytest.mark.parametrize(
    "name", ["k", "self", "op", "inputs", "name", "\u00e9"]
)
def test_numbers_of_parameters(capsys, tmp_path, source, name, value):
    expression = f"o = a * {name}"
    out = tmp_path / "out.npy"
    arguments = *NAMES[:-1], expression, source, "-o", out
    code = main([*map(str, arguments), f"--param={name}={value}"])
    error = capsys.readouterr().err
    assert (code, error[:11]) in ((0, ""), (2, "gpuos run: "))
    assert out.exists() == (code == 0)


def test_nothing_is_left_when_it_is_interrupted(
    capsys, monkeypatch, tmp_path, source
):
    def interrupted(_work, result, _elements):
        result.write(b"some")
        yield 1
        raise KeyboardInterrupt

    monkeypatch.setattr(chunks, "run_in_chunks", interrupted)
    assert run(capsys, source, "-o", tmp_path / "out.npy")[0] == 130
    assert left_in(tmp_path) == ["a.npy"]
