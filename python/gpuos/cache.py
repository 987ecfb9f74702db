"""Inspect and clear the disk cache of compiled operators.

>>> import gpuos
>>> gpuos.cache.info().own.folder
'/home/ada/.cache/gpuos'
"""

from __future__ import annotations

from typing import NamedTuple

from gpuos import _core
from gpuos._core import CachedImage, CacheInfo, CacheLevel

__all__ = [
    "CacheInfo",
    "CacheLevel",
    "CachedImage",
    "Removal",
    "clear",
    "images",
    "info",
    "prune",
]


class Removal(NamedTuple):
    """The number of files and bytes that were removed."""

    files: int
    bytes: int


def info() -> CacheInfo:
    """Return the cache's folder and size, or why it is off."""
    return _core._cache_info()


def images() -> list[CachedImage]:
    """Read and check every file of the cache, the newest first."""
    return _core._cached_images()


def prune(max_bytes: int | None = None) -> Removal:
    """Remove bad and abandoned files, then the least recently used images.

    Parameters
    ----------
    max_bytes : int, optional
        How many bytes of images may stay. The default is the size limit.
    """
    if max_bytes is None:
        max_bytes = info().max_bytes
    if max_bytes < 0:
        text = f"prune: max_bytes is 0 or more, got {max_bytes}"
        raise _core.InvalidArgument(text)
    return Removal(*_core._prune_cache(max_bytes))


def clear() -> Removal:
    """Remove every image except those of the read-only level."""
    return Removal(*_core._clear_cache())
