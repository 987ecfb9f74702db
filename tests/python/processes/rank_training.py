"""Training of a small network by several ranks.

Each case returns its own losses, and parameters that must be equal in all ranks
to the last bit.
"""

import contextlib

import torch
import torch.distributed as dist
from ranks_support import case
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

WIDTH, CLASSES, BATCH = 48, 6, 16
STEPS = 30


def network():
    torch.manual_seed(3)
    layers = []
    for _ in range(3):
        layers += [nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH)]
    return nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))


def batches(count):
    """Yield inputs and classes that each rank has others of."""
    random = torch.Generator().manual_seed(100 + dist.get_rank())
    for _ in range(count):
        x = torch.randn(BATCH, WIDTH, generator=random)
        yield x, torch.randint(0, CLASSES, (BATCH,), generator=random)


def fit(model, optimizer, steps=STEPS, clip=None, accumulate=1):
    losses = []
    for step, (x, classes) in enumerate(batches(steps)):
        is_whole = (step + 1) % accumulate == 0
        with contextlib.nullcontext() if is_whole else model.no_sync():
            loss = nn.functional.cross_entropy(model(x), classes)
            loss.backward()
        if is_whole:
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach() * 1.0)
    return losses


def whole(model):
    """Return its parameters, with sharded ones put together."""
    return [
        parameter.full_tensor().detach().clone()
        if hasattr(parameter, "full_tensor")
        else parameter.detach().clone()
        for parameter in model.parameters()
    ]


def replicas(hook=None, steps=STEPS, **options):
    model = DistributedDataParallel(network(), **options)
    if hook is not None:
        model.register_comm_hook(None, hook)
    adam = torch.optim.AdamW(model.parameters(), lr=2e-3)
    return fit(model, adam, steps, clip=0.5), whole(model)


@case
def ddp_of_400_steps():
    return replicas(steps=400)


@case
def ddp_with_gradients_in_buckets():
    return replicas(gradient_as_bucket_view=True)


@case
def ddp_with_a_static_graph():
    return replicas(static_graph=True, bucket_cap_mb=0.02)


@case
def ddp_that_looks_for_unused():
    return replicas(find_unused_parameters=True)


@case
def ddp_with_a_hook():
    def average(_, bucket):
        mine = bucket.buffer()
        mine.mul_(1.0 / dist.get_world_size())
        future = dist.all_reduce(mine, async_op=True).get_future()
        return future.then(lambda done: done.value()[0] + 0.0)

    return replicas(hook=average)


@case
def ddp_that_accumulates():
    model = DistributedDataParallel(network())
    momentum = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.8)
    return fit(model, momentum, accumulate=3), whole(model)


@case
def optimizer_in_shards():
    model = DistributedDataParallel(network())
    sharded = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.Adam, lr=2e-3
    )
    losses = fit(model, sharded)
    sharded.consolidate_state_dict(0)
    return losses, whole(model)


@case
def model_in_shards():
    mesh, model = init_device_mesh("cpu", (2,)), network()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    adam = torch.optim.AdamW(model.parameters(), lr=2e-3)
    return fit(model, adam, clip=0.5), whole(model)


@case
def model_in_shards_of_the_first_kind():
    model = FullyShardedDataParallel(
        network(), device_id=torch.device("cpu"), use_orig_params=True
    )
    losses = fit(model, torch.optim.SGD(model.parameters(), lr=0.05), 15)
    with FullyShardedDataParallel.summon_full_params(model):
        return losses, whole(model)


@case
def parallel_layers():
    mesh = init_device_mesh("cpu", (2,))
    torch.manual_seed(4)
    model = nn.Sequential(
        nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, CLASSES)
    )
    model = parallelize_module(
        model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()}
    )
    sgd = torch.optim.SGD(model.parameters(), lr=0.05, foreach=False)
    losses = []
    for step in range(10):
        torch.manual_seed(step)  # all ranks have the same batch
        x, classes = torch.randn(BATCH, WIDTH), torch.arange(BATCH) % CLASSES
        loss = nn.functional.cross_entropy(model(x), classes)
        loss.backward()
        sgd.step()
        sgd.zero_grad()
        losses.append(loss.detach() * 1.0)
    return losses, whole(model)
