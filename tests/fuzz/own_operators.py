"""Operators of the scheduler's own runtime and requests, among PyTorch's lines.

`OURS` is Python that can be pasted; eagerly its names mean the same without
gpuos.
"""

import random
import threading
from typing import Any

import torch

OURS = """import threading

own_defined, own_lock = set(), threading.Lock()

own_looks = {  # where an error must come out
    "flush": lambda x: gt.flush(sync=True),
    "list": lambda x: (x + 1).tolist(),
    "resize_": lambda x: (torch.abs(x), x.resize_(x.shape)),
    "sort": lambda x: (torch.abs(x), x.sort()),
}


def own_runtime():
    rt = gt.runtime(device)
    with own_lock:
        if rt in own_defined:
            return rt
        own_defined.add(rt)
        rt.define("own", expression="o = x - 1")
        rt.define("own_fails", source='''GPUOS_OPERATOR(own_fails) {
  float* o = task.pointer<float>(0);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    o[i + 1000] = 1.0f;
}''', inputs=0, dtype="float32", elementwise=False, checked=True)
    return rt


def own(x, out=None):
    out = torch.empty_like(x) if out is None else out
    own_runtime().submit("own", x.detach(), out=out.detach())
    return out


def own_swap(body):
    own_runtime().replace("own", body)


def own_request(x, y, out=None):
    out = torch.empty_like(x) if out is None else out
    gt.submit_sub(x.detach(), y.detach(), out.detach())
    return out


def own_fails(x, look):
    own_runtime().submit("own_fails", out=torch.zeros(4, device=device))
    try:
        own_looks[look](x)
    except RuntimeError as error:
        assert "own_fails" in str(error), error
    else:
        raise AssertionError("expected what fails to be said")
"""

SAME_BODIES = ["o = x - 1", "o = x * 1 - 1"]
LOOKS = ["flush", "list", "resize_", "sort"]


def _into(x: Any, made: Any, out: Any) -> Any:
    return (torch.empty_like(x.detach()) if out is None else out).copy_(made)


def _own(x: Any, out: Any = None) -> Any:
    return _into(x, x.detach() - 1, out)


def _request(x: Any, y: Any, out: Any = None) -> Any:
    return _into(x, x.detach() - y.detach(), out)


_DEFINED: set[Any] = set()
_LOCK = threading.Lock()


def names(*, eager: bool) -> dict[str, Any]:
    """Returns the values of the names in `OURS`, which is executed first."""
    if eager:
        return {
            "own": _own,
            "own_request": _request,
            "own_fails": lambda *_: None,
            "own_swap": lambda *_: None,
        }
    return {"own_defined": _DEFINED, "own_lock": _LOCK}


def draw(dice: random.Random, x: str, *, writes: bool, may_fail: bool) -> str:
    """A line with one; `writes`: `x` may be written to."""
    if may_fail and dice.random() < 0.3:
        return f"own_fails({x}, {dice.choice(LOOKS)!r})"
    if dice.random() < 0.2:
        return f"own_swap({dice.choice(SAME_BODIES)!r})"
    call = dice.choice([f"own({x}", f"own_request({x}, {x}.clamp(-4, 4)"])
    if writes and dice.random() < 0.5:
        return f"{call}, {x})"
    return f"{call})"
