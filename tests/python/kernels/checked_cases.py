"""Correct operators, and the same operators with one index moved.

    python tests/python/kernels/checked_cases.py 1000 host

defines this number of checked operators, and reports whether each was caught.
"""

from __future__ import annotations

import random
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import gpuos

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

N = 48  # elements of an output
COLUMNS = 5
GUARD = 64  # elements on either side of it, which must stay as they are
TYPES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "int64": "long long",
    "int16": "short",
    "uint8": "unsigned char",
}
MOVES = [1, -1, 2, -2, 3, -5, 17, N, -N, 1000, -1000, 10**6, -(10**7)]
MESSAGE = re.compile(
    r"operator '(\w+)', argument (\d+) \('(\w+)'\): index (-?\d+) is outside "
    r"of its (\d+) elements \(line (\d+) of its source\)"
)


@dataclass(frozen=True)
class Site:
    """An index of a template: its argument and its valid range."""

    argument: int
    name: str
    extent: int
    indices: Callable[[], list[int]]  # while nothing is moved


@dataclass(frozen=True)
class Template:
    """`{0}` and so on follow the indices that can be moved."""

    lines: list[str]
    sites: list[Site]
    sizes: list[int]  # of the inputs
    elementwise: bool = False


def _each() -> list[int]:
    return list(range(N))


def _order() -> list[int]:
    """The elements of an input whose elements are indices."""
    return [(7 * i + 3) % N for i in range(N)]


LOOP = (
    "  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count()) {"
)
SIGNED = (
    "  for (long long i = lane.index(); i < task.count; i += lane.count()) {"
)
OUT = "  T* out = task.pointer<T>(0);"

TEMPLATES = {
    "mix": Template(
        [
            "  auto o = task.pointer<T>(0);",
            "  const T* __restrict__ x = task.pointer<const T>(1);",
            "  // Not a declaration: const T* y = task.pointer<const T>(1);",
            "  T const* y = task.pointer<const T>(2);",
            SIGNED,
            "    T sum = x[i{0}];",
            "    sum += y[i{1}];",
            "    o[i] = 0;",
            "    o[i{2}] += sum;",
            "  }",
        ],
        [
            Site(1, "x", N, _each),
            Site(2, "y", N, _each),
            Site(0, "o", N, _each),
        ],
        [N, N],
        elementwise=True,
    ),
    "gather": Template(
        [
            OUT,
            "  const T* table = task.pointer<const T>(1);",
            "  const T* index = task.pointer<const T>(2);",
            LOOP,
            "    const int from = static_cast<int>(index[i{0}]);",
            "    out[i] =",
            "        table[from{1}];",
            "  }",
        ],
        [Site(2, "index", N, _each), Site(1, "table", N, _order)],
        [N, N],
    ),
    "difference": Template(
        [
            OUT,
            "  const T* x = task.pointer<const T>(1);",
            SIGNED,
            "    const T right = x[i + 1{0}];",
            "    const T left = *(x + i{1});",
            "    out[i{2}] = right - left;",
            "  }",
        ],
        [
            Site(1, "x", N + 1, lambda: list(range(1, N + 1))),
            Site(1, "x", N + 1, _each),
            Site(0, "out", N, _each),
        ],
        [N + 1],
    ),
    "rows": Template(
        [
            OUT,
            "  const T* x = task.pointer<const T>(1);",
            LOOP,
            "    const T* row = task.pointer<const T>(1) + i * 5;",
            "    T sum = 0;",
            "    for (int c = 0; c < 5; ++c)",
            "      sum += row[c{0}];",
            "    sum += x[i * 5{1}];",
            "    out[i{2}] = sum;",
            "  }",
        ],
        [
            Site(1, "x", COLUMNS * N, lambda: list(range(COLUMNS * N))),
            Site(1, "x", COLUMNS * N, lambda: list(range(0, 5 * N, 5))),
            Site(0, "out", N, _each),
        ],
        [COLUMNS * N],
    ),
    "backwards": Template(
        [
            OUT,
            "  const T* x = task.pointer<const T>(1);",
            "  const int n = static_cast<int>(task.count);",
            "  for (int i = lane.index(); i < n; i += lane.count()) {",
            "    const T value = x[n - 1 - i{0}];",
            "    (&out[i])[0] = 0;",
            "    out[i{1}] = value;",
            "  }",
        ],
        [Site(1, "x", N, _each), Site(0, "out", N, _each)],
        [N],
    ),
    "helper": Template(
        [
            OUT,
            "  auto x = task.pointer<const T>(1);",
            "  const auto at = [&](gpuos::i64 k) -> T {",
            "    return x[k{0}];",
            "  };",
            SIGNED,
            "    out[i{1}] = at(i);",
            "  }",
        ],
        [Site(1, "x", N, _each), Site(0, "out", N, _each)],
        [N],
    ),
    "pairs": Template(
        [
            "  struct Pair { T first, second; };",
            "  Pair* out = task.pointer<Pair>(0);",
            "  const Pair* x = task.pointer<const Pair>(1);",
            "  for (gpuos::u32 i = lane.index(); i < task.count / 2;",
            "       i += lane.count()) {",
            "    const T first = x[i{0}].first;",
            "    out[i{1}].second = first;",
            "    out[i].first = x[i].second;",
            "  }",
        ],
        [
            Site(1, "x", N // 2, lambda: list(range(N // 2))),
            Site(0, "out", N // 2, lambda: list(range(N // 2))),
        ],
        [N],
    ),
}


@dataclass(frozen=True)
class Case:
    name: str
    dtype: str
    template: Template
    site: int
    move: int

    @property
    def source(self) -> str:
        moves = [""] * len(self.template.sites)
        if self.move:
            sign = "+" if self.move > 0 else "-"
            moves[self.site] = f" {sign} {abs(self.move)}"
        body = "\n".join(self.template.lines)
        for i, move in enumerate(moves):
            body = body.replace(f"{{{i}}}", move)
        of = f"using T = {TYPES[self.dtype]};"
        return f"{of}\nGPUOS_OPERATOR({self.name}) {{\n{body}\n}}\n"

    @property
    def line(self) -> int:
        marker = f"{{{self.site}}}"
        lines = self.template.lines
        return 3 + next(i for i, line in enumerate(lines) if marker in line)

    @property
    def outside(self) -> set[int]:
        """Return the values of the index that are reported."""
        site = self.template.sites[self.site]
        found = set()
        for index in site.indices():
            moved = index + self.move
            if not 0 <= moved < site.extent:
                found |= {moved, moved % 2**32}
        return found

    def definition(self) -> dict[str, object]:
        return {
            "name": self.name,
            "source": self.source,
            "dtype": self.dtype,
            "inputs": len(self.template.sizes),
            "elementwise": self.template.elementwise,
            "checked": True,
        }

    def run(self, rt: gpuos.Runtime) -> str:
        """Return the error of the task's ticket; "" if it succeeds."""
        inputs = [
            rt.array(np.resize(_order(), size).astype(self.dtype))
            for size in self.template.sizes
        ]
        whole = rt.array(np.full(N + 2 * GUARD, 9, self.dtype))
        out = whole[GUARD : GUARD + N]
        try:
            rt.submit(self.name, *inputs, out=out).wait(60)
            said = ""
        except gpuos.TaskError as error:
            said = str(error)
        for size, given in zip(self.template.sizes, inputs, strict=True):
            np.testing.assert_array_equal(
                given.numpy(), np.resize(_order(), size).astype(self.dtype)
            )
        after = whole.numpy()
        assert (after[:GUARD] == 9).all()
        assert (after[-GUARD:] == 9).all()
        return said

    def check(self, rt: gpuos.Runtime) -> None:
        said = self.run(rt)
        if self.move == 0:
            assert said == ""
            return
        found = MESSAGE.fullmatch(said)
        assert found, f"{self}: {said!r}\n{self.source}"
        site = self.template.sites[self.site]
        assert found[1] == self.name
        told = [int(found[2]), found[3], int(found[5]), int(found[6])]
        assert told == [site.argument, site.name, site.extent, self.line], said
        assert int(found[4]) in self.outside, said


def cases(count: int, seed: int = 0) -> Iterator[Case]:
    """Each template as it is, then `count` with one index moved."""
    for i, (name, template) in enumerate(TEMPLATES.items()):
        dtype = list(TYPES)[i % len(TYPES)]
        yield Case(f"right_{name}", dtype, template, 0, 0)
    draw = random.Random(seed)
    sites = [
        (name, site)
        for name, template in TEMPLATES.items()
        for site in range(len(template.sites))
    ]
    made = 0
    while made < count:
        name, site = sites[made % len(sites)]
        case = Case(
            f"{name}_{made}",
            draw.choice(list(TYPES)),
            TEMPLATES[name],
            site,
            draw.choice(MOVES),
        )
        if case.outside:  # a move by a few may stay inside of a long array
            made += 1
            yield case


def main() -> None:
    count = int(sys.argv[1])
    caught = 0
    with gpuos.Runtime(sys.argv[2]) as rt:
        group: list[Case] = []
        for case in [*cases(count), None]:
            if case is not None:
                group.append(case)
                if len(group) < 50:
                    continue
            rt.define_many([one.definition() for one in group])
            for one in group:
                one.check(rt)
                caught += one.move != 0
                rt.undefine(one.name)
            group = []
            print(f"{caught} of {count} caught", flush=True)


if __name__ == "__main__":
    main()
