"""Define the inspection functions of the namespace."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuos import _core
from gpuos.array_api import _devices
from gpuos.array_api._dtypes import DEFAULTS, KINDS, isdtype

if TYPE_CHECKING:
    from types import ModuleType

# The namespace follows these versions of the standard.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
MOST_AXES = 8


class NamespaceInfo:
    """The result of __array_namespace_info__()."""

    def capabilities(self) -> dict[str, Any]:
        return {
            "boolean indexing": False,
            "data-dependent shapes": False,
            "max dimensions": MOST_AXES,
        }

    def default_device(self) -> str:
        return _devices.default_device()

    def default_dtypes(
        self,
        *,
        device: str | None = None,  # noqa: ARG002 (equal on all)
    ) -> dict[str, np.dtype[Any]]:
        return dict(DEFAULTS)

    def devices(self) -> tuple[str, ...]:
        return _devices.devices()

    def dtypes(
        self,
        *,
        device: str | None = None,  # noqa: ARG002
        kind: str | tuple[str, ...] | None = None,
    ) -> dict[str, np.dtype[Any]]:
        """Return all dtypes, or the dtypes of a kind, by name."""
        kinds = ("bool", "numeric") if kind is None else kind
        every = (*KINDS["bool"], *KINDS["numeric"])
        if isinstance(kinds, str):
            kinds = (kinds,)
        return {dtype.name: dtype for dtype in every if isdtype(dtype, kinds)}


def __array_namespace_info__() -> NamespaceInfo:
    return NamespaceInfo()


def of_version(api_version: str | None) -> ModuleType:
    """Return the namespace, which is the same for all versions."""
    if api_version is not None and api_version not in VERSIONS:
        raise _core.InvalidArgument(
            "__array_namespace__: api_version: expected one of "
            f"{', '.join(VERSIONS)}, got {api_version!r}"
        )
    return importlib.import_module("gpuos.array_api")
