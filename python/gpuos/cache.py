"""Inspect and clear the disk cache of compiled operators.

>>> import gpuos
>>> gpuos.cache.info().own.folder
'/home/ada/.cache/gpuos'
"""

from __future__ import annotations

from typing import NamedTuple

from gpuos import _core

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


class CacheLevel(NamedTuple):
    """Describes one folder of compiled images.

    Attributes
    ----------
    folder : str
        The path. It is empty if this level has no folder.
    why_off : str
        Why the folder is not used. The text is empty if it is used.
    is_writable : bool
        Whether files can be added.
    entries : int
        The number of images.
    bytes : int
        The size of all images.
    """

    folder: str
    why_off: str
    is_writable: bool
    entries: int
    bytes: int


class CacheInfo(NamedTuple):
    """Describes the disk cache of compiled operators.

    Attributes
    ----------
    own : CacheLevel
        The level that is written.
    read_only : CacheLevel
        The level of GPUOS_CACHE_READONLY_DIR.
    max_bytes : int
        The maximum size of the written level.
    """

    own: CacheLevel
    read_only: CacheLevel
    max_bytes: int


class CachedImage(NamedTuple):
    """Describes a file of the cache.

    Attributes
    ----------
    path : str
        The file's path.
    is_read_only : bool
        Whether the file is in the read-only level.
    state : str
        It is "good", "bad" or "other schema".
    problem : str
        The error. The text is empty if the file is good.
    name : str
        The name of the source, such as "axpy.cu".
    arch : str
        The architecture, such as "sm_90".
    registers : int
        The number of registers of a thread.
    bytes : int
        The file's size.
    used : float
        The time of the last use, in seconds since 1970.
    """

    path: str
    is_read_only: bool
    state: str
    problem: str
    name: str
    arch: str
    registers: int
    bytes: int
    used: float


class Removal(NamedTuple):
    """The number of files and bytes that were removed."""

    files: int
    bytes: int


def info() -> CacheInfo:
    """Return the cache's folder and size, or why it is off."""
    own, read_only, max_bytes = _core._cache_info()
    return CacheInfo(CacheLevel(*own), CacheLevel(*read_only), max_bytes)


def images() -> list[CachedImage]:
    """Read and check every file of the cache, the newest first."""
    return [CachedImage(*image) for image in _core._cached_images()]


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
