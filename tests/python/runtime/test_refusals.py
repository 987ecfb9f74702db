"""Refused arguments, and the texts of the errors."""

import numpy as np
import pytest
from jit_support import or_skip

import gpuos
from gpuos import _core


def test_objects_that_were_never_made_are_refused(host):
    """Their __init__ never ran, so they have no content."""
    known = set()
    for kind in vars(_core).values():
        # Classes in Python raise Python's AttributeError.
        if not isinstance(kind, type) or hasattr(kind, "__slots__"):
            continue
        try:
            empty = kind.__new__(kind)
        except TypeError:
            continue
        if isinstance(empty, BaseException):
            continue
        known.add(kind.__name__)
        plain = set(dir(object)) | {"__module__", "__doc__", "__enter__"}
        plain |= {"__slotnames__", "__annotations__"}  # left by earlier calls
        plain |= {"__signature__"}
        for name in set(dir(kind)) - plain:
            try:
                use(getattr(empty, name))
            except (TypeError, gpuos.InvalidArgument):
                continue
            pytest.fail(f"{kind.__name__}.{name} raised nothing")
        for call in (repr, lambda x: gpuos.fuse(len, runtime=x)(1)):
            if kind is gpuos.Runtime:
                with pytest.raises((TypeError, gpuos.InvalidArgument)):
                    call(empty)
    assert known >= {"Runtime", "Session", "JitModule", "JitOptions"}
    with pytest.raises(TypeError):
        gpuos.Session(gpuos.JitOptions.__new__(gpuos.JitOptions))
    with pytest.raises(TypeError):
        host.submit(gpuos.Runtime.__new__(gpuos.Runtime))


def use(member):
    if not callable(member):
        return
    for args in ((), ("a",), ("a", "a")):
        try:
            member(*args)
        except TypeError as error:
            if "__init__" in str(error):
                raise
    # It takes other arguments: one of these had been right.
    raise TypeError


class Prepared(gpuos.Runtime):
    def __init__(self):
        pass


def test_a_subclass_without_init_is_refused():
    with pytest.raises(TypeError):
        Prepared()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rt: rt.find(5), r"find: expected \(name: str\), got \(int 5\)"),
        (lambda rt: rt.find("\ud800"), "surrogate"),
        (lambda rt: rt.empty(2.5), "shape: expected a sequence, got float 2.5"),
        (lambda rt: rt.empty([2.5]), "shape: expected an integer, got float"),
        (lambda rt: rt.empty(2**70), "shape: expected an integer of"),
        (lambda rt: rt.define("a", 5), "expression: expected a str, got int 5"),
        (lambda rt: rt.define("a", "o = x", inputs="b"), "inputs: expected"),
        (lambda rt: rt.session(5), "options: expected a sequence"),
        (lambda _: gpuos.Runtime(workers="a"), "workers: expected an integer"),
        (lambda _: gpuos.Session([3]), "options: expected a str, got int 3"),
        (
            lambda _: gpuos.Session("-G"),
            "options: expected a sequence, got str",
        ),
        (lambda _: gpuos.JitModule(b"\x7fELF"), "CUDA C\\+\\+ as a str"),
        (lambda _: gpuos.JitModule("\ud800"), "UTF-8"),
        (lambda _: gpuos.JitModule("", options=[3]), "options: expected a str"),
        (lambda _: gpuos.JitOptions(defines={"A": []}), "defines: expected"),
        (lambda _: gpuos.KernelArgs(np.datetime64(0, "s")), "NumPy"),
        (lambda rt: rt.fuse(lambda x: x)(()), "f|arrays|array"),
    ],
)
def test_messages_name_the_given_value(host, call, said):
    with pytest.raises((TypeError, gpuos.InvalidArgument), match=said):
        call(host)


def test_a_source_with_nul_is_refused(rt):
    source = "GPUOS_OPERATOR(f) { }\0 nonsense"
    with pytest.raises(gpuos.InvalidArgument, match="NUL"):
        rt.define("f", source=source)
    or_skip(gpuos.JitModule, "")
    for text in ("__device__ int a;\0", "\0", "a\0b"):
        with pytest.raises(gpuos.InvalidArgument, match="NUL"):
            gpuos.JitModule(text)
        with pytest.raises(gpuos.InvalidArgument, match="NUL"):
            gpuos.JitModule("", headers={"a.h": text})


SUBINTERPRETER = """
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
text = '''
try:
    import gpuos
except ImportError as error:
    print("refused:", error)
'''
sub.run_string(sub.create(), text)
"""


def test_a_subinterpreter_is_refused(run_python):
    done = run_python(SUBINTERPRETER)
    assert done.stdout.startswith("refused:"), (done.stdout, done.stderr)
