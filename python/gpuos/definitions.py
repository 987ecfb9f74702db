"""Implement gpuos.Definition, and read the arguments of define().

The stub _core.pyi has the docstrings.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, final

from gpuos import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Self

_OBJECTS = ("ptx", "ltoir", "cubin")  # in the order of C++'s enum
# The keywords of define(), and their defaults.
_KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("source", *_OBJECTS, "symbol", "params", "dtype")),
    "inputs": None,
    "elementwise": True,
    "tiered": False,
    "checked": None,
}


def add_parts(kind: type, *functions: Any, **members: Any) -> None:
    """Add to a class of the compiled module. The stub has the docstrings."""
    for function in functions:
        function.__qualname__ = f"{kind.__name__}.{function.__name__}"
        members[function.__name__] = function
    for name, member in members.items():
        setattr(kind, name, member)


class OnlyMade:
    """A class whose instances only gpuos makes."""

    __slots__ = ()

    def __new__(cls, *_: object, **__: object) -> Self:
        raise TypeError("gpuos: only gpuos makes instances of this class")


class Fields(NamedTuple):
    """The members of C++'s OperatorDefinition, except its name."""

    expression: str = ""
    source: str = ""
    object: tuple[int, bytes, str] | None = None  # its kind, bytes and symbol
    params: tuple[tuple[str, Any, Any], ...] = ()  # name, dtype, default
    dtypes: tuple[Any, ...] = ()
    input_names: tuple[str, ...] = ()
    inputs: int = -1
    elementwise: bool = True
    tiered: bool = False
    checked: bool | None = None


# ---- The readers of keywords return the changed fields.


def _own_name(given: Any, what: str) -> str:
    name = _core._text(given, what)
    if name in ("out", "stream", "sizes", "dtype"):
        raise _core.InvalidArgument(
            f"{what}: expected a name other than those of submit(), got "
            f"'{name}'"
        )
    return name


def _is_number(given: Any) -> bool:
    kind = type(given)
    return isinstance(given, complex) or any(
        hasattr(kind, name) for name in ("__index__", "__int__", "__float__")
    )


def _parameter(name: str, given: Any) -> tuple[str, Any, Any]:
    if not isinstance(given, tuple) and not _is_number(given):
        return name, given, None
    if (
        not isinstance(given, tuple)
        or len(given) != 2
        or not _is_number(given[1])
    ):
        raise TypeError(
            f"define: params: {name}: expected a dtype, or a tuple of a dtype "
            f"and a number, got {_core._kind_shown(given)}"
        )
    return name, *given


def _params(given: Any, what: str) -> dict[str, Any]:
    pairs = _pairs(given, what)
    return {"params": [_parameter(_own_name(k, what), v) for k, v in pairs]}


def _pairs(given: Any, what: str) -> list[tuple[Any, Any]]:
    if not isinstance(given, dict) and not hasattr(given, "keys"):
        kind = _core._kind_shown(given)
        raise TypeError(f"{what}: expected a dict, got {kind}")
    return [(key, value) for key, value in given.items()]


def _bytes_of(given: Any, what: str, is_ptx: bool) -> bytes:
    if isinstance(given, bytes):
        return given
    is_text = isinstance(given, str)
    if is_text and is_ptx:
        return _core._text(given, what).encode()
    if is_text or not hasattr(given, "__fspath__"):
        wanted = "bytes or a path such as pathlib.Path"
        raise TypeError(
            f"{what}: expected {'str, bytes or a path' if is_ptx else wanted}"
            f", got {_core._kind_shown(given)}"
        )
    return Path(given).read_bytes()


def _object(given: dict[str, Any]) -> dict[str, Any]:
    kinds = [kind for kind in _OBJECTS if given[kind] is not None]
    if len(kinds) > 1:
        raise _core.InvalidArgument(
            "define: expected one of ptx, ltoir and cubin, got "
            f"{' and '.join(kinds)}"
        )
    symbol = given["symbol"]
    if not kinds:
        if symbol is None:
            return {}
        raise _core.InvalidArgument(
            "define: symbol: expected ptx, ltoir or cubin with it, got none"
        )
    text = "" if symbol is None else _core._text(symbol, "define: symbol")
    kind = kinds[0]
    data = _bytes_of(given[kind], f"define: {kind}", kind == "ptx")
    return {"object": (_OBJECTS.index(kind), data, text)}


def _inputs(given: Any, what: str) -> dict[str, Any]:
    if hasattr(type(given), "__index__"):
        return {"inputs": _core._integer(given, what), "input_names": ()}
    if isinstance(given, str):
        raise TypeError(
            f"{what}: expected a number or a sequence of names, got str"
        )
    names = [_own_name(name, what) for name in _core._items(given, what)]
    return {"inputs": -1, "input_names": names}


def _dtypes(given: Any, _: str) -> dict[str, Any]:
    is_one = not isinstance(given, (list, tuple))
    return {"dtypes": (given,) if is_one else (*given,)}


_READERS = {"params": _params, "dtype": _dtypes, "inputs": _inputs}


def fields_from(
    base: Fields,
    expression: Any,
    keywords: Mapping[str, Any],
    where: str,
    may_be_tiered: bool = False,
) -> Fields:
    """Read the arguments of define() and replace().

    The fields of `base` stay without a keyword, except the body and its
    parameters. The replaced operator may have more of them.
    """
    for key in keywords:
        if key not in _KEYWORDS or (key == "tiered" and not may_be_tiered):
            raise TypeError(f"{where}: unexpected keyword '{key}'")
    if isinstance(expression, Definition):
        check_alone(where, None, keywords)
        return expression._fields
    given = {key: keywords.get(key) for key in _KEYWORDS}
    made = base._replace(expression="", source="", object=None, params=())
    read: dict[str, Any] = {}
    for name, text in (("expression", expression), ("source", given["source"])):
        if text is not None:
            read[name] = _core._text(text, f"define: {name}")
    read |= _object(given)
    for name, read_one in _READERS.items():
        if given[name] is not None:
            read |= read_one(given[name], f"define: {name}")
    for name in ("elementwise", "tiered", "checked"):
        if given[name] is not None:
            read[name] = bool(given[name])
    return made._replace(**read)


def check_alone(
    where: str, expression: Any, keywords: Mapping[str, Any]
) -> None:
    changed = [
        name
        for name, value in keywords.items()
        if value is not None and bool(value) != _KEYWORDS.get(name)
    ]
    if changed or expression is not None:
        raise _core.InvalidArgument(
            f"{where}: expected no other argument with a Definition, got more"
        )


def from_dict(given: Any, where: str) -> tuple[str, Fields]:
    if isinstance(given, Definition):
        return given._name, given._fields
    keywords = {_core._text(k, where): v for k, v in _pairs(given, where)}
    name = keywords.pop("name", None)
    if name is None:
        raise TypeError(f"{where}: expected 'name' in each, got none")
    name = _core._text(name, f"{where}: name")
    expression = keywords.pop("expression", None)
    return name, fields_from(Fields(), expression, keywords, where, True)


def shows_keywords(
    *without: str, **defaults: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make help() show the keywords of define() instead of `**keywords`."""
    known = {k: v for k, v in _KEYWORDS.items() if k not in without}

    def shown(function: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(function)
        *places, _ = own.parameters.values()
        keywords = [
            inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v)
            for k, v in {**known, **defaults}.items()
        ]
        before = [p for p in places if p.kind is not p.KEYWORD_ONLY]
        after = [p for p in places if p.kind is p.KEYWORD_ONLY]
        all_of = [*before, *keywords, *after]
        function.__signature__ = own.replace(parameters=all_of)  # type: ignore[attr-defined]
        return function

    return shown


# ---- Definition


@final
class Definition:
    __slots__ = ("_digest", "_fields", "_name", "_version")
    _name: str
    _fields: Fields
    _version: int
    _digest: str

    @shows_keywords()
    def __init__(
        self, name: str, expression: Any = None, **keywords: Any
    ) -> None:
        name = _core._text(name, "Definition: name")
        base, where = Fields(), "Definition"
        made = fields_from(base, expression, keywords, where, True)
        _make(name, made, 0, self)

    def __eq__(self, other: object, /) -> bool:
        return isinstance(other, Definition) and (
            self.__dask_tokenize__() == other.__dask_tokenize__()
        )

    def __hash__(self) -> int:
        return hash(self.__dask_tokenize__())

    def __copy__(self) -> Definition:
        return self

    def __deepcopy__(self, memo: Any, /) -> Definition:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (*self._fields,)
        return _core._load_definition, (self._name, fields, self._version)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "gpuos.Definition", self._name, self._version, self._digest

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"Definition: {name} cannot be changed")

    def _of_object(self, kind: int) -> bytes | None:
        found = self._fields.object
        return found[1] if found and found[0] == kind else None


def _make(
    name: str, fields: Any, version: int, made: Definition | None = None
) -> Definition:
    """Check the fields, and store them as C++ returns them."""
    made = object.__new__(Definition) if made is None else made
    normal, digest = _core._normal_definition(name, fields)
    for key, value in (
        *(("_name", name), ("_fields", Fields(*normal))),
        *(("_version", version), ("_digest", digest)),
    ):
        object.__setattr__(made, key, value)
    return made


def _inputs_of(of: Fields) -> tuple[str, ...] | int | None:
    if of.input_names:
        return (*of.input_names,)
    return None if of.inputs < 0 or of.expression else of.inputs


_PROPERTIES: dict[str, Callable[[Definition], Any]] = {
    "name": lambda x: x._name,
    "expression": lambda x: x._fields.expression or None,
    "source": lambda x: x._fields.source or None,
    "ptx": lambda x: x._of_object(0),
    "ltoir": lambda x: x._of_object(1),
    "cubin": lambda x: x._of_object(2),
    "symbol": lambda x: x._fields.object[2] if x._fields.object else None,
    "params": lambda x: {
        name: dtype if default is None else (dtype, default)
        for name, dtype, default in x._fields.params
    },
    "dtype": lambda x: (*x._fields.dtypes,) or None,
    "inputs": lambda x: _inputs_of(x._fields),
    "elementwise": lambda x: x._fields.elementwise,
    "tiered": lambda x: x._fields.tiered,
    "checked": lambda x: x._fields.checked,
    "version": lambda x: x._version,
    "digest": lambda x: x._digest,
}
for _name, _get in _PROPERTIES.items():
    setattr(Definition, _name, property(_get))
Definition.__module__ = "gpuos"


class OperatorVersion(NamedTuple):
    """Describes one body that an operator has had, from Operator.versions.

    Attributes
    ----------
    number : int
        Its number. It begins at 1, and each replace() and rollback() adds 1.
    before : int
        The version that Runtime.rollback() restores. It is 0 if there is none.
    expression : str or None
        The text of the expression. None for a whole or built-in operator.
    source : str or None
        The CUDA C++ of a whole operator, or None.
    params : dict
        The scalar parameters: name to dtype, in order.
    defaults : dict
        The default values: name of a parameter to number.
    symbol : str or None
        The function of `ptx`, `ltoir` or `cubin`, or None.
    is_builtin : bool
        Whether it is the operator that every runtime has.
    is_current : bool
        Whether submit() ran this version when it was read.
    """

    number: int
    before: int
    expression: str | None
    source: str | None
    params: dict[str, str]
    defaults: dict[str, int | float | complex]
    symbol: str | None
    is_builtin: bool
    is_current: bool


def versions(self: _core.Operator) -> list[OperatorVersion]:
    return [OperatorVersion(*version) for version in _core._versions(self)]


def definition(self: _core.Operator) -> Definition:
    return _make(*_core._current_definition(self))


def _sent(self: _core.Operator, protocol: Any, /) -> Any:  # noqa: ARG001
    return importlib.import_module("gpuos.sending").of_operator(self)


def _token(self: _core.Operator) -> Any:
    return importlib.import_module("gpuos.sending").token_of_operator(self)


_core.Definition = Definition  # type: ignore[misc, assignment]
_core._load_definition = _make  # type: ignore[assignment]
add_parts(
    _core.Operator,
    definition=property(definition),
    versions=property(versions),
    __copy__=Definition.__copy__,
    __deepcopy__=Definition.__deepcopy__,
    __reduce_ex__=_sent,
    __dask_tokenize__=_token,
)
