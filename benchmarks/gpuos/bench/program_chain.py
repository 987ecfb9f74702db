"""Measure a chain of 140 operations: tracing, first call, latency, streams."""

from functools import partial

import gpuos
from gpuos.bench import _loops
from gpuos.bench.context import SETS, Context
from gpuos.bench.program_peers import (
    Peer,
    add_peers,
    exact,
    fastest,
    make_ours,
    make_peers,
)
from gpuos.bench.program_work import OPERATIONS, chain_work
from gpuos.bench.row import (
    Row,
    Table,
    Unavailable,
    check_right,
    median,
)
from gpuos.bench.timing import MICRO, seconds

TABLE = Table()
CHAIN = "140 operations, n=4096"
ELEMS = 4096
HOST_ELEMS = 1024
LINK_ELEMS = 1024
CHECKED_SETS = 16
PEER_CALLS = 100
RELATIVE = 1e-4  # as in benchmarks/programs.cpp
ABSOLUTE = 1e-5


@TABLE.rows("trace", f"{CHAIN}, trace | us")
def run_trace(context: Context, row: Row) -> None:
    work = chain_work(ELEMS)
    times = []
    with context.runtime(context.modes[-1]) as rt:
        inputs = [rt.array(x) for x in work.inputs]
        for _ in range(context.sizes.program_firsts + 1):
            fused = rt.fuse(work.ours)
            times.append(MICRO * seconds(partial(fused.warm, *inputs)))
        operations = fused.warm(*inputs).operations
        ours = make_ours(rt, work)
        ours.check(exact(work), RELATIVE, ABSOLUTE)
    row.value = median(times[1:])
    row.note = f"once for each structure; {operations} operations"


def check_compiled(rig: _loops.Rig, *, compiled: bool) -> None:
    """Raise an error unless a rig's programs run in the expected tier."""
    count = rig.stats()["programs_compiled"]
    if (count > 0) is not compiled:
        message = (
            f"expected {'compiled' if compiled else 'interpreted'} programs, "
            f"came {count} compiled ones"
        )
        raise ValueError(message)


def compile_now(rig: _loops.Rig, program: _loops.Program) -> None:
    """Compile `program`, or raise Unavailable."""
    why = _loops.compile_program(rig, program)
    if why:
        raise Unavailable(why)
    check_compiled(rig, compiled=True)


@TABLE.rows(
    "chain",
    f"{CHAIN}, first call | us <= 60",
    f"{CHAIN}, interpreted, awaited | us <= 30",
    f"{CHAIN}, compiled, awaited | us <= 14",
    f"{CHAIN}, interpreted, a call | us <= 0.5",
    f"{CHAIN}, compiled, a call | us <= 0.3",
)
def run_chain(
    context: Context,
    first: Row,
    interpreted: Row,
    compiled: Row,
    interpreted_stream: Row,
    compiled_stream: Row,
) -> None:
    program = _loops.Program(OPERATIONS)
    sizes = context.sizes
    peers = make_peers(context, chain_work(ELEMS))
    add_peers(first, peers, _first_us)
    add_peers(interpreted, peers, partial(Peer.latency_us, reps=PEER_CALLS))
    stream_us = partial(Peer.stream_us, calls=PEER_CALLS, reps=sizes.reps)
    add_peers(interpreted_stream, peers, stream_us)
    peers.clear()  # frees their device memory
    compiled.peers = dict(interpreted.peers)
    compiled_stream.peers = dict(interpreted_stream.peers)
    for mode in context.modes:
        with context.rig(
            mode, sets=call_sets(sizes.program_calls), compile_programs_after=0
        ) as rig:
            first.put(
                mode,
                median(
                    _loops.program_first_us(
                        rig, OPERATIONS, ELEMS, sizes.program_firsts
                    )
                ),
            )
            _fill_tier(context, rig, mode, interpreted, interpreted_stream)
            check_compiled(rig, compiled=False)
            compile_now(rig, program)
            _fill_tier(context, rig, mode, compiled, compiled_stream)
    first.note = "built, never seen by the runtime; peers with their compiler"


def call_sets(calls: int) -> int:
    """Return how many arrays a stream of independent calls needs."""
    return max(SETS, calls)


def _first_us(peer: Peer) -> float:
    if not peer.first_us:
        message = "compiles nothing"
        raise Unavailable(message)
    return peer.first_us


def _fill_tier(
    context: Context, rig: _loops.Rig, mode: str, latency: Row, stream: Row
) -> None:
    program = _loops.Program(OPERATIONS)
    sizes = context.sizes
    check_right(
        _loops.program_wrong(rig, OPERATIONS, ELEMS, CHECKED_SETS), latency.name
    )
    each_us = _loops.program_latency_us(rig, program, ELEMS, sizes.program_reps)
    latency.put(mode, median(each_us))
    each_ns = _loops.program_stream_ns(
        rig, program, ELEMS, sizes.program_calls, sizes.reps
    )
    stream.put(mode, median(each_ns) / 1e3)


@TABLE.rows(
    "links",
    "ordered submit in C++, an add | ns <= 60",
    "dependent adds, n=1024, a link | ns <= 150",
)
def run_links(context: Context, submit: Row, link: Row) -> None:
    sizes = context.sizes
    for mode in context.modes:
        with context.rig(mode) as rig:
            times = rig.chain_ns(sizes.submits, LINK_ELEMS, sizes.reps)
        submit.put(mode, median(times["submit_ns"]))
        link.put(mode, median(times["link_ns"]))
    link.note = f"{sizes.submits} adds to one buffer"
    if not context.is_cuda:
        return
    with context.rig("burst") as rig:

        def graph() -> float:
            nodes, reps = sizes.graph_nodes, sizes.reps
            device = context.peers()
            return median(
                device.graph_ns(rig, nodes, LINK_ELEMS, False, 4, reps)
            )

        link.peer("graph chain", graph)


@TABLE.rows(
    "host",
    "host, 140 operations, n=1024, over NumPy and torch | x >= 5 on host",
)
def run_host(context: Context, row: Row) -> None:
    work = chain_work(HOST_ELEMS)
    expected = exact(work)
    reps = context.sizes.program_reps
    add_peers(
        row,
        make_peers(context.on_host(), work),
        partial(Peer.latency_us, reps=PEER_CALLS),
    )
    theirs = fastest(row, "numpy", "torch eager")
    with gpuos.Runtime("host", compile_programs_after=0) as rt:
        ours = make_ours(rt, work)
        ours.check(expected, RELATIVE, ABSOLUTE)
        us = row.also["interpreted us"] = ours.latency_us(reps)
        try:
            ours.compile()
        except gpuos.BackendUnavailable as error:
            row.also["compiled us"] = str(error)
        else:
            ours.check(expected, RELATIVE, ABSOLUTE)
            us = row.also["compiled us"] = ours.latency_us(reps)
        workers = rt.stats()["workers"]
    row.value = theirs / us if theirs else None
    row.note = f"peers in us; over the faster one; {workers} workers"
