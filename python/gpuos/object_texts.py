"""Return the repr() of the module's objects, except of arrays and values."""

from __future__ import annotations

from functools import singledispatch
from inspect import Parameter, Signature
from typing import Any

from gpuos import _core, cell_output, definitions


@singledispatch
def text(x: object) -> str:
    raise TypeError(f"repr: expected an object of gpuos, got {type(x)}")


@text.register(_core.Runtime)
def _runtime(x: _core.Runtime) -> str:
    closed = ", closed" if x.is_closed else ""
    return f"gpuos.Runtime(backend='{x.backend}'{closed})"


def _body(x: Any) -> str:
    """Return the texts that an operator's version and a definition have."""
    text = f", {x.expression!r}" if x.expression else ""
    text += ", source" if x.source else ""
    return text + (f", symbol='{x.symbol}'" if x.symbol else "")


@text.register(definitions.OperatorVersion)
def _version(x: definitions.OperatorVersion) -> str:
    end = ", built in" if x.is_builtin else ""
    end += ", current" if x.is_current else ""
    return f"gpuos.OperatorVersion({x.number}{_body(x)}{end})"


@text.register(definitions.Definition)
def _definition(x: Any) -> str:
    return f"gpuos.Definition('{x.name}'{_body(x)}, version={x.version})"


@text.register(_core.Operator)
def _operator(x: _core.Operator) -> str:
    text = f", {x.expression!r}" if x.expression else ""
    text += f", inputs={x.inputs!r}" if x.inputs else ""
    text += "" if x.is_defined else ", undefined"
    return f"gpuos.Operator('{x.name}'{text})"


@text.register(_core.Session)
def _session(x: _core.Session) -> str:
    counts = ", ".join(f"{name}={n}" for name, n in x.stats().items())
    return f"gpuos.Session({counts})"


@text.register(cell_output.CellResult)
def _cell(x: cell_output.CellResult) -> str:
    names = "".join(f" {name}," for name in x.defined)
    return f"gpuos.CellResult({x.cell}:{names} {x.launches} launches)"


@text.register(_core.JitModule)
def _module(x: _core.JitModule) -> str:
    return f"gpuos.JitModule('{x.name}', {x.arch})"


@text.register(_core.Kernel)
def _kernel(x: _core.Kernel) -> str:
    return f"gpuos.Kernel('{x.name}')"


_OPTIONS = {
    name: getattr(_core.JitOptions(), name)
    for name, member in vars(_core.JitOptions).items()
    if isinstance(member, property)
}
definitions.add_parts(
    _core.JitOptions,
    __signature__=Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default)
            for name, default in _OPTIONS.items()
        ]
    ),
)


@text.register(_core.JitOptions)
def _options(x: _core.JitOptions) -> str:
    """Return the options that differ from the defaults."""
    given = (
        f"{name}={getattr(x, name)!r}"
        for name, default in _OPTIONS.items()
        if getattr(x, name) != default
    )
    return f"gpuos.JitOptions({', '.join(given)})"


for _kind in text.registry:
    if _kind is not object:
        definitions.add_parts(_kind, __repr__=text)
