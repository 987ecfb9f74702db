"""All overloads of the operators that the bridge names, and calls of them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_support import torch

from gpuos.torch import scheduling

# The places of operands that are conditions.
CONDITIONS = {"where": 0, "masked_fill": 1, "masked_fill_": 1}
TABLE = Path(scheduling.__file__).parent / "bridge/entry/table.h"


@dataclass(frozen=True)
class Overload:
    name: str  # "add.out"
    call: Any
    arguments: tuple[Any, ...]

    @property
    def numbers(self):
        return [k for k, a in enumerate(self.arguments) if "number" in a[1]]

    @property
    def out(self):
        """The name of the argument that is written, or None."""
        return next(
            (name for name, _, is_out in self.arguments if is_out), None
        )

    @property
    def is_in_place(self):
        return self.name.split(".")[0].endswith("_")

    @property
    def is_list(self):
        return self.name.startswith("_foreach_")

    def make(self, tensors, number=0.5, at=None, other=0.5, fresh=torch.clone):
        """Return the arguments for a call: `number` at the place `at`.

        `tensors` are taken in turn, each copied by `fresh`.
        """
        given, named = [], {}
        turn = iter(tensors)
        for place, (name, kind, is_out) in enumerate(self.arguments):
            if is_out:
                continue
            value = None
            if kind in ("Tensor", "Optional[Tensor]"):
                value = fresh(next(turn))
                if place == CONDITIONS.get(self.name.split(".")[0]):
                    value = value > 0.6
            elif kind == "List[Tensor]":
                value = [fresh(next(turn))]
            elif kind == "List[number]":
                value = [number if place == at else other]
            elif "number" in kind:
                value = number if place == at else other
            else:
                continue
            if self.call._schema.arguments[place].kwarg_only:
                named[name] = value
            else:
                given.append(value)
        return given, named


def names(rows=False):
    text = TABLE.read_text()
    part = text[text.index("kRowNames[]") :]
    if not rows:
        part = text[: text.index("kRowNames[]")]
    found = re.findall(r'{"([\w.]+)", Function::\w+', part)
    return list(dict.fromkeys(found))


def overloads():
    """Yield each overload of each form of the elementwise operators."""
    for name in names():
        for form in (name, f"{name}_", f"_foreach_{name}", f"_foreach_{name}_"):
            packet = getattr(torch.ops.aten, form, None)
            for overload in packet.overloads() if packet is not None else ():
                call = getattr(packet, overload)
                arguments = tuple(
                    (a.name, str(a.type), a.is_out)
                    for a in call._schema.arguments
                )
                kinds = {kind for _, kind, _ in arguments}
                if not kinds & {"Tensor", "List[Tensor]"}:
                    continue
                yield Overload(f"{form}.{overload}", call, arguments)


OVERLOADS = list(overloads())
