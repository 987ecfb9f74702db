"""Random lines of PyTorch: one lane of a case of `sequences.py`.

Numbers stay on a grid of eighths, on which sums are exact in any order. `grid`
rounds the results of inexact functions to it.
"""

import itertools
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import own_operators
import torch

BRIDGE = Path(__file__).resolve().parents[2] / "python/gpuos/torch/bridge"
TABLE = BRIDGE / "entry/table.h"
MOST_LINES = 30
MOST_ELEMENTS = 4096
SHIFT = 0.3  # of the grid, while lines are drawn
FLOATS = ["float32", "float64"]
DTYPES = [*FLOATS, "float16", "bfloat16", "int32", "int64", "uint8", "bool"]
# Grids are kept by these, and half types only get these.
EXACT = ("Arithmetic", "Comparison", "Bitwise", "Logical", "Select", "Masked")
ALPHA = re.compile(r"(add|sub)(_\(|\(.*, ){n}, .*\)$").search
LEAVE_THE_GRID = {"mul", "square", "addcmul", "prod"}


# ---- the operators of the bridge's table


@dataclass(frozen=True)
class Function:
    name: str
    call: str  # "torch.add({0}, {1})"
    is_exact: bool
    is_method: bool  # writes to its first operand


def _calls(name: str, *, in_place: bool) -> Iterator[str]:
    """Calls that eager PyTorch takes: of tensors and numbers, one to three."""
    one = torch.full((2, 2), -0.5)
    places = [f"torch.{name}", f"F.{name}", f"torch.linalg.{name}"]
    for count in (1, 2, 3):
        for kinds in itertools.product("tn", repeat=count):
            if "t" not in kinds or (in_place and kinds[0] != "t"):
                continue
            marks = [
                f"{{{k}}}" if kind == "t" else "{n}"
                for k, kind in enumerate(kinds)
            ]
            for place in ["{0}." + name] if in_place else places:
                given = ", ".join(marks[in_place:])
                text = f"{place}({given})"
                try:
                    names = {"torch": torch, "F": torch.nn.functional}
                    names |= {f"x{k}": one.clone() for k in range(count)}
                    shown = text.format(*(f"x{k}" for k in range(count)), n=1)
                    made = eval(shown, names)
                except Exception:  # noqa: BLE001 (it has no such call)
                    made = None
                is_in_place = any(
                    not torch.equal(names[f"x{k}"], one) for k in range(count)
                )
                if isinstance(made, torch.Tensor) and is_in_place == in_place:
                    yield text
                    break


def _functions() -> list[Function]:
    text = TABLE.read_text(encoding="utf-8")
    found = []
    for name, rule in re.findall(
        r'{"(\w+)", Function::\w+, Rule::(\w+)}', text
    ):
        if rule in ("Copy", "Fill"):
            continue
        is_exact = rule in EXACT and name not in LEAVE_THE_GRID
        for in_place in (False, True):
            whole = f"{name}_" if in_place else name
            found += [
                # An alpha that is given by its place is rounded for itself.
                Function(name, call, is_exact and not ALPHA(call), in_place)
                for call in _calls(whole, in_place=in_place)
            ]
    return found


def _reductions() -> list[str]:
    text = TABLE.read_text(encoding="utf-8")
    rows = text[text.index("kRowNames[]") :]
    names = re.findall(r'{"_?(?:linalg_)?(\w+)[.\w]*", Function::', rows)
    return sorted(set(names) - {"layer_norm", "rms_norm"})


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    FUNCTIONS = _functions()
REDUCTIONS = _reductions()
INDICES = {"argmax", "argmin", "any", "all", "amax", "amin", "max", "min"}


PREAMBLE = """import torch
import torch.nn.functional as F
import gpuos.torch as gt

device, shift = DEVICE, 0.3


def grid(x):
    if not x.is_floating_point():
        return x
    x = torch.where(x == x, x.clamp(-64, 64), 1.0)
    return (x * 8 + shift).floor() / 8


def base(shape, dtype, seed):
    made = torch.randint(-40, 40, shape,
                         generator=torch.Generator().manual_seed(seed))
    if dtype == torch.bool:
        return (made % 4).abs().to(torch.uint8).view(torch.bool).to(device)
    if dtype == torch.uint8:
        made = made.abs()
    made = made / 8 if dtype.is_floating_point else made
    return made.to(dtype).to(device)


memory = {}


def piece(dtype, shift, first, count, step):
    # Others have storages of the same memory too.
    at = shift + first * dtype.itemsize
    if (dtype, shift) not in memory:
        whole = base([32], dtype, 7).cpu().view(torch.uint8)
        memory[dtype, shift] = bytearray(shift) + bytearray(whole.numpy())
    made = torch.frombuffer(memory[dtype, shift], dtype=dtype, offset=at,
                            count=count)
    return made[::step].to(device)

"""


def names_of(device: str, shift: float, *, eager: bool) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(PREAMBLE.replace("DEVICE", repr(device)), names)  # noqa: S102 (ours)
    names["shift"] = shift
    if not eager:
        exec(own_operators.OURS, names)  # noqa: S102 (ours)
    names.update(own_operators.names(eager=eager))
    return names


# ---- drawing: each line is tried eagerly, so shapes fit


class Lane:
    def __init__(
        self, dice: random.Random, *, has_grad: bool, is_alone: bool
    ) -> None:
        self._dice = dice
        self._is_alone = is_alone
        self._names = names_of("cpu", SHIFT, eager=True)
        self._has_grad = has_grad
        self._tensors: list[str] = []
        self._count = 0

    def draw(self) -> Iterator[str]:
        while len(self._tensors) < 2:
            yield self._try(self._base()) or ""
        draws: list[tuple[int, Callable[[], str]]] = [
            (14, self._function),
            (5, self._view),
            (4, self._reduce),
            (2, self._out),
            (3, self._write),
            (2, self._cast),
            (2, self._rows),
            (3, self._move),
            (3, self._product),
            (3, self._elsewhere),
            (2, self._look),
            (1, self._base),
            (1, self._piece),
            (1, self._forget),
            (1, self._own),
        ]
        if self._has_grad:
            draws.append((3, self._gradient))
        draws.append((1, self._transform))
        weights = [weight for weight, _ in draws]
        for _ in range(self._dice.randint(2, MOST_LINES)):
            line = self._try(self._dice.choices(draws, weights)[0][1]())
            if line:
                yield line

    def _try(self, line: str) -> str | None:
        """Return the line if eager PyTorch accepts it; keep some that raise."""
        if self._rounds_twice(line):
            return None
        # A line that raises may have written before; so may it again.
        try:
            with torch.set_grad_enabled(self._has_grad):
                exec(line, self._names)  # noqa: S102 (our own)
        except Exception:  # noqa: BLE001 (whatever it is)
            # One that made nothing, or gave its out= another size, is left out.
            self._forget_broken()
            leaves_open = re.match(r"s?t\d+ = ", line) or "out=" in line
            if leaves_open or self._dice.random() < 0.8:
                return None
        name = line.partition(" = ")[0]
        made = self._names.get(name)
        if isinstance(made, torch.Tensor):
            if made.numel() > MOST_ELEMENTS:
                del self._names[name]
                return None
            if name not in self._tensors:
                self._tensors.append(name)
        return line

    def _forget_broken(self) -> None:
        """Forget tensors that an error left larger than their memory."""
        for name in list(self._tensors):
            x = self._names[name]
            steps = zip(x.shape, x.stride(), strict=True)
            last = x.storage_offset() + sum((n - 1) * k for n, k in steps)
            if (
                x.numel()
                and (last + 1) * x.itemsize > x.untyped_storage().size()
            ):
                self._tensors.remove(name)
                del self._names[name]

    def _rounds_twice(self, line: str) -> bool:
        """Return whether a scalar tensor may lose digits before they are used.

        Eager PyTorch makes bfloat16 of it first, in some operators.
        """
        names = set(re.findall(r"\bt\d+\b", line))
        used = [self._names[name] for name in names & set(self._tensors)]
        return any(x.dtype == torch.bfloat16 for x in used) and any(
            x.is_floating_point() and bool((x != x.bfloat16()).any())
            for x in used
        )

    def _new(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _any(self, *dtypes: str) -> str:
        """A tensor, sometimes through a view; the newest more often."""
        fit = [
            name
            for name in self._tensors
            if not dtypes
            or str(self._names[name].dtype).removeprefix("torch.") in dtypes
        ]
        if not fit:
            dtype = self._dice.choice(dtypes)
            return f"base([2, 3], torch.{dtype}, {self._dice.randrange(1000)})"
        name = fit[
            max(
                self._dice.randrange(len(fit)),
                self._dice.randrange(len(fit)),
            )
        ]
        if self._dice.random() < 0.15:
            return self._look_at(name)
        return name

    def _look_at(self, name: str) -> str:
        rank = self._names[name].ndim
        looks = ["{}.detach()", "{}[None]", "{}.T" if rank == 2 else "{}[...]"]
        if rank:
            looks += ["{}[::2]", "{}[1:]", "{}[0]", "{}[..., -1:]"]
            looks += ["{}.transpose(0, -1)", "{}.flatten()", "{}.unsqueeze(-1)"]
            looks += ["{}.unbind(0)[-1]", "{}.expand(2, *{}.shape)"]
        return self._dice.choice(looks).replace("{}", name)

    def _number(self) -> str:
        return repr(self._dice.choice([0, 1, 2, -1, 0.5, -1.25, 3.0, True]))

    def _base(self) -> str:
        rank = self._dice.randint(0, 4)
        sizes = [0, 1, 1, 2, 2, 3, 3, 5]
        shape = [self._dice.choice(sizes) for _ in range(rank)]
        if self._dice.random() < 0.3:
            shape = [self._dice.choice([2, 3])] * rank
        if self._dice.random() < 0.1:
            shape = [self._dice.choice([64, 257, 1000])]
        dtype = self._dice.choice(DTYPES + FLOATS)
        text = f"base({shape}, torch.{dtype}, {self._dice.randrange(1000)})"
        if rank == 4 and self._dice.random() < 0.5:
            text += ".to(memory_format=torch.channels_last)"
        if self._has_grad and dtype in FLOATS and self._dice.random() < 0.5:
            text += ".requires_grad_()"
        return f"{self._new()} = {text}"

    def _piece(self) -> str:
        """Draw parts of one memory; one in four begins inside of an element."""
        dtype = self._dice.choice(["float32", "float32", "float16", "int32"])
        shift = self._dice.choice([0, 0, 0, 1])
        first, count = self._dice.randrange(8), self._dice.randint(1, 8)
        step = self._dice.choice([1, 1, 2])
        numbers = f"{shift}, {first}, {count}, {step}"
        return f"{self._new()} = piece(torch.{dtype}, {numbers})"

    def _call(self, function: Function) -> str:
        kinds = DTYPES if function.is_exact else FLOATS
        given = [self._any(*kinds) for _ in range(3)]
        if function.name == "where":
            given[0] = self._any("bool")
        return function.call.format(*given, n=self._number())

    def _function(self) -> str:
        function = self._dice.choice(FUNCTIONS)
        text = self._call(function)
        if function.is_method:
            if function.is_exact:
                return text
            target = text.split(f".{function.name}_")[0]
            return f"{text}; {target}.copy_(grid({target}))"
        if not function.is_exact:
            text = f"grid({text})"
        return f"{self._new()} = {text}"

    def _operator(self) -> str:
        sign = self._dice.choice(["+", "-", "<", "==", "&", "|", "^", ">="])
        return f"{self._any()} {sign} {self._any()}"

    def _view(self) -> str:
        name = self._dice.choice(self._tensors)
        return f"{self._new()} = {self._look_at(name)}"

    def _move(self) -> str:
        """Draw an operator that moves elements."""
        x, y = self._any(), self._any()
        dim, shift = self._dice.choice([0, -1, 1]), self._dice.randint(-3, 3)
        text = self._dice.choice(
            [
                f"torch.cat([{x}, {y}, {x}], {dim})",
                f"torch.stack([{x}, {y}], {dim})",
                f"torch.stack([{x}, {x} + 1], {dim})",
                f"{x}.roll({shift}, {dim})",
                f"{x}.roll(({shift}, 1), (0, -1))",
                f"{x}.repeat(2, *[1] * {x}.ndim)",
                f"{x}.tile((2, 3))",
                f"F.pad({x}, (1, 0, 0, 2), value={self._number()})",
            ]
        )
        return f"{self._new()} = {text}"

    def _product(self) -> str:
        """Draw a product of matrices, whose sums are exact on the grid."""
        x, y = self._any(*FLOATS), self._any(*FLOATS)
        text = self._dice.choice(
            [
                f"{x} @ {y}",
                f"{x} @ {x}.transpose(-1, -2)",
                f"F.linear({x}, {y})",
                f"F.linear({x}, {x}, {y})",
                f"torch.addmm({y}, {x}, {x}.T)",
                f"torch.einsum('...i,...i->...', {x}, {x})",
            ]
        )
        return f"{self._new()} = grid({text})"

    def _reduce(self) -> str:
        name = self._dice.choice(REDUCTIONS)
        kinds = DTYPES if name in INDICES else [*FLOATS, "int32", "int64"]
        x = self._any(*kinds)
        if name == "prod":  # what overflows in between, the order decides
            x = f"{x}.clamp(-1, 1)"
        place = "linalg.vector_norm" if name == "vector_norm" else name
        how = []
        if self._dice.random() < 0.7:
            how.append(f"dim={self._dice.choice([0, -1, 1])}")
            if self._dice.random() < 0.5 and "softmax" not in name:
                how.append("keepdim=True")
        made = f"torch.{place}({', '.join([x, *how])})"
        if name in ("max", "min") and how:
            made += ".values"
        if name not in ("sum", *INDICES):
            made = f"grid({made})"
        elif name == "sum":
            made = f"{made}.clamp(-64, 64)"
        return f"{self._new()} = {made}"

    def _out(self) -> str:
        methods = [f for f in FUNCTIONS if not f.is_method and f.is_exact]
        function = self._dice.choice(methods)
        text = self._call(function)
        return f"{text[:-1]}, out={self._any()})"

    def _write(self) -> str:
        x = self._any()
        rest = [
            f"{x}.copy_({self._any()})",
            f"{x}[...] = {self._any()}",
            f"{x}.fill_({self._number()})",
            f"{x}.zero_()",
            f"{x}[{x} > 1] = 1",
            f"{x}[:1] += {self._any()}",
            f"{x}.masked_fill_({self._any('bool')}, {self._number()})",
            f"{x}.clamp_(-8, 8)",
        ]
        return self._dice.choice(rest)

    def _cast(self) -> str:
        dtype = self._dice.choice(DTYPES)
        x = self._any()
        if dtype not in FLOATS:
            x = f"{x}.clamp(0, 15)"
        text = self._dice.choice(["{}.to(torch.{})", "{}.type(torch.{})"])
        return f"{self._new()} = {text.format(x, dtype)}"

    def _rows(self) -> str:
        x = self._any(*FLOATS)
        text = self._dice.choice(
            [
                f"F.layer_norm({x}, {x}.shape[-1:])",
                f"F.rms_norm({x}, {x}.shape[-1:])",
                f"{x} - {x}.mean(-1, keepdim=True)",
                f"{x}.std(dim=-1, keepdim=True, correction=0) + {x}",
            ]
        )
        return f"{self._new()} = grid({text})"

    def _elsewhere(self) -> str:
        """Returns a line with an operation that PyTorch itself runs."""
        x, y = self._any(), self._any()
        text = self._dice.choice(
            [
                self._operator(),
                self._operator(),
                f"torch.cat([{x}, {x}])",
                f"torch.stack([{x}, {x}], -1)",
                f"{x}.cumsum(-1).clamp(-64, 64)",
                f"{x}.sort(-1).values",
                f"{x}.flip(0)",
                f"{x}.roll(1)",
                f"{x}.contiguous()",
                f"{x}.clone()",
                f"{x}.reshape(-1)",
                f"({x} @ {y}).clamp(-64, 64)",
                f"{x}.index_select(0, torch.tensor([0]))",
                f"{x}.repeat(2)",
                f"torch.empty_like({x}).copy_({x})",
                f"torch._foreach_mul([{x}, {y}], 0.5)[1]",
                f"torch.tensor_split({x}, ({y} > 0).sum().cpu()[None])[0]",
                f"{x}.contiguous(memory_format=torch.channels_last)",
                f"torch.zeros_like({x}) + {y}",
            ]
        )
        return f"{self._new()} = {text}"

    def _look(self) -> str:
        x = self._any()
        looks = [
            f"s{self._new()} = {x}.tolist()",
            f"s{self._new()} = ({x} > 0).sum().item()",
            f"s{self._new()} = torch.equal({x}, {self._any()})",
            f"s{self._new()} = {x}.shape, {x}.stride(), {x}.is_contiguous()",
            f"{self._new()} = {x} + 1 if {x}.sum() > 0 else {x} - 1",
            "gt.flush()",
        ]
        return self._dice.choice(looks)

    def _forget(self) -> str:
        name = self._dice.choice(self._tensors)
        if len(self._tensors) < 3:
            return ""
        self._tensors.remove(name)
        return f"del {name}"

    def _own(self) -> str:
        # Gradients know nothing of what it writes; any thread is told what
        # failed.
        x, may_write = self._any(*FLOATS), not self._has_grad
        if not self._is_aligned(x):
            return ""  # refused, as eager PyTorch does not
        text = own_operators.draw(
            self._dice, x, writes=may_write, may_fail=self._is_alone
        )
        is_call = "fails" in text or "swap" in text
        return text if is_call else f"{self._new()} = {text}"

    def _is_aligned(self, text: str) -> bool:
        try:
            x = eval(text, self._names)
        except Exception:  # noqa: BLE001 (such a line is left out)
            return True
        return x.data_ptr() % x.itemsize == 0

    def _gradient(self) -> str:
        x = self._any(*FLOATS)
        text = self._dice.choice(
            [
                f"torch.autograd.grad(({x} * {x}).sum(), {x})[0]",
                f"torch.autograd.grad({x}.sum(), {x})[0]",
                f"{x}.detach()",
            ]
        )
        return f"{self._new()} = {text}"

    def _transform(self) -> str:
        x = self._any(*FLOATS)
        texts = [
            f"torch.func.grad(lambda v: (v * v - v).sum())({x})",
            f"torch.func.vmap(lambda v: v * 2 - v.sum())({x})",
        ]
        # PyTorch's levels of forward AD are all threads' own.
        if self._is_alone:
            texts.append(
                f"torch.func.jvp(lambda v: v * v + 1, ({x},), ({x},))[1]"
            )
        text = self._dice.choice(texts)
        return f"{self._new()} = {text}.clamp(-64, 64)"
