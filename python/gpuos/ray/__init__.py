"""Runtimes in Ray actors; a replacement takes effect in all at one moment.

>>> import gpuos.ray
>>> pool = gpuos.ray.Pool(2)
>>> op = pool.define("double", "o = x * 2")
>>> pool.map(op, gpuos.ray.shard(x)).gather()

Ray is imported at the first use. docs/ray.md has the guarantees and the cost
of a call.
"""

from __future__ import annotations

from gpuos.ray.changes import Operator, Transaction
from gpuos.ray.joining import Joined, join
from gpuos.ray.pool import Pool
from gpuos.ray.progress import progress
from gpuos.ray.shards import Sharded, shard

__all__ = [
    "Joined",
    "Operator",
    "Pool",
    "Sharded",
    "Transaction",
    "join",
    "progress",
    "shard",
]
