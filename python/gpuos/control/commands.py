"""The commands of a client."""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from gpuos import _core
from gpuos.control import fields
from gpuos.control.fields import Field
from gpuos.control.messages import MOST_S, BadMessage
from gpuos.texts import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from gpuos.definitions import OperatorVersion

    Answer = dict[str, Any]

log = logging.getLogger("gpuos.control")


class Client(NamedTuple):
    """The client of a command."""

    pid: int
    uid: int


class Refused(Exception):
    """Reports a command that this process or this client may not run."""


class Command(NamedTuple):
    """A command's word, its method and its fields."""

    run: Callable[..., Answer]
    fields: Mapping[str, Field]
    is_change: bool = False


class Commands:
    """The commands over the runtimes of a process, or over one."""

    def __init__(
        self, runtime: _core.Runtime | None = None, *, is_readonly: bool = False
    ) -> None:
        if not isinstance(runtime, _core.Runtime | None):
            kind = type(runtime).__name__
            raise TypeError(f"serve: runtime: expected a Runtime, got {kind}")
        self._runtime = runtime
        self._is_readonly = is_readonly

    def run(self, message: Mapping[str, Any], client: Client) -> Answer:
        """Run the command of a message and return the answer.

        Raises
        ------
        BadMessage, Refused, Exception
            The runtime raises the last.
        """
        given = dict(message)
        word = given.pop("command", None)
        command = TABLE.get(word) if isinstance(word, str) else None
        if command is None:
            known = ", ".join(TABLE)
            raise BadMessage(
                f"command: expected one of {known}, got {fields.shown(word)}"
            )
        given = fields.read(given, command.fields)
        if not command.is_change:
            return command.run(self, **given)
        self._check_may_change()
        answer = command.run(self, **given)
        text = given.get("source") or given.get("expression") or ""
        log.info(
            "%s %r: digest %s, version %d, by uid %d, pid %d",
            word,
            answer["operator"],
            digest(text) if text else "none",
            answer["version"],
            client.uid,
            client.pid,
        )
        return answer

    def _check_may_change(self) -> None:
        if self._is_readonly:
            raise Refused(
                "expected a server that may change, got a read-only one"
            )
        size = launch_size()
        if size > 1:
            raise Refused(
                f"expected a process that computes alone, got one of {size}: "
                "the others would go on with the old operator"
            )

    def _chosen(
        self, number: int | None = None
    ) -> Iterator[tuple[int, _core.Runtime]]:
        """Yield the runtimes that a command is about."""
        found = [
            (key, rt)
            for key, rt in _core._live_runtimes().items()
            if (self._runtime is None or rt is self._runtime)
            and number in (None, key)
        ]
        if not found:
            which = "a runtime" if number is None else f"runtime {number}"
            raise _core.InvalidArgument(f"expected {which}, got none")
        yield from found

    def _one(self, number: int | None, op: str | None = None) -> _core.Runtime:
        """Return the runtime that a command names."""
        found = list(self._chosen(number))
        if op is not None and len(found) > 1:
            found = [one for one in found if op in one[1].operators()] or found
        if len(found) > 1:
            numbers = ", ".join(str(key) for key, _ in found)
            raise _core.InvalidArgument(
                f"expected a runtime to be named, there are {numbers}"
            )
        return found[0][1]

    def list(self, runtime: int | None = None) -> Answer:
        """Return the names of the operators."""
        return {
            "runtimes": [
                {
                    "runtime": number,
                    "backend": rt.backend,
                    "operators": rt.operators(),
                }
                for number, rt in self._chosen(runtime)
            ]
        }

    def show(self, op: str, runtime: int | None = None) -> Answer:
        """Return the known facts about an operator."""
        found = self._one(runtime, op).find(op)
        names = found.inputs
        return {
            "operator": found.name,
            "expression": found.expression,
            "inputs": None if names is None else [*names],
            "params": found.params,
            "defaults": {
                name: str(value) if isinstance(value, complex) else value
                for name, value in found.defaults.items()
            },
            "version": found.version,
            "versions": [shown(version) for version in found.versions],
        }

    def define(
        self, name: str, runtime: int | None = None, **definition: Any
    ) -> Answer:
        """Define an operator."""
        made = self._one(runtime).define(name, **_typed(definition))
        return changed(made, made.version)

    def replace(
        self,
        op: str,
        runtime: int | None = None,
        expected: int | None = None,
        **definition: Any,
    ) -> Answer:
        """Give an operator another body."""
        rt = self._one(runtime, op)
        found = rt.find(op)
        version = rt.replace(found, expected=expected, **_typed(definition))
        return changed(found, version)

    def rollback(
        self, op: str, runtime: int | None = None, expected: int | None = None
    ) -> Answer:
        """Give an operator the body before."""
        rt = self._one(runtime, op)
        found = rt.find(op)
        return changed(found, rt.rollback(found, expected=expected))

    def stats(self, runtime: int | None = None) -> Answer:
        """Return the counters."""
        return {
            "runtimes": [
                {"runtime": number, "stats": _core._stats_now(rt)}
                for number, rt in self._chosen(runtime)
            ]
        }

    def wait(
        self, timeout: float = MOST_S, runtime: int | None = None
    ) -> Answer:
        """Wait for the submitted tasks; a client repeats it for longer waits."""
        end = time.monotonic() + min(timeout, MOST_S)
        for _, rt in self._chosen(runtime):
            left = max(0.0, end - time.monotonic())
            if not _core._wait_for_all(rt, left):
                return {"done": False}
        return {"done": True}


def shown(version: OperatorVersion) -> Answer:
    """Return the fields that identify a version of an operator."""
    text = version.expression or version.source
    return {
        "number": version.number,
        "expression": version.expression,
        "digest": digest(text) if text else None,
        "is_current": version.is_current,
    }


def changed(op: _core.Operator, version: int) -> Answer:
    return {"operator": op.name, "version": version}


def launch_size() -> int:
    """Return how many processes compute the same, as torchrun says."""
    text = os.environ.get("WORLD_SIZE", "")
    size = int(text) if text.isascii() and text.isdigit() else 1
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_initialized():
        size = max(size, distributed.get_world_size())
    return size


def _typed(definition: Answer) -> Answer:
    """Return it with tuples where JSON has lists."""
    params = definition.get("params") or {}
    typed = {
        name: tuple(given) if isinstance(given, list) else given
        for name, given in params.items()
    }
    return definition | ({"params": typed} if typed else {})


_RUNTIME = {"runtime": Field(fields.NUMBER)}
_OP = {"op": Field(fields.TEXT, is_required=True), **_RUNTIME}
_DEFINITION = {
    "expression": Field(fields.TEXT),
    "source": Field(fields.TEXT),
    "params": Field(fields.PARAMS),
    "dtype": Field(fields.DTYPES),
    "inputs": Field(fields.INPUTS),
    "elementwise": Field(fields.FLAG),
    "checked": Field(fields.FLAG),
}
_EXPECTED = {"expected": Field(fields.VERSION)}
_NAME = {"name": Field(fields.TEXT, is_required=True)}

TABLE = {
    "list": Command(Commands.list, _RUNTIME),
    "show": Command(Commands.show, _OP),
    "define": Command(
        Commands.define, _NAME | _RUNTIME | _DEFINITION, is_change=True
    ),
    "replace": Command(
        Commands.replace,
        _OP | _EXPECTED | _DEFINITION,
        is_change=True,
    ),
    "rollback": Command(Commands.rollback, _OP | _EXPECTED, is_change=True),
    "stats": Command(Commands.stats, _RUNTIME),
    "wait": Command(
        Commands.wait, {"timeout": Field(fields.SECONDS), **_RUNTIME}
    ),
}
