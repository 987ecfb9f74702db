"""`session["x"]` is the same for variables of the device and of host code: all
types of numbers, all ranks up to three, what C++ and NumPy say they are."""

import numpy as np
import pytest
from session_support import make_session

import gpuos

TYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
}
SHAPES = [(), (3,), (2, 3), (2, 1, 2)]
pytestmark = pytest.mark.never(
    lambda backend, side: backend == "host" and side != "host",
    reason="variables of the device want one",
)

SIDES = {"host": "", "device": "__device__ ", "constant": "__constant__ "}
# The text before a definition of {x}, the definition, and the value read.
OTHERS = [
    ("", "auto {x} = 2.5f", 2.5),
    ("", "auto {x}(7ull)", 7),
    ("", "decltype(sizeof 1) {x} = 7", 7),
    ("using {x}_t = short;", "{x}_t {x}[2] = {{4, 5}}", [4, 5]),
    (
        "template <class T> struct {x}_t {{ using type = T; }};",
        "{x}_t<int>::type {x} = 9",
        9,
    ),
    ("struct {x}_s {{ int a; }};", "{x}_s* {x} = nullptr", 0),
    (
        "enum {x}_e {{ {x}_two = 2 }};",
        "decltype({x}_two + 0u) {x} = {x}_two",
        2,
    ),
]


# A declarator of {x}, and its value.
DECLARATORS = [
    ("{x}", 0),
    ("{x} = 3", 3),
    ("{x}{{4}}", 4),
    ("{x}(5)", 5),
    ("{x} = (6)", 6),
    ("{x}[2] = {{7, 8}}", [7, 8]),
    ("{x}[2]{{7, (8)}}", [7, 8]),
    ("*{x} = nullptr", 0),
    ("*{x}(nullptr)", 0),
    ("(*{x})(int, int) = nullptr", 0),
]


def variables():
    for index, (text, dtype) in enumerate(TYPES.items()):
        for rank, shape in enumerate(SHAPES):
            yield f"v{index}_{rank}", text, np.dtype(dtype), shape


def random_values(
    draw: np.random.Generator, dtype: np.dtype, shape
) -> np.ndarray:
    return np.frombuffer(
        draw.integers(
            0, 2 if dtype == bool else 100, max(1, np.prod(shape, dtype=int))
        ).astype(dtype),
        dtype,
    ).reshape(shape)


def initializer(values: np.ndarray) -> str:
    if values.ndim == 0:
        return str(int(values))
    return "{" + ", ".join(initializer(part) for part in values) + "}"


@pytest.fixture(params=SIDES)
def side(request) -> str:
    return request.param


@pytest.fixture
def session(rt):
    return make_session(rt)


def test_references_have_the_values_of_their_targets(rt):
    session = make_session(rt)
    draw = np.random.default_rng(28)
    lines = []
    for name, text, dtype, shape in variables():
        values = initializer(random_values(draw, dtype, shape))
        extents = "".join(f"[{n}]" for n in shape)
        lines.append(f"{text} {name}{extents} = {values};")
        lines.append(f"auto& {name}_of = {name};")
    session.run("\n".join(lines))
    for name, _, dtype, shape in variables():
        found = session[f"{name}_of"]
        np.testing.assert_array_equal(found, session[name])
        session[f"{name}_of"] = np.ones(shape, dtype)
        np.testing.assert_array_equal(session[name], np.ones(shape, dtype))


def test_every_type_of_number_in_every_shape(session, side):
    draw = np.random.default_rng(27)
    values = {
        name: random_values(draw, dtype, shape)
        for name, _, dtype, shape in variables()
    }
    session.run(
        "\n".join(
            f"{SIDES[side]}{text} {name}{''.join(f'[{n}]' for n in shape)}"
            f" = {initializer(values[name])};"
            for name, text, _, shape in variables()
        )
    )
    for name, _, dtype, shape in variables():
        for turn in range(3):
            found = session[name]
            if shape == ():
                assert type(found) is type(np.zeros((), dtype).item()), name
            else:
                assert (found.dtype, found.shape) == (dtype, shape), name
            np.testing.assert_array_equal(found, values[name], err_msg=name)
            flat = session.read(name, dtype)
            np.testing.assert_array_equal(
                flat, values[name].ravel(), err_msg=name
            )
            values[name] = random_values(draw, dtype, shape)
            if turn == 0:
                session[name] = values[name] if shape else values[name].item()
            else:
                session.write(name, values[name].tolist())


def test_values_that_do_not_fit_change_nothing(session, side):
    session.run(
        f"{SIDES[side]}unsigned char u = 7;\n"
        f"{SIDES[side]}int a[2] = {{1, 2}};\n"
        f"struct Pair {{ int x, y; }}; {SIDES[side]}Pair pair;"
    )
    for name, value in [
        ("u", 300),
        ("u", -1),
        ("u", 1.5),
        ("u", [1]),
        ("a", 3),
    ]:
        with pytest.raises(
            gpuos.InvalidArgument, match=f"session: {name}: expected"
        ):
            session[name] = value
    with pytest.raises(
        gpuos.InvalidArgument, match="of numbers, got pair of type Pair"
    ):
        session["pair"]
    assert (session["u"], session["a"].tolist()) == (7, [1, 2])
    with pytest.raises(
        gpuos.InvalidArgument, match="name of a variable, got 'none'"
    ):
        session["none"] = 1
    with pytest.raises(gpuos.InvalidArgument, match="name of a kernel"):
        session["none"]


def test_a_variable_that_is_defined_again_has_its_new_type(session, side):
    for text, value in [
        ("int n = 1", 1),
        ("float n[2] = {1, 2}", [1, 2]),
        ("char n = 3", 3),
    ]:
        session.run(f"{SIDES[side]}{text};")
        assert np.asarray(session["n"]).tolist() == value
    session.undo()
    assert session["n"].tolist() == [1, 2]
    session.run(f"namespace m {{ {SIDES[side]}short n = 4; }}")
    assert (session["m::n"], session["n"].tolist()) == (4, [1, 2])


@pytest.mark.never(
    lambda side: side == "host",
    reason="the C++ compiler tells them with each variable",
)
def test_types_that_the_compiler_must_find(session, side):
    for index, (before, definition, value) in enumerate(OTHERS):
        name = f"w{index}"
        session.run(f"{before} {SIDES[side]}{definition};".format(x=name))
        assert np.asarray(session[name]).tolist() == value, definition


def test_lists_of_declarators(rt, side):
    session = make_session(rt)
    values, text = {}, ""
    for i, (first, first_value) in enumerate(DECLARATORS):
        for j, (second, second_value) in enumerate(DECLARATORS):
            if side != "host" and j not in (i, (i + 1) % len(DECLARATORS)):
                continue  # each is compiled alone
            names = f"f{i}_{j}", f"g{i}_{j}"
            values |= dict(zip(names, (first_value, second_value), strict=True))
            both = f"{first.format(x=names[0])}, {second.format(x=names[1])}"
            text += f"{SIDES[side]}int {both};\n"
    session.run(text)
    assert set(values) <= set(session.names())
    for name, value in values.items():
        if side == "host" or rt.backend == "cuda":
            assert np.asarray(session[name]).tolist() == value, name


def test_a_host_runtime_has_no_variables_of_the_device(rt):
    session = make_session(rt)
    session.run("__device__ int n = 1;")
    if rt.backend == "cuda":
        assert session["n"] == 1
        return
    with pytest.raises(gpuos.BackendUnavailable):
        session["n"]
