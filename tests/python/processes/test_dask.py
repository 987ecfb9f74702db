"""Dask workers, each a process, exchange objects of gpuos.

A test that would wait for ever fails at its deadline.
"""

import os
import pickle
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import sending_cases as cases
from deadlines import WAIT_S
from program_support import python_path

import gpuos

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

pytestmark = [
    pytest.mark.dask,
    # Dask's own, when a worker is ended.
    pytest.mark.filterwarnings("ignore"),
]
VALUES = [np.arange(4, dtype="float32") * k for k in range(5)]


@pytest.fixture(scope="module")
def client():
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = python_path(*Path(__file__).parents[:2])
    try:
        with (
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
            ) as cluster,
            distributed.Client(cluster) as made,
        ):
            yield made
    finally:
        if path is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = path


@pytest.fixture
def two(client):
    """Return the addresses of both workers, after they have started."""
    client.wait_for_workers(2, timeout=WAIT_S)
    return sorted(client.run(int))  # scheduler_info() may be old


@pytest.fixture
def rt():
    return gpuos.default_runtime("host")


def result(future):
    return future.result(timeout=WAIT_S)


def by_way_of(client, two, make, use):
    """Return the second worker's result from the first worker's object."""
    first, second = two
    made = client.submit(make, workers=[first], pure=False)
    return result(client.submit(use, made, workers=[second], pure=False))


# ---- Supported objects.


@pytest.mark.parametrize("kind", cases.FUSED)
def test_map_runs_fused_functions(client, kind):
    fused = cases.FUSED[kind]()
    for f in (fused, lambda x: fused(x) - 1):
        got = client.gather(client.map(f, VALUES, pure=False))
        assert [x.tolist() for x in got] == [f(x).tolist() for x in VALUES]


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int16", "complex64", "complex128"]
)
@pytest.mark.parametrize("chunks", [(7, 3), (13, 10), (100, 1)])
def test_map_blocks_of_any_chunks_and_dtypes(client, dtype, chunks):
    whole = (np.arange(1000) % 50).reshape(100, 10).astype(dtype)
    blocks = da.from_array(whole, chunks=chunks)
    fused = gpuos.fuse(lambda x, y: x * x - y)
    lazy = da.map_blocks(fused, blocks, blocks * 2)
    got = result(client.compute(lazy))
    assert (got == whole * whole - whole * 2).all()
    assert result(client.compute(lazy.sum())) == got.sum()


@pytest.mark.parametrize("kind", cases.ARRAYS)
def test_arrays_go_from_worker_to_worker(client, two, rt, kind):
    def make():
        return cases.ARRAYS[kind](gpuos.default_runtime("host"))

    local = make()
    expected = [str(local.dtype), list(local.shape), (local * 2).tolist()]
    assert by_way_of(client, two, make, cases.answer) == expected
    came = result(client.submit(make, pure=False))
    assert came.runtime is rt
    assert came.tolist() == local.tolist()
    scattered = client.scatter(local, workers=[two[0]])
    assert result(client.submit(cases.answer, scattered, workers=[two[1]])) == (
        expected
    )


def test_blocks_may_be_arrays(client):
    ramp = da.arange(60, chunks=7, dtype="float32")
    arrays = ramp.map_blocks(lambda x: gpuos.default_runtime("host").array(x))
    got = result(client.compute((arrays.map_blocks(lambda x: x * x)).sum()))
    assert float(got) == float((np.arange(60.0) ** 2).sum())


def tokens(sent):
    return [str(dask.base.tokenize(x)) for x in sent]


def test_equal_objects_have_one_name_in_all_processes(client, rt):
    op = rt.define("named", "o = x * 7")
    definition = op.definition
    rt.undefine(op)
    sent = [definition, *(make() for make in cases.FUSED.values())]
    sent += [make(rt) for make in cases.ARRAYS.values()]
    here = tokens(sent)
    assert len(set(here)) == len(here)
    assert tokens(sent) == here
    assert tokens(pickle.loads(pickle.dumps(sent))) == here
    assert result(client.submit(tokens, sent, pure=False)) == here


# ---- Immediate errors, where Dask would wait for ever.


class OfAnotherMachine:
    """Is pickled as an array of a device that is not here."""

    def __reduce__(self):
        elements = np.ones(3, "float32").tobytes()
        form = ("float32", (3,), "cuda:77")
        return gpuos.sending.load_array, (elements, *form)


def a_ticket():
    one = np.ones(3, "float32")
    return gpuos.default_runtime("host").submit("add", one, one, out=one + 0)


def an_alias():
    runtime = gpuos.Runtime(backend="host")
    runtime.define("aliased", "o = x")
    return runtime.alias("other", "aliased")


UNSENT = {
    "array": (OfAnotherMachine, gpuos.BackendUnavailable, "cuda:77"),
    "ticket": (a_ticket, pickle.PicklingError, "gpuos.Ticket: wait for it"),
    "alias": (an_alias, pickle.PicklingError, "gpuos.Alias: send alias.target"),
    "runtime": (
        lambda: gpuos.Runtime(backend="host"),
        pickle.PicklingError,
        "gpuos.Runtime: make one there",
    ),
}
USES = {
    "operator": lambda x: x * 2,
    "other side": lambda x: 2 - x,
    "numpy": np.asarray,
    "ufunc": lambda x: np.add(x, 1),
    "attribute": lambda x: x.shape,
    "item": lambda x: x[0],
    "length": len,
    "truth": bool,
    "array": lambda x: gpuos.default_runtime("host").array(x),
    "fused": lambda x: gpuos.default_runtime("host").fuse(np.add)(x, x),
    "other operand": lambda x: gpuos.default_runtime("host").ones(3) + x,
}


@pytest.mark.parametrize("what", UNSENT)
def test_an_unsendable_result_raises_at_its_receiver(client, two, what):
    make, kind, text = UNSENT[what]
    start = time.monotonic()
    with pytest.raises(kind, match=text):
        by_way_of(client, two, make, USES["operator"])
    with pytest.raises(kind, match=text):
        result(client.submit(make, pure=False))
    assert time.monotonic() - start < WAIT_S / 4
    assert by_way_of(client, two, lambda: 1, lambda x: x + 1) == 2


@pytest.mark.parametrize("use", USES)
def test_any_use_of_a_missing_object_tells_the_reason(client, two, use):
    with pytest.raises(gpuos.BackendUnavailable, match="cuda:77"):
        by_way_of(client, two, OfAnotherMachine, USES[use])


def test_a_missing_object_stays_missing_after_another_trip(client, two):
    first, second = two
    absent = client.submit(OfAnotherMachine, workers=[first], pure=False)
    kept = client.submit(lambda x: [x], absent, workers=[second], pure=False)
    back = client.submit(
        lambda x: repr(x[0]), kept, workers=[first], pure=False
    )
    assert result(back).startswith("<absent: unpickle: expected cuda:77")


# ---- Last: a worker that dies takes its runtime and its results with it.


def test_results_of_a_dead_worker_are_computed_again(client, two):
    first, _ = two

    def make(definition, x):
        runtime = gpuos.default_runtime("host")
        out = runtime.empty(x.shape)
        runtime.submit(runtime.define(definition), x, out=out)
        return out

    definition = gpuos.Definition("again", "o = x * 3 + 1")
    made = client.submit(
        make, definition, VALUES[1], workers=[first], allow_other_workers=True
    )
    distributed.wait(made, timeout=WAIT_S)
    pid = client.run(os.getpid, workers=[first])[first]
    os.kill(pid, signal.SIGKILL)
    total = result(client.submit(lambda x: float(x.sum()), made))
    assert total == float((VALUES[1] * 3 + 1).sum())
