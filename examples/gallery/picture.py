"""Writes a table of numbers as a picture, without a library for it."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

NIGHT = ("#000010", "#20306a", "#c86b3c", "#ffd98a", "#ffffff")
WATER = ("#03182e", "#14507f", "#5fb0d8", "#ffffff")
HEAT = ("#0d0887", "#7e03a8", "#cc4778", "#f89540", "#f0f921")


def palette(colours: tuple[str, ...]) -> Any:
    """Return 256 colours, uint8 of shape (256, 3), from some."""
    known = np.array([tuple(bytes.fromhex(x[1:])) for x in colours])
    at = np.linspace(0, len(known) - 1, 256)
    places = range(len(known))
    channels = [np.interp(at, places, channel) for channel in known.T]
    return np.stack(channels, axis=1).astype(np.uint8)


def save(path: str | Path, values: Any, colours: tuple[str, ...]) -> None:
    """Write a PNG.

    Parameters
    ----------
    path : str or Path
    values : array, shape (rows, columns)
        From 0, the first colour, to 1, the last one.
    colours : tuple of str
        As "#1f5f8b"; those between them are mixed.
    """
    rows, columns = values.shape
    pixels = np.zeros((rows, columns + 1), np.uint8)  # a row begins with 0
    pixels[:, 1:] = np.rint(np.clip(values, 0, 1) * 255)
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0),
        b"PLTE": palette(colours).tobytes(),
        b"IDAT": zlib.compress(pixels.tobytes(), 9),
        b"IEND": b"",
    }
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in parts.items():
        check = struct.pack(">I", zlib.crc32(name + data))
        png += struct.pack(">I", len(data)) + name + data + check
    Path(path).write_bytes(png)
