"""What a worker that stays could save a PyTorch program that awaits each step.

Prints medians in microseconds, on a GPU: docs/lab/torch_gpu.md has a run. The
worker here does nothing else than what the floor of such a design needs: it
sees the value that the stream writes, computes, and writes the one that the
stream waits for. It leaves after 8 s by itself.
"""

from __future__ import annotations

import ctypes
import itertools
import statistics
import time
from collections.abc import Callable

import torch

import gpuos
import gpuos.torch

SOURCE = """
extern "C" __global__ void worker(volatile unsigned* in, volatile unsigned* out,
                                  float* x, long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  for (unsigned next = 1;;) {
    const unsigned value = *in;
    if (value == 0xffffffffu) return;
    if (value >= next) {
      x[0] = x[0] * 0.5f + 1.0f;
      __threadfence_system();
      *out = value;
      next = value + 1;
    }
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - begin > ns) return;
  }
}
extern "C" __global__ void burst(float* x) {
  if (threadIdx.x == 0) x[0] = x[0] * 0.5f + 1.0f;
}
"""
LEAVE = 0xFFFFFFFF
LEASE_NS = 8_000_000_000
WARM, STEPS = 200, 2000


def median_us(step: Callable[[], object]) -> float:
    """Return the median time of a step."""
    for _ in range(WARM):
        step()
    times = []
    for _ in range(STEPS):
        begin = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def show(what: str, step: Callable[[], object]) -> None:
    """Print a line."""
    print(f"{what:<40}{median_us(step):8.2f} us")


def main() -> None:
    """Measure the floors, and what is there today."""
    driver = ctypes.CDLL("libcuda.so.1")
    write, wait = driver.cuStreamWriteValue32_v2, driver.cuStreamWaitValue32_v2
    for function in (write, wait):
        function.argtypes = [
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.c_uint32,
            ctypes.c_uint,
        ]
    module = gpuos.JitModule(SOURCE)
    burst, worker = module["burst"], module["worker"]
    x = torch.zeros(64, device="cuda")
    flags = torch.zeros(64, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    main_stream, side = torch.cuda.Stream(), torch.cuda.Stream()
    stream, value = main_stream.cuda_stream, x[0]
    with torch.cuda.stream(main_stream):
        show("item()", value.item)

        def launch() -> float:
            burst.launch(1, 256, [x], stream=stream)
            return value.item()

        show("launch, item()", launch)
        seen, done = flags.data_ptr(), flags.data_ptr() + 128
        arguments = [seen, done, x, LEASE_NS]
        worker.launch(1, 32, arguments, stream=side.cuda_stream)
        numbers = itertools.count(1)

        def ask() -> float:
            number = next(numbers)
            write(stream, seen, number, 0)
            wait(stream, done, number, 0)
            return value.item()

        show("write and wait for values, item()", ask)
        write(stream, seen, LEAVE, 0)
        torch.cuda.synchronize()
    y = torch.zeros(64, device="cuda")

    def step() -> float:
        nonlocal y
        y = y * 0.5 + 1.0
        return y[0].item()

    show("eager step, item()", step)
    with gpuos.torch.scheduler():
        show("the same in a scheduler", step)
    for residency in ("resident", "burst"):
        with gpuos.Runtime("cuda", residency=residency) as rt:
            fused = rt.fuse(lambda z: z * 0.5 + 1.0)
            z, out = rt.zeros(64), rt.zeros(64)

            def ours(fused=fused, z=z, out=out) -> float:
                fused(z, out=out)
                return float(out.numpy()[0])

            show(f"fused function, numpy(), {residency}", ours)


if __name__ == "__main__":
    main()
