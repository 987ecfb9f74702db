"""Requests by name where gpuos.torch is switched off: PyTorch computes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def submit(
    name: str, operands: Sequence[torch.Tensor | float], out: torch.Tensor
) -> None:
    """Compute ``out = torch.name(*operands)`` now.

    Raises
    ------
    ValueError
        There is no such function, or the result does not fit `out`.
    """
    function = _function(name)
    _write(name, lambda: function(*operands), operands, out)


def _submit_named(name: str) -> Callable[..., None]:
    def call(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, /) -> None:
        submit(name, (a, b), out)

    return call


submit_add, submit_sub, submit_mul, submit_div = map(
    _submit_named, ("add", "sub", "mul", "div")
)


def submit_rows(
    name: str,
    a: torch.Tensor,
    out: torch.Tensor,
    dims: Sequence[int] | None,
    keepdim: bool,
) -> None:
    """Compute a reduction over `dims`, or all, now.

    Raises
    ------
    ValueError
        The result does not fit `out`.
    """
    if name.startswith("arg") and dims is not None and len(dims) != 1:
        text = f"submit: {name}: expected one dim or none, got {dims}"
        raise ValueError(text)
    rank = a.dim()
    over = range(rank) if dims is None else sorted(d % rank for d in dims)
    kept = [k for k in range(rank) if k not in over]
    sizes = [
        1 if k in over else a.size(k)
        for k in range(rank)
        if keepdim or k in kept
    ]
    if list(out.shape) != sizes:
        text = f"submit: {name}: expected an out of shape {sizes}, got "
        raise ValueError(f"{text}{list(out.shape)}")
    # Not all of them take several dimensions.
    length = math.prod(a.size(k) for k in over)
    rows = a.permute(*kept, *over).reshape(*(a.size(k) for k in kept), length)
    function = getattr(torch, name)
    _write(name, lambda: function(rows, dim=-1).reshape(sizes), (a,), out)


def _function(name: str) -> Callable[..., torch.Tensor]:
    # Where the bridge has its names from.
    operators = torch.ops.aten
    if name.startswith("__") or not hasattr(operators, name):
        text = "submit: expected the name of an elementwise operation, got "
        raise ValueError(f"{text}{name!r}")
    found: Callable[..., torch.Tensor] = getattr(operators, name)
    return found


def _write(
    name: str,
    compute: Callable[[], torch.Tensor],
    operands: Sequence[torch.Tensor | float],
    out: torch.Tensor,
) -> None:
    tensors = [one for one in operands if isinstance(one, torch.Tensor)]
    if torch.is_grad_enabled() and any(
        t.requires_grad for t in (*tensors, out)
    ):
        text = f"submit: {name}: expected tensors without gradients"
        raise ValueError(text)
    try:
        with torch.no_grad():
            result = compute()
            is_tensor = isinstance(result, torch.Tensor)
            if not is_tensor:
                text = f"expected one tensor as its result, got {result!r}"
                raise ValueError(text)
            if not torch.can_cast(result.dtype, out.dtype):
                text = f"expected an out of {result.dtype}, got {out.dtype}"
                raise ValueError(text)
            out.copy_(result)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"submit: {name}: {error}") from None
