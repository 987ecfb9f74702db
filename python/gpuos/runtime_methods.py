"""Implement gpuos.Transaction, and methods of gpuos.Runtime and gpuos.Alias.

No task waits for them. The stub _core.pyi has the docstrings.
"""

from __future__ import annotations

import importlib
import operator
import threading
from typing import TYPE_CHECKING, Any, NoReturn, final

from gpuos import _core
from gpuos.definitions import (
    Definition,
    Fields,
    OnlyMade,
    add_parts,
    check_alone,
    fields_from,
    from_dict,
    shows_keywords,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Runtime = _core.Runtime
Array = _core.Array


def _numpy() -> Any:
    # Only programs that compute import NumPy.
    return importlib.import_module("numpy")


def _filled(array: Array, value: Any) -> Array:
    array.fill(value)  # a task, as for everything that arrays compute
    return array


def ones(self: Runtime, shape: Any, dtype: Any = "float32") -> Array:
    return _filled(self.empty(shape, dtype), 1)


def full(self: Runtime, shape: Any, value: Any, dtype: Any = None) -> Array:
    of = _numpy().asarray(value).dtype if dtype is None else dtype
    return _filled(self.empty(shape, of), value)


def zeros_like(self: Runtime, like: Any, dtype: Any = None) -> Array:
    if not (hasattr(like, "shape") and hasattr(like, "dtype")):
        raise TypeError(
            f"zeros_like: expected an array, got {_core._kind_shown(like)}"
        )
    return self.zeros(like.shape, like.dtype if dtype is None else dtype)


def _number(x: Any, what: str) -> int | float:
    if hasattr(type(x), "__index__"):
        return operator.index(x)
    return _core._real(x, what)


def arange(
    self: Runtime,
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
) -> Array:
    first, by = _number(start, "start"), _number(step, "step")
    if by == 0:
        raise _core.InvalidArgument("arange: expected a step, got 0")
    if stop is None:
        return self.array(_numpy().arange(0, first, by), dtype)
    return self.array(_numpy().arange(first, _number(stop, "stop"), by), dtype)


def linspace(
    self: Runtime,
    start: Any,
    stop: Any,
    num: int = 50,
    *,
    endpoint: bool = True,
    dtype: Any = None,
) -> Array:
    bounds = _core._real(start, "start"), _core._real(stop, "stop")
    return self.array(_numpy().linspace(*bounds, num, endpoint), dtype)


def fuse(self: Runtime, function: Callable[..., Any]) -> _core.Fused:
    fusing = importlib.import_module("gpuos.fusing")
    made: _core.Fused = fusing.fuse(function, runtime=self)
    return made


def watch(
    self: Runtime, op: Any, path: Any = None, *, on_error: Any = None
) -> Any:
    check_no_transaction(self, "watch")
    watching = importlib.import_module("gpuos.watching")
    return watching.watch(self, op, path, on_error=on_error)


# ---- Transactions

# The threads in a `with transaction()` block, by runtime.
_open: set[tuple[int, int]] = set()


def check_no_transaction(rt: Runtime, call: str) -> None:
    """Refuse calls in this thread's block that change operators at once."""
    if (id(rt), threading.get_ident()) in _open:
        raise _core.InvalidArgument(
            f"{call}: expected to be outside of the transaction's block, which "
            "it would not wait for; in `with rt.transaction() as change:` "
            "write change.define() or change.replace()"
        )


@final
class Transaction(OnlyMade):
    """Holds definitions and replacements until the block ends."""

    __slots__ = ("_changes", "_is_over", "_key", "_runtime")
    _runtime: Runtime
    _changes: list[tuple[_core.Operator | None, int, str, Fields]]
    _is_over: bool  # the block has ended
    _key: tuple[int, int] | None  # in _open

    def __enter__(self) -> Transaction:
        if self._key is not None or self._is_over:
            raise _core.InvalidArgument(
                "transaction: expected a new transaction in each `with`, got "
                "one that was entered before"
            )
        check_no_transaction(self._runtime, "transaction")
        self._key = (id(self._runtime), threading.get_ident())
        _open.add(self._key)
        return self

    def __exit__(self, kind: object, error: object, trace: object, /) -> None:
        self._close()
        self._is_over = True
        if kind is None and self._changes:
            _core._change(self._runtime, self._changes)

    def __del__(self) -> None:
        self._close()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"transaction: expected define() or replace(), got {name}; a "
            "runtime's other calls come before or after the block"
        )

    @shows_keywords("tiered")
    def define(
        self, name: Any, expression: Any = None, **keywords: Any
    ) -> None:
        self._check_open("define")
        where = "transaction: define"
        text = name
        if isinstance(name, Definition):
            check_alone(where, expression, {})
            text, expression = name._name, name
        text = _core._text(text, f"{where}: name")
        made = fields_from(Fields(), expression, keywords, where)
        self._changes.append((None, 0, text, made))

    @shows_keywords("tiered", elementwise=None)
    def replace(
        self,
        op: Any,
        expression: Any = None,
        *,
        expected: Any = None,
        **keywords: Any,
    ) -> None:
        self._check_open("replace")
        new = [name for old, _, name, _ in self._changes if old is None]
        if isinstance(op, str) and op in new:
            raise _core.InvalidArgument(
                "transaction: replace: expected an operator that is there, got "
                f"'{op}', which is defined in this block; define it once, with "
                "the last text"
            )
        where = "transaction: replace"
        made = _replacement(self._runtime, op, expression, keywords, where)
        version = _core._version(expected, f"{where}: expected")
        self._changes.append((made[0], version, *made[1:]))

    def _check_open(self, call: str) -> None:
        if self._key is None:
            raise _core.InvalidArgument(
                f"transaction: {call}: expected to be inside its `with` block"
            )

    def _close(self) -> None:
        if self._key is not None:
            _open.discard(self._key)
        self._key = None


Transaction.__module__ = "gpuos"


def transaction(self: Runtime) -> Transaction:
    made: Transaction = object.__new__(Transaction)
    made._runtime, made._changes = self, []
    made._key, made._is_over = None, False
    return made


# ---- Methods of Runtime and Alias


@shows_keywords()
def define(
    self: Runtime, name: Any, expression: Any = None, **keywords: Any
) -> _core.Operator:
    check_no_transaction(self, "define")
    # An operator that was sent to another process is its definition.
    given = name.definition if isinstance(name, _core.Operator) else name
    if not isinstance(given, Definition):
        name = _core._text(name, "define: name")
        made = fields_from(Fields(), expression, keywords, "define", True)
        return _core._define(self, name, made)
    check_alone("define", expression, keywords)
    try:
        return _core._define(self, given._name, given._fields)
    except _core.InvalidArgument:
        # A definition that arrives twice, from two processes or two threads, is
        # one operator.
        known = _find_same(self, given)
        if known is None:
            raise
        return known


def _find_same(rt: Runtime, wanted: Definition) -> _core.Operator | None:
    try:
        known = rt.find(wanted._name)
        is_same = known.definition.digest == wanted._digest
    except _core.InvalidArgument:  # the name is unknown or built in
        return None
    return known if is_same else None


def define_many(self: Runtime, definitions: Any) -> list[_core.Operator]:
    check_no_transaction(self, "define_many")
    where = "define_many"
    return _core._define_many(
        self,
        [from_dict(one, where) for one in _core._items(definitions, where)],
    )


def _replacement(
    rt: Runtime, op: Any, expression: Any, keywords: Any, where: str
) -> tuple[_core.Operator, str, Fields]:
    known, name, base = _core._replaced(rt, op)
    made = fields_from(Fields(*base), expression, keywords, where)
    return known, name, made


@shows_keywords("tiered", elementwise=None)
def replace(
    self: Runtime,
    op: Any,
    expression: Any = None,
    *,
    expected: Any = None,
    **keywords: Any,
) -> int:
    check_no_transaction(self, "replace")
    made = _replacement(self, op, expression, keywords, "replace")
    version = _core._version(expected, "replace: expected")
    return _core._replace(self, *made, version)


def rollback(
    self: Runtime, op: Any, *, to: Any = None, expected: Any = None
) -> int:
    check_no_transaction(self, "rollback")
    number = _core._version(to, "rollback: to")
    version = _core._version(expected, "rollback: expected")
    return _core._roll_back(self, op, number, version)


def restore(self: Runtime, op: Any) -> int:
    check_no_transaction(self, "restore")
    return _core._restore(self, op)


def undefine(self: Runtime, op: Any) -> None:
    check_no_transaction(self, "undefine")
    _core._undefine(self, op)


def alias(self: Runtime, name: str, op: Any) -> _core.Alias:
    check_no_transaction(self, "alias")
    return _core._alias(self, _core._text(name, "alias: name"), op)


def switch(self: _core.Alias, target: Any) -> None:
    check_no_transaction(self._runtime, "switch")
    self._switch(target)


def roll_back(self: _core.Alias) -> None:
    check_no_transaction(self._runtime, "rollback")
    self._roll_back()


def _refused(_: _core.Alias, protocol: Any, /) -> Any:  # noqa: ARG001
    return importlib.import_module("gpuos.sending").refuse("Alias")


_core.Transaction = Transaction  # type: ignore[misc, assignment]
add_parts(Runtime, *(ones, full, zeros_like, arange, linspace, fuse, watch))
add_parts(
    Runtime,
    *(define, define_many, replace, rollback, restore, undefine, alias),
    transaction,
)
add_parts(_core.Alias, switch, rollback=roll_back, __reduce_ex__=_refused)
