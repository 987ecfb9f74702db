"""Arguments of calls, right and wrong, as text that can be pasted."""

import random
import re
from collections.abc import Callable

import stubs
from stubs import Parameter

ALIASES = stubs.aliases()

# Objects of a case by name, made only if it names them. `rt` and `other` exist.
OBJECTS = {
    "a": "rt.array([0.0, 1.0, 2.0, 3.0], 'f4')",
    "b": "rt.array([3.0, 1.0, 2.0, 0.0], 'f4')",
    "o": "rt.zeros(4)",
    "m": "rt.zeros((2, 3))",
    "whole": "rt.array([1, 2, 3], 'int64')",
    "empty": "rt.zeros((0, 3))",
    "scalar": "rt.zeros(())",
    "view": "rt.zeros((4, 2)).T[::-1]",
    "short": "rt.zeros(4, 'bfloat16')",
    "gone": "freed(rt.zeros(4))",
    "foreign": "other.zeros(4)",
    "plain": "np.arange(4, dtype='f4')",
    "capsule": "a.__dlpack__()",
    "closed": "closed_runtime()",
    "op": "defined(rt, 'scale', 'o = k * x', params={'k': 'float32'})",
    "undefined": "defined(rt, 'brief', 'o = x')",
    "alias": "rt.alias('scaled', op)",
    "version": "op.versions[-1]",
    "definition": "op.definition",
    # They have separate runtimes, because an open one refuses changes of
    # operators.
    "change": "gpuos.Runtime('host', workers=1).transaction()",
    "open": "gpuos.Runtime('host', workers=1).transaction().__enter__()",
    "ticket": "rt.submit('add', a, b, out=o)",
    "done": "rt.submit('fill', out=rt.zeros(0), value=1)",
    "fused": "rt.fuse(lambda x, y: x * y + 1)",
    "pair": "gpuos.fuse(lambda x: (x + 1, x.sum()))",
    "program": "fused.warm(a, b)",
    "options": "gpuos.JitOptions()",
    "kargs": "gpuos.KernelArgs(1, 2.0)",
    "module": "gpuos.JitModule('__device__ int v;', ['&v'])",
    "session": "gpuos.Session()",
    "cell": "session.run('__device__ int v;')",
    "future": "gpuos.compile_async('nonsense')",
    "finding": "diagnosis()[0]",
    "findings": "diagnosis()",
    "info": "gpuos.cache.info()",
    "old": "outlived('x')",
    "sum": "outlived('y')",
    "addresses": "a.ptr + np.arange(2) * 8",
    "results": "o.ptr + np.arange(2) * 8",
}
# Objects that take milliseconds to make.
SLOW = {"module", "session", "cell", "future"}
QUICK = [name for name in OBJECTS if name not in SLOW]
# The arguments of a fused function during tracing.
TRACED = [
    "a, b",
    "a, b",
    "a, m",
    "whole, whole",
    "scalar, a",
    "view, 2",
    "short, 1.5",
]
# The names of the objects of each class in the stubs.
CLASSES = {
    "Runtime": [*["rt"] * 9, "other", "closed"],
    "Array": [
        "a",
        "b",
        "o",
        "m",
        "whole",
        "empty",
        "scalar",
        "view",
        "short",
        "gone",
        "foreign",
    ],
    "Operator": ["op", "op", "undefined"],
    "OperatorVersion": ["version"],
    "Definition": ["definition"],
    "Transaction": ["change", "open", "open"],
    "Alias": ["alias"],
    "Ticket": ["ticket", "done"],
    "Fused": ["fused", "pair"],
    "Program": ["program"],
    "JitOptions": ["options"],
    "KernelArgs": ["kargs"],
    "JitModule": ["module"],
    "Session": ["session"],
    "CellResult": ["cell"],
    "CompileFuture": ["future"],
    "Finding": ["finding"],
    "Diagnosis": ["findings"],
    "CacheInfo": ["info"],
    "CacheLevel": ["info.own", "info.read_only"],
    "Value": ["old", "sum"],
}
# Nothing of these is at hand without a GPU; a wrong `self` is all they get.
NEEDS_GPU = {
    "Kernel",
    "KernelAttributes",
    "KernelLaunch",
    "ModuleInfo",
    "CachedImage",
}

ACTIONS = [
    "nothing",
    "nothing",
    "raise_own",
    "lambda: rt.synchronize()",
    "lambda: a.free()",
    "lambda: o.free()",
    "lambda: rt.undefine('scale')",
    "lambda: rt.undefine('scaled')",
    "lambda: rt.replace(op, 'o = x - k', params={'k': 'float64'})",
    "lambda: rt.rollback(op)",
    "lambda: rt.replace('add', 'o = x - y')",
    "lambda: open.__exit__(None, None, None)",
    "lambda: alias.switch('add')",
    "lambda: fused(a, b)",
    "lambda: fused(a, b, out=o)",
    "lambda: rt.zeros(3)",
    "lambda: gc.collect()",
    "lambda: rt.submit('add', a, b, out=o)",
    "lambda: rt.define('again', 'o = x')",
    "lambda: rt.flush()",
    "lambda: a.numpy(copy=False)",
    "lambda: a.copy_from(plain)",
]
# Each ends something that others use.
ENDINGS = [
    "lambda: rt.close()",
    "lambda: other.close()",
    "lambda: a.free()",
    "lambda: b.free()",
    "lambda: o.free()",
    "lambda: rt.undefine('scaled')",
    "lambda: rt.undefine('scale')",
    "lambda: rt.undefine(undefined)",
    "lambda: rt.define('scale', 'o = k * x', params={'k': 'int64'})",
    "lambda: rt.replace('scale', 'o = x - k', params={'k': 'float64'})",
    "lambda: alias.rollback()",
    "lambda: gc.collect()",
    "lambda: rt.synchronize()",
]

NUMBERS = [
    *("-1", "0", "1", "2", "7", "2**31", "-2**31", "2**32", "2**62", "2**63"),
    *("-2**63", "2**64", "-2**64", "10**40", "True", "False", "0.5", "-0.0"),
    *("1e308", "float('nan')", "float('inf')", "-float('inf')", "1j"),
    *("np.float32(2)", "np.int8(-3)", "np.uint64(2**63)", "np.bool_(1)"),
    *("np.float16('nan')", "np.complex64(1j)", "np.longdouble(1)"),
    *("np.datetime64(0, 's')", "np.array(3)", "np.array(2.5)"),
]
TEXTS = [
    *("''", "'add'", "'scale'", "'fill'", "'x'", "'a\\0b'", "'\\ud800'"),
    *("'\\U0001f600'", "'x' * 5000", "b''", "b'add'", "b'\\xff\\0'", "'%s %d'"),
    *("'float32'", "'f4'", "'host'", "'auto'", "'o = x'", "'o = '", "'-G'"),
    *("bytearray(b'x')", "'../x'", "'\\n'", "'{}'", "'o = x + y * 2'"),
    *("'o = sum(x, axis=' + '9' * 30 + ')'", "'o = ' + '(' * 900", "'[0]'"),
    *("'o = ' + '-' * 3000 + 'x'", "'k'", "'o = ' + '(' * 10**6"),
    *("'o = ' + '-' * 10**5 + 'x'", "'o = x' + ' + x' * 3000"),
    *(
        "'o = ' + 'abs(' * 10**5 + 'x'",
        "'o = x' + ' ** x' * 9999",
        "'o = 9e999'",
    ),
]
ODD = [
    *("None", "...", "NotImplemented", "object()", "int", "type", "len"),
    *("lambda *a, **k: None", "(i for i in (1, 2))", "iter(())", "range(3)"),
    *("slice(None)", "slice(3, None, -2)", "slice(2**70, -1, 0)", "set()"),
    *("{}", "{1: 2}", "{'k': 'f4'}", "{'k': None}", "[]", "()", "[[]]"),
    *("nested(10_000)", "(2**31, 2**31)", "[1] * 9", "(2**62, 0)", "(-1, -1)"),
    *("[1, [2, [3]]]", "[None]", "(1,) * 40", "[2**70]", "['\\ud800']"),
    *("memoryview(b'abcd')", "memoryview(plain)", "np.add", "np", "gpuos"),
    *("gpuos.Array", "gpuos.Error('x')", "KeyError('k')", "gpuos.functions"),
    *("gpuos.Runtime.__new__(gpuos.Runtime)", "raise_own", "Ellipsis"),
    *("gpuos.Session.__new__(gpuos.Session)", "a.__dlpack__()", "frozenset()"),
    *("gpuos.JitOptions.__new__(gpuos.JitOptions)", "np.dtype('f4')"),
    *("np.dtype('V3')", "np.dtype('>i4')", "np.dtype([('x', 'f4')])"),
    *("np.ma.masked_array([1.0, 2], [0, 1])", "np.matrix([[1.0]])"),
]
DTYPES = [
    *("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"),
    *("g", "F", "D", ">f4", ">i8", "O", "U3", "S3", "M8[s]", "V4"),
]
NDARRAYS = [
    *("np.ones({}, {!r})", "np.ones({}, {!r})[::-1]", "np.ones({}, {!r}).T"),
    *("np.ones({}, {!r})[..., None]", "readonly(np.ones({}, {!r}))"),
    *("np.broadcast_to(np.ones((), {1!r}), {0})", "np.ones({}, {!r})[::2]"),
    *("np.lib.stride_tricks.as_strided(np.ones(9, {1!r}), (2,), (0,))",),
]
SHAPES = ["4", "4", "(2, 3)", "0", "(0, 3)", "(1,) * 33", "(1,) * 63", "5"]
OTHER_ARRAYS = [
    *("np.zeros(17, 'u1')[1:].view('f4')", "weave((2, 3))", "plain", "plain"),
    *("np.zeros(3, [('a', 'f4'), ('b', 'i8')])", "np.array([None, 1])"),
    *("np.zeros(3, [('a', 'f4'), ('b', 'i8')])['a']", "np.array({})"),
]
# The memory of interface() suffices for all of these, or they are impossible.
FIELDS = {
    "shape": [
        "(-1,)",
        "4",
        "(2**62, 4)",
        "('a',)",
        "(0,)",
        "(2, 2)",
        "None",
        "(1,) * 70",
        "(2**70,)",
        "nothing",
        "odd({}, 2)",
        "lying([2], 3)",
    ],
    "typestr": ["'<f8'", "'<f3'", "None", "5", "'|O'", "'<c8'", "nothing"],
    "data": ["None", "'ab'", "b'ab'", "(1,)", "nothing", "('a', False)"],
    "strides": ["(4,)", "(0,)", "(3,)", "(-4,) * 2", "4", "('a',)", "(2**62,)"],
    "version": ["2", "None", "'x'", "nothing"],
    "descr": ["None", "[('', '<f8')]", "5"],
}
# Forms that no memory can have.
LIARS = [
    "Liar(a, (-8,))",
    "Liar(a, (2**61 + 1, 4))",
    "Liar(a, (2, 2), (2**62, 2**62))",
    "Liar(a, None, ndim=1)",
    "Liar(a, (1,) * 8, ndim=-1)",
    "Liar(a, (1,) * 8, ndim=9)",
    "Liar(a, (4,), bits=7)",
    # Capsules that are used up, or none; places that are none.
    "Giving(capsule)",
    "Giving(plain.__dlpack__())",
    "Giving(5)",
    "Giving(None, ('a', 0))",
    "Giving((0, -1), (2**70, 0))",
    "Giving((0, 5), 1)",
    "Giving((0,), (2, 0))",
]

# Right ones, by the words of an annotation.
BY_ANNOTATION = {
    "int": ["0", "1", "2", "3", "-1"],
    "SupportsIndex": ["0", "1", "2", "3", "-1", "np.int64(1)"],
    "SupportsInt": ["0", "1", "2"],
    "float": ["0.5", "1", "2.0", "1e-3"],
    "str": ["'add'", "'scale'", "'k'", "'x'", "'float32'", "'v'", "''"],
    "bool": ["True", "False"],
    "None": ["None"],
    "slice": ["slice(None)", "slice(1, None)", "slice(None, None, -1)"],
    "EllipsisType": ["..."],
    "npt.DTypeLike": [
        "'f4'",
        "'float32'",
        "np.float64",
        "np.dtype('int64')",
        "float",
        "int",
        "'bfloat16'",
        "'?'",
    ],
    "npt.ArrayLike": ["[1.0, 2.0, 3.0, 4.0]", "plain", "a", "3", "np.ones(4)"],
    "npt.NDArray[Any]": ["plain", "np.ones(4, 'i8')"],
    "Any": ["a", "b", "a", "b", "o", "m", "plain", "2", "0.5", "None"],
    "object": ["a", "1", "2.0", "plain"],
    "type[BaseException]": ["ValueError"],
    "BaseException": ["ValueError('x')"],
    "TracebackType": ["None"],
}
# Right ones, by the name of a parameter; with its owner, or of any.
BY_NAME = {
    "op": [
        "'add'",
        "'add'",
        "'add'",
        "'mul'",
        "'fill'",
        "'scale'",
        "op",
        "alias",
    ],
    "target": ["'add'", "'scale'", "op"],
    "name": ["'add'", "'scale'", "'fresh'", "'scaled'", "'v'", "'again'"],
    "out": ["o", "o", "o", "m", "plain", "rt.zeros(4)", "[o, b]"],
    "stream": ["None", "None", "None", "Giving((0, 5))", "0", "1"],
    "timeout": ["None", "5", "0.0", "1e-9", "1e300"],
    "shape": ["4", "(2, 2)", "(2, 3)", "()", "0", "[1, 4]"],
    "dtype": BY_ANNOTATION["npt.DTypeLike"],
    "function": ["lambda x, y: x + y", "lambda x: (x, x)", "np.add", "len"],
    "expression": ["'o = x'", "'o = k * x'", "'o = x + y'", "'o = sum(x)'"],
    "source": ["None"],
    "params": ["{'k': 'float32'}", "None", "{}"],
    "inputs": ["None", "1", "2"],
    "elementwise": ["True", "False", "None"],
    "definitions": ["[{'name': 'again', 'expression': 'o = x'}]", "[]"],
    "include_dirs": ["()", "[]", "['.']"],
    "backend": ["'host'"],
    "residency": ["'auto'", "'burst'", "'resident'"],
    "device": ["0"],
    "axis": ["0", "-1", "None", "()", "(0,)"],
    "keepdims": ["True", "False"],
    "approximate": ["'none'", "'tanh'"],
    "queue_capacity": ["64", "None"],
    "workers": ["1", "2", "None"],
    "threads_per_worker": ["32", "None"],
    "worker_image": ["'auto'", "None"],
    "max_version": ["(1, 0)", "None", "(0, 8)"],
    "dl_device": ["None", "(1, 0)", "(2, 0)"],
    "runtime": ["rt", "None", "other"],
    "Value": ["x", "y"],
    "Runtime.submit.inputs": ["a", "b", "a", "b", "plain", "o", "m", "foreign"],
    "Fused.__call__.args": ["a", "b", "a", "plain", "m", "2", "foreign"],
    "Runtime.submit_many.columns": [
        "m",
        "a",
        "[a, b]",
        "plain",
        "[m[0], m[1]]",
    ],
    "Runtime.submit_many.out": ["m", "o", "[o, b]", "[o]", "None"],
    "Session.run.text": ["'__device__ int v;'", "''", "'__device__ nonsense'"],
    "Session.link.kernel": ["'k'"],
    "JitModule.source": ["''", "'__device__ int v;'", "None"],
    "JitModule.path": ["None", "'/nowhere'"],
    "JitModule.replace.source": ["''", "'__device__ int v;'", "'nonsense'"],
    "JitModule.replace.keep": ["()", "['v']"],
    "Runtime.watch.path": ["None", "'/nowhere/text'", "'/dev/null'"],
    "on_error": ["None", "print"],
    "JitModule.image": ["None", "b''", "module.image"],
    "compile_async.source": ["''", "'nonsense'"],
    "JitModule.name_expressions": ["()", "['&v']"],
    "fast_compile": ["'off'"],
    "max_bytes": ["None", "2**40"],
    "method": ["'__call__'", "'__call__'", "'reduce'", "'outer'"],
    "ufunc": ["np.add", "np.sqrt", "np.greater", "np.divmod", "np.ldexp"],
    "np.moveaxis.source": ["0"],
    "np.moveaxis.destination": ["0", "-1"],
    "axis1": ["0", "-1"],
    "axis2": ["0", "-1"],
    "__array_ufunc__.args": ["x", "y", "2"],
    "__array_function__.function": ["np.sum", "np.where", "np.clip", "np.mean"],
    "__array_function__.args": ["(x,)", "(x, y)", "()"],
    "__array_function__.kwargs": ["{}", "{'axis': 0}"],
}
# Required keywords of operators.
KEYWORDS = {"'scale'": "k=2", "op": "k=2", "alias": "k=2", "'fill'": "value=1"}
# An address is trusted (docs/python.md). With sizes=, columns are valid
# addresses, or objects that cannot be read as addresses.
WITH_SIZES = ["addresses", "addresses", "results", "plain", "None", "a", "'x'"]
SIZES = [
    "np.array([2, 2])",
    "2",
    "-1",
    "2**62",
    "np.array([2, -2])",
    "'x'",
    "np.array([2.0])",
    "np.array([1])",
    "object()",
    "np.array([2**62, 2])",
]

NAME = re.compile(r"(?<![.\w])[a-z]\w*\b(?!=)")
QUOTED = re.compile(r"'[^']*'")


def right(dice: random.Random, owner: str, name: str, p: Parameter) -> str:
    """Draw an argument that a call may accept."""
    kind = owner.rpartition(".")[2]
    for key in (
        f"{kind}.{name}.{p.name}",
        f"{kind}.{p.name}",
        f"{name}.{p.name}",
    ):
        if key in BY_NAME:
            return dice.choice(BY_NAME[key])
    if p.name in BY_NAME:
        return dice.choice(BY_NAME[p.name])
    return dice.choice(by_annotation(p.annotation))


def by_annotation(annotation: str) -> list[str]:
    """Values of any part of it; of all kinds if it is not known."""
    annotation = ALIASES.get(annotation, annotation)
    found: list[str] = []
    for part in _parts(annotation):
        inner = re.fullmatch(r"(\w+)\[(.*)\]", part)
        word = part.rpartition(".")[2]
        if part in BY_ANNOTATION:
            found += BY_ANNOTATION[part]
        elif word in CLASSES:
            found += CLASSES[word]
        elif part in ALIASES:
            found += by_annotation(part)
        elif inner and inner[1] in ("Sequence", "Iterable", "tuple", "list"):
            items = by_annotation(inner[2].partition(", ")[0])
            found += [f"[{items[0]}, {items[-1]}]", f"({items[0]},)", "()"]
        elif inner and inner[1] in ("Mapping", "dict"):
            found += ["{}", "{'k': 'float32'}", "{'v': 1}"]
        elif inner and inner[1] == "Callable":
            found += BY_NAME["function"]
    return found or [*NUMBERS, *TEXTS, *ODD]


def _parts(annotation: str) -> list[str]:
    """The parts of a union, whose brackets may have unions too."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def wrong(dice: random.Random, likely: str, depth: int = 0) -> str:
    """Draw any object; `likely` is a correct argument."""
    kinds: list[Callable[[], str]] = [
        lambda: dice.choice(NUMBERS),
        lambda: dice.choice(TEXTS),
        lambda: dice.choice(ODD),
        lambda: draw_object(dice),
        lambda: ndarray(dice),
    ]
    if depth < 2:
        kinds += [
            lambda: around(dice, likely, depth),
            lambda: around(dice, likely, depth),
            lambda: sequence(dice, likely, depth),
            lambda: _interface(dice),
            lambda: dice.choice(LIARS),
        ]
    return dice.choice(kinds)()


def draw_object(dice: random.Random) -> str:
    names = list(SLOW) if dice.random() < 0.02 else [*QUICK, "rt", "other"]
    return dice.choice(sorted(names))


def around(dice: random.Random, likely: str, depth: int) -> str:
    """Draw an object that acts, answers differently or has a wrong type."""
    value = likely if dice.random() < 0.7 else wrong(dice, likely, depth + 1)
    action = dice.choice(ACTIONS)
    if dice.random() < 0.06:
        action = dice.choice(ENDINGS)
    # An ndarray that is let go when its task is over.
    held = "plain" if likely in CLASSES["Array"] else _plain(dice)
    return dice.choice(
        [
            f"odd({action}, {value})",
            f"odd({action}, {value})",
            f"odd({action}, {value}, {wrong(dice, likely, depth + 1)})",
            f"odd_kind({action}, {_plain(dice)})",
            f"odd_attributes({action})",
            f"dying({action}, {held})",
            f"dying({action}, {likely})",
        ]
    )


def _plain(dice: random.Random) -> str:
    return dice.choice(
        [
            *("'add'", "'scale'", "'f4'", "1", "2.0", "[2, 2]", "(2, 2)"),
            *("{'k': 'f4'}", "{'name': 'again', 'expression': 'o = x'}"),
            "plain",
        ]
    )


def sequence(dice: random.Random, likely: str, depth: int) -> str:
    items = [
        likely if dice.random() < 0.6 else wrong(dice, likely, depth + 1)
        for _ in range(dice.choice([0, 1, 1, 2, 2, 3]))
    ]
    inner = ", ".join(items)
    if likely.startswith("[") and dice.random() < 0.6:
        inner = likely[1:-1]
    length = dice.choice(["-1", "0", "9", "2**62", "2**70", "'a'", "None"])
    made = [f"[{inner}]", f"({inner}{',' if inner else ''})"]
    made += [f"lying([{inner}], {length})", f"dict(k={likely})"]
    if inner:
        made += [f"vanishing({inner})"] * 3
    return dice.choice(made)


def ndarray(dice: random.Random) -> str:
    if dice.random() < 0.3:
        return dice.choice(OTHER_ARRAYS)
    form = dice.choice(NDARRAYS)
    return form.format(dice.choice(SHAPES), dice.choice(DTYPES))


def _interface(dice: random.Random) -> str:
    fields = dice.sample(list(FIELDS), dice.choice([1, 1, 2]))
    given = [
        f"{name}={dice.choice(FIELDS[name])}".replace("{}", "nothing")
        for name in fields
    ]
    return f"interface({', '.join(given)})"


def named_in(text: str) -> list[str]:
    """The objects that a text needs, each after those that it needs itself."""
    found: list[str] = []

    def add(part: str) -> None:
        for name in NAME.findall(QUOTED.sub("", part)):
            if name in OBJECTS and name not in found:
                add(OBJECTS[name])
                if name not in found:
                    found.append(name)

    add(text)
    return found
