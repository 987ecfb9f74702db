"""Make sources that no process has compiled before."""

import itertools
import os
import time

# Only this process has the token, so no older cache has these sources.
TOKEN = f"{os.getpid()}_{time.time_ns()}"
_numbers = itertools.count(1)


def new_name() -> str:
    """Return a name that no other source has."""
    return f"{TOKEN}_{next(_numbers)}"


def small_kernel(name: str) -> str:
    """Return a kernel with one multiplication and one addition per element."""
    return f"""
extern "C" __global__ void scale_{name}(float* x, float by, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * by + 1.0f;
}}
"""


def new_small_kernel() -> str:
    """Return a small kernel that no process has compiled."""
    return small_kernel(new_name())


def many_kernels(count: int) -> str:
    """Return a source of `count` different small kernels."""
    return "".join(new_small_kernel() for _ in range(count))


def _steps(count: int) -> str:
    return "\n".join(
        f"    v = v * {i}.5f + expf(-v * {i}.0f) + powf(fabsf(v), 0.{i}f);"
        for i in range(1, count + 1)
    )


def larger_kernel(name: str, steps: int) -> str:
    """Return a kernel of `steps` exponentials and powers."""
    return f"""
extern "C" __global__ void larger_{name}(float* x, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{
    float v = x[i];
{_steps(steps)}
    x[i] = v;
  }}
}}
"""


def larger_operator(name: str, steps: int) -> str:
    """Return the same work as an operator."""
    return f"""
GPUOS_OPERATOR({name}) {{
  float* out = task.pointer<float>(0);
  const float* x = task.pointer<const float>(1);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count()) {{
    float v = x[i];
{_steps(steps)}
    out[i] = v;
  }}
}}
"""
