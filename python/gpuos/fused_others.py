"""The fused functions that run the calls which one fused function does not."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from gpuos import interop, pytrees

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuos import _core


class Others:
    """Calls with other libraries' arrays, and with containers of arrays."""

    def __init__(self) -> None:
        self._of_runtimes: interop.Bound = {}
        self._of_shapes: OrderedDict[pytrees.Shape, _core.Fused] = OrderedDict()

    def call(
        self,
        function: Callable[..., Any],
        runtime: _core.Runtime | None,
        name: str,
        method: str | None,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a method for containers, or None for other libraries' arrays."""
        if method is None:
            return interop.call(
                self._of_runtimes, function, name, args, keywords
            )
        return pytrees.call(
            self._of_shapes, function, runtime, name, method, args, keywords
        )

    def programs(self) -> list[_core.Program]:
        fused = [*self._of_runtimes.values(), *self._of_shapes.values()]
        return [program for each in fused for program in each.programs()]

    def replaced(self, function: Callable[..., Any], name: str) -> Others:
        """Return these with another function, traced for all structures."""
        made = Others()
        for runtime, fused in list(self._of_runtimes.items()):
            made._of_runtimes[runtime] = fused._replaced(function)
        for shape, fused in list(self._of_shapes.items()):
            leaves = pytrees.of_leaves(function, name, shape)
            made._of_shapes[shape] = fused._replaced(leaves)
        return made
