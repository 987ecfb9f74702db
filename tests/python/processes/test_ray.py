"""Pools of Ray: what maps, results and errors are, and what is refused."""

import numpy as np
import pytest
import ray_support
from deadlines import WAIT_S

import gpuos

ray = pytest.importorskip("ray")
gr = pytest.importorskip("gpuos.ray")

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

NEGATE = """
GPUOS_OPERATOR(negate) {
  float* out = task.pointer<float>(0);
  const float* in = task.pointer<const float>(1);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    out[i] = -in[i];
}
"""


@gpuos.fuse
def halved(x, y=0.0):
    return x / 2 + y


def scaled(rt, x, factor=3):
    out = rt.empty(x.shape)
    rt.submit("double", x, out=out).wait(WAIT_S)
    return out.numpy() * factor


@pytest.fixture(scope="module")
def pool(cluster, backend):  # noqa: ARG001
    with gr.Pool(2, name="tested", **ray_support.ON[backend]) as made:
        made.define("double", "o = x * 2")
        made.define("axpy", "o = a * x + y", params={"a": "float32"})
        made.define("negate", source=NEGATE, inputs=1)
        yield made


X = np.arange(24, dtype="float32").reshape(6, 4)
WAYS = {
    "name": ("double", {}, X * 2),
    "operator": (gr.Operator("double"), {}, X * 2),
    "source": ("negate", {}, -X),
    "fused": (halved, {}, X / 2),
    "fused with a number": (halved, {"y": 1.0}, X / 2 + 1),
    "function": (scaled, {}, X * 6),
    "function with a number": (scaled, {"factor": 5}, X * 10),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("parts", "axis"), [(1, 0), (2, 0), (3, 1), (7, 0)])
def test_a_map_and_a_submission_are_the_function_of_the_whole(
    pool, way, parts, axis
):
    f, params, expected = WAYS[way]
    y = pool.map(f, gr.shard(X, parts, axis), **params)
    assert len(y) == parts
    assert y.version == pool.version
    np.testing.assert_array_equal(y.gather(WAIT_S), expected)
    got = ray.get(pool.submit(f, X, **params), timeout=WAIT_S)
    np.testing.assert_array_equal(got, expected)


def test_a_map_of_several_arrays_and_of_one_for_all_parts(pool):
    x = gr.shard(X, 3)
    np.testing.assert_array_equal(
        pool.map("axpy", x, pool.map("double", x), a=10).gather(WAIT_S), X * 12
    )
    rows = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(
        pool.map("axpy", x, rows, a=1).gather(WAIT_S), X + rows
    )
    ref = ray.put(rows)
    np.testing.assert_array_equal(
        pool.map("axpy", x, ref, a=1).gather(WAIT_S), X + rows
    )


def test_results_are_arrays_numbers_or_anything(pool):
    x = gr.shard(X, 3)
    sums = pool.map(lambda rt, x: (rt.array(x) * 1).sum(), x)
    assert sums.gather(WAIT_S).tolist() == [28.0, 92.0, 156.0]
    pairs = pool.map(lambda rt, x: {"x": rt.array(x), "n": [len(x)]}, x)
    with pytest.raises(TypeError, match="expected arrays, got dict"):
        pairs.gather(WAIT_S)
    first = pairs.parts(WAIT_S)[0]
    assert type(first["x"]) is np.ndarray
    assert first["n"] == [2]


def test_a_fused_function_runs_in_the_members_runtime(pool):
    before = sum(each["program_calls"] for each in pool.stats())
    pool.map(halved, gr.shard(X, 4)).gather(WAIT_S)
    assert sum(each["program_calls"] for each in pool.stats()) >= before + 4


def test_stats_name_member_process_and_node(pool, backend):
    stats = pool.stats()
    assert [each["member"] for each in stats] == [0, 1]
    assert len({each["pid"] for each in stats}) == 2
    for each in stats:
        assert each["node"]
        assert len(each["gpus"]) == (backend == "cuda")
        assert each["backend"] == backend
        assert backend == "cuda" or each["workers"] == 1
        assert not each["is_dead"]


def raised(call):
    with pytest.raises(gpuos.Error) as caught:
        call()
    return caught.value


def test_errors_are_those_of_gpuos_and_name_the_member(pool):
    for call in (
        lambda: pool.map("double", gr.shard(X.astype("S1"), 2)).gather(WAIT_S),
        lambda: pool.map("nothing", gr.shard(X, 2)).gather(WAIT_S),
        lambda: ray.get(pool.submit("axpy", X, X), timeout=WAIT_S),
    ):
        error = raised(call)
        assert isinstance(error, gpuos.InvalidArgument)
        assert "of pool 'tested': " in str(error)
        assert "__" not in str(error).split("InvalidArgument:")[-1]

    def own(_, x):
        raise KeyError(len(x))

    with pytest.raises(KeyError, match="3"):
        pool.map(own, gr.shard(X, 2)).gather(WAIT_S)


REFUSED = {
    "no shards": (lambda pool: pool.map("double", X), "got none"),
    "other counts": (
        lambda pool: pool.map("axpy", gr.shard(X, 2), gr.shard(X, 3), a=1),
        r"got \[2, 3\]",
    ),
    "no axis": (lambda _: gr.shard(X, 2, axis=2), "got 2"),
    "a number": (lambda _: gr.shard(np.float32(1)), "0 axes"),
    "no parts": (lambda _: gr.shard(X, 0), "got 0"),
    "no members": (lambda _: gr.Pool(0), "size: expected 1 or more"),
    "no threads": (lambda _: gr.Pool(1, threads=0), "threads: expected 1"),
    "a name twice": (lambda _: gr.Pool(1, name="tested"), "expected a new one"),
    "no such pool": (lambda _: gr.join("nobody"), "got 'nobody'"),
    "a name of a runtime": (lambda pool: pool.define("add", "o = x"), "'add'"),
    "another of a name": (
        lambda pool: pool.define("double", "o = x * 3"),
        "'double'",
    ),
    "none of a name": (lambda pool: pool.replace("nope", "o = x"), "'nope'"),
    "other inputs": (
        lambda pool: pool.replace("double", "o = x * y"),
        "double: expected 1 inputs, got 2",
    ),
    "other parameters": (
        lambda pool: pool.replace(
            "axpy", "o = a * x + y + b", params={"a": "f4", "b": "f4"}
        ),
        "a default value of the new parameter b, got none",
    ),
    "no expression": (lambda pool: pool.define("e", "o = ("), "operand"),
    "no such version": (
        lambda pool: pool.at(12345).map("double", gr.shard(X)).gather(WAIT_S),
        "got 12345",
    ),
    "nothing new": (lambda pool: pool.replace("double"), "double"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_changes_keep_the_version(pool, what):
    call, text = REFUSED[what]
    before = pool.version
    with pytest.raises(gpuos.InvalidArgument, match=text):
        call(pool)
    assert pool.version == before
    double = pool.map("double", gr.shard(X, 2)).gather(WAIT_S)
    np.testing.assert_array_equal(double, X * 2)


def test_a_wrong_operator_type_is_a_type_error(pool):
    with gpuos.Runtime("host") as rt:
        own = rt.define("own", "o = x")
        for wrong in (own, 3, None):
            with pytest.raises(TypeError, match="expected an operator"):
                pool.submit(wrong, X)
    with pytest.raises(TypeError, match="expected the name"):
        pool.replace(3, "o = x")


def test_a_definition_can_be_given_and_given_again(pool):
    with gpuos.Runtime("host") as rt:
        definition = rt.define("given", "o = x - 1").definition
    op = pool.define(definition)
    version = pool.version
    assert pool.define(definition) == op
    assert pool.version == version
    assert ray.get(pool.submit(op, X), timeout=WAIT_S)[0, 0] == -1


def test_progress_counts_every_part(pool):
    told = []
    with gr.progress(lambda *now: told.append(now)):
        pool.map("double", gr.shard(X, 3))
        pool.map("negate", gr.shard(X, 2)).gather(WAIT_S)
    assert told[-1] == (5, 5)
    assert told == sorted(told)


def test_progress_is_a_line_for_people(pool, capfd):
    with gr.progress():
        pool.map("double", gr.shard(X, 3))
    assert capfd.readouterr().err.endswith("\r3 of 3 parts\n")


def test_progress_raises_what_its_function_or_its_block_raises(pool):
    def report(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), gr.progress(report):
        pool.map("double", gr.shard(X, 3))

    def fails():
        with gr.progress(print):
            raise KeyError(pool.map("double", gr.shard(X, 3)))

    with pytest.raises(KeyError):
        fails()


def test_a_pool_that_the_cluster_has_no_room_for(cluster, monkeypatch):
    monkeypatch.setattr("gpuos.ray.pool.START_S", 0.5)
    more = int(cluster.cluster_resources()["CPU"]) + 1
    with (
        pytest.warns(UserWarning, match=f"{more} members take {more} CPU"),
        pytest.raises(gpuos.Timeout, match="num_cpus="),
    ):
        gr.Pool(more)
    assert all("tested" in name for name in cluster.util.list_named_actors())


@pytest.mark.parametrize("parts", [2.5, "2", None, 0])
def test_a_number_of_parts(cluster, parts):
    if parts is None:
        whole = int(cluster.cluster_resources()["CPU"])
        assert len(gr.shard(X, parts)) == whole
        return
    with pytest.raises((TypeError, gpuos.InvalidArgument)):
        gr.shard(X, parts)


def test_a_closed_pool_says_so(cluster):  # noqa: ARG001
    made = gr.Pool(1, num_cpus=0)
    with made:
        pass
    made.close()
    for call in (
        lambda: made.submit("add", X, X),
        lambda: made.define("f", "o = x"),
        lambda: made.map("add", gr.Sharded([1])),
        made.stats,
    ):
        with pytest.raises(gpuos.QueueClosed, match="was closed"):
            call()
