"""Each argument of each public function, given what it cannot be."""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

import pytest
from good_calls import Calls, jit_calls
from odd_objects import odd_objects

import gpuos
from gpuos import _core

STUB = Path(_core.__file__).parent / "_core.pyi"
ALLOWED = (
    gpuos.Error,
    TypeError,
    ValueError,
    BufferError,
    MemoryError,
    OverflowError,
    RecursionError,
)
INDEXED = ("_view_at", "Array.__getitem__", "Array.__setitem__", "Array.item")
# Words of pybind11's own messages.
NEVER = ("C++ type", "pybind", "incompatible", "Invoked", "vector::")


# Objects that need a GPU, and functions whose operands Python and NumPy check
# before the call (test_fuse_errors.py).
ELSEWHERE = (
    "Kernel.",
    "Value.__",
    "_Functions.",
    "_enter",
    "_leave",
    "_watch_arrays",
)


def callables_of_the_stub():
    """Return the names of callables with arguments, as `Class.method`."""

    def takes(node):
        given = node.args
        names = [a.arg for a in (*given.posonlyargs, *given.args)]
        return (
            len([n for n in names if n != "self"])
            or given.kwonlyargs
            or given.vararg
        )

    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef) and takes(node):
            yield node.name
        if not isinstance(node, ast.ClassDef):
            continue
        for part in node.body:
            refuses = (
                isinstance(part, ast.FunctionDef)
                and ast.unparse(part.returns or ast.Constant(0)) == "NoReturn"
            )
            if not isinstance(part, ast.FunctionDef) or refuses:
                continue
            if takes(part) and part.name not in ("__eq__", "__ne__"):
                yield f"{node.name}.{part.name}"


def variants(args, keywords, odd):
    """The call with `odd` for each argument in turn, and one too many."""
    for i in range(len(args)):
        yield [*args[:i], odd, *args[i + 1 :]], keywords
    for name in keywords:
        yield args, {**keywords, name: odd}
    yield [*args, odd], keywords
    yield args, {**keywords, "unknown": odd}
    yield [], {}


def is_ours(name, error):
    if isinstance(error, IndexError) and not isinstance(error, ValueError):
        return name in INDEXED
    return isinstance(error, ALLOWED) and not any(
        word in str(error) for word in NEVER
    )


def check_all(calls, odd):
    wrong = []
    for name, (call, args, keywords) in calls.items():
        for what, thing in odd.items():
            for given, named in variants(args, keywords, thing):
                try:
                    call(*given, **named)
                except BaseException as error:  # noqa: BLE001
                    if not is_ours(name, error):
                        wrong.append(f"{name} of {what}: {error!r}")
    assert not wrong, "\n".join(wrong)


def test_every_function_of_the_stub_has_a_call(host):
    known = {}

    def collect(x):
        calls = Calls(host, x)
        known.update(calls.good)
        known.update(calls.values)
        return x + 1

    host.fuse(collect)(host.zeros(2))
    jit = {"JitModule", "Session", "Kernel", "KernelLaunch"}
    missing = {
        name
        for name in callables_of_the_stub()
        if name not in known
        and name.partition(".")[0] not in jit
        and not name.startswith(ELSEWHERE)
        and name != "Runtime.__exit__"
    }
    assert not missing


@pytest.mark.filterwarnings("ignore:Casting complex")  # NumPy's, of arange
def test_functions_refuse_in_words_of_their_own(rt):
    odd = odd_objects(rt)
    calls = {}

    def collect(x):
        calls.update(Calls(rt, x).good)
        return x + 1

    rt.fuse(collect)(rt.zeros(2))
    # Not with texts that are folders, or runtimes that are made for each.
    apart = {
        name: calls.pop(name)
        for name in ("_add_library_dir", "Runtime.__init__")
    }
    check_all(apart, {w: t for w, t in odd.items() if not isinstance(t, str)})
    check_all(calls, odd)
    x = rt.array([1.0, 2.0], dtype="float32")
    rt.submit("add", x, x, out=x)
    assert x.numpy().tolist() == [2, 4]


def test_values_refuse_in_words_of_their_own(host):
    odd = odd_objects(host)

    def f(x):
        check_all(Calls(host, x).values, odd)
        functions = {
            name: (getattr(_core._Functions, name), [x, x, x][:count], {})
            for name in vars(_core._Functions)
            if not name.startswith("_")
            for count in (1, 2, 3)
        }
        check_all(functions, odd)
        traced.append(x)
        return x + 1

    traced: list = []
    # Some of the odd things are places that two elements do not have.
    with contextlib.suppress(gpuos.InvalidArgument):
        host.fuse(f)(host.zeros(2))
    assert traced


def test_the_compiler_refuses_in_words_of_its_own(host):
    try:
        calls = jit_calls()
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    known = set(calls)
    wanted = {
        name
        for name in callables_of_the_stub()
        if name.startswith(("JitModule.", "Session."))
    }
    assert known >= wanted
    check_all(calls, odd_objects(host))
