import hashlib
import os
import struct
import time

import pytest
from program_support import gpuos_command

import gpuos
from gpuos.cli.words import ago, size

SCHEMA = 2


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, name="axpy.cu", *, schema=SCHEMA, registers=20, bytes_=1000):
    """A file as docs/cache.md describes it."""
    body = b"gpuosjit" + struct.pack("<I", schema)
    body += text(key) + text(name) + text("sm_90")
    body += struct.pack("<6I", registers, 0, 0, 0, 1, 0)
    body += struct.pack("<I", 1) + text("gpuos_entry_axpy")
    body += struct.pack("<I", 0)  # name expressions
    body += text("no warnings") + text(b"\x7fELF" * (bytes_ // 4))
    return body + hashlib.sha256(body).digest()


class Cache:
    def __init__(self, path):
        self.folder = path / "cache"
        self.folder.mkdir(mode=0o700)
        self.variables = {"GPUOS_CACHE_DIR": str(self.folder)}

    def add(self, key, data=None, *, age_s=0.0, folder=None):
        name = hashlib.sha256(key.encode()).hexdigest() + ".gpuos"
        path = (folder or self.folder) / name
        path.write_bytes(entry(key) if data is None else data)
        path.chmod(0o600)
        then = time.time() - age_s
        os.utime(path, (then, then))
        return path

    def run(self, *arguments, **variables):
        return gpuos_command(
            *arguments, variables={**self.variables, **variables}
        )


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def test_ls_lists_the_entries(cache):
    kept = cache.add("one", entry("one", "axpy.cu", registers=23))
    cache.add("two", entry("two", "relu.cu"), age_s=7300)
    done = cache.run("cache", "ls")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        *["file", "operator", "for", "registers", "size", "last", "used"]
    ]
    assert lines[1].split() == [
        *[kept.name[:8], "axpy.cu", "sm_90", "23", "1.1", "KiB", "now"]
    ]
    assert lines[2].endswith("2 hours ago")
    assert lines[-1] == f"{cache.folder}: 2 images, 2.3 KiB of 512 MiB"


def test_verify_finds_bad_entries_and_prune_removes_them(cache):
    good = cache.add("good")
    cut = cache.add("cut", entry("cut")[:-1])
    moved = cache.add("moved", entry("elsewhere"))
    newer = cache.add("newer", entry("newer", schema=SCHEMA + 1))
    done = cache.run("cache", "verify")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"bad: {cut}: the checksum differs" in done.stdout
    assert f"bad: {moved}: it has another entry's name" in done.stdout
    assert "4 images: 1 good, 2 bad, 1 of another gpuos" in done.stdout
    done = cache.run("cache", "prune")
    assert done.returncode == 0
    assert done.stdout.startswith("removed 2 files, 2.3 KiB")
    assert set(cache.folder.iterdir()) == {good, newer}
    assert cache.run("cache", "verify").returncode == 0


def test_prune_removes_the_longest_unused(cache):
    old = cache.add("old", age_s=500)
    new = cache.add("new", age_s=100)
    (cache.folder / ".gpuos-part-1-2-3").write_bytes(b"of a killed writer")
    done = cache.run("cache", "prune", "--max-mb", "0.0015")
    assert done.returncode == 0
    assert list(cache.folder.iterdir()) == [new]
    assert not old.exists()


def test_prune_refuses_a_negative_size(cache):
    done = cache.run("cache", "prune", "--max-mb", "-1")
    assert done.returncode == 2
    assert "--max-mb: expected 0 to" in done.stderr
    with pytest.raises(gpuos.InvalidArgument, match="max_bytes is 0 or more"):
        gpuos.cache.prune(-1)


def test_clear_removes_only_files_of_the_cache(cache):
    cache.add("one")
    notes = cache.folder / "notes.gpuos"
    notes.write_text("mine")
    done = cache.run("cache", "clear")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(cache.folder.iterdir()) == [notes]


def test_read_only_level_is_shown_and_kept(cache, tmp_path):
    baked = tmp_path / "baked"
    baked.mkdir(mode=0o755)
    kept = cache.add("baked", folder=baked)
    variables = {"GPUOS_CACHE_READONLY_DIR": str(baked)}
    shown = cache.run("cache", "ls", **variables).stdout
    assert "read-only" in shown.splitlines()[1]
    assert f"read-only {baked}: 1 image, 1.1 KiB" in shown
    cache.run("cache", "clear", **variables)
    assert kept.exists()
    baked.chmod(0o777)
    shown = cache.run("cache", "ls", **variables).stdout
    assert f"read-only, not used: {baked}: group or others" in shown


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"GPUOS_CACHE_DIR": "off"}, "GPUOS_CACHE_DIR is off"),
        ({"GPUOS_CACHE_DIR": ""}, "GPUOS_CACHE_DIR is empty"),
        ({"GPUOS_CACHE_MAX_MB": "0"}, "GPUOS_CACHE_MAX_MB is 0"),
        (
            {"GPUOS_CACHE_MAX_MB": "much"},
            "GPUOS_CACHE_MAX_MB: expected a number of MiB, got 'much'",
        ),
    ],
)
def test_off_says_why(cache, variables, reason):
    for action in ("ls", "verify", "prune", "clear"):
        done = cache.run("cache", action, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        if action == "ls":
            assert reason in done.stdout
    assert reason in " ".join(cache.run("info", **variables).stdout.split())


def test_info_says_where_the_cache_is(cache):
    cache.add("one")
    shown = " ".join(cache.run("info").stdout.split())
    assert f" cache found 1 entry, 1 KiB {cache.folder} " in shown


def test_functions_give_what_the_commands_print(printed_by, cache):
    cache.add("one")
    cache.add("two", b"broken")
    assert printed_by(
        "import os\n"
        f"os.environ['GPUOS_CACHE_DIR'] = {str(cache.folder)!r}\n"
        "import gpuos\n"
        "info = gpuos.cache.info()\n"
        "print(info.own.entries, info.own.why_off == '', info.max_bytes)\n"
        "for image in sorted(gpuos.cache.images(), key=lambda i: i.state):\n"
        "    print(image.state, image.name, image.registers)\n"
        "print(gpuos.cache.prune(0).files, gpuos.cache.clear())\n"
    ).splitlines() == [
        f"2 True {512 << 20}",
        "bad  0",
        "good axpy.cu 20",
        "2 Removal(files=0, bytes=0)",
    ]


def test_objects_are_made_by_gpuos_alone():
    with pytest.raises(TypeError, match="only gpuos makes instances"):
        gpuos.Kernel()


def test_words():
    assert size(1) == "1 byte"
    assert size(1023) == "1023 bytes"
    assert size(512 << 20) == "512 MiB"
    assert size(3 << 40) == "3072 GiB"
    assert ago(59) == "now"
    assert ago(61) == "1 minute ago"
    assert ago(3 * 86400) == "3 days ago"
