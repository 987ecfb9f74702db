"""Measure new shapes in every call, and cost over sizes and counts."""

from dataclasses import replace
from functools import partial

from gpuos.bench import _loops
from gpuos.bench.context import SETS, Context
from gpuos.bench.program_chain import (
    CHECKED_SETS,
    ELEMS,
    PEER_CALLS,
    call_sets,
    compile_now,
)
from gpuos.bench.program_peers import (
    Peer,
    make_peers,
    torch_compiled,
    values_of,
)
from gpuos.bench.program_work import OPERATIONS, chain_work
from gpuos.bench.row import (
    Row,
    Series,
    Table,
    Unavailable,
    check_right,
    median,
    points,
)
from gpuos.bench.timing import MICRO, seconds_of

TABLE = Table()
ROOM = 4 << 20  # elements of all sets, unless one has more
MOST_CHECKED = 1 << 16


@TABLE.rows("shapes", "a new shape in every call over one shape | x <= 1.2")
def run_shapes(context: Context, row: Row) -> None:
    shapes = context.sizes.program_shapes
    room = ELEMS + shapes
    program = _loops.Program(OPERATIONS)
    for mode in context.modes:
        sets = call_sets(shapes)
        with context.rig(mode, room, sets, compile_programs_after=0) as rig:
            interpreted = _shapes_ratio(context, rig, program)
            row.also[f"{mode}, interpreted"] = interpreted
        # This runtime compiles programs that are called often, as by default.
        with context.rig(mode, room, sets) as rig:
            compile_now(rig, program)
            before = rig.stats()["programs_compiled"]
            value = _shapes_ratio(context, rig, program)
            made = rig.stats()["programs_compiled"] - before
        if made:
            message = f"expected no compilation for a shape, came {made}"
            raise ValueError(message)
        row.put(mode, value)
    row.note = f"{shapes} shapes, nothing compiled for them"
    work = chain_work(room)
    row.peer(
        "torch.compile(dynamic=True)",
        lambda: _peer_ratio(
            context, torch_compiled(context, work, dynamic=True)
        ),
    )


def _shapes_ratio(
    context: Context, rig: _loops.Rig, program: _loops.Program
) -> float:
    sizes = context.sizes
    shapes = sizes.program_shapes
    check_right(
        _loops.program_wrong(rig, OPERATIONS, ELEMS + 1, CHECKED_SETS),
        "another shape",
    )
    one = _loops.program_stream_ns(rig, program, ELEMS, shapes, sizes.reps)
    # The average number of elements is equal.
    many = _loops.program_stream_ns(
        rig, program, ELEMS - shapes // 2, shapes, sizes.reps, grows=True
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
    return MICRO * seconds_of(many, reps) / shapes / one.stream_us(shapes, reps)


def _put_lines(
    context: Context,
    row: Row,
    series: Series,
    works: list[tuple[int, int]],
) -> None:
    """Add a point to every line for each (operations, elements)."""
    context.series[series.x_name] = series
    for operations, elems in works:
        sets = max(1, min(SETS, ROOM // elems))
        with context.rig(
            "resident", elems, sets, compile_programs_after=0
        ) as rig:
            _add_tiers(context, series, rig, operations, elems)
    for operations, elems in works:
        work = chain_work(elems, operations)
        peers = make_peers(context, work, with_compilers=False)
        latency_us = partial(Peer.latency_us, reps=PEER_CALLS // 10)
        for name, value in values_of(peers, latency_us).items():
            series.add(name, value)
    row.value = points(series)


@TABLE.rows("operations", "points of time over operations |")
def run_operations(context: Context, row: Row) -> None:
    x = list(context.sizes.program_operations)
    series = Series("operations", f"us a call, n={ELEMS}", x)
    _put_lines(context, row, series, [(each, ELEMS) for each in x])


@TABLE.rows("elements", "points of time over elements |")
def run_elements(context: Context, row: Row) -> None:
    x = list(context.sizes.program_elems)
    series = Series("elements", f"us a call, {OPERATIONS} operations", x)
    _put_lines(context, row, series, [(OPERATIONS, each) for each in x])


def _add_tiers(
    context: Context,
    series: Series,
    rig: _loops.Rig,
    operations: int,
    elems: int,
) -> None:
    program = _loops.Program(operations)

    def latency() -> float:
        if elems <= MOST_CHECKED:
            wrong = _loops.program_wrong(rig, operations, elems)
            check_right(wrong, f"{operations} operations of {elems}")
        # The largest points take a second each.
        reps = max(1, min(context.sizes.reps * 10, (1 << 18) // elems))
        return median(_loops.program_latency_us(rig, program, elems, reps))

    def compiled() -> float:
        compile_now(rig, program)
        return latency()

    series.add("interpreted", latency())
    try:
        series.add("compiled", compiled())
    except Unavailable:
        series.add("compiled", None)
