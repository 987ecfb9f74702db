"""Expressions over tensors that are deferred as one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import torch

import gpuos
from gpuos.choosing import is_off
from gpuos.torch.readiness import bridge

if TYPE_CHECKING:
    from collections.abc import Sequence


class Expression:
    """Parses a Python expression with PyTorch's functions.

    Parameters
    ----------
    text : str
        ``"o = 2 * x + relu(y)"``. The target is optional.

    Raises
    ------
    gpuos.InvalidArgument
        It is no expression, or calls an unknown function.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        tree = _parse(text)
        functions = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        self._functions = {name: _function(name, text) for name in functions}
        self.names = _operands(tree, functions)
        self._code = compile(ast.Expression(tree), "<expression>", "eval")

    def submit(
        self, operands: Sequence[torch.Tensor | float], out: torch.Tensor
    ) -> None:
        """Put it off for these operands.

        Raises
        ------
        gpuos.InvalidArgument
            For another number of operands.
        """
        if len(operands) != len(self.names):
            wanted = f"{len(self.names)} operands ({', '.join(self.names)})"
            text = f"{self.text!r}: expected {wanted}, got {len(operands)}"
            raise gpuos.InvalidArgument(text)
        values = dict(zip(self.names, operands, strict=True))
        if is_off():
            self._compute(values, out)
            return
        bridge().within(self._compute, values, out)

    def _compute(
        self, values: dict[str, torch.Tensor | float], out: torch.Tensor
    ) -> None:
        with torch.no_grad():
            result = eval(
                self._code,
                {"__builtins__": {}},
                {**self._functions, **values},
            )
            out.copy_(result)


def _parse(text: str) -> ast.expr:
    try:
        body = ast.parse(text.strip()).body
    except SyntaxError as error:
        message = f"{text!r}: expected an expression of Python, {error.msg}"
        raise gpuos.InvalidArgument(message) from None
    if len(body) == 1:
        statement = body[0]
        if isinstance(statement, ast.Expr):
            return statement.value
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            return statement.value
    message = f"{text!r}: expected one expression, or one 'out = expression'"
    raise gpuos.InvalidArgument(message)


def _function(name: str, text: str) -> object:
    function = getattr(torch, name, None)
    if not callable(function):
        message = f"{text!r}: expected functions of torch, got {name!r}"
        raise gpuos.InvalidArgument(message)
    return function


_ALLOWED = (
    ast.BinOp,
    ast.Call,
    ast.Compare,
    ast.Constant,
    ast.Name,
    ast.UnaryOp,
    ast.cmpop,
    ast.expr_context,
    ast.keyword,
    ast.operator,
    ast.unaryop,
)


def _operands(tree: ast.expr, functions: set[str]) -> list[str]:
    names: dict[tuple[int, int], str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            kind = type(node).__name__
            message = (
                "expected numbers, names, operators and calls in an "
                f"expression, got {kind}"
            )
            raise gpuos.InvalidArgument(message)
        if isinstance(node, ast.Name) and node.id not in functions:
            names[node.lineno, node.col_offset] = node.id
    return list(dict.fromkeys(names[place] for place in sorted(names)))
