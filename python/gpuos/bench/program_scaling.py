"""New shapes in every call; cost over operations, elements and calls."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from gpuos import _bench
from gpuos.bench.context import SETS, seconds_of
from gpuos.bench.program_chain import (
    CHECKED_SETS,
    ELEMS,
    PEER_CALLS,
    call_sets,
    compile_now,
)
from gpuos.bench.program_peers import Peer, make_peers, torch_compiled
from gpuos.bench.program_work import OPERATIONS, chain_work
from gpuos.bench.row import (
    Series,
    Unavailable,
    attempt,
    check_right,
    median,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuos.bench.context import Context
    from gpuos.bench.row import Row

ROOM = 4 << 20  # elements of all sets together, unless one has more
MOST_CHECKED = 1 << 16
MOST_PEER_CALLS = 1024
PEER_REPS = 3


def run_shapes(context: Context, row: Row) -> None:
    """Fill the row of another shape in every call against one shape."""
    shapes = context.sizes.program_shapes
    room = ELEMS + shapes
    program = _bench.Program(OPERATIONS)
    for mode in context.modes:
        sets = call_sets(shapes)
        with context.rig(mode, room, sets, compile_programs_after=0) as rig:
            interpreted = _shapes_ratio(context, rig, program)
            row.also[f"{mode}, interpreted"] = interpreted
        # One that compiles what is called often, as all do by default.
        with context.rig(mode, room, sets) as rig:
            compile_now(rig, program)
            before = rig.stats()["programs_compiled"]
            value = _shapes_ratio(context, rig, program)
            made = rig.stats()["programs_compiled"] - before
        if made:
            message = f"expected no compilation for a shape, came {made}"
            raise ValueError(message)
        row.value = row.also[mode] = value
    row.note = f"{shapes} shapes, nothing compiled for them"
    work = chain_work(room)
    row.peer(
        "torch.compile(dynamic=True)",
        lambda: _peer_ratio(
            context, torch_compiled(context, work, dynamic=True)
        ),
    )


def _shapes_ratio(
    context: Context, rig: _bench.Rig, program: _bench.Program
) -> float:
    sizes = context.sizes
    shapes = sizes.program_shapes
    check_right(
        _bench.program_wrong(rig, OPERATIONS, ELEMS + 1, CHECKED_SETS),
        "another shape",
    )
    one = _bench.program_stream_ns(rig, program, ELEMS, shapes, sizes.reps)
    # As many elements on the average.
    many = _bench.program_shapes_ns(
        rig, program, ELEMS - shapes // 2, shapes, sizes.reps
    )
    return median(many) / median(one)


def _peer_ratio(context: Context, peer: Peer) -> float:
    shapes = context.sizes.program_shapes
    first = ELEMS - shapes // 2 + 1
    sets = [tuple(x[: first + i] for x in peer.inputs) for i in range(shapes)]
    one = replace(peer, inputs=tuple(x[:ELEMS] for x in peer.inputs))

    def many() -> None:
        for inputs in sets:
            peer.call(*inputs)
        peer.wait()

    reps = context.sizes.reps
    return 1e6 * seconds_of(many, reps) / shapes / one.stream_us(shapes, reps)


def run_operations(context: Context, row: Row) -> None:
    """Fill the lines of time over the number of operations."""
    x = list(context.sizes.program_operations)
    series = Series("operations", f"us a call, n={ELEMS}", x)
    context.series["operations"] = series
    with context.rig("resident", compile_programs_after=0) as rig:
        for operations in x:
            _add_tiers(context, series, rig, operations, ELEMS)
    for operations in x:
        work = chain_work(ELEMS, operations)
        peers = make_peers(context, work, with_compilers=False)
        _add_peers(series, peers, _latency)
    row.value = _count(series)


def run_elements(context: Context, row: Row) -> None:
    """Fill the lines of time over the number of elements."""
    x = list(context.sizes.program_elems)
    series = Series("elements", f"us a call, {OPERATIONS} operations", x)
    context.series["elements"] = series
    for elems in x:
        sets = max(1, min(SETS, ROOM // elems))
        with context.rig(
            "resident", elems, sets, compile_programs_after=0
        ) as rig:
            _add_tiers(context, series, rig, OPERATIONS, elems)
    for elems in x:
        work = chain_work(elems)
        peers = make_peers(context, work, with_compilers=False)
        _add_peers(series, peers, _latency)
    row.value = _count(series)


def run_pending(context: Context, row: Row) -> None:
    """Fill the lines of time over the number of calls that are pending."""
    x = list(context.sizes.program_pending)
    series = Series("calls awaited together", f"us a call, n={ELEMS}", x)
    context.series["pending"] = series
    program = _bench.Program(OPERATIONS)
    with context.rig("resident", compile_programs_after=0) as rig:
        _add_streams(context, series, rig, program, "interpreted")
        compile_now(rig, program)
        _add_streams(context, series, rig, program, "compiled")
    peers = make_peers(context, chain_work(ELEMS), with_compilers=False)
    for k in x:
        # The lines end where one more point would take seconds.
        if k <= MOST_PEER_CALLS:
            _add_peers(
                series, peers, partial(Peer.stream_us, calls=k, reps=PEER_REPS)
            )
    row.value = _count(series)


def _add_streams(
    context: Context,
    series: Series,
    rig: _bench.Rig,
    program: _bench.Program,
    name: str,
) -> None:
    check_right(
        _bench.program_wrong(rig, OPERATIONS, ELEMS, CHECKED_SETS), name
    )
    series.lines[name] = [
        median(
            _bench.program_stream_ns(rig, program, ELEMS, k, _reps(context, k))
        )
        / 1e3
        for k in series.x
    ]


def _reps(context: Context, size: int) -> int:
    # The largest points take a second each.
    return max(1, min(context.sizes.reps * 10, (1 << 18) // size))


def _add_tiers(
    context: Context,
    series: Series,
    rig: _bench.Rig,
    operations: int,
    elems: int,
) -> None:
    program = _bench.Program(operations)

    def latency() -> float:
        if elems <= MOST_CHECKED:
            wrong = _bench.program_wrong(rig, operations, elems)
            check_right(wrong, f"{operations} operations of {elems}")
        reps = _reps(context, elems)
        return median(_bench.program_latency_us(rig, program, elems, reps))

    def compiled() -> float:
        compile_now(rig, program)
        return latency()

    _add(series, "interpreted", latency())
    try:
        _add(series, "compiled", compiled())
    except Unavailable:
        _add(series, "compiled", None)


def _latency(peer: Peer) -> float:
    return peer.latency_us(PEER_CALLS // 10)


def _add_peers(
    series: Series,
    peers: dict[str, Peer | str],
    measure: Callable[[Peer], float],
) -> None:
    for name, peer in peers.items():
        value = (
            peer
            if isinstance(peer, str)
            else attempt(
                lambda it=peer: measure(it)  # type: ignore[misc]
            )
        )
        _add(series, name, None if isinstance(value, str) else value)


def _add(series: Series, name: str, value: float | None) -> None:
    series.lines.setdefault(name, []).append(value)


def _count(series: Series) -> int:
    return sum(v is not None for line in series.lines.values() for v in line)
