"""The pictures of the gallery are those that NumPy makes in another way."""

import importlib
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from program_support import python

ROOT = Path(__file__).parents[3]
GALLERY = ROOT / "examples" / "gallery"
NAMES = ("waves", "nbody", "cart_pole", "mandelbrot")


def module(name):
    sys.path.insert(0, str(GALLERY))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def parts_of(path):
    """The parts of a PNG by their names, each with its checksum looked at."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    parts, at = {}, 8
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        parts[name] = data[at + 8 : at + 8 + size]
        (check,) = struct.unpack_from(">I", data, at + 8 + size)
        assert check == zlib.crc32(name + parts[name])
        at += size + 12
    return parts


def pixels_of(path):
    """The places of a picture's pixels among its 256 colours, as int64."""
    parts = parts_of(path)
    columns, rows = struct.unpack_from(">II", parts[b"IHDR"])
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8)
    lines = lines.reshape(rows, columns + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:].astype(np.int64)


def waves():
    """In float64, and all of the tank at once, edges too."""
    m = module("waves")
    speed, source = (np.pad(part, 1) for part in m.tank())
    speed = speed.astype(np.float64)
    before = now = np.zeros((m.ROWS, m.COLUMNS))
    for number in range(m.STEPS):
        bend = -4 * now
        for axis in (0, 1):
            bend += np.roll(now, 1, axis) + np.roll(now, -1, axis)
        following = (2 * now - before + speed * bend) * (speed > 0)
        following[source] = np.sin(2 * np.pi * number / m.PERIOD)
        before, now = now, following
    now[1:-1, 1:-1][speed[1:-1, 1:-1] == 0] = -9
    return 0.5 + 0.5 * np.tanh(2 * now)


def nbody():
    """With places as complex numbers, one body after the other."""
    m = module("nbody")
    x, y, vx, vy, mass = m.galaxies()
    place, speed = x + 1j * y, vx + 1j * vy
    picture = np.zeros((m.ROWS, m.COLUMNS))
    for number in range(m.STEPS):
        pull = np.empty_like(speed)
        for body in range(m.BODIES):
            way = place - place[body]
            pull[body] = (mass * way / (abs(way) ** 2 + m.SOFT**2) ** 1.5).sum()
        speed += m.DT * pull
        place += m.DT * speed
        if number % 5 == 4:
            m.draw(picture, place.real, place.imag)
    return picture


def cart_pole():
    """From the two equations of motion, solved as a linear system."""
    m = module("cart_pole")
    x, v, angle, spin, stood = m.beginnings()
    moment = m.POLE * m.LENGTH
    for _ in range(m.STEPS):
        sine, cosine = np.sin(angle), np.cos(angle)
        # Below the energy that it has upright, push the way it swings.
        energy = 2 / 3 * m.LENGTH * spin**2 + m.GRAVITY * (cosine - 1)
        force = np.where((spin * cosine > 0) == (energy < 0), -8.0, 8.0) - 2 * x
        high = cosine > 0.85
        hold = 40 * sine + 8 * spin + 1.5 * x + 3 * v
        force[high] = hold[high]
        force = np.clip(force, -20, 20)
        system = np.empty((*x.shape, 2, 2))
        system[..., 0, 0] = m.CART + m.POLE
        system[..., 0, 1] = system[..., 1, 0] = moment * cosine
        system[..., 1, 1] = 4 / 3 * moment * m.LENGTH
        right = np.empty((*x.shape, 2, 1))
        right[..., 0, 0] = force + moment * spin**2 * sine
        right[..., 1, 0] = moment * m.GRAVITY * sine
        push, twist = np.moveaxis(np.linalg.solve(system, right)[..., 0], -1, 0)
        v = v + m.DT * push
        x = x + m.DT * v
        v[abs(x) >= m.TRACK] = 0
        x = np.clip(x, -m.TRACK, m.TRACK)
        spin = spin + m.DT * twist
        angle = angle + m.DT * spin
        stood = stood + (cosine > 0.95)
    return stood / m.STEPS


FORMULAS = (
    lambda z: z * z,
    lambda z: (abs(z.real) + 1j * abs(z.imag)) ** 2,
    lambda z: z**3,
)


def mandelbrot():
    """Compute the set with complex numbers, each frame by its row's formula."""
    m = module("mandelbrot")
    rows = []
    for (_, *place, width), power in zip(m.FILM, FORMULAS, strict=True):
        frames = []
        for zoom in range(m.FRAMES):
            a, b = m.places(*place, width / 6**zoom)
            c = a + 1j * b
            z, count = np.zeros_like(c), np.zeros(c.shape)
            near = np.ones(c.shape, bool)
            for _ in range(m.TURNS):
                z[near] = power(z[near]) + c[near]
                near &= abs(z) < 2
                count += near
            frames.append(count)
        rows.append(np.hstack(frames))
    return 1 - np.log1p(np.vstack(rows)) / np.log1p(m.TURNS)


def assert_looks_as(found, expected, what):
    """Nearly all pixels are near: rounding decides on few of them."""
    assert found.shape == expected.shape
    far = (abs(found - expected) > 2).mean()
    assert far < 0.01, f"{far:.2%} of the pixels are not those of {what}"


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_numpys_and_the_one_that_is_shown(name, backend, tmp_path):
    path = tmp_path / "picture.png"
    done = python(
        *("-W", "error", GALLERY / f"{name}.py", path),
        variables={"GPUOS_BACKEND": backend},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f" on {backend}: " in done.stdout
    assert len(done.stdout.splitlines()) <= 2
    found = pixels_of(path)
    assert len(np.unique(found)) > 20, "the picture is nearly empty"
    expected = np.rint(np.clip(globals()[name](), 0, 1) * 255)
    assert_looks_as(found, expected, "NumPy")
    shown = ROOT / "docs" / "pictures" / f"{name}.png"
    assert_looks_as(found, pixels_of(shown), shown.name)
    assert parts_of(path)[b"PLTE"] == parts_of(shown)[b"PLTE"]


def test_colours_between_two_are_mixed():
    mixed = module("picture").palette(("#000000", "#ff0080"))
    assert mixed.shape == (256, 3)
    assert mixed[[0, 51, 255]].tolist() == [
        [0, 0, 0],
        [51, 0, 25],
        [255, 0, 128],
    ]


@pytest.mark.parametrize("name", [*NAMES, "picture"])
def test_an_example_is_short(name):
    text = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
