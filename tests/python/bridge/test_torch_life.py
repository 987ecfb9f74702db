"""Memory, time and order: what a flush owes, and what outlives what."""

import collections
import gc
import time

import pytest

pytest.importorskip("torch")

from deadlines import until
from torch.multiprocessing.reductions import StorageWeakRef
from torch_support import (
    ELEMS,
    NEVER_MS,
    gt,
    scheduler,
    torch,
    used_bytes,
)

pytestmark = pytest.mark.torch

FLUSHES = 10_000
MEBI = 1 << 20


@pytest.mark.alone
def test_memory_is_flat_over_many_flushes(device):
    a, b, out = torch.ones(3, ELEMS, device=device)

    def flush_often(count):
        for _ in range(count):
            c = a + b
            d = c * 2
            gt.submit_add(a, b, out)
            gt.flush()
        return d

    with scheduler(takes=2 * FLUSHES):
        flush_often(1000)
        before = used_bytes(device)
        d = flush_often(FLUSHES)
        grown = used_bytes(device) - before
        assert d.sum().item() == 4 * ELEMS
    assert grown < 16 * MEBI


@pytest.mark.alone
def test_memory_is_flat_over_many_schedulers(device):
    a = torch.ones(ELEMS, device=device)

    def enter_often(count):
        for _ in range(count):
            with gt.scheduler():
                b = a + a
            assert b[0] == 2

    enter_often(100)
    before = used_bytes(device)
    enter_often(1000)
    assert used_bytes(device) - before < 16 * MEBI


@pytest.mark.alone
def test_memory_of_temporaries_is_used_again(device):
    with scheduler(takes=20_000, capacity=256):
        x = torch.zeros(8 * ELEMS, device=device)
        before = used_bytes(device)
        for _ in range(20_000):  # 640 MB of results
            x = x + 1
        assert x[0].item() == 20_000
        assert used_bytes(device) - before < 128 * MEBI


def test_tensors_are_freed_when_their_work_is_done(device):
    a = torch.ones(ELEMS, device=device)
    storage = StorageWeakRef(a.untyped_storage())
    with scheduler():
        c = a + a
        del a
        gc.collect()
        assert c[0].item() == 2.0
    gc.collect()
    assert storage.expired()


def test_flush_returns_what_is_pending(device):
    a = torch.ones(ELEMS, device=device)
    with scheduler(takes=2) as made:
        made.flush(sync=True)  # of nothing
        b = a + a
        assert gt.pending() > 0
        assert gt.stats()["pending"] == gt.pending()
        gt.flush()
        assert gt.pending() == 0
        c = b * 2
        made.flush(sync=True)
        assert gt.pending() == 0
    assert c.tolist() == [4.0] * ELEMS


def test_flush_that_waits_waits_for_flushes_that_do_not(device):
    a = torch.ones(ELEMS, device=device)
    with scheduler(takes=1000):
        x = a
        for _ in range(100):
            for _ in range(10):
                x = x + a
            gt.flush(sync=False)
        gt.flush(sync=True)
        assert x[-1].item() == 1001


def test_shortest_interval_of_all_schedulers_counts(device):
    a = torch.ones(ELEMS, device=device)
    with scheduler(auto_flush_ms=NEVER_MS):
        with scheduler(auto_flush_ms=1.0):
            b = a + a
            until(lambda: gt.pending() == 0)
        c = b * 2
        time.sleep(0.05)
        assert gt.pending() == 1
    assert c.tolist() == [4.0] * ELEMS


def test_stats_count(device):
    a = torch.ones(ELEMS, device=device)
    before = gt.stats()
    with scheduler(takes=7):
        b = (a + a) * 2 - 1
        torch.cumsum(b, 0)
        for _ in range(2):
            (b + 1).sum().item()
        gt.flush()
    with scheduler(takes=1):
        b + 1
    after = gt.stats()
    assert after["intercepted"] - before["intercepted"] == 8
    assert after["unwritten"] - before["unwritten"] >= 2
    assert after["fallbacks"] > before["fallbacks"]
    assert after["pending"] == 0

    def new(name):
        counts = collections.Counter(after[name])
        counts.subtract(before[name])
        return {cause: count for cause, count in counts.items() if count}

    causes = new("causes")
    assert causes == {
        "aten::cumsum": 1,
        "aten::_local_scalar_dense": 2,
        "end of a scheduler": 1,
    }
    assert sum(causes.values()) == after["flushes"] - before["flushes"]
    assert new("run_by_pytorch") == {
        "aten::cumsum": 1,
        "aten::_local_scalar_dense": 2,
    }


def test_seed_name_of_the_scheduler(device):
    assert gt.scheduler_context is gt.scheduler
    with gt.scheduler_context(
        capacity=8192,
        threads_per_block=256,
        size_threshold=1 << 15,
        auto_flush_ms=2.0,
    ):
        b = torch.ones(4, device=device) + 1
    assert b.tolist() == [2.0] * 4


@pytest.mark.parametrize("leave", ["pass", "raise SystemExit", "os._exit(0)"])
def test_process_ends_with_a_scheduler_that_was_entered(
    printed_by, device, leave
):
    printed_by(
        "import os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "import torch\n"
        "import gpuos.torch as gt\n"
        "made = gt.scheduler()\n"
        "made.__enter__()\n"
        f"a = torch.ones(1024, device={device!r})\n"
        "b = a + a\n"
        f"{leave}\n"
    )
