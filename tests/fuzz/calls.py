"""Random public functions called with wrong things, as text of Python."""

from __future__ import annotations

import builtins
import contextlib
import gc
import inspect
import operator
import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import stubs
import vocabulary
import wrong_objects
from stubs import Callable, Parameter
from wrong_objects import JUDGE
from wrong_things import (
    CLASSES,
    ENDINGS,
    KEYWORDS,
    NEEDS_GPU,
    NUMBERS,
    OBJECTS,
    ODD,
    SIZES,
    TEXTS,
    TRACED,
    WITH_SIZES,
    draw_object,
    named_in,
    right,
    wrong,
)

import gpuos
from gpuos import numpy_names

MOST_CALLS = 20
TURNS = 20  # of a case's lines while another thread works
RUNTIME = "gpuos.Runtime('host', workers=1, queue_capacity=64)"
HEAD = (
    "import sys\n\nsys.path.append('tests/fuzz')\n\n"
    "from wrong_objects import *\n\n"
)

# The frequency of each draw, relative to 1. Slow calls are rare.
WEIGHTS = {
    "gpuos.Runtime": 8,
    "gpuos.Array": 6,
    "gpuos.Fused": 8,
    "gpuos.Alias": 2,
    "gpuos.Session": 0.3,
    "gpuos.JitModule": 0.2,
    "gpuos.CompileFuture": 0.05,
    "gpuos.CellResult": 0.1,
    "gpuos.Finding": 0.02,
    "gpuos.Diagnosis": 0.02,
    "gpuos.cache": 0.3,
    "gpuos.Value": 0.5,
    "gpuos.functions": 0.5,
}
RARE = {
    "gpuos.Runtime.__init__": 0.1,
    "gpuos.Runtime.close": 0.05,
    "gpuos.Runtime.__exit__": 0.1,
    "gpuos.Runtime.submit": 6,
    "gpuos.Runtime.submit_many": 4,
    "gpuos.Runtime.session": 0.1,
    "gpuos.Fused.compile": 0.005,
    "gpuos.JitModule.__init__": 0.3,
    "gpuos.JitModule.replace": 0.3,
    "gpuos.Session.__init__": 0.3,
    "gpuos.compile_async": 0.05,
    "gpuos.diagnose": 0.002,
    "gpuos.synchronize": 0.3,
    "gpuos.Session.run": 0.1,
}
# Arguments that np.asarray() itself does not survive.
FATAL_FOR_NUMPY = {
    "vanishing(": "steady(",
    "strides=(2**62,)": "strides=(8,)",
}
# Code whose nesting NVRTC itself does not survive, and who compiles code.
FATAL_FOR_NVRTC = [text for text in TEXTS if "10**5" in text]
COMPILED = {"gpuos.JitModule", "gpuos.Session"}


def is_in_python(owner: str, name: str) -> bool:
    """Return whether Python passes on another self as it is."""
    kind = operator.attrgetter(owner.removeprefix("gpuos."))(gpuos)
    member = getattr(kind, name, None)
    return inspect.isfunction(getattr(member, "fget", member))


def survivable(text: str) -> str:
    for fatal, instead in FATAL_FOR_NUMPY.items():
        text = text.replace(fatal, instead)
    return text


# Additional exceptions of some calls: the end of a sequence in Python, and
# Python's test for an interface.
MAY_RAISE = {
    "__getitem__": "IndexError",
    "__setitem__": "IndexError",
    "item": "IndexError, AttributeError",  # a float has none
    "__array_interface__": "AttributeError",
    "__cuda_array_interface__": "AttributeError",
    "np.trapezoid": "IndexError",  # of a number, NumPy's own
    "np.split": "AttributeError",  # so is this
    "np.astype": "AttributeError",  # and this
    "__getattr__": "AttributeError",
    "__call__": "AttributeError",  # of the function that is called
    "__array_ufunc__": "ZeroDivisionError",  # Python's, of numbers alone
}
# gpuos.Array refuses these attributes, with a message about the alternative.
LACKING = {n for n in dir(np.ndarray) if not n.startswith("_")}
LACKING |= {"itemset", "newbyteorder", "tostring"}  # of NumPy 1
MAY_RAISE = dict.fromkeys(LACKING, "AttributeError") | MAY_RAISE
# Methods that Python itself calls on any object.
GENERAL = dict.fromkeys(
    (
        *("repr", "str", "hash", "len", "list", "iter", "bool", "dir", "abs"),
        *("float", "int", "complex", "callable", "operator.index"),
        *("np.asarray", "memoryview", "gc.is_tracked"),
    ),
    ", IndexError",
) | {"np.from_dlpack": ", AttributeError, RuntimeError"}


@dataclass(frozen=True)
class Line:
    """A call, counted for `function`."""

    text: str
    function: str


@dataclass(frozen=True)
class Case:
    lines: tuple[Line, ...]
    traced: str = ""  # what the function that they are in is fused for
    result: str = "x"  # of that function
    meanwhile: tuple[str, ...] = ()  # the actions of another thread

    def text(self) -> str:
        """Python that can be pasted, in the folder of the sources."""
        return (
            f"{HEAD}rt, other = {RUNTIME}, {RUNTIME}\n{self.body()}"
            "print(JUDGE.finding)\n"
        )

    def with_lines(self, kept: list[int], *, is_alone: bool) -> Case:
        """Without the other lines and, alone, without the other thread."""
        lines = tuple(
            line if k in kept else Line("None", "")
            for k, line in enumerate(self.lines)
        )
        meanwhile = () if is_alone else self.meanwhile
        return replace(self, lines=lines, meanwhile=meanwhile)

    def _uses(self, name: str) -> bool:
        """Return whether another line than its own names the result of one."""
        texts = [*(line.text for line in self.lines), self.result]
        return any(re.search(rf"\b{name}\b", text) for text in texts)

    def body(self) -> str:
        calls = [
            f"r{k} = {line.text}"
            for k, line in enumerate(self.lines)
            if line.function or self._uses(f"r{k}")
        ]
        needed = " ".join([*calls, *self.meanwhile])
        if self.traced:
            needed += f" {self.traced} {self.result}"
        setup = [f"{name} = {OBJECTS[name]}" for name in named_in(needed)]
        if self.traced:
            calls.append(f"return {self.result}")
            head = [f"@traced(rt, {self.traced})", "def lines(x, y):"]
            calls = _within(head, calls)
        if self.meanwhile:
            other = ", ".join(self.meanwhile)
            calls = _within([f"for _ in range({TURNS}):"], calls)
            calls = _within([f"with meanwhile({other}):"], calls)
        return "\n".join([*setup, *calls, ""])


def _within(head: list[str], lines: list[str]) -> list[str]:
    return [*head, *(f"    {line}" for line in lines)]


# ---- drawing


def _numpy_functions() -> list[Callable]:
    """Return the functions that NumPy hands to programs, and ufuncs by name."""
    made = []
    for function in numpy_names.of_values():
        place = function.__module__.replace("numpy", "np", 1)
        name = f"{place}.{function.__name__}"
        parameters = []
        try:
            signature = inspect.signature(function)
        except ValueError:  # of some NumPy that does not say
            continue
        for p in signature.parameters.values():
            kind = {p.KEYWORD_ONLY: "keyword", p.VAR_POSITIONAL: "*"}
            kind |= {p.VAR_KEYWORD: "**"}
            parameters.append(
                Parameter(
                    p.name,
                    "Any",
                    kind.get(p.kind, "positional"),
                    p.default is p.empty,
                )
            )
        made.append(Callable("", name, False, tuple(parameters), "Value"))
    for known in vocabulary.functions():
        if hasattr(np, known.name):
            names = ("x1", "x2")[: known.inputs]
            given = [
                Parameter(n, "Value | Any", "positional", True) for n in names
            ]
            given.append(Parameter("out", "None", "keyword", False))
            given.append(Parameter("where", "bool", "keyword", False))
            given.append(Parameter("dtype", "npt.DTypeLike", "keyword", False))
            made.append(
                Callable("", f"np.{known.name}", False, tuple(given), "Value")
            )
    return made


OF_STUBS = [
    c
    for c in stubs.callables()
    if c.owner.rpartition(".")[2] not in NEEDS_GPU
    or not is_in_python(c.owner, c.name)
]
OF_VALUES = [
    *(c for c in OF_STUBS if c.owner in ("gpuos.Value", "gpuos.functions")),
    *_numpy_functions(),
]


def _weights(callables: list[Callable]) -> list[float]:
    size = Counter(c.owner for c in callables)
    return [
        WEIGHTS.get(c.owner, 1)
        * RARE.get(str(c), 1)
        * (0.1 if c.name == "__init__" and c.returns == "NoReturn" else 1)
        / size[c.owner] ** 0.5
        for c in callables
    ]


WEIGHT_OF = _weights(OF_STUBS)


def draw(dice: random.Random) -> Case:
    is_traced = dice.random() < 0.25
    values = dice.choice(TRACED) if is_traced else ""
    count = dice.randint(1, MOST_CALLS)
    drawer = _Drawer(dice, is_traced)
    lines = tuple(drawer.line(k) for k in range(count))
    result = drawer.result() if is_traced else "x"
    others: tuple[str, ...] = ()
    if dice.random() < 0.03:
        others = tuple(dice.sample(ENDINGS, dice.choice([1, 1, 2, 3])))
    return Case(lines, values, result, others)


class _Drawer:
    def __init__(self, dice: random.Random, is_traced: bool) -> None:
        self.dice = dice
        self.is_traced = is_traced
        self.made: list[tuple[str, str]] = []  # results and their classes

    def line(self, number: int) -> Line:
        dice = self.dice
        self.care = dice.choice([1.0, 0.95, 0.8, 0.5, 0.1])
        if dice.random() < 0.03:
            name = dice.choice(list(GENERAL))
            given = f"call({name}, {self.anything()})"
            line = Line(f"attempt(lambda: {given}{GENERAL[name]})", name)
        else:
            if self.is_traced and dice.random() < 0.85:
                function = dice.choice(OF_VALUES)
            else:
                function = dice.choices(OF_STUBS, WEIGHT_OF)[0]
            line = self.call_of(function)
            self.made.append((f"r{number}", _class_of(function.returns)))
        return line

    def anything(self) -> str:
        if self.is_traced and self.dice.random() < 0.3:
            return self.dice.choice(["x", "y"])
        return draw_object(self.dice)

    def of_class(self, kind: str) -> list[str]:
        known = CLASSES.get(kind, [])
        if kind == "Value" and self.is_traced:
            known = ["x", "x", "y", "y", *known[:1]]
        return [*known, *(name for name, made in self.made if made == kind)]

    def result(self) -> str:
        dice = self.dice
        one = dice.choice(self.of_class("Value"))
        if dice.random() < 0.6:
            return one
        return dice.choice(
            [
                *("None", "()", "3", "a", "(1, x)", wrong(dice, one)),
                *(f"({one}, y)", f"[{one}]", f"[[{one}], x]"),
                f"({one}, {wrong(dice, one)})",
            ]
        )

    def argument(self, function: Callable, p: Parameter) -> str:
        dice = self.dice
        likely = self.likely(function, p)
        # Without a value NumPy handles the call itself.
        is_first = p is function.parameters[0]
        if function.name.startswith("np.") and is_first:
            return dice.choice(["x", "y"] if self.is_traced else ["old", "sum"])
        if dice.random() < self.care:
            return likely
        if self.made and dice.random() < 0.15:
            return dice.choice(self.made)[0]
        made = wrong(dice, likely)
        is_operand = p.name == "other"  # of an operator, which reads any object
        if is_operand or re.search("ArrayLike|DTypeLike", p.annotation):
            return survivable(made)
        return made

    def likely(self, function: Callable, p: Parameter) -> str:
        dice = self.dice
        made = self.of_class(_class_of(p.annotation))
        is_operand = p.annotation in ("Any", "_Operand") and self.is_traced
        if is_operand or p.annotation == "Value | Any":
            made = self.of_class("Value")
        if p.name in ("a", "x", "x1", "condition") and self.is_traced:
            made = self.of_class("Value")
        if made and dice.random() < 0.7:
            return dice.choice(made)
        return right(dice, function.owner, function.name, p)

    def arguments(self, function: Callable) -> list[str]:
        """Draw arguments for the signature, at times with an unknown one."""
        dice = self.dice
        given: list[str] = []
        keywords: list[str] = []
        in_order = True
        for p in function.parameters:
            rest = 0.1 - self.care if p.is_needed else self.left_out(function)
            if p.kind == "*":
                most = 40 if self.care < 1 else 1
                many = dice.choice([0, 1, 1, 2, 2, 2, 3, most])
                given += [self.argument(function, p) for _ in range(many)]
            elif p.kind == "**":
                keywords += self.more_keywords(given)
            elif dice.random() < rest:
                in_order = False
            elif p.kind == "positional" and in_order and dice.random() < 0.9:
                given.append(self.argument(function, p))
            else:
                in_order = False
                keywords.append(f"{p.name}={self.argument(function, p)}")
        if function.name == "submit_many":
            given, keywords = self.with_sizes(given, keywords)
        if dice.random() > self.care + 0.15:
            given += [wrong(dice, "1")] * dice.choice([1, 1, 2, 40])
        if dice.random() > self.care + 0.15:
            keywords.append(f"unknown={wrong(dice, '1')}")
        named = {word.partition("=")[0]: word for word in keywords}
        words = [*given, *named.values()]
        if function.name.startswith("np."):
            # It fails by itself with more dimensions than 32.
            return [survivable(word) for word in words[:32]]
        return words

    def left_out(self, function: Callable) -> float:
        """Return the probability to omit an argument with a default."""
        if function.name.startswith("np."):
            return 0.9
        return 0.1 if function.name.startswith("submit") else 0.6

    def with_sizes(self, given, keywords):
        """Choose addresses, which are trusted together with sizes=."""
        dice = self.dice
        if dice.random() < 0.8:
            return given, [w for w in keywords if not w.startswith("sizes=")]
        count = dice.choice([1, 2, 3, 3, 3])
        columns = [dice.choice(WITH_SIZES) for _ in range(count)]
        dtype = dice.choice(["'f4'", "'f4'", "None", "'x'", "object()"])
        op = dice.choice(["'add'", "'mul'", "'fill'", "op", "None"])
        words = [f"sizes={dice.choice(SIZES)}", f"dtype={dtype}"]
        if dice.random() < 0.3:
            words.pop()
        return [op, *columns], words

    def more_keywords(self, given: list[str]) -> list[str]:
        """Choose keywords of the first argument, an operator, or others."""
        dice = self.dice
        words = []
        if given and given[0] in KEYWORDS and dice.random() < self.care + 0.1:
            words.append(KEYWORDS[given[0]])
        if dice.random() > self.care + 0.1:
            name = dice.choice(["k", "value", "n", "x", "y", "out2", "axis"])
            words.append(f"{name}={wrong(dice, '2')}")
        return words

    def call_of(self, function: Callable) -> Line:
        also = MAY_RAISE.get(function.name, "")
        tail = f", {also}" if also else ""
        inner = self.expression(function)
        return Line(f"attempt(lambda: call({inner}){tail})", str(function))

    def expression(self, function: Callable) -> str:
        dice = self.dice
        name, owner = function.name, function.owner
        kind = owner.rpartition(".")[2]
        is_method = kind[:1].isupper()
        if not is_method:
            place = (
                name if name.startswith("np.") else f"{owner or 'gpuos'}.{name}"
            )
            return ", ".join([place, *self.arguments(function)])
        receivers = self.of_class(kind)
        is_wrong = dice.random() > self.care + 0.35 or not receivers
        is_wrong = is_wrong and not is_in_python(owner, name)
        if not is_wrong:
            me = dice.choice(receivers)
        elif dice.random() < 0.2:
            me = "None"  # which pybind11 may take for any object
        else:
            me = wrong(dice, (receivers or ["a"])[0])
        if function.is_property:
            is_result = me.startswith("r") and me != "rt"
            if is_wrong or is_result:
                return f"{owner}.{name}.__get__, {me}"
            return f"getattr, {me}, {name!r}"
        given = self.arguments(function)
        if name == "__init__":
            if is_wrong or dice.random() > 0.05:
                return ", ".join([owner, *given])
            return ", ".join([f"{me}.__init__", *given])
        if is_wrong:
            return ", ".join([f"{owner}.{name}", me, *given])
        plain = name.strip("_")
        if name.startswith("__") and dice.random() < 0.7:
            if hasattr(operator, name) and not any("=" in g for g in given):
                return ", ".join([f"operator.{name}", me, *given])
            if hasattr(builtins, plain):
                return ", ".join([plain, me, *given])
        return ", ".join([f"{me}.{name}", *given])


class _Swept(_Drawer):
    """Gives one argument a given thing, and the others what is right."""

    care = 1.0

    def __init__(
        self, dice: random.Random, place: Parameter, thing: str, traced: bool
    ) -> None:
        super().__init__(dice, traced)
        self.place, self.thing = place, thing

    def argument(self, function: Callable, p: Parameter) -> str:
        return self.thing if p is self.place else self.likely(function, p)

    def left_out(self, _function: Callable) -> float:
        return 0.0


# Functions of values are called in a traced function too, except NumPy's own.
SWEPT = [(c, False) for c in OF_STUBS]
SWEPT += [(c, True) for c in OF_VALUES if c.owner]


def swept(index: int) -> Case:
    """Return calls of one function, each argument as a share of the wrong things.

    Another round over all functions takes the next share.
    """
    function, is_traced = SWEPT[index % len(SWEPT)]
    every = 16 if RARE.get(str(function), 1) < 0.5 else 4
    share = (index + index // len(SWEPT)) % every
    dice = random.Random(index)
    lines = [
        _Swept(dice, p, thing, is_traced).call_of(function)
        for p in function.parameters
        for thing in [*NUMBERS, *TEXTS, *ODD][share::every]
        if not (function.owner in COMPILED and thing in FATAL_FOR_NVRTC)
    ]
    return Case(tuple(lines), "a, b" if is_traced else "")


def _class_of(annotation: str) -> str:
    return annotation.rpartition(".")[2]


def missing() -> list[str]:
    """Classes without a call that makes an object."""
    made = {_class_of(c.returns) for c in OF_STUBS}
    owners = {c.owner.rpartition(".")[2] for c in OF_STUBS}
    classes = {name for name in owners if name[:1].isupper()}
    return sorted(classes - made - set(CLASSES) - NEEDS_GPU)


# ---- running


class Place:
    """The runtimes that cases use until one closes them."""

    def __init__(self) -> None:
        self.runtimes: dict[str, gpuos.Runtime] = {}
        self.turns = 0

    def names(self) -> dict[str, Any]:
        self.turns += 1
        for name in ("rt", "other"):
            known = self.runtimes.get(name)
            is_over = known is None or known.is_closed or self.turns % 200 == 0
            if is_over:
                self.runtimes[name] = eval(RUNTIME)
        return dict(self.runtimes)

    def why_unusable(self) -> str:
        """Check a small program and the list of operators; return the failure."""
        for name, rt in self.runtimes.items():
            if rt.is_closed:
                continue
            try:
                found = _why_unusable(rt)
            except Exception as error:  # noqa: BLE001
                found = f"{type(error).__name__}: {error}"
            # Leftovers of a case may close the runtime when they are destroyed.
            if found and not rt.is_closed:
                return f"{name} is unusable after the case: {found}"
        return ""


BUILT_IN = ["add", "copy", "div", "fill", "mul", "sub"]


def _why_unusable(rt: gpuos.Runtime) -> str:
    x = rt.array(np.arange(3, dtype="f4"))
    out = rt.zeros(3)
    for name in BUILT_IN:
        rt.restore(name)
    rt.submit("add", x, x, out=out)
    made = rt.fuse(lambda x, y: x * 2 + y)(x, out).numpy().tolist()
    if made != [0, 4, 8]:
        return f"expected [0, 4, 8], got {made}"
    for _ in range(9):  # an alias goes before its target
        for name in rt.operators():
            if name not in BUILT_IN:
                with contextlib.suppress(gpuos.InvalidArgument):
                    rt.undefine(name)
    left = rt.operators()
    if left != BUILT_IN:
        return f"operators() has {left}"
    rt.synchronize(timeout=20)
    return "it is dead" if rt.stats()["is_dead"] else ""


def finding(place: Place, case: Case) -> str:
    """Return the finding, or an empty text."""
    JUDGE.begin()
    names = {**vars(wrong_objects), **place.names()}
    # Leftovers of the previous case may close the runtime, or undefine an
    # operator, while the objects of this one are made.
    with contextlib.suppress(gpuos.QueueClosed, gpuos.InvalidArgument):
        exec(compile(case.body(), "case", "exec"), names)  # noqa: S102 (ours)
    # The remaining objects act when they end, and need the names for that.
    del names
    JUDGE.raised.clear()
    gc.collect(1)
    unusable = place.why_unusable()
    return JUDGE.finding or unusable
