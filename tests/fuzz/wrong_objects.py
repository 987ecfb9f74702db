"""Makes objects with wrong behaviour, and judges calls with them."""

import contextlib
import gc
import operator
import pickle
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import stubs

import gpuos

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from dlpack_support import Liar, capsule_of

__all__ = [
    "JUDGE",
    "Giving",
    "Liar",
    "attempt",
    "call",
    "capsule_of",
    "closed_runtime",
    "defined",
    "diagnosis",
    "dying",
    "freed",
    "gc",
    "gpuos",
    "interface",
    "lying",
    "meanwhile",
    "nested",
    "nothing",
    "np",
    "odd",
    "odd_attributes",
    "odd_kind",
    "operator",
    "outlived",
    "raise_own",
    "readonly",
    "steady",
    "traced",
    "vanishing",
    "weave",
]

ALLOWED = (
    gpuos.Error,
    gpuos.InvalidArgument,
    TypeError,
    ValueError,
    BufferError,
    pickle.PicklingError,
    MemoryError,
    OverflowError,
    RecursionError,
)
# Words of the binding library that our texts never contain.
NEVER = re.compile(
    r"incompatible (function|constructor)|Unable to (cast|convert)|C\+\+ type"
    r"|return_value_policy|pybind|Invoked with|std::|vector::|basic_string"
    r"|\bholder\b|__init__\(\) must be called|Unregistered type"
    r"|\b_\w+\.<locals>|numpy_functions"
)
# The expected and the actual value, or the existing names.
EXPECTED = re.compile(
    r"expected .*(, got |, but )|^unknown .*; there are "
    r"|there is no .*; it has |expected no out= in a fused function",
    re.DOTALL,
)


class Call(NamedTuple):
    """A function and its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def is_in(package: str, of: Any) -> bool:
    return f"{getattr(of, '__module__', '')}.".startswith(f"{package}.")


def is_of_others(call: Call) -> bool:
    """Return whether nothing of gpuos is in it.

    A value that was asked for its number is that number in the second trace.
    """

    def is_ours(x: Any) -> bool:
        if type(x) in (list, tuple):
            return any(map(is_ours, x))
        return not isinstance(x, BaseException) and any(
            is_in("gpuos", kind) for kind in type(x).__mro__
        )

    function = call.function
    return (
        function is getattr
        or isinstance(function, np.ufunc)
        or is_in("numpy", function)
    ) and not any(map(is_ours, (*call.args, *call.keywords.values())))


def is_of_numpy(error: BaseException) -> bool:
    """Return whether its own loop over objects looked for their methods."""
    name = getattr(error, "name", None)
    if not isinstance(error, AttributeError) or not isinstance(name, str):
        return False
    return isinstance(getattr(np, name, None), np.ufunc)


class Judge:
    """The allowed exceptions of calls, and the observed ones."""

    attributes = stubs.error_attributes()
    typed = stubs.typed()

    def __init__(self) -> None:
        self.raised: list[BaseException] = []  # raised by objects of a case
        self.finding = ""
        self.calls = 0
        self.without_got: dict[str, str] = {}  # messages that lack a part

    def begin(self) -> None:
        self.raised.clear()
        self.finding = ""

    def look_at(self, error: BaseException) -> None:
        if any(error is own for own in self.raised) or is_of_numpy(error):
            return
        text = f"{error}"
        if not isinstance(error, ALLOWED) or NEVER.search(text):
            self.find(f"{type(error).__name__}: {text}")
        for kind in type(error).__mro__:
            for name in self.attributes.get(kind.__name__, ()):
                if not hasattr(error, name):
                    self.find(f"{kind.__name__} without {name!r}")
        if type(error) is gpuos.InvalidArgument and not EXPECTED.search(text):
            general = re.sub(r"\d+|'.*?'", "N", text.partition("\n")[0])[:200]
            self.without_got.setdefault(general, text)

    def look_at_taken(self, call: Call) -> None:
        """Check that an accepted argument of a gpuos class has exactly that
        class."""
        owner = type(getattr(call.function, "__self__", None)).__name__
        owner = "functions" if owner == "PyCapsule" else owner
        name = getattr(call.function, "__name__", "")
        for place, known, kind in self.typed.get((owner, name), ()):
            args = call.args[place : place + 1] or [call.keywords.get(known)]
            if args[0] is not None and type(args[0]).__name__ != kind:
                got = type(args[0]).__name__
                self.find(f"{name}: took {got} for a {kind}")

    def find(self, text: str) -> None:
        self.finding = self.finding or text


JUDGE = Judge()


def call(function: Callable[..., Any], *args: Any, **keywords: Any) -> Call:
    return Call(function, args, keywords)


def attempt(prepare: Callable[[], Call], *also: type[BaseException]) -> Any:
    """Return the result of a call, or its checked error; `also` is allowed."""
    try:
        made = prepare()
    except Exception as error:  # noqa: BLE001 (the arguments are no call)
        return error
    if is_of_others(made):
        return None
    JUDGE.calls += 1
    result = judged(lambda: made.function(*made.args, **made.keywords), also)
    if not isinstance(result, Exception):
        JUDGE.look_at_taken(made)
    return result


def judged(
    function: Callable[[], Any], also: tuple[type[BaseException], ...] = ()
) -> Any:
    try:
        result = function()
        f"{result!r:.9}"
    except Exception as error:  # noqa: BLE001
        if not isinstance(error, also):
            JUDGE.look_at(error)
        return error
    return result


def own(call: Callable[[], Any]) -> Any:
    """Return the answer of the case's own object; its exceptions are passed
    on."""
    try:
        return call()
    except Exception as error:
        JUDGE.raised.append(error)
        raise


# ---- objects that run code when they are read


class OwnError(Exception):
    """Raised by objects of a case only."""


def raise_own() -> None:
    raise OwnError


def nothing() -> None:
    pass


def act(action: Callable[[], Any]) -> None:
    """Run an action and ignore its exceptions, except the case's own."""
    if action is raise_own:
        action()
    else:
        judged(action)


# Special methods, and names that gpuos or NumPy looks for.
METHODS = [
    *("__index__", "__int__", "__float__", "__complex__", "__len__"),
    *("__iter__", "__next__", "__bool__", "__hash__", "__eq__", "__getitem__"),
    *("__contains__", "__call__", "__array__", "__dlpack__"),
    *("__dlpack_device__", "__cuda_stream__", "__fspath__", "__str__"),
    *("__repr__", "__add__", "__radd__", "__lt__", "__enter__", "keys"),
    *("items", "item"),
]
ATTRIBUTES = [
    *("__array_interface__", "__cuda_array_interface__", "shape", "dtype"),
    *("ndim", "ptr", "cuda_stream", "__name__"),
]


def odd(action: Callable[[], Any], *answers: Any) -> Any:
    """Return an object that does `action` and acts as each answer in turn."""
    names = [n for n in METHODS if hasattr(type(answers[0]), n)]
    attributes = [n for n in ATTRIBUTES if hasattr(answers[0], n)]
    return _odd_class(tuple(names), tuple(attributes))(action, answers)


class _Odd:
    def __init__(self, action: Callable[[], Any], answers: Any) -> None:
        self._action, self._answers, self._asked = action, answers, 0

    def _answer(self) -> Any:
        act(self._action)
        self._asked += 1
        return self._answers[min(self._asked, len(self._answers)) - 1]


@cache
def _odd_class(names: tuple[str, ...], attributes: tuple[str, ...]) -> type:
    def method(name: str) -> Any:
        def ask(self: Any, *args: Any, **keywords: Any) -> Any:
            return own(lambda: getattr(self._answer(), name)(*args, **keywords))

        return ask

    def attribute(name: str) -> Any:
        return property(lambda self: own(lambda: getattr(self._answer(), name)))

    body = {name: method(name) for name in names}
    body |= {name: attribute(name) for name in attributes}
    body.setdefault("__hash__", object.__hash__)
    return type("Odd", (_Odd,), body)


def odd_kind(action: Callable[[], Any], value: Any) -> Any:
    """One of a subclass of the value's type, which acts as odd() does."""
    made = _odd_subclass(type(value))
    is_array = isinstance(value, np.ndarray)
    result = value.view(made) if is_array else made(value)
    result._action = action
    return result


@cache
def _odd_subclass(kind: type) -> type:
    def method(name: str) -> Any:
        def ask(self: Any, *args: Any, **keywords: Any) -> Any:
            def answer() -> Any:
                act(getattr(self, "_action", nothing))
                return getattr(kind, name)(self, *args, **keywords)

            return own(answer)

        return ask

    names = [n for n in METHODS if n in vars(kind)]
    return type("OddKind", (kind,), {name: method(name) for name in names})


def dying(action: Callable[[], Any], value: Any) -> Any:
    """Return an object like the value that runs `action` when it is destroyed."""
    if isinstance(value, np.ndarray):
        made = value.view(_dying_class(np.ndarray))
    elif isinstance(value, (str, tuple, list, dict, bytes, float)):
        made = _dying_class(type(value))(value)
    else:
        made = _dying_class(_Calls)(value)
    made.action = action
    return made


class _Calls:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.value(*args, **keywords)


@cache
def _dying_class(kind: type) -> type:
    def die(self: Any) -> None:
        # Parts of an ndarray are of its class and have no action.
        action = vars(self).pop("action", nothing)
        with contextlib.suppress(OwnError):
            act(action)

    return type("Dying", (kind,), {"__del__": die})


def nested(depth: int) -> Any:
    made: Any = ()
    for _ in range(depth):
        made = (made,)
    return made


def odd_attributes(action: Callable[[], Any]) -> Any:
    """Return an object that does `action` at each access and has no attributes."""

    class Attributes:
        def __getattr__(self, name: str) -> Any:
            own(lambda: act(action))
            raise AttributeError(name)

    return Attributes()


def lying(items: list[Any], length: Any) -> Any:
    """A sequence of another length than it says."""

    class Lying:
        def __len__(self) -> Any:
            return length

        def __getitem__(self, place: Any) -> Any:
            return own(lambda: items[place])

    return Lying()


def vanishing(*items: Any) -> list[Any]:
    """A list that its first item clears when it is asked for anything."""
    made: list[Any] = []
    made += [odd(made.clear, items[0]), *items[1:]]
    return made


def steady(*items: Any) -> list[Any]:
    """Instead of vanishing() where NumPy reads the list."""
    return [*items]


class Memory:
    """An `__array_interface__` of 4096 zeroed bytes, with wrong fields."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._memory = np.zeros(512)
        told = dict(np.zeros(4, "f4").__array_interface__)
        told["data"] = (self._memory.ctypes.data + 2048, False)
        told.update(fields)
        gone = [name for name in told if told[name] is nothing]
        self.__array_interface__ = {
            name: told[name] for name in told if name not in gone
        }


def interface(**fields: Any) -> Memory:
    return Memory(fields)


class Giving:
    """Returns one object for every request of DLPack or a stream."""

    def __init__(self, given: Any, place: Any = (1, 0)) -> None:
        self._given, self._place = given, place

    def __dlpack_device__(self) -> Any:
        return self._place

    def __dlpack__(self, **_: Any) -> Any:
        return self._given

    def __cuda_stream__(self) -> Any:
        return self._given


def weave(shape: Any) -> np.ndarray:
    """Every other element of larger memory, in another order."""
    return np.zeros([2 * n for n in reversed(shape)], "f4").T[
        tuple(slice(None, None, 2) for _ in shape)
    ]


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


# ---- objects of gpuos in every state


def defined(rt: gpuos.Runtime, name: str, *args: Any, **keywords: Any) -> Any:
    """An operator, made if there is none of that name."""
    if name in rt.operators():
        return rt.find(name)
    return rt.define(name, *args, **keywords)


def freed(array: gpuos.Array) -> gpuos.Array:
    array.free()
    return array


@cache
def closed_runtime() -> gpuos.Runtime:
    rt = gpuos.Runtime("host", workers=1)
    rt.close()
    return rt


@cache
def diagnosis() -> gpuos.Diagnosis:
    return gpuos.diagnose()


@cache
def outlived(name: str) -> Any:
    """A value whose program is over."""
    kept: dict[str, Any] = {}

    def keep(x: Any) -> Any:
        kept.update(x=x, y=x + 1)
        return x

    with gpuos.Runtime("host", workers=1) as rt:
        rt.fuse(keep)(rt.zeros(4))
    return kept[name]


def traced(
    rt: gpuos.Runtime, *args: Any
) -> Callable[[Callable[..., Any]], None]:
    """Have a function run on values that stand for the arguments."""

    def run(function: Callable[..., Any]) -> None:
        judged(lambda: rt.fuse(function)(*args))

    return run


@contextlib.contextmanager
def meanwhile(*calls: Callable[[], Any]) -> Iterator[None]:
    """Another thread does these again and again while the block runs."""
    over = threading.Event()

    def work() -> None:
        while True:
            for each in calls:
                judged(each)
                time.sleep(random.choice([0, 0, 1e-4]))
            if over.is_set():
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(interval)
