"""The cell magics `%%cuda` and `%%gpuos`, after `%load_ext gpuos`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from gpuos._core import CompileError, HostError, Runtime, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos._core import CellResult

DEFAULT_NAME = "gpuos_session"

LAUNCH = re.compile(r"<<<(.*?);", re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")


class Shell(Protocol):
    """What is used of IPython's shell."""

    user_ns: dict[str, Any]
    execution_count: int

    def register_magic_function(
        self, func: Callable[..., Any], magic_kind: str, magic_name: str
    ) -> None:
        """Make `%%magic_name` call `func(line, cell)`."""


class Magic:
    """Runs cells in the session that the first line names."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def __call__(self, line: str, cell: str) -> CellResult:
        """Run a cell as CUDA C++.

        Parameters
        ----------
        line : str
            The variable that holds the session; `gpuos_session`, made when it
            is missing, if empty.

        Raises
        ------
        CompileError, HostError
            Shown with the line of the cell instead of a traceback.
        """
        session = self.session(line.strip())
        self.bind_names(session, cell)
        try:
            return session.run(cell, f"In [{self.shell.execution_count}]")
        except CompileError as error:
            text = describe(error)
            show_as(error, text)
            raise
        except HostError as error:
            show_as(error, f"{error}")
            raise

    def session(self, name: str) -> Session:
        """Return the session in the user's variable."""
        space = self.shell.user_ns
        if not name and DEFAULT_NAME not in space:
            space[DEFAULT_NAME] = Runtime().session()
        found = space.get(name or DEFAULT_NAME)
        if not isinstance(found, Session):
            kind = "nothing" if found is None else type(found).__name__
            msg = f"%%gpuos: expected a Session in {name}, got {kind}"
            raise TypeError(msg)
        return found

    def bind_names(self, session: Session, cell: str) -> None:
        """Bind the user's variables that the launches of the cell name."""
        named = set(NAME.findall(" ".join(LAUNCH.findall(cell))))
        own = set(session.names())
        for name in sorted(named - own):
            value = self.shell.user_ns.get(name)
            if is_value(value):
                session.bind(**{name: value})


def show_as(error: Exception, text: str) -> None:
    """Have IPython show a text instead of a traceback."""
    error._render_traceback_ = lambda: [text]  # type: ignore[attr-defined]


def is_value(value: object) -> bool:
    """Whether a launch could take it: a number or an array of anybody."""
    return isinstance(value, bool | int | float | complex) or any(
        hasattr(value, name)
        for name in ("__array_interface__", "__cuda_array_interface__")
    )


def describe(error: CompileError) -> str:
    """Return an error as lines for the one who wrote the cell."""
    if not error.line:
        return f"{error}\n{error.log}".rstrip()
    message = str(error).split("\n", 1)[0]
    return f"{message}\n{error.excerpt}".rstrip()


def load_ipython_extension(shell: Shell) -> None:
    """Add `%%cuda` and `%%gpuos`, which are one.

    IPython calls it for `%load_ext gpuos`.
    """
    for name in ("cuda", "gpuos"):
        shell.register_magic_function(Magic(shell), "cell", name)
