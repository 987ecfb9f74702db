"""The newest version of a pool, as one caller knows it."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from gpuos.ray.engine import ANSWER_S, FOLLOW_S, ray

if TYPE_CHECKING:
    from collections.abc import Sequence


class Newest:
    """The newest version that the log has reported to this process.

    A thread asks the log, which answers when there is a new version. The thread
    ends with this object, with the log or with Ray. `actors` end with this
    object, after they have computed all their calls.
    """

    def __init__(self, log: Any, version: int, actors: Sequence[Any]) -> None:
        self._lock = threading.RLock()  # a finalizer may call the pool too
        self._version = version
        me = weakref.ref(self)
        threading.Thread(
            target=_follow,
            args=(me, log, actors),
            name="gpuos.ray",
            daemon=True,
        ).start()

    @property
    def version(self) -> int:
        """Return the newest version that this process knows."""
        return self._version

    def saw(self, version: int) -> None:
        """Take down that there is a version."""
        with self._lock:
            self._version = max(self._version, version)


def _follow(me: weakref.ref[Newest], log: Any, actors: Sequence[Any]) -> None:
    module = ray()
    while (newest := me()) is not None:
        version = newest.version
        del newest  # so that it can end while the log has no news
        ref = log.follow.remote(version, FOLLOW_S)
        try:
            version = module.get(ref, timeout=FOLLOW_S + ANSWER_S)
        except module.exceptions.GetTimeoutError:
            continue  # it lives, on a busy machine
        except Exception:  # noqa: BLE001 (the pool or Ray is no more; calls will say it)
            return
        if (newest := me()) is not None:
            newest.saw(version)
            del newest
    for actor in actors:
        actor.__ray_terminate__.remote()
