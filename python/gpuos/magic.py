"""Provide the cell magics `%%cuda` and `%%gpuos` after `%load_ext gpuos`."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Protocol

from gpuos._core import CompileError, Error, Runtime, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpuos.cell_output import CellResult

DEFAULT_NAME = "gpuos_session"

LAUNCH = re.compile(r"<<<(.*?);", re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")
# It matches "int n", "float* n", "float &n" and "T<int> n", but not "a * n".
DECLARED = re.compile(r"\b(\w+)\s*(?:>[*&\s]+|[*&]+\s+|\s[*&]*)([A-Za-z_]\w*)")
NO_TYPES = {"return", "throw", "case", "goto", "else", "new", "delete"}
MAIN = re.compile(r"\bmain\s*\(")


class Shell(Protocol):
    """The part of IPython's shell that the magics use."""

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
        self.bound: dict[str, set[str]] = {}  # key: a session's variable

    def run(self, line: str, cell: str) -> CellResult:
        """Run a cell as CUDA C++.

            %%cuda [SESSION]
            k<<<grid, block>>>(x, n);

        Later cells see the definitions of earlier cells. A launch may name
        Python variables with numbers or device arrays. See docs/sessions.md.

        Parameters
        ----------
        line : str
            The variable of the session, or `gpuos_session` if the line is
            empty. The magic makes the session if it does not exist.

        Raises
        ------
        gpuos.Error
            IPython shows it with the line of the cell instead of a traceback.
        """
        name = line.strip() or DEFAULT_NAME
        refused: dict[str, str] = {}
        try:
            session = self.session(name)
            refused = self.bind_names(session, name, cell)
            result = session.run(cell, f"In [{self.number()}]")
        except Error as error:
            text = (
                describe(error)
                if isinstance(error, CompileError)
                else str(error)
            )
            first = text.partition("\n")[0]
            text += "".join(
                f"\n{why}"
                for each, why in refused.items()
                if re.search(rf"[\"']{each}[\"']", first)
            )
            show_as(error, text)
            raise
        if "host function main" in result.defined and (
            len(MAIN.findall(cell)) == 1
        ):
            warnings.warn(
                "%%cuda: main() is defined and not run; call it: main();",
                stacklevel=2,
            )
        return result

    def number(self) -> int:
        """Return the running cell's number. IPython 9 counts it already."""
        cells = self.shell.user_ns.get("In")
        if isinstance(cells, list) and cells:
            return len(cells) - 1
        return self.shell.execution_count

    def session(self, name: str) -> Session:
        """Return the session in the user's variable. Make a missing one."""
        space = self.shell.user_ns
        if name not in space and name.isidentifier():
            space[name] = Runtime().session()
        found = space.get(name)
        if not isinstance(found, Session):
            kind = type(found).__name__ if name in space else "no variable"
            msg = (
                f"%%cuda: expected a Session in {name}, got {kind}; name "
                "another variable"
            )
            error = TypeError(msg)
            show_as(error, msg)
            raise error
        return found

    def bind_names(
        self, session: Session, holder: str, cell: str
    ) -> dict[str, str]:
        """Bind the user's variables that the launches of the cell name.

        Return the reasons why some cannot be bound. A name that the cell
        declares belongs to the cell.
        """
        outside = LAUNCH.sub("<<<;", cell)
        own = {
            name
            for kind, name in DECLARED.findall(outside)
            if kind not in NO_TYPES
        }
        bound = self.bound.setdefault(holder, set())
        for name in sorted(bound & own):
            session.unbind(name)
            bound.discard(name)
        named = set(NAME.findall(" ".join(LAUNCH.findall(cell))))
        refused = {}
        for name in sorted(named - own - set(session.names())):
            value = self.shell.user_ns.get(name)
            if not is_value(value):
                continue
            try:
                session.bind(**{name: value})
            except (Error, OverflowError) as error:
                refused[name] = str(error)
            else:
                bound.add(name)
        return refused


def show_as(error: Exception, text: str) -> None:
    """Make IPython show a text instead of a traceback."""
    error._render_traceback_ = lambda: [text]  # type: ignore[attr-defined]


def is_value(value: object) -> bool:
    """Return whether a launch accepts the value: a number or any array."""
    return isinstance(value, bool | int | float | complex) or any(
        hasattr(value, name)
        for name in ("__array_interface__", "__cuda_array_interface__")
    )


def describe(error: CompileError) -> str:
    """Return an error as lines for the author of the cell."""
    if not error.line:
        return f"{error}\n{error.log}".rstrip()
    message = str(error).split("\n", 1)[0]
    return f"{message}\n{error.excerpt}".rstrip()


def load_ipython_extension(shell: Shell) -> None:
    """Register one magic as `%%cuda` and `%%gpuos`.

    IPython calls this function for `%load_ext gpuos`.
    """
    magic = Magic(shell)
    for name in ("cuda", "gpuos"):
        shell.register_magic_function(magic.run, "cell", name)
