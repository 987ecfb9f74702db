"""Random lines of PyTorch, in a scheduler and without one.

A case has lines for one to three threads, such as `t7 = torch.exp(t3[1:])`.
The same lines run eagerly; in the end all tensors must be equal, and each line
must raise in both or in neither. A failing case is repeated twice with a moved
grid of numbers (torch_lines.py), because a last digit may decide it. Real errors
remain.
"""

import random
import re
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any

import lanes
import own_operators
import torch
from torch_lines import PREAMBLE, Lane, names_of
from watch import watch

import gpuos.torch as gt

SHIFTS = (0.3, 0.37, 0.22)
WAIT_S = 60.0


@dataclass(frozen=True)
class Case:
    lanes: tuple[tuple[str, ...], ...]
    options: dict[str, Any]
    has_grad: bool

    def text(self, device: str) -> str:
        """Python that can be pasted, lane after lane."""
        made = [PREAMBLE.replace("DEVICE", repr(device))]
        if any("own" in line for lane in self.lanes for line in lane):
            made.append(own_operators.OURS)
        grad = "enable_grad" if self.has_grad else "no_grad"
        options = ", ".join(f"{k}={v!r}" for k, v in self.options.items())
        for lane in self.lanes:
            made.append(f"with torch.{grad}(), gt.scheduler({options}):")
            made += [f"    {line}" for line in lane]
        return "\n".join(made)


def draw(dice: random.Random) -> Case:
    has_grad = dice.random() < 0.3
    count = dice.choice([1, 1, 1, 1, 2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawers = (
            Lane(dice, has_grad=has_grad, is_alone=count == 1)
            for _ in range(count)
        )
        drawn = tuple(
            tuple(line for line in one.draw() if line) for one in drawers
        )
    options = {
        "auto_flush_ms": dice.choice([0.05, 2.0, 60_000.0, 60_000.0]),
        "deterministic": dice.choice([None, True]),
        "capacity": dice.choice([3, 64, 8192]),
    }
    return Case(drawn, options, has_grad)


# ---- running one


def _run(lane: tuple[str, ...], names: dict[str, Any], errors: list) -> None:
    for line in lane:
        try:
            exec(line, names)  # noqa: S102 (our own)
            errors.append("")
        except Exception as error:  # noqa: BLE001 (which one is compared)
            errors.append(type(error).__name__)


def _values(names: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in names.items() if re.fullmatch(r"s?t\d+", k)}


def _in_scheduler(
    case: Case, lane: tuple[str, ...], names: dict[str, Any], errors: list
) -> None:
    gt.bridge().watch_anew()  # forget that a thread gained nothing
    with (
        torch.set_grad_enabled(case.has_grad),
        gt.scheduler(**case.options),
        warnings.catch_warnings(),
    ):
        _run(lane, names, errors)


def finding(device: str, case: Case) -> str:
    """Return the error of a case, or ""."""
    found = ""
    for shift in SHIFTS:
        found = _finding(device, case, shift)
        if not found:
            return ""
    return found


def _finding(device: str, case: Case, shift: float) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, ours, threads = [], [], []
        for lane in case.lanes:
            eager.append((names_of(device, shift, eager=True), []))
            ours.append((names_of(device, shift, eager=False), []))
            with torch.set_grad_enabled(case.has_grad):
                _run(lane, *eager[-1])
            work = (case, lane, *ours[-1])
            threads.append(threading.Thread(target=_in_scheduler, args=work))
        if len(threads) == 1:
            _in_scheduler(case, case.lanes[0], *ours[0])
        else:
            for thread in threads:
                thread.daemon = True
                thread.start()
            for thread in threads:
                thread.join(WAIT_S)
                if thread.is_alive():
                    return f"a thread was not done in {WAIT_S:.0f} s"
        for lane, (wanted, raised), (got, raised_too) in zip(
            case.lanes, eager, ours, strict=True
        ):
            for line, one, other in zip(lane, raised, raised_too, strict=True):
                if one != other:
                    return f"{line}: expected {one or 'no error'}, got {other}"
            values = _values(got)
            for name, value in _values(wanted).items():
                wrong = _difference(value, values[name])
                if wrong:
                    return f"{name}: {wrong}"
    return ""


def _difference(wanted: Any, got: Any) -> str:
    if not isinstance(wanted, torch.Tensor):
        same = repr(wanted) == repr(got)
        return "" if same else f"expected {wanted}, got {got}"
    for what in ("dtype", "shape", "requires_grad", "device"):
        one, other = getattr(wanted, what), getattr(got, what)
        if one != other:
            return f"expected a {what} of {one}, got {other}"
    if wanted.numel() > 1 and _steps(wanted) != _steps(got):
        return f"expected strides {wanted.stride()}, got {got.stride()}"
    x, y = wanted.detach(), got.detach()
    if torch.equal(x, y):
        return ""
    same = (x == y) | (x.isnan() & y.isnan())
    if bool(same.all()):
        return ""
    at = tuple((~same).nonzero()[0].tolist())
    return f"at {at}: expected {x[at]}, got {y[at]}"


def _steps(x: torch.Tensor) -> list[int]:
    """Strides that matter."""
    return [k for n, k in zip(x.shape, x.stride(), strict=True) if n > 1]


def first_finding(
    device: str, count: int, seed: int, *, seconds: float = float("inf")
) -> str:
    """Return the first failing one of `count` cases with its error, or ""."""
    end = time.monotonic() + seconds
    for index in range(count):
        if time.monotonic() > end:
            break
        case = draw(random.Random(f"{seed}:{index}"))
        with watch().case(lambda case=case: case.text(device)):
            found = finding(device, case)
        if found:
            case = shrink(device, case)
            found = finding(device, case) or found
            return f"seed {seed}, case {index}: {found}\n{case.text(device)}"
    return ""


# ---- making a finding smaller


def shrink(device: str, case: Case, tries: int = 3) -> Case:
    """Fewer lines that are wrong still, seen in one of a few tries."""

    def is_wrong(smaller: Case) -> bool:
        return any(finding(device, smaller) for _ in range(tries))

    return lanes.shrink(case, is_wrong)
