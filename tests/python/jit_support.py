"""Modules where NVRTC and headers of CUDA that fit it may not be there."""

from __future__ import annotations

from typing import Any

import pytest

import gpuos


def module_of(source: str, *args: Any, **keywords: Any) -> gpuos.JitModule:
    """Return a JitModule; skips the test where something must be installed."""
    try:
        return gpuos.JitModule(source, *args, **keywords)
    except gpuos.BackendUnavailable as error:
        pytest.skip(str(error))
    except gpuos.CompileError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[-1])
