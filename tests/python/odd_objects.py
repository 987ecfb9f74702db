"""Objects that no argument of gpuos accepts."""

from __future__ import annotations

import numpy as np

import gpuos


class Shrinking(list):
    def __iter__(self):
        for item in list(self):
            self.clear()
            yield item


class SaysMany:
    def __len__(self):
        return 2**62

    def __getitem__(self, i):
        raise IndexError(i)


class Raising:
    """Raises for every access."""

    def _raise(self, *args):
        raise ValueError(args)

    __index__ = __int__ = __float__ = __iter__ = __len__ = _raise
    __getitem__ = __bool__ = __array__ = __dlpack__ = _raise
    __dlpack_device__ = __cuda_stream__ = __hash__ = _raise


class Reentrant:
    """Calls its runtime again from within a call."""

    def __init__(self, rt):
        self.rt = rt

    def _again(self):
        x = self.rt.zeros(2)
        self.rt.submit("add", x, x, out=x)
        x.free()
        if "passing" in self.rt.operators():
            self.rt.undefine("passing")
        self.rt.define("passing", "o = x")

    def __index__(self):
        self._again()
        return 1

    def __float__(self):
        self._again()
        return 1.0

    def __iter__(self):
        self._again()
        return iter((1, 2))

    def __hash__(self):
        self._again()
        return 1

    def __eq__(self, other):
        self._again()
        return True


def odd_objects(rt):
    freed = rt.zeros(2)
    freed.free()
    return {
        "float": 2.5,
        "nan": float("nan"),
        "None": None,
        "large": 2**70,
        "negative": -1,
        "most": -(2**63),
        "str": "zz",
        "bytes": b"",
        "object": object(),
        "type": int,
        "empty list": [],
        "list": [None, 2.5],
        "nested": [[2**70]],
        "dict": {"a": object()},
        "dict of numbers": {1: 2},
        "function": lambda: None,
        "complex": 1j,
        "surrogate": "\ud800",
        "list of surrogates": ["\ud800"],
        "nul": "a\0b",
        "shrinking": Shrinking([1, 2, "a"]),
        "many": SaysMany(),
        "raising": Raising(),
        "re-entrant": Reentrant(rt),
        "array": np.ones(2, "f4"),
        "objects": np.array([None, 1]),
        "freed": freed,
        "generator": (i for i in ("a", 2)),
        "uninitialised": gpuos.Runtime.__new__(gpuos.Runtime),
        "no options": gpuos.JitOptions.__new__(gpuos.JitOptions),
        "no arguments": gpuos.KernelArgs.__new__(gpuos.KernelArgs),
    }
