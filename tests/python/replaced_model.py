"""Random steps with a module that is replaced, compared with a simple model.

On a GPU the kernels' results are compared too; a simulated one runs none.
"""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gpuos

NON_BLOCKING = 1
RELAXED = 2


class Driver:
    """Streams and graphs, without a library that has them."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise AssertionError(f"{name}: {status}")

    def made(self, name: str, *arguments: Any) -> int:
        """Return the handle that a function stores in its first argument."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value or 0

    def stream(self) -> int:
        return self.made("cuStreamCreate", NON_BLOCKING)

    def begin_capture(self, stream: int) -> None:
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), RELAXED)

    def end_capture(self, stream: int) -> int:
        """A graph that can be launched; it is never destroyed."""
        graph = ctypes.c_void_p()
        self.call(
            "cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph)
        )
        return self.made(
            "cuGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0)
        )

    def launch(self, graph: int, stream: int) -> None:
        self.call(
            "cuGraphLaunch", ctypes.c_void_p(graph), ctypes.c_void_p(stream)
        )

    def free_bytes(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value


def source(code: int, **changes: str) -> str:
    """Return kernels that report their code and their variables' values."""
    text = {
        "v": "int v = 1",
        "w": "float w[2] = {1, 2}",
        "tell": "int* out",
        "more": "",
        **changes,
    }
    return f"""
    __device__ {text["v"]};
    __device__ {text["w"]};
    template <typename T> __global__ void scale(T* x, T by) {{
      x[threadIdx.x] = x[threadIdx.x] * by + {code};
    }}
    extern "C" __global__ void tell({text["tell"]}) {{
      out[0] = {code}; out[1] = (int)v; out[2] = (int)w[1];
    }}
    {text["more"]}
    """


@dataclass
class Variant:
    code: int
    text: str
    why: str = ""  # it is refused where all is in use; empty: never
    v: Any = 1
    w: Any = (1, 2)
    v_type: str = "i4"
    w_type: str = "f4"


VARIANTS = [
    Variant(0, source(0)),
    Variant(1, source(1)),
    Variant(
        2, source(2, v="int v = 7", w="float w[2] = {3, 4}"), "", 7, (3, 4)
    ),
    Variant(3, source(3, more='extern "C" __global__ void more() {}')),
    Variant(4, source(4, v="float v = 5"), "", 5, (1, 2), "f4"),
    Variant(5, source(5, w="int w[2] = {8, 9}"), "", 1, (8, 9), "i4", "i4"),
    Variant(6, source(6, tell="int* out, int n"), "tell"),
    Variant(7, source(7).replace("tell(", "told("), "tell"),
    Variant(8, source(8, more="nonsense"), "compile"),
]


@dataclass
class Version:
    """Holds the code and variables of a loaded version; a graph may keep it."""

    code: int
    values: dict[str, Any] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, variant: Variant) -> Version:
        return cls(
            variant.code,
            {"v": [variant.v], "w": list(variant.w)},
            {"v": variant.v_type, "w": variant.w_type},
        )

    def told(self) -> list[int]:
        values = self.values
        return [self.code, int(values["v"][0]), int(values["w"][1])]


NAMES = ["scale<float>", "&v", "&w"]


class Model:
    """A module and its expected state."""

    def __init__(self, rt: gpuos.Runtime, seed: int, *, runs: bool) -> None:
        self.random = random.Random(seed)
        self.runs = runs
        self.driver = Driver()
        self.stream = self.driver.stream()
        self.out = rt.array(np.zeros(3, np.int32))
        self.graphs: list[tuple[int, Version]] = []
        self.begin()

    def begin(self) -> None:
        self.module = gpuos.JitModule(VARIANTS[0].text, NAMES, name="model.cu")
        self.now, self.number = Version.of(VARIANTS[0]), 1
        self.tell: gpuos.Kernel | None = None
        self.is_known = False

    def step(self) -> None:
        steps = [
            self.get,
            self.launch,
            self.launch,
            self.write,
            self.replace,
            self.replace,
            self.capture,
            self.replay,
        ]
        self.random.choice(steps)()
        if self.random.random() < 0.03:
            self.begin()
        self.check()

    def get(self) -> None:
        self.tell = self.module["tell"]
        self.is_known = True

    def launch(self) -> None:
        if self.tell is None:
            return
        stream = self.random.choice([None, self.stream])
        self.tell.launch(1, 1, (self.out,), stream=stream)
        gpuos.synchronize(stream)
        self.compare(self.now)

    def write(self) -> None:
        name = self.random.choice("vw")
        values = [self.random.randrange(100) for _ in self.now.values[name]]
        self.module.write(name, np.array(values, self.now.types[name]))
        self.now.values[name] = values

    def replace(self) -> None:
        variant = self.random.choice(VARIANTS)
        keep = [name for name in "vw" if self.random.random() < 0.3]
        following = Version.of(variant)
        refused = variant.why == "compile" or (
            variant.why == "tell" and self.is_known
        )
        refused |= any(
            following.types[name] != self.now.types[name] for name in keep
        )
        try:
            number = self.module.replace(variant.text, keep=keep)
        except (gpuos.InvalidArgument, gpuos.CompileError):
            assert refused, (variant, keep)
            return
        assert not refused, (variant, keep)
        self.number += 1
        assert number == self.number
        for name in keep:
            following.values[name] = self.now.values[name]
        self.now = following
        # Nothing had asked for the old version, and it is now replaced.
        if variant.why == "tell":
            self.begin()

    def capture(self) -> None:
        if self.tell is None:
            return
        self.driver.begin_capture(self.stream)
        self.tell.launch(1, 1, (self.out,), stream=self.stream)
        graph = self.driver.end_capture(self.stream)
        self.graphs.append((graph, self.now))

    def replay(self) -> None:
        if not self.graphs:
            return
        graph, version = self.random.choice(self.graphs)
        self.driver.launch(graph, self.stream)
        gpuos.synchronize(self.stream)
        self.compare(version)

    def compare(self, version: Version) -> None:
        if self.runs:
            assert self.out.numpy().tolist() == version.told()

    def check(self) -> None:
        assert self.module.version == self.number
        for name, values in self.now.values.items():
            found = self.module.read(name, self.now.types[name])
            assert found.tolist() == list(values), name
        loaded = [m for m in gpuos.modules() if m.name == "model.cu"]
        assert len(loaded) == 1, loaded


def run(*, seeds: int, steps: int, runs: bool) -> None:
    with gpuos.Runtime("cuda") as rt:
        for seed in range(seeds):
            model = Model(rt, seed, runs=runs)
            for _ in range(steps):
                model.step()
            del model
