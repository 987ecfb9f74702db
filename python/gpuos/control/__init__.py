"""Inspect and replace the operators of a running process.

>>> import gpuos
>>> with gpuos.serve("/run/user/1000/gpuos/job.sock") as server:
...     train()

A client can run code in this process. docs/control.md says which users may
connect.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from gpuos import _core

if TYPE_CHECKING:
    from gpuos.control.server import Server

VARIABLE = "GPUOS_CONTROL"

log = logging.getLogger("gpuos.control")

_has_looked = False  # whether the variable was read
_of_environment: Server | None = None


def serve(
    path: str | os.PathLike[str],
    *,
    runtime: _core.Runtime | None = None,
    readonly: bool = False,
) -> Server:
    """Accept commands of `python -m gpuos ctl` at a socket.

    Only processes of this user may connect. They can run any code in this
    process, unless it is read-only.

    Parameters
    ----------
    path : path
        Of the socket, in a folder of mode 0700 of this user; the folder is
        created if it is missing. "%p" in it is replaced by the process' number.
    runtime : Runtime or None
        The runtime that clients may inspect and change; None: every runtime of
        this process.
    readonly : bool
        Whether changes are refused.

    Returns
    -------
    Server
        With `path` and close(); it is a context manager. It ends with the
        process, and does not exist in a forked child.

    Raises
    ------
    InvalidArgument
        If the path cannot be used; the message says why.
    """
    from gpuos.control.commands import Commands  # noqa: PLC0415 (few serve)
    from gpuos.control.server import Server  # noqa: PLC0415
    from gpuos.control.socket_file import SocketFile  # noqa: PLC0415

    commands = Commands(runtime, is_readonly=bool(readonly))
    return Server(SocketFile(os.fspath(path)), commands)


def _serve_environment() -> None:
    """Serve as GPUOS_CONTROL says, before the first runtime is made.

    Children inherit the variable. Only the first process of a launch uses a
    path without "%p".
    """
    global _has_looked, _of_environment  # noqa: PLW0603 (once a process)
    if _has_looked:
        return
    path = _core._secure_variable(VARIABLE)
    if not path:
        _has_looked = True
        return
    from gpuos.control.socket_file import Taken  # noqa: PLC0415

    rank = os.environ.get("LOCAL_RANK", "0")
    if "%p" not in path and rank != "0":
        log.info("%s: process %s of a launch does not serve", path, rank)
        _has_looked = True
        return
    try:
        _of_environment = serve(path)
    except Taken as error:
        log.info("%s", error)
    _has_looked = True


def _leave_to_parent() -> None:
    global _has_looked  # noqa: PLW0603
    _has_looked = True


os.register_at_fork(after_in_child=_leave_to_parent)
