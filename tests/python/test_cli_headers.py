"""For any .npy header, `python -m gpuos run` prints one line."""

from __future__ import annotations

import io
import itertools
import random

import numpy as np
import pytest
from test_cli_files import ONE, left_in, run

DTYPES = ("float32", "float64", "int32", "int64")


def bytes_of(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


# Extra texts of a header, in addition to the required ones.
TEXTS = [
    "",
    "{",
    "{}",
    "[]",
    "1",
    "b''",
    "(" * 5000,
    "-" * 5000 + "1",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x",
    "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}",
    "{'descr': '<f4', 'fortran_order': False}",
    "{'fortran_order': False, 'shape': (6,), 'descr': '''\n\n'''}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6L,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (6,\n)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': ('''6\n}",
]
SHAPES = [
    "6",
    "(6.0,)",
    "(True, 6)",
    "(False, 6)",
    "(True,)",
    "(None,)",
    "('6',)",
    "[6]",
    "(-1,)",
    "(-1, -6)",
    "(-6, 0)",
    "(7,)",
    "(2**64,)",
    f"({2**64},)",
    f"({2**63},)",
    f"({2**62}, 0)",
    f"({2**32}, {2**32})",
    f"(0, {2**64})",
    f"({'1, ' * 70})",
    f"({'9' * 5000},)",
]
DESCRS = [
    "''",
    "'x'",
    "'O'",
    "'<f2'",
    "'>f4'",
    "'<c8'",
    "'?'",
    "'<U3'",
    "'M8[s]'",
    "'V4'",
    "'f4,i4'",
    "[('a', '<f4')]",
    "[('a', '<f4'), ('a', '<f4')]",
    "('<f4', (2,))",
    "('<f4', {})",
    "{}",
    "5",
    "None",
    "True",
    "b'<f4'",
    "('<f4', ('<f4', ('<f4',)))",
]


def with_header(text, version=(1, 0), length=None):
    size = 2 if version == (1, 0) else 4
    body = text.encode("latin-1")
    length = len(body) if length is None else length
    start = b"\x93NUMPY" + bytes(version) + length.to_bytes(size, "little")
    return start + body + ONE.tobytes()


def fields(descr="'<f4'", shape="(6,)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n"


def written_headers():
    for text in TEXTS:
        yield with_header(text)
    for shape in SHAPES:
        yield with_header(fields(shape=shape))
    for descr in DESCRS:
        yield with_header(fields(descr=descr))
    for version in itertools.product((0, 1, 2, 3, 4, 255), (0, 1)):
        yield with_header(fields(), version)
    for length in (0, 1, 60, 0xFFFF):
        yield with_header(fields(), length=length)
    yield with_header(fields(), (2, 0), 0xFFFFFFFF)
    yield from (b"", b"\x93", b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18)
    yield from (b"\x80\x04N.", b"text\n", b"\0" * 200)


def random_damage(count):
    rng = random.Random(23)
    whole = [bytes_of(ONE), bytes_of(ONE.astype("i8"), (2, 0))]
    yield from whole
    for number in range(count):
        data = bytearray(whole[number % 2])
        header = len(data) - 6 * (4 if number % 2 == 0 else 8)
        for _ in range(rng.randint(1, 2)):
            place = rng.randrange(header)
            match rng.randrange(4):
                case 0:
                    data[place] ^= 1 << rng.randrange(8)
                case 1:
                    data[place] = rng.randrange(256)
                case 2:
                    del data[place : place + rng.randint(1, 4)]
                case 3:
                    data[place:place] = rng.choice(
                        [b"(", b"\n", b"'", b"0", b"True,", b"-", b"\0"]
                    )
            header = min(header, len(data))
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        yield bytes(data)


def what_numpy_reads(data):
    """The array if it is one for an expression, else None."""
    try:
        array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception:  # noqa: BLE001 (after any error it is no array)
        return None
    is_known = array.dtype.name in DTYPES and array.dtype.isnative
    return array if is_known and array.flags.c_contiguous else None


@pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")
def test_a_damaged_header_is_one_line_or_what_numpy_reads(capsys, tmp_path):
    source, out = tmp_path / "a.npy", tmp_path / "out.npy"
    taken = 0
    for data in [*written_headers(), *random_damage(300)]:
        source.write_bytes(data)
        code, error = run(capsys, source, "-o", out)
        expected = what_numpy_reads(data)
        if expected is None:
            assert (code, left_in(tmp_path)) == (2, ["a.npy"]), (data, error)
        else:
            assert code == 0, (data, error)
            result = np.load(out)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected * 2)
            out.unlink()
            taken += 1
    assert 5 < taken < 300
