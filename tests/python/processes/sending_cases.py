"""The objects that test_sending.py sends, and a child's use of them.

`python sending_cases.py METHOD` sends all of them to a child of that start
method. It prints the child's answers and this process' own.
"""

import json
import multiprocessing
import sys

import numpy as np

import gpuos

HALF = 0.5


@gpuos.fuse
def of_module(x):
    return x * 2 + HALF


def plain(x):
    return x - HALF


renamed = gpuos.fuse(plain)


class Holder:
    @gpuos.fuse
    def method(x):
        return x * 3


def nested(k):
    return gpuos.fuse(lambda x: of_module(x) * k + HALF)


def with_array():
    table = np.arange(3)
    return gpuos.fuse(lambda x: x * float(table[2]))


def replaced():
    fused = gpuos.fuse(lambda x: x + 1)
    fused.replace(lambda x: x + 2)
    return fused


FUSED = {
    "of a module": lambda: of_module,
    "under another name": lambda: renamed,
    "of a class": lambda: Holder.method,
    "nested": lambda: nested(3),
    "lambda": lambda: gpuos.fuse(lambda x: x * x),
    "with a constant array": with_array,
    "replaced": replaced,
}

SOURCE = """
GPUOS_OPERATOR(whole) {
  const double k = task.scalar<float>(2);
  for (auto i = lane.index(); i < task.count; i += lane.count())
    task.pointer<double>(0)[i] = task.pointer<double>(1)[i] * k + 1;
}
"""
# The keywords of each definition that the host backend takes.
DEFINED = {
    "expression": {"expression": "o = x * 3 - 1"},
    "names": {"expression": "o = x - y", "inputs": ["y", "x"]},
    "params": {"expression": "o = a * x + b", "params": {
        "a": "float32", "b": ("int16", -3)}},
    "dtypes": {"expression": "o = x + 1", "dtype": ["float64", "int32"]},
    "reduction": {"expression": "o = x - sum(x, axis=-1)"},
    "source": {
        "name": "whole", "source": SOURCE, "dtype": "float64", "inputs": 1,
        "params": {"k": ("float32", 4)},
    },
    "checked": {
        "name": "whole", "source": SOURCE, "dtype": "float64",
        "inputs": ["x"], "params": {"k": "float32"}, "elementwise": False,
        "checked": True, "tiered": True,
    },
}  # fmt: skip
# A second version of those that have another text with the same arguments.
REPLACED = {
    "expression": {"expression": "o = x * 5"},
    "names": {"expression": "o = x * 2 - y"},
    "params": {"expression": "o = b - a * x"},
    "source": {"source": SOURCE.replace("+ 1", "- 1")},
}


def define(runtime, way):
    keywords = {"name": "sent", **DEFINED[way]}
    return runtime.define(**keywords)


def run(runtime, op):
    """Return what an operator gives for arrays that its definition takes."""
    definition = op.definition
    dtype = (definition.dtype or ("float32",))[0]
    inputs = definition.inputs or 1
    if not isinstance(inputs, int):
        inputs = len(inputs)
    elif op.inputs is not None:
        inputs = len(op.inputs)
    arrays = [np.arange(6, dtype=dtype) * (i + 1) for i in range(inputs)]
    given = {name: 2 for name in op.params if name not in op.defaults}
    out = np.zeros(6, dtype)
    runtime.wait(runtime.submit(op, *arrays, out=out, **given))
    return out.tolist()


def call(fused):
    return fused(np.arange(4, dtype="float32")).tolist()


ARRAYS = {
    "vector": lambda rt: rt.array(np.arange(5, dtype="float32")) * 2,
    "view": lambda rt: rt.array(np.arange(12).reshape(3, 4)).T[::-1, 1:],
    "scalar": lambda rt: rt.full((), 7, "int16"),
    "empty": lambda rt: rt.zeros((0, 3)),
    "short": lambda rt: rt.full(3, 1.5, "bfloat16"),
}


def answer(sent):
    """Return what a process says to what it was sent."""
    if isinstance(sent, gpuos.Definition):
        with gpuos.Runtime(backend="host") as runtime:
            return run(runtime, runtime.define(sent))
    if isinstance(sent, gpuos.Fused):
        return call(sent)
    assert isinstance(sent, gpuos.Array)
    runtime = gpuos.default_runtime("host")
    assert sent.runtime is runtime
    return [str(sent.dtype), list(sent.shape), (sent * 2).tolist()]


def everything(runtime):
    """Return all that can be sent, by what it is called."""
    cases = {f"fused {name}": make() for name, make in FUSED.items()}
    cases |= {f"array {name}": make(runtime) for name, make in ARRAYS.items()}
    for way in DEFINED:
        op = define(runtime, way)
        cases[f"operator {way}"] = op.definition
        if way in REPLACED:
            runtime.replace(op, **REPLACED[way])
            cases[f"operator {way} replaced"] = op.definition
        runtime.undefine(op)
    return cases


def main(method):
    cases = everything(gpuos.default_runtime("host"))
    wanted = {name: answer(sent) for name, sent in cases.items()}
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        got = {name: pool.apply(answer, (x,)) for name, x in cases.items()}
        back = pool.apply(everything_back)
    print(json.dumps([wanted, got, {k: answer(v) for k, v in back.items()}]))


def everything_back():
    return everything(gpuos.default_runtime("host"))


if __name__ == "__main__":
    main(sys.argv[1])
