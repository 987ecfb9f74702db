"""Calls of what may not be installed: NVRTC, a compiler, headers of CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import gpuos

if TYPE_CHECKING:
    from collections.abc import Callable


def or_skip(call: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Return the call's result; skips the test where the backend lacks it."""
    try:
        return call(*args, **keywords)
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))


def module_of(source: str, *args: Any, **keywords: Any) -> gpuos.JitModule:
    """Return a JitModule; skips the test where something must be installed."""
    try:
        return or_skip(gpuos.JitModule, source, *args, **keywords)
    except gpuos.CompileError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[-1])
