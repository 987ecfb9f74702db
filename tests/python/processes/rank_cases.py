"""Computations of a rank with others: collectives of small pending tensors.

Each case returns tensors, or dicts of them, which equal eager PyTorch's.
"""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.checkpoint as checkpoints
import torch.distributed.nn.functional as differentiable
from ranks_support import case
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Replicate,
    Shard,
    distribute_tensor,
)
from torch.utils.data import DataLoader, TensorDataset

ELEMS = 96


def fresh(shift=0.0, elems=ELEMS):
    """Return a small result that differs on all ranks."""
    ramp = torch.linspace(-1.0, 3.0, elems)
    return (ramp * (dist.get_rank() + 2) + shift).abs() * 0.5


def other():
    return 1 - dist.get_rank()


@case
def reductions_of_all():
    kinds = (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN)
    found = []
    for kind in kinds:
        x = fresh()
        kept = x - 1.0
        dist.all_reduce(x, op=kind)
        found += [kept, x, x * kept]
    return found


@case
def asynchronous_reductions():
    found = []
    for step in range(40):
        x = fresh(step)
        y = x + 0.25
        work = dist.all_reduce(x, async_op=True)
        z = y * y
        work.wait()
        found += [x - z, y, z]
        x.fill_(-1.0)
        found.append(x + 2)
    return found


@case
def neighbours_in_a_block_are_written_meanwhile():
    # Small results share blocks: gloo writes some, gpuos others.
    found = []
    for step in range(60):
        mine = [fresh(k + step, 900) for k in range(6)]
        works = [dist.all_reduce(x, async_op=True) for x in mine]
        beside = [(fresh(-k, 900) - 1).relu().clamp(max=3) for k in range(6)]
        for work in works:
            work.wait()
        found += [x + y for x, y in zip(mine, beside, strict=True)]
    return found


@case
def continuations():
    found = []
    for step in range(25):
        x = fresh(step)
        future = dist.all_reduce(x, async_op=True).get_future()
        then = future.then(lambda done: done.value()[0] * 0.5 - 3)
        beside = x.new_full((ELEMS,), 2.0) + step
        found.append(then.wait() * beside)
    return found


@case
def broadcasts():
    found = []
    for source in range(dist.get_world_size()):
        x = fresh()
        x.add_(dist.get_rank() * 10.0)
        dist.broadcast(x, source)
        found += [x * 2, x]
    return found


@case
def gathers_of_all():
    places = [torch.zeros(ELEMS).sub_(4.0) for _ in range(2)]
    dist.all_gather(places, fresh())
    whole = torch.ones(2 * ELEMS).mul_(9.0)
    dist.all_gather_into_tensor(whole, fresh() - 1)
    return [*places, places[0] * places[1], whole + 1]


@case
def scatters_and_rooted_ones():
    rank, found = dist.get_rank(), []
    part = torch.ones(ELEMS // 2).add_(6.0)
    dist.reduce_scatter_tensor(part, fresh() * 4)
    found.append(part - 1)
    turned = torch.ones(ELEMS).add_(6.0)
    dist.all_to_all_single(turned, fresh() * 5)
    found.append(turned - 1)
    x = fresh() + 1
    dist.reduce(x, 0)
    found.append(x if rank == 0 else fresh())
    places = [torch.ones(ELEMS).neg_() for _ in range(2)] if rank == 0 else None
    dist.gather(fresh() * 6, places, 0)
    found += places or []
    given = torch.ones(ELEMS).neg_()
    parts = [fresh() + 7, fresh() * 7] if rank == 0 else None
    dist.scatter(given, parts, 0)
    return [*found, given * 2]


@case
def point_to_point():
    rank, found = dist.get_rank(), []
    for step in range(15):
        x, came = fresh(step), torch.zeros(ELEMS).add_(5.0)
        if rank == 0:
            dist.send(x, 1)
            dist.recv(came, 1)
        else:
            dist.recv(came, 0)
            dist.send(x, 0)
        found += [came - x]
        later = torch.zeros(ELEMS).add_(5.0)
        works = [dist.isend(x * 3, other()), dist.irecv(later, other())]
        beside = x + 0.5
        for work in works:
            work.wait()
        found += [later * beside]
        last = torch.zeros(ELEMS).add_(5.0)
        both = [
            dist.P2POp(dist.isend, x - 8, other()),
            dist.P2POp(dist.irecv, last, other()),
        ]
        for work in dist.batch_isend_irecv(both):
            work.wait()
        found += [last + 1]
    return found


@case
def objects_with_pending_tensors():
    all_of_them = [None, None]
    dist.all_gather_object(all_of_them, {"x": fresh() * 8, "n": [1]})
    told = [fresh() - 2 if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(told, 0)
    return [one["x"] for one in all_of_them] + [told[0] * 2]


@case
def functional_collectives():
    world = dist.group.WORLD
    total = functional.all_reduce(fresh() + 2, "sum", world)
    whole = functional.all_gather_tensor(total - 1, 0, world)
    return [total * 2, whole.mul(0.5)]


@case
def collectives_of_autograd():
    x = fresh().requires_grad_()
    y = differentiable.all_reduce(x * x)
    (y * 0.1).relu().sum().backward()
    return [y.detach(), x.grad]


@case
def tensors_of_a_mesh():
    mesh = init_device_mesh("cpu", (2,))
    whole = torch.linspace(-2.0, 2.0, 128).reshape(8, 16)
    x = distribute_tensor(whole, mesh, [Shard(0)])
    y = ((x - x * 3.0).abs() + 1).sqrt()
    copies = y.redistribute(mesh, [Replicate()]).to_local()
    mine = DTensor.from_local(fresh(), mesh, [Shard(0)]) - 4
    norm = torch.nn.functional.layer_norm(x, (16,))
    found = (y, y.sum(0), y.mean(1), mine, norm)
    return [copies * 2, *(one.full_tensor() for one in found)]


@case
def checkpoints_of_pending_tensors():
    with tempfile.TemporaryDirectory() as folder:
        shared = [folder if dist.get_rank() == 0 else None]
        dist.broadcast_object_list(shared, 0)
        state = {"a": fresh() - 5, "deeper": {"b": torch.ones(2, 3) * 4}}
        checkpoints.save(state, checkpoint_id=f"{shared[0]}/now")
        state["a"].zero_()
        loaded = {"a": fresh() * 0, "deeper": {"b": torch.zeros(2, 3).add_(1)}}
        checkpoints.load(loaded, checkpoint_id=f"{shared[0]}/now")
        saving = checkpoints.async_save(
            {"c": fresh() + 11}, checkpoint_id=f"{shared[0]}/later"
        )
        beside = fresh() * 12
        saving.result()
        late = {"c": torch.zeros(ELEMS).add_(2.0)}
        checkpoints.load(late, checkpoint_id=f"{shared[0]}/later")
        found = [loaded["a"] + 1, loaded["deeper"]["b"], late["c"], beside]
        dist.barrier()  # the folder is rank 0's
    return found


@case
def workers_of_a_data_loader():
    data = TensorDataset(torch.arange(480.0).reshape(48, 10) * 3 - 1)
    loader = DataLoader(data, batch_size=6, num_workers=2)
    return [batch * 0.5 + 2 for (batch,) in loader]
