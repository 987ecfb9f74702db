"""Measure from the save of a watched file until its operator runs."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpuos
from gpuos.bench.context import WAIT_S, Context
from gpuos.bench.row import Row, Table, median
from gpuos.bench.timing import MILLI

TABLE = Table()
REPS = 20
WHOLE = """
GPUOS_OPERATOR(wave) {{
  float* out = task.pointer<float>(0);
  const float* in = task.pointer<const float>(1);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = in[i] + {number}.0f;
}}
"""


def expression(number: int) -> str:
    return f"o = x + {number}"


def whole(number: int) -> str:
    """Return a whole operator that adds a number."""
    return WHOLE.format(number=number)


def module(number: int) -> str:
    """Return a module with a function that adds a number."""
    return f"def wave(x):\n    return x + {number}\n"


def wave(x: Any) -> Any:
    """Return the function that the module's function replaces."""
    return x + 1


@TABLE.rows(
    "expression",
    "save of an expression until it runs, worst | ms <= 100 on host",
)
def run_expression(context: Context, row: Row) -> None:
    with context.runtime("auto") as rt:
        rt.define("wave", expression(0))
        totals, _ = save_often(rt, expression)
    row.put_worst(totals)


@TABLE.rows(
    "fused", "save of a fused function until it runs, worst | ms <= 100 on host"
)
def run_fused(context: Context, row: Row) -> None:
    with context.runtime("auto") as rt:
        totals, _ = save_often(rt, module, rt.fuse(wave))
    row.put_worst(totals)


@TABLE.rows(
    "cuda-source", "save of CUDA source until it runs, worst | ms <= 300"
)
def run_cuda_source(context: Context, row: Row) -> None:
    context.need_cuda()
    totals, compiled = of_source(context)
    row.put_worst(totals)
    row.also["of which the compiler, median"] = median(compiled)


@TABLE.rows(
    "host-source",
    "save of host source until it runs, less the compiler, worst | ms "
    "<= 1000 on host",
)
def run_host_source(context: Context, row: Row) -> None:
    totals, compiled = of_source(context.on_host())
    pairs = zip(totals, compiled, strict=True)
    rest = [total - compiler for total, compiler in pairs]
    row.put_worst(rest)
    row.also["with the compiler, median"] = median(totals)


def of_source(context: Context) -> tuple[list[float], list[float]]:
    """Return the times of save_often() for a whole operator."""
    with context.runtime("auto") as rt:
        rt.define("wave", source=whole(0), inputs=1)
        return save_often(rt, whole)


def save_often(
    rt: gpuos.Runtime,
    text_of: Callable[[int], str],
    fused: gpuos.Fused | None = None,
) -> tuple[list[float], list[float]]:
    """Save new texts. Return the ms of each, and the compiler's ms."""
    totals: list[float] = []
    compiled: list[float] = []
    x, out = rt.zeros(1), rt.empty(1)

    def value() -> float:
        if fused is not None:
            fused(x, out=out)
        else:
            rt.submit("wave", x, out=out)
        return float(out.numpy()[0])

    # This machine has never compiled any of these texts.
    first = time.time_ns() % 1_000_000
    with tempfile.TemporaryDirectory(prefix="gpuos-bench-") as folder:
        file = Path(folder, "wave")
        with rt.watch(fused or "wave", file):
            for number in range(first, first + REPS):
                other = file.with_suffix(".new")
                other.write_text(text_of(number))
                begin = time.monotonic()
                other.rename(file)
                while value() != number:
                    if time.monotonic() > begin + WAIT_S:
                        message = f"a save was not seen in {WAIT_S} s"
                        raise TimeoutError(message)
                totals.append(MILLI * (time.monotonic() - begin))
                compiled.append(rt.stats()["last_compile_ms"])
    return totals, compiled
