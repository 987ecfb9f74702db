"""Shrinking of cases with several lanes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any


def shrink(case: Any, is_wrong: Callable[[Any], bool]) -> Any:
    """Fewer `lanes`, and fewer parts of each, that are wrong still."""
    for k in reversed(range(len(case.lanes))):
        smaller = replace(case, lanes=case.lanes[:k] + case.lanes[k + 1 :])
        if smaller.lanes and is_wrong(smaller):
            case = smaller
    for k in range(len(case.lanes)):
        size = max(len(case.lanes[k]) // 2, 1)
        while size:
            at = 0
            while at < len(case.lanes[k]):
                lane = case.lanes[k][:at] + case.lanes[k][at + size :]
                lanes = (*case.lanes[:k], lane, *case.lanes[k + 1 :])
                smaller = replace(case, lanes=lanes)
                if is_wrong(smaller):
                    case = smaller
                else:
                    at += size
            size //= 2
    return case
