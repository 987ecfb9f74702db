"""The actions of one lane of random tasks, each two lines of Python.

`ours` is for the runtime, `theirs` for NumPy. Each lane has its own memory `m`,
and all read the memory `r`. Numbers are integers, so results are exact.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

CELLS = 400  # elements of a lane
SHARED = 64
LONG = 1 << 20  # elements of an array that takes a while to fill
MOST_ACTIONS = 150

Span = tuple[int, int]  # from, up to

# Expressions of operators with two inputs.
EXPRESSIONS = [
    "a + b",
    "3 * a - b",
    "a * b + 1",
    "maximum(a, b)",
    "where(a > b, a, -b)",
    "(a ^ b) + 2",
    "abs(a) + (b & 7)",
]
SOURCE = """GPUOS_OPERATOR({name}) {{
  int* o = task.pointer<int>(0);
  const int* a = task.pointer<const int>(1);
  const int* b = task.pointer<const int>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    o[i] = int(gpuos::u32(a[i]) + {number}u * gpuos::u32(b[i]));
}}"""
# A checked operator: its reads outside of the input give 0, and it fails.
SHIFT = """GPUOS_OPERATOR({name}) {{
  int* o = task.pointer<int>(0);
  const int* a = task.pointer<const int>(1);
  const long long by = task.scalar<long long>(2);
  for (long long i = lane.index(); i < task.count; i += lane.count())
    o[i] = int({number}u * gpuos::u32(a[i + by]));
}}"""
# "both" belongs to all lanes: each may replace it by an equal operator.
COMMON = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "both": "{0} + {1}",
}
FUSED = {
    "pair": "lambda x, y: (x - 2 * y).astype('int32')",
    "sums": "lambda x, y: (x + np.sum(y, dtype='int32')).astype('int32')",
}


@dataclass(frozen=True)
class Action:
    ours: str
    theirs: str = ""


class Lane:
    """Draws the actions of one lane."""

    def __init__(
        self, dice: random.Random, name: str, *, compiles: bool, in_stream: bool
    ) -> None:
        self._dice = dice
        self._in_stream = in_stream
        self._name = name
        self._compiles = compiles
        self._operators: list[str] = []
        self._aliases: dict[str, int] = {}  # name: switches to take back
        self._shifts = False  # whether there is such an operator
        self._count = 0
        self._arrays: list[str] = []

    def draw(self) -> Iterator[Action]:
        draws: list[tuple[int, Callable[[], Action | None]]] = [
            (12, self._submit),
            (3, self._fill),
            (3, self._copy),
            (2, self._late),
            (2, self._rows),
            (3, self._fused),
            (4, self._define),
            (2, self._replace_common),
            (2, self._replace),
            (1, self._undefine),
            (1, self._alias),
            (1, self._switch),
            (3, self._look),
            (1, self._wait),
            (1, self._array),
            (1, self._free),
            (1, self._park),
        ]
        if self._in_stream:  # fused calls go elsewhere
            own = (self._fused, self._array)
            draws = [draw for draw in draws if draw[1] not in own]
            draws.append((2, self._capture))
        if self._compiles:
            draws += [(3, self._shift), (1, self._tell)]
        weights = [weight for weight, _ in draws]
        for _ in range(self._dice.randint(1, MOST_ACTIONS)):
            _, one = self._dice.choices(draws, weights)[0]
            action = one()
            if action is not None:
                yield action

    def _span(self, length: int, most: int = CELLS) -> Span:
        at = self._dice.randint(0, most - length)
        return at, at + length

    def _read(self, length: int) -> tuple[str, Span | None]:
        """Draw the text of an input, and its span in the lane's memory."""
        if length <= SHARED and self._dice.random() < 0.1:
            at, end = self._span(length, SHARED)
            return f"r[{at}:{end}]", None
        at, end = self._span(length)
        return f"m[{at}:{end}]", (at, end)

    def _three(self) -> tuple[str, str, str]:
        """Draw an output and two inputs; each input is the output or disjoint."""
        length = self._dice.choice([1, 2, 5, 16, 33, 100])
        while True:
            reads = [self._read(length), self._read(length)]
            out = self._span(length)
            if self._dice.random() < 0.3:
                reads[self._dice.randrange(2)] = (f"m[{out[0]}:{out[1]}]", out)
            if all(_is_clean(out, span) for _, span in reads):
                return f"m[{out[0]}:{out[1]}]", reads[0][0], reads[1][0]

    def _new(self, what: str) -> str:
        self._count += 1
        return f"{what}{self._count}_{self._name}"

    def _submit(self) -> Action:
        out, x, y = self._three()
        name = self._dice.choice([*COMMON, *self._operators, *self._aliases])
        theirs = COMMON.get(name, f"{name}({{0}}, {{1}})").format(x, y)
        return Action(
            f"t = rt.submit({name!r}, {x}, {y}, out={out}, **s)",
            f"{out} = {theirs}",
        )

    def _fill(self) -> Action:
        at, end = self._span(self._dice.choice([1, 3, 64]))
        number = self._dice.randint(-9, 9)
        return Action(
            f"t = rt.submit('fill', out=m[{at}:{end}], value={number}, **s)",
            f"m[{at}:{end}] = {number}",
        )

    def _copy(self) -> Action:
        out, x, _ = self._three()
        return Action(
            f"t = rt.submit('copy', {x}, out={out}, **s)", f"{out} = {x}"
        )

    def _late(self) -> Action:
        """A write that waits for a long task: others come meanwhile."""
        at, end = self._span(self._dice.choice([1, 5, 33, 300]))
        number = self._dice.randint(-9, 9)
        return Action(
            f"rt.submit('fill', out=long, value={number}, **s);"
            f" t = rt.submit('copy', long[:{end - at}], out=m[{at}:{end}], **s)",
            f"m[{at}:{end}] = {number}",
        )

    def _grids(self, count: int) -> list[str]:
        """Texts of one shape: the first in a half, the others in the other."""
        half = CELLS // 2
        rows, length = self._dice.choice([(4, 8), (20, 5), (50, 4), (100, 2)])
        made = []
        for begin in (0, *[half] * (count - 1)):
            at = begin + self._dice.randint(0, half - rows * length)
            end = at + rows * length
            made.append(f"m[{at}:{end}].reshape({rows}, {length})")
        return made

    def _rows(self) -> Action:
        """Draw independent tasks that compute rows of one half from the other."""
        out, x, y = self._grids(3)
        return Action(
            f"t = rt.submit_many('add', {x}, {y}, {out}, **s)",
            f"{out}[...] = {x} + {y}",
        )

    def _fused(self) -> Action:
        out, x, y = self._three()
        name = self._dice.choice(list(FUSED))
        if out not in (x, y) and self._dice.random() < 0.4:
            x = f"{x}[::-1]"  # in place it would be read as it is written
        return Action(
            f"fused[{name!r}]({x}, {y}, out={out})",
            f"{out} = ({FUSED[name]})({x}, {y})",
        )

    def _body(self) -> str:
        return self._dice.choice(EXPRESSIONS)

    def _define(self) -> Action | None:
        if len(self._operators) > 6:
            return None
        name = self._new("f")
        self._operators.append(name)
        if self._compiles and self._dice.random() < 0.2:
            number = self._dice.randint(2, 4)
            source = SOURCE.format(name=name, number=number)
            return Action(
                f"rt.define({name!r}, source={source!r}, inputs=2,"
                " dtype='int32')",
                f"{name} = lambda a, b: a + {number} * b",
            )
        body = self._body()
        return Action(
            f"rt.define({name!r}, 'o = {body}')",
            f"{name} = lambda a, b: {body}",
        )

    def _replace_common(self) -> Action:
        """By another expression, or a whole operator."""
        if self._compiles and self._dice.random() < 0.5:
            source = SOURCE.format(name="both", number=1)
            rest = "inputs=2, dtype='int32'"
            return Action(f"rt.replace('both', source={source!r}, {rest})")
        text = self._dice.choice(["o = a + b", "o = b + a"])
        return Action(f"rt.replace('both', {text!r})")

    def _shift(self) -> Action:
        """A checked operator that may read outside of its input."""
        name = f"shift_{self._name}"
        if not self._shifts or self._dice.random() < 0.1:
            what = "replace" if self._shifts else "define"
            number = self._dice.randint(2, 4)
            source = SHIFT.format(name=name, number=number)
            rest = ", inputs=1, params={'by': 'int64'}, dtype='int32',"
            rest += " elementwise=False, checked=True"
            theirs = f"{name} = lambda *given: {number} * shifted(*given)"
            if self._shifts:
                rest, theirs = "", f"{name}; {theirs}"
            self._shifts = True
            return Action(
                f"rt.{what}({name!r}, source={source!r}{rest})", theirs
            )
        by = self._dice.choice([0, 0, 0, 1, -1, 40, -CELLS])
        if self._dice.random() < 0.3:
            out, x = self._grids(2)
            submit = f"rt.submit_many({name!r}, {x}, {out}, by={by}, **s)"
            return Action(
                f"told.append(({submit}, {by != 0}))",
                f"{out}[...] = [{name}(y, {by}, len(y)) for y in {x}]",
            )
        count, there = (self._dice.choice([1, 2, 5, 33]) for _ in range(2))
        of = to = (0, 0)
        while of == to or (of[0] < to[1] and to[0] < of[1]):
            of, to = self._span(there), self._span(count)
        out, x = f"m[{to[0]}:{to[1]}]", f"m[{of[0]}:{of[1]}]"
        submit = f"rt.submit({name!r}, {x}, out={out}, by={by}, **s)"
        return Action(
            f"told.append(({submit}, {by < 0 or by + count > there}))",
            f"{out} = {name}({x}, {by}, {count})",
        )

    def _tell(self) -> Action:
        return Action("tell(told)")

    def _replace(self) -> Action | None:
        if not self._operators:
            return None
        name, body = self._dice.choice(self._operators), self._body()
        return Action(
            f"rt.replace({name!r}, 'o = {body}')",
            f"{name}; {name} = lambda a, b: {body}",
        )

    def _undefine(self) -> Action | None:
        if len(self._operators) < 3 or self._aliases:
            return None
        name = self._operators.pop(self._dice.randrange(3))
        return Action(f"rt.undefine({name!r})", f"del {name}")

    def _alias(self) -> Action | None:
        if not self._operators or len(self._aliases) > 2:
            return None
        name, target = self._new("g"), self._dice.choice(self._operators)
        self._aliases[name] = 0
        return Action(
            f"aliases[{name!r}] = rt.alias({name!r}, {target!r})",
            f"{target}; {name}_of = [{target!r}];"
            f" {name} = lambda a, b: globals()[{name}_of[-1]](a, b)",
        )

    def _switch(self) -> Action | None:
        if not self._aliases:
            return None
        name = self._dice.choice(list(self._aliases))
        if self._aliases[name] and self._dice.random() < 0.5:
            self._aliases[name] -= 1
            return Action(f"aliases[{name!r}].rollback()", f"{name}_of.pop()")
        self._aliases[name] += 1
        target = self._dice.choice(self._operators)
        return Action(
            f"aliases[{name!r}].switch({target!r})",
            f"{target}; {name}_of.append({target!r})",
        )

    def _look(self) -> Action:
        at, end = self._span(self._dice.choice([1, 10, 50]))
        step = self._dice.choice([1, -1, 3])
        text = f"seen.append(m[{at}:{end}][::{step}].{{}})"
        return Action(text.format("numpy()"), text.format("copy()"))

    def _wait(self) -> Action:
        # It throws unreported errors, also of another lane.
        whole = "with contextlib.suppress(gpuos.TaskError): rt.synchronize()"
        how = [whole, "t.wait()", "t.done", "rt.flush()"]
        return Action(self._dice.choice(how))

    def _array(self) -> Action:
        """Draw a result that only its users keep."""
        name = self._new("a")
        self._arrays.append(name)
        out, x, y = self._three()
        return Action(
            f"{name} = fused['pair']({x}, {y});"
            f" t = rt.submit('add', {name}, {y}, out={out}, **s)",
            f"{name} = {x} - 2 * {y}; {out} = {name} + {y}",
        )

    def _free(self) -> Action | None:
        if not self._arrays:
            return None
        name = self._arrays.pop()
        how = self._dice.choice([f"{name}.free()", f"del {name}"])
        return Action(how, f"del {name}")

    def _capture(self) -> Action:
        drawn = [self._submit() for _ in range(self._dice.randint(1, 5))]
        calls = ", ".join(a.ours.removeprefix("t = ") for a in drawn)
        times = self._dice.randint(1, 3)
        theirs = "; ".join(action.theirs for action in drawn)
        return Action(
            f"replay(lambda: [{calls}], {times})",
            f"for _ in range({times}): {theirs}",
        )

    def _park(self) -> Action:
        return Action("time.sleep(0.0005)")  # longer than any linger here


def _is_clean(out: Span, read: Span | None) -> bool:
    if read is None or read == out:
        return True
    return read[1] <= out[0] or out[1] <= read[0]
