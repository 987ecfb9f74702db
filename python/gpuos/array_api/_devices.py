"""Map device names of arrays to default runtimes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gpuos.defaults import default_runtime
from gpuos.diagnosis import diagnose

if TYPE_CHECKING:
    from gpuos._core import Array, Runtime


def runtime_of(device: str | None, like: Array | None = None) -> Runtime:
    """Return a device's runtime. None selects that of `like` or the default."""
    if like is not None and device in (None, like.device):
        return like.runtime
    return default_runtime(device)


def default_device() -> str:
    return default_runtime().empty(0).device


@cache
def devices() -> tuple[str, ...]:
    """Return the names of the host and of each GPU."""
    gpus = (
        finding.what.removeprefix("device ")
        for finding in diagnose()
        if finding.found and finding.what.startswith("device ")
    )
    return ("host", *(f"cuda:{number}" for number in gpus))


def to_device(x: Array, device: str) -> Array:
    """Return x, or copy it to the default runtime of another device."""
    if not isinstance(device, str):
        raise TypeError(
            f"to_device: device: expected str, got {type(device).__name__}"
        )
    runtime = runtime_of(device, x)
    return x if runtime is x.runtime else runtime.array(x.numpy())
