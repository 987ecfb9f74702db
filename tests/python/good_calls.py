"""A call that is right of each function in the stub."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import gpuos
from gpuos import _core

REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "min", "ptp")
SUMS = ("mean", "prod", "std", "sum", "var")
BINARY = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod"),
    *("and", "or", "xor", "lshift", "rshift"),
]
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
# Arguments of define() and Definition().
GIVEN = dict.fromkeys(("source", "ptx", "ltoir", "cubin", "symbol", "inputs"))
STAGED = {
    **GIVEN,
    "params": {"p": "f4"},
    "dtype": "f4",
    "elementwise": True,
    "checked": False,
}
DEFINED = STAGED | {"tiered": False}
# Arguments of replace().
REPLACED = {
    **GIVEN,
    **dict.fromkeys(("elementwise", "checked", "expected")),
    "params": {"a": "f4"},
    "dtype": "f4",
}


def of_array(x):
    """Return the names of operations that arrays compute."""
    names = [f"__{name}__" for name in (*BINARY, *COMPARISONS, "pow")]
    names += [f"__r{name}__" for name in (*BINARY, "pow")]
    names += [f"__i{name}__" for name in (*BINARY, "pow") if name != "divmod"]
    names.append("__contains__")
    calls = {name: ([1], {}) for name in names}
    calls |= {name: ([x], {}) for name in ("__matmul__", "__rmatmul__", "dot")}
    calls |= {name: ([0], {"keepdims": False}) for name in REDUCTIONS}
    calls |= {name: ([0, "f8"], {"keepdims": False}) for name in SUMS}
    calls |= {
        "__array_function__": ([np.sum, (type(x),), (x,), {}], {}),
        "__array_ufunc__": ([np.sin, "__call__", x], {}),
        "__deepcopy__": ([{}], {}),
        "__format__": ([""], {}),
        "__reduce_ex__": ([5], {}),
        "__round__": ([0], {}),
        "__setitem__": ([0, 1.5], {}),
        "astype": (["f8"], {"copy": False}),
        "clip": ([0, 1], {}),
        "copy": (["C"], {}),
        "fill": ([1.5], {}),
        "flatten": (["C"], {}),
        "item": ([0], {}),
        "ravel": (["C"], {}),
        "round": ([0], {}),
        "cumprod": ([0], {}),
        "cumsum": ([0], {}),
        "diagonal": ([0], {}),
        "repeat": ([2], {"axis": 0}),
        "squeeze": ([None], {}),
        "swapaxes": ([0, 0], {}),
        "trace": ([0], {}),
    }
    z = x.runtime.zeros(4, "complex64")
    parts = {
        f"Array.{name}": (partial(setattr, z, name), [1.5], {})
        for name in ("real", "imag")
    }
    return parts | {
        f"Array.{name}": (getattr(x, name), *given)
        for name, given in calls.items()
    }


class Calls:
    """A call of each function that is right, by the name in the stub."""

    def __init__(self, rt, value):
        op = rt.define("scale", "o = a * x", params={"a": "float32"})
        x, out = rt.zeros(4), rt.zeros(4)
        alias = rt.alias("scaled", op)
        ticket = rt.submit("add", x, x, out=out)
        fused = rt.fuse(lambda x, y: x + y)
        other = gpuos.Runtime("host")
        other.define("scale", "o = a * x", params={"a": "float32"})
        self.transaction = other.transaction().__enter__()
        self.rt, self.value, self.ticket = rt, value, ticket
        # Function, arguments and keywords. If each use changes the object, a
        # callable in place of the function makes a new one.
        self.good = {
            "_add_library_dir": (_core._add_library_dir, ["/"], {}),
            "_bridge": (_core._bridge, [rt], {}),
            "_make_deterministic": (_core._make_deterministic, [rt], {}),
            "_is_number": (_core._is_number, [x], {}),
            "_set_number": (_core._set_number, [rt.zeros(()), True], {}),
            "_view_at": (_core._view_at, [x, 0], {}),
            "_overlap": (_core._overlap, [x, out], {}),
            "_has_captured": (_core._has_captured, [rt], {}),
            "_share": (_core._share, [gpuos.default_runtime("host")], {}),
            "_prune_cache": (_core._prune_cache, [2**40], {}),
            "_live_runtimes": (_core._live_runtimes, [], {}),
            "_stats_now": (_core._stats_now, [rt], {}),
            "_wait_for_all": (_core._wait_for_all, [rt, 1.0], {}),
            "_secure_variable": (_core._secure_variable, ["HOME"], {}),
            "_make_fused": (
                _core._make_fused,
                [len, len, None, "f", False],
                {},
            ),
            "synchronize": (_core.synchronize, [None, 0], {}),
            "Ticket.wait": (ticket.wait, [1.0], {}),
            "Ticket.add_done_callback": (
                self.add_done_callback,
                [lambda _: None],
                {},
            ),
            "_is_over": (_core._is_over, [ticket, 0.0], {}),
            "_first_done": (_core._first_done, [[ticket], 0.0], {}),
            "_is_shared": (_core._is_shared, [rt], {}),
            "_bytes_of": (_core._bytes_of, [x], {}),
            "_set_bytes": (_core._set_bytes, [out, bytes(16)], {}),
            "_dtype_name": (_core._dtype_name, [x], {}),
            "_load_definition": (
                _core._load_definition,
                [{"name": "f", "expression": "o = x"}, 1],
                {},
            ),
            "Definition.__deepcopy__": (op.definition.__deepcopy__, [{}], {}),
            "Operator.__deepcopy__": (op.__deepcopy__, [{}], {}),
            "Operator.__reduce_ex__": (op.__reduce_ex__, [5], {}),
            "Fused.__deepcopy__": (gpuos.fuse(len).__deepcopy__, [{}], {}),
            "Fused.__reduce_ex__": (gpuos.fuse(len).__reduce_ex__, [5], {}),
            "Definition.__init__": (
                gpuos.Definition,
                ["new", "o = p * x"],
                {**DEFINED},
            ),
            "Array.numpy": (x.numpy, [], {"copy": True}),
            "Array.copy_from": (x.copy_from, [np.ones(4, "f4")], {}),
            "Array.transpose": (x.transpose, [0], {}),
            "Array.reshape": (x.reshape, [2, 2], {}),
            "Array.__getitem__": (x.__getitem__, [0], {}),
            "Array.__array__": (x.__array__, ["f8"], {"copy": True}),
            "Array.__dlpack__": (
                x.__dlpack__,
                [],
                {
                    "stream": None,
                    "max_version": (1, 0),
                    "dl_device": None,
                    "copy": False,
                },
            ),
            "Array.__array_namespace__": (
                x.__array_namespace__,
                [],
                {"api_version": "2023.12"},
            ),
            "Array.to_device": (x.to_device, ["host"], {"stream": None}),
            **of_array(x),
            "Alias.switch": (alias.switch, [op], {}),
            "Runtime.array": (rt.array, [[1.0], "f4"], {}),
            "Runtime.empty": (rt.empty, [2, "f4"], {}),
            "Runtime.zeros": (rt.zeros, [(2, 3), "f4"], {}),
            "Runtime.ones": (rt.ones, [(2, 3), "f4"], {}),
            "Runtime.full": (rt.full, [(2, 3), 1.5, "f4"], {}),
            "Runtime.arange": (rt.arange, [0, 4, 1, "f4"], {}),
            "Runtime.linspace": (
                rt.linspace,
                [0, 1, 5],
                {"endpoint": True, "dtype": "f4"},
            ),
            "Runtime.zeros_like": (rt.zeros_like, [x, "f4"], {}),
            "Runtime.submit": (
                rt.submit,
                [op, x],
                {"out": out, "a": 1.0, "stream": None},
            ),
            "Runtime.submit_many": (
                rt.submit_many,
                [op, x],
                {"out": out, "a": 1.0, "stream": None},
            ),
            "Runtime.wait": (rt.wait, [ticket, 1.0], {}),
            "Runtime.synchronize": (rt.synchronize, [60.0], {}),
            "Runtime.flush": (rt.flush, [None], {}),
            "Runtime.define": (
                self.define,
                ["new", "o = p * x"],
                {**DEFINED},
            ),
            "Runtime.define_many": (
                self.define_many,
                [[{"name": "new", "expression": "o = x"}]],
                {},
            ),
            "Runtime.replace": (rt.replace, [op, "o = a + x"], {**REPLACED}),
            "Runtime.rollback": (
                self.rollback,
                [op],
                {"to": None, "expected": None},
            ),
            "Runtime.restore": (rt.restore, ["add"], {}),
            "Transaction.define": (
                self.transaction.define,
                ["later", "o = p * x"],
                {**STAGED},
            ),
            "Transaction.replace": (
                self.transaction.replace,
                [op, "o = a - x"],
                {**REPLACED},
            ),
            "Transaction.__exit__": (
                lambda *how: rt.transaction().__enter__().__exit__(*how),
                [None, None, None],
                {},
            ),
            "Runtime.undefine": (rt.undefine, ["none"], {}),
            "Runtime.alias": (rt.alias, ["scaled", op], {}),
            "Runtime.find": (rt.find, ["add"], {}),
            "Runtime.fuse": (rt.fuse, [len], {}),
            "Runtime.watch": (self.watch, [op, __file__], {"on_error": None}),
            "Runtime.session": (rt.session, [None, ()], {}),
            "Runtime.__init__": (
                gpuos.Runtime,
                ["host", 0, "auto"],
                dict.fromkeys(list(rt.options)[3:]),
            ),
            "Fused.__call__": (fused, [x, x], {"out": out, "stream": None}),
            "Fused.replace": (fused.replace, [lambda x, y: y + x], {}),
            "Fused._replaced": (fused._replaced, [lambda x, y: y + x], {}),
            "Fused.warm": (fused.warm, [x, x], {}),
            "Fused._forms": (fused._forms, [x, x], {}),
            "Fused.compile": (fused.warm, [x, x], {}),
            "JitOptions.__init__": (
                gpuos.JitOptions,
                [],
                {
                    "std": "c++20",
                    "defines": {},
                    "max_registers": 0,
                    "fast_math": False,
                    "line_info": False,
                    "debug": False,
                    "optimization": 3,
                    "fast_compile": "off",
                    "extra": (),
                    "arch": "",
                },
            ),
            "KernelArgs.__init__": (gpuos.KernelArgs, [1], {}),
        }
        self.values = {
            **{
                f"Value.{name}": (getattr(value, name), [0, *more], {})
                for names, more in ((REDUCTIONS, ()), (SUMS, ("f8",)))
                for name in names
            },
            "Value.astype": (value.astype, ["f8"], {}),
            "Value.transpose": (value.transpose, [0], {}),
            "Value.swapaxes": (value.swapaxes, [0, 0], {}),
            "Value.__getitem__": (value.__getitem__, [None], {}),
            "Value.clip": (value.clip, [0, 1], {}),
            "Value.copy": (value.copy, [], {}),
            "Value.dot": (value.dot, [value], {}),
            "Value.round": (value.round, [0], {}),
            "Value.flatten": (value.flatten, ["C"], {}),
            "Value.ravel": (value.ravel, ["C"], {}),
            "Value.reshape": (value.reshape, [2], {}),
            "Value.squeeze": (value.squeeze, [None], {}),
            "Value._broadcast_to": (value._broadcast_to, [(2,)], {}),
            "Value._filled": (value._filled, [0, "f8"], {}),
            "Value.__array_ufunc__": (
                value.__array_ufunc__,
                [np.add, "__call__", value, 1],
                {},
            ),
        }

    def define(self, name, *args, **keywords):
        op = self.rt.define(name, *args, **keywords)
        self.rt.undefine(op)

    def add_done_callback(self, *args, **keywords):
        # Errors of callbacks are not reported here.
        told, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            self.ticket.wait()
            self.ticket.add_done_callback(*args, **keywords)
        finally:
            sys.unraisablehook = told

    def watch(self, *args, **keywords):
        self.rt.watch(*args, **keywords).close()

    def rollback(self, op, **keywords):
        self.rt.replace(op, "o = a + x")
        self.rt.rollback(op, **keywords)

    def define_many(self, definitions):
        for op in self.rt.define_many(definitions):
            self.rt.undefine(op)


def jit_calls():
    module = gpuos.JitModule("__device__ int one;", ["&one"])
    session = gpuos.Session()
    session.run("__device__ float f(float x) { return x; }")
    return {
        "JitModule.__init__": (
            gpuos.JitModule,
            ["", (), {}, (), None],
            {
                "path": None,
                "image": None,
                "name": "m.cu",
                "device": 0,
                "_stop": None,
            },
        ),
        "JitModule.__getitem__": (module.__getitem__, ["k"], {}),
        "JitModule.kernel": (module.kernel, ["k"], {}),
        "JitModule.get_function": (module.get_function, ["k"], {}),
        "JitModule.global_address": (module.global_address, ["none"], {}),
        "JitModule.global_bytes": (module.global_bytes, ["none"], {}),
        "JitModule.read": (module.read, ["none", "i4"], {}),
        "JitModule.write": (module.write, ["none", [1]], {}),
        "JitModule.replace": (
            module.replace,
            ["__device__ int one;"],
            {
                "keep": (),
                "name_expressions": None,
                "headers": None,
                "include_dirs": None,
                "options": None,
            },
        ),
        "Session.__init__": (gpuos.Session, [None, ()], {"device": 0}),
        "Session.run": (session.run, ["", ""], {}),
        "Session.run_file": (session.run_file, ["no/such.cu"], {}),
        "Session.bind": (session.bind, [], {"n": 1}),
        "Session.unbind": (session.unbind, [], {}),
        "Session.__getitem__": (session.__getitem__, ["k"], {}),
        "Session.__setitem__": (session.__setitem__, ["n", 1], {}),
        "Session.kernel": (session.kernel, ["k"], {"follow": True}),
        "Session.link": (session.link, ["k"], {}),
        "Session.address": (session.address, ["v"], {}),
        "Session.nbytes": (session.nbytes, ["v"], {}),
        "Session.read": (session.read, ["v", "f4"], {}),
        "Session.write": (session.write, ["v", [1]], {}),
        "Session.operator": (session.operator, ["f", "", ()], {}),
    }
