"""x[i] reads one element: a number of NumPy's, which no later write changes."""

import copy
import operator
import random

import numpy as np
import pytest

import gpuos
import gpuos.array_api

# ---- Programs that read, write and swap, in lockstep with NumPy.

CHANGES = [operator.iadd, operator.isub, operator.imul]


class Lockstep:
    """The same statements on arrays of NumPy and of gpuos."""

    def __init__(self, rt, seed, dtype):
        self.random = random.Random(seed)
        line = np.arange(1, 8).astype(dtype)
        grid = np.arange(1, 13).reshape(3, 4).astype(dtype)
        self.arrays = [(x, rt.array(x)) for x in (line, grid)]
        self.numbers = [(x[0], y[0]) for x, y in self.arrays[:1]]

    def place(self, shape):
        index = tuple(self.random.randrange(-n, n) for n in shape)
        return index[0] if len(index) == 1 else index

    def part(self, shape):
        """An index of some axes, as a row or a slice."""
        low = self.random.randrange(shape[0])
        return self.random.choice([slice(low, None), slice(None, None, 2), ...])

    def read(self):
        x, y = self.random.choice(self.arrays)
        at = self.place(x.shape)
        self.numbers = [*self.numbers, (x[at], y[at])][-6:]

    def swap(self):
        a, b = self.random.choices(self.arrays, k=2)
        i, j = self.place(a[0].shape), self.place(b[0].shape)
        for x, y in zip(a, b, strict=True):
            x[i], y[j] = y[j], x[i]

    def write(self):
        x, y = self.random.choice(self.arrays)
        at, number = self.place(x.shape), self.random.choice(self.numbers)
        for array, value in zip((x, y), number, strict=True):
            array[at] = value

    def change_element(self):
        x, y = self.random.choice(self.arrays)
        at, by = self.place(x.shape), self.random.randrange(1, 4)
        change = self.random.choice(CHANGES)
        for array in (x, y):
            array[at] = change(array[at], by)

    def change_number(self):
        k = self.random.randrange(len(self.numbers))
        change = self.random.choice(CHANGES)
        other = self.random.choice([(2, 2), self.random.choice(self.numbers)])
        self.numbers = [*self.numbers, self.numbers[k]]  # under another name
        self.numbers[k] = tuple(map(change, self.numbers[k], other))

    def change_part(self):
        x, y = self.random.choice(self.arrays)
        at = self.part(x.shape)
        for array in (x, y):
            array[at] -= 1
            part = array[at]
            part += array[at]  # a view

    def reduce(self):
        x, y = self.random.choice(self.arrays)
        name = self.random.choice(["sum", "max", "min"])
        self.numbers.append((getattr(x, name)(), getattr(y, name)()))

    def unpack(self):
        x, y = self.arrays[0]
        self.numbers = [*self.numbers, *zip(x, y, strict=True)][-6:]

    def step(self):
        self.random.choice(
            [
                self.read,
                self.swap,
                self.write,
                self.change_element,
                self.change_number,
                self.change_part,
                self.reduce,
                self.unpack,
            ]
        )()

    def check(self):
        for known, ours in [*self.arrays, *self.numbers]:
            np.testing.assert_array_equal(ours.numpy(), known)
            assert ours.dtype == known.dtype


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_random_statements_match_numpy(rt, dtype):
    for seed in range(12):
        program = Lockstep(rt, seed, dtype)
        for step in range(60):
            program.step()
            if step % 10 == 9:
                program.check()


@pytest.mark.parametrize("index", [2, -1, np.int8(1), (0,), np.array(3)])
def test_an_element_is_of_when_it_was_read(rt, index):
    x = rt.array(np.arange(4.0))
    before = float(x[index])
    element, again = x[index], x[index]
    assert element.shape == ()
    x[:] = 9
    changed = element
    changed += 1
    assert (float(element), float(again), float(changed)) == (
        before,
        before,
        before + 1,
    )
    x.free()
    assert float(again) == before


def test_a_view_of_one_element_is_asked_for(rt):
    x = rt.array(np.arange(4.0))
    views = [x[1, ...], x[1:2], x[..., 1], x[None, 1], x[1:2].reshape(())]
    for k, view in enumerate(views):
        same = view
        same += 1
        np.add(view, 1, out=view)
        assert float(x[1]) == 1 + 2 * (k + 1)
    total = rt.zeros(())
    same = total
    total += 3
    assert float(same) == 3


WRITES = {
    "out=": lambda _rt, x, e: np.add(x[:2].sum(), 1, out=e),
    "outs": lambda _rt, x, e: np.divmod(x[0, ...], 1, out=(None, e)),
    "fused": lambda rt, x, e: rt.fuse(lambda y: y + 1)(x[0, ...], out=e),
    "submit": lambda rt, x, e: rt.submit("copy", x[0, ...], out=e),
    "submit_many": lambda rt, x, e: rt.submit_many("copy", [x[:1]], out=[e]),
    "fill": lambda _rt, _x, e: e.fill(9),
    "item": lambda _rt, _x, e: e.__setitem__(..., 9),
    "copy_from": lambda _rt, _x, e: e.copy_from(np.float32(9)),
    "real": lambda _rt, _x, e: setattr(e, "real", 9),
    "address": lambda _rt, _x, e: e.ptr,
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_would_be_lost_is_refused(rt, name):
    x = rt.array(np.arange(4, dtype="float32"))
    for element in (x[1], x[1][...]):
        with pytest.raises(
            gpuos.InvalidArgument, match=r"write x\[i, \.\.\.\]"
        ):
            WRITES[name](rt, x, element)
    assert x.numpy().tolist() == [0, 1, 2, 3]


# ---- Numbers that an integer dtype does not have.

SET = {
    "item": lambda _rt, x, v: x.__setitem__(1, v),
    "slice": lambda _rt, x, v: x.__setitem__(slice(1, None), v),
    "all": lambda _rt, x, v: x.__setitem__(..., v),
    "list": lambda _rt, x, v: x.__setitem__(slice(2), [1, v]),
    "mask": lambda _rt, x, v: x.__setitem__(x > 1, v),
    "fill": lambda _rt, x, v: x.fill(v),
}
MAKE = {
    "full": lambda rt, x, v: rt.full(2, v, x.dtype),
    "full_like": lambda _rt, x, v: np.full_like(x, v),
    "fused full_like": lambda rt, x, v: rt.fuse(lambda y: np.full_like(y, v))(
        x
    ),
    "array API": lambda _rt, x, v: gpuos.array_api.full_like(x, v),
}
NUMBERS = [
    float("nan"),
    float("inf"),
    -1e30,
    2**70,
    300.7,
    -1.5,
    2**40,
    -(2**33),
]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("way", [*SET, *MAKE])
def test_a_number_that_does_not_fit_is_refused(rt, way, dtype):
    values = np.arange(3).astype(dtype)
    for number in NUMBERS:
        known, ours = values.copy(), rt.array(values)
        try:
            SET.get(way, SET["all"])(None, known, number)
        except (ValueError, OverflowError) as error:
            kind = (
                OverflowError
                if isinstance(error, OverflowError)
                else ValueError
            )
            with pytest.raises(kind):
                {**SET, **MAKE}[way](rt, ours, number)
            known = values
        else:
            {**SET, **MAKE}[way](rt, ours, number)
            known = known if way in SET else values
        np.testing.assert_array_equal(ours.numpy(), known)


# ---- Views of numbers.

OF_NUMBERS = {
    "element": lambda x: x[1],
    "sum": lambda x: x.sum(),
    "computed": lambda x: x[1] * 2,
}
VIEWS = {
    "new axis": lambda s: s[None],
    "rest": lambda s: s[...],
    "reshape": lambda s: s.reshape(1, 1),
    "ravel": lambda s: s.ravel(),
    "T": lambda s: s.T,
    "real": lambda s: s.real,
    "atleast_2d": np.atleast_2d,
    "expand_dims": lambda s: np.expand_dims(s, 0),
}


@pytest.mark.parametrize("number", OF_NUMBERS.values(), ids=OF_NUMBERS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_write_to_a_view_of_a_number_leaves_the_number(rt, number, view):
    results = []
    for x in (np.array([1.0, 2.0, 3.0]), rt.array([1.0, 2.0, 3.0])):
        s = number(x)
        t = view(s)
        t += 1
        values = t if isinstance(t, np.ndarray | np.number) else t.numpy()
        results.append((np.shape(t), values.tolist(), float(s)))
        results[-1] += tuple(map(float, x))
    assert results[0] == results[1]


# ---- Numbers and arrays without axes, which NumPy distinguishes. `a` is an
# array, `s` a sum and `v` a row.

NUMBERS_OR_ARRAYS = """
np.where(c, 1, 2)|np.where(c, s, a)|np.where(v > 1, v, 0).sum()|np.select([c], [a], s)
a.copy()|s.copy()|np.copy(a)|np.copy(s)|v[1].copy()|copy.copy(s)|copy.deepcopy(a)
np.zeros_like(a)|np.full_like(s, 3)|np.empty_like(s)|a.astype('f4')|s.astype('f4')
a.reshape(())|s.reshape(())|np.squeeze(a)|np.squeeze(v[:1])|np.transpose(s)|s.T
np.broadcast_to(s, ())|np.broadcast_arrays(a, s)[1]|np.real(a)|a.imag|s.imag
np.clip(a, 0, 1)|np.nan_to_num(a)|np.round(s, 1)|np.isclose(a, s)|np.flip(a)
a + 1|-a|np.sqrt(s)|a == s|~c|a[()]|s[()]|a[...]|s[...]|v[0]|v[0, ...]
v.max()|np.dot(v, v)|np.average(v)|np.nanmax(a)|np.isin(s, [1, 2])|a.conj()
"""


@pytest.mark.parametrize(
    "text", NUMBERS_OR_ARRAYS.strip().replace("\n", "|").split("|")
)
def test_array_results_of_numpy_stay_arrays(rt, text):
    kept = []
    for array in (np.array, rt.array):
        v = array([1.0, 2.0, 3.0])
        names = {"v": v, "s": v.sum(), "a": array(2.5), "c": array(True)}
        made = eval(text, {"np": np, "copy": copy, **names})
        if isinstance(made, np.ndarray) and not made.flags.writeable:
            made = made.copy()
        other, view = made, made[None]
        view[0] = 1
        first = float(made)
        if made.dtype == bool:
            made ^= True
        else:
            made += 1
        kept.append((first, float(made), float(other)))
    assert kept[0] == kept[1]
