"""Ray assigns GPUs to members, and restarts dead ones."""

import numpy as np
import pytest
import ray_support
from conftest import has_cuda
from deadlines import WAIT_S

import gpuos

ray = pytest.importorskip("ray")
gr = pytest.importorskip("gpuos.ray")

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

X = np.arange(8, dtype="float32")
FAULT = """
GPUOS_OPERATOR(fault) { *reinterpret_cast<volatile int*>(8) = 1; }
"""


@pytest.fixture(scope="module")
def cluster():
    # Ray assigns GPUs that it is told of, also where there are none.
    yield ray_support.start(None if has_cuda() else 2)
    ray.shutdown()


# Where a member computes that was given a GPU, by default there.
HERE = {} if has_cuda() else {"backend": "host"}


@pytest.mark.parametrize("num_gpus", [0.5, 1])
def test_members_have_the_gpus_that_ray_assigns(cluster, num_gpus):
    if 2 * num_gpus > cluster.cluster_resources()["GPU"]:
        pytest.skip("one GPU")
    with gr.Pool(2, num_cpus=0, num_gpus=num_gpus, options=HERE) as pool:
        own = [each["gpus"] for each in pool.stats()]
        assert [len(gpus) for gpus in own] == [1, 1]
        assert (own[0] == own[1]) == (num_gpus < 1)
        pool.define("double", "o = x * 2")
        got = pool.map("double", gr.shard(X, 2)).gather(WAIT_S)
        np.testing.assert_array_equal(got, X * 2)


@pytest.mark.skipif(has_cuda(), reason="there is one")
def test_a_missing_gpu_raises_the_runtimes_error(cluster):
    with pytest.raises(gpuos.BackendUnavailable, match="member 0 of pool"):
        gr.Pool(1, num_cpus=0, num_gpus=1)
    assert cluster.util.list_named_actors() == []


@pytest.mark.gpu
def test_a_member_with_a_fault_is_made_again_on_its_gpu(cluster):  # noqa: ARG001
    with gr.Pool(2, num_cpus=0, num_gpus=0.5) as pool:
        pool.define("double", "o = x * 2")
        pool.define("fault", source=FAULT, inputs=1, elementwise=False)
        before = {each["pid"] for each in pool.stats()}
        with pytest.raises(gpuos.TaskError, match="member"):
            ray.get(pool.submit("fault", X), timeout=WAIT_S)
        ray_support.until(
            lambda: {each["pid"] for each in pool.stats()} != before
        )
        got = pool.map("double", gr.shard(X, 4)).gather(WAIT_S)
        np.testing.assert_array_equal(got, X * 2)
        assert all(each["backend"] == "cuda" for each in pool.stats())
