"""Random headers of .npy files, as `python -m gpuos run` reads them.

NumPy is the oracle: gpuos must accept exactly the files that NumPy loads as an
array of a dtype that gpuos has, with the same elements.
"""

import io
import random
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpuos
from gpuos.cli import npy

DESCRIPTIONS = (
    *("'<f4'", "'<f8'", "'<i4'", "'<i8'", "'f4'", "'=f8'", "'float32'"),
    *("'>f4'", "'|i8'", "'<i2'", "'<c8'", "'|b1'", "'|O'", "'|V0'", "'<U3'"),
    *("'<M8[s]'", "[('a', '<f4')]", "('<f4', (2,))", "'<f4,<i8'", "None"),
    *("'3f4'", "''", "'<f999'", "b'<f4'", "{'names': ['a']}", "7", "'<f\\0'"),
    *(
        "('<f4', {})",
        "('<f4', ('<f4', ('<f4',)))",
        "[('a', '<f4'), ('a', '<f4')]",
        "True",
    ),
)
SHAPES = (
    *("()", "(3,)", "(2, 3)", "(0,)", "(3, 0, 2)", "(1, 1, 4)", "[2, 3]"),
    *(
        "(True,)",
        "(2.0,)",
        "('3',)",
        "(-1,)",
        "(None,)",
        "3",
        "(3)",
        "(2, (3,))",
    ),
    *("(4611686018427387904, 4)", "(18446744073709551616,)", "(65536,) * 9"),
    *("(0, 9223372036854775807)", "(9223372036854775808, 0)", "(1,) * 40"),
    *("(" + "1, " * 33 + ")", "(" + "9" * 5000 + ",)", "(1e9,)", "(1j,)"),
    *("(2, -0)", "(0x3,)", "(1_0,)", "(3L,)", "(3L, 2L)", "(*(2,),)"),
)
ORDERS = ("False", "True", "0", "1", "None", "'C'")
VERSIONS = ((1, 0), (2, 0), (3, 0), (1, 1), (0, 0), (9, 0), (255, 255))
SPOILERS = (
    *(
        "(" * 300,
        "[" * 3000,
        "\0",
        "\n",
        "\r",
        "\x0b",
        "{",
        "}",
        "'",
        '"""',
        "#",
    ),
    *("(" * 5000, "-" * 5000, "'''\n\n'''"),
    *("\\", "__import__('os')", "lambda: 0", "{**{}}", "-", "1_", "\xff"),
)


@dataclass(frozen=True)
class Case:
    data: bytes


def header_text(dice: random.Random) -> str:
    """A header, mostly a right one."""
    plain = dice.random() < 0.5
    values = {
        "descr": dice.choice(DESCRIPTIONS[:4] if plain else DESCRIPTIONS),
        "fortran_order": dice.choice(ORDERS[:2] if plain else ORDERS),
        "shape": dice.choice(SHAPES[:6] if plain else SHAPES),
    }
    fields = [f"'{key}': {value}" for key, value in values.items()]
    if not plain and dice.random() < 0.3:
        fields.append(dice.choice([fields[0], "'other': 1", "1: 2", "**{}"]))
    if not plain and dice.random() < 0.2:
        fields.pop(dice.randrange(len(fields)))
    dice.shuffle(fields)
    text = "{" + ", ".join(fields) + dice.choice([", }", "}"])
    if dice.random() < 0.15:
        at = dice.randrange(len(text) + 1)
        cut = at + dice.randrange(4)
        text = text[:at] + dice.choice(SPOILERS) + text[cut:]
    return text


def draw(dice: random.Random) -> Case:
    text = header_text(dice).encode(dice.choice(["latin1", "utf-8"]), "replace")
    is_plain = dice.random() < 0.7
    version = dice.choice(VERSIONS[:2] if is_plain else VERSIONS)
    width = 2 if version[0] == 1 else 4
    text += b" " * dice.randrange(64) + b"\n"
    length = len(text)
    if dice.random() < 0.1:
        length = dice.choice([0, 1, length - 1, length + 1, 2**16 - 1])
    if width == 4 and dice.random() < 0.05:
        length = 2**32 - 1
    length %= 256**width
    data = b"\x93NUMPY" + bytes(version) + length.to_bytes(width, "little")
    data += text + dice.randbytes(dice.choice([0, 8, 48, 64, 96, 97, 200]))
    if dice.random() < 0.15:
        data = data[: dice.randrange(len(data) + 1)]
    if dice.random() < 0.15:
        at = dice.randrange(max(1, len(data)))
        data = data[:at] + dice.randbytes(dice.randrange(3)) + data[at + 1 :]
    return Case(data)


def text(case: Case) -> str:
    return f"a .npy file of these bytes: {case.data!r}"


def numpy_reads(data: bytes) -> np.ndarray | None:
    """Return the array that NumPy reads, if gpuos should take it."""
    # Version 3 differs only in names of fields and in the syntax of Python 2,
    # which NumPy accepts up to version 2.
    if data[6:8] == b"\3\0":
        data = data[:6] + b"\2\0" + data[8:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception:  # noqa: BLE001 (damage raises anything)
        return None
    # NumPy gives elements that are arrays themselves as more axes.
    if b"('<f4', (2,))" in data or b"'3f4'" in data:
        return None
    known = array.dtype.name in npy.DTYPES and array.dtype.isnative
    return array if known and array.flags.c_contiguous else None


def gpuos_reads(path: str) -> np.ndarray | None:
    """Return the array that gpuos reads, or None if it refuses the file."""
    try:
        with npy.opened(path) as file:
            values = np.empty(file.size, file.dtype)
            file.read_into(values)
            return values.reshape(file.shape)
    except gpuos.InvalidArgument as error:
        if "expected" not in str(error):
            raise
        return None


def finding(case: Case) -> str:
    """Return the finding, or an empty text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npy"
        path.write_bytes(case.data)
        try:
            got = gpuos_reads(str(path))
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__}: {error}"
    wanted = numpy_reads(case.data)
    if got is None or wanted is None:
        if got is not wanted:
            return f"NumPy reads {wanted!r}, gpuos {got!r}"
        return ""
    same = got.dtype == wanted.dtype and got.shape == wanted.shape
    if not same or got.tobytes() != wanted.tobytes():
        return f"NumPy reads {wanted!r}, gpuos {got!r}"
    return ""
