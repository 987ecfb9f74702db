"""Changes that all ranks of a process group make, or none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import torch.distributed

import gpuos

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Told = tuple[str, str, str | None]  # a rank's key, its text, what failed
MOST_TEXT = 200  # the most characters of a text in a message


def prepare_on_all(
    key: object, text: object, prepare: Callable[[], T], group: Any
) -> T:
    """Return the result of `prepare`, once each rank of a group has its own.

    A collective. A failure here is sent to the others, which would otherwise
    wait for this rank until the group's timeout.

    Parameters
    ----------
    key, text : str
        They must be the same on all ranks.
    prepare : callable
        Called once; must have no visible effect.
    group : torch.distributed.ProcessGroup
        Its ranks all call this; its timeout bounds the wait.

    Raises
    ------
    gpuos.InvalidArgument
        On all ranks: it failed on some, which the message names, or their texts
        differ.
    gpuos.Error
        A rank has died, or did not call this in time.
    """
    ranks = _ranks_of(group)
    made, failure = None, None
    try:
        made = prepare()
    except Exception as error:  # noqa: BLE001 (handed on, to all)
        failure = error
    why = None if failure is None else str(failure) or type(failure).__name__
    told: list[Any] = [None] * len(ranks)
    try:
        torch.distributed.all_gather_object(
            told, (str(key), str(text), why), group=group
        )
    except Exception as error:
        raise gpuos.Error(
            f"register_elementwise: {key!r}: expected ranks {ranks} to call "
            f"this too, and nothing was changed here: {error}"
        ) from error
    try:
        if complaint := _complaint(dict(zip(ranks, told, strict=True))):
            raise gpuos.InvalidArgument(
                f"register_elementwise: {key!r}: {complaint}; nothing was "
                "changed on any rank"
            ) from failure
    finally:
        # Its traceback refers to this frame. The group would live until the
        # next garbage collection, and its threads until the interpreter ends.
        del failure
    return made  # type: ignore[return-value] # without a failure it is one


def _ranks_of(group: Any) -> list[int]:
    """Return the ranks of a group that contains this process."""
    distributed = torch.distributed
    if distributed.is_available() and isinstance(
        group, distributed.ProcessGroup
    ):
        ranks: list[int] = distributed.get_process_group_ranks(group)
        return ranks
    text = (
        "register_elementwise: expected a group of torch.distributed that this "
        f"process belongs to, such as torch.distributed.group.WORLD, got "
        f"{group!r}"
    )
    raise gpuos.InvalidArgument(text)


def _complaint(told: dict[int, Told]) -> str | None:
    """Return the reason why these ranks cannot continue, or None."""
    failed = {rank: why for rank, (_, _, why) in told.items() if why}
    if failed:
        return "; ".join(
            f"{_named(ranks)}: {why}" for why, ranks in _grouped(failed).items()
        )
    given = _grouped({rank: one[:2] for rank, one in told.items()})
    if len(given) == 1:
        return None
    shown = [
        f"{key!r}: {_short(text)!r} on {_named(ranks)}"
        for (key, text), ranks in given.items()
    ]
    return f"expected one expression on all ranks, got {', '.join(shown)}"


def _grouped(by_rank: dict[int, Any]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for rank, value in by_rank.items():
        found.setdefault(value, []).append(rank)
    return found


def _named(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."
