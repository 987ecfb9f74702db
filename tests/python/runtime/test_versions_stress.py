"""Replacements, rollbacks and transactions under load, from four threads."""

import itertools
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gpuos

THREADS = 4
WHOLE = """
GPUOS_OPERATOR(single) {
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    task.pointer<float>(0)[i] = task.pointer<const float>(1)[i] - 1;
}"""


def resident_mib():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def test_changes_under_load(rt):
    """Nothing is lost, nothing is torn, and memory stays what it is.

    `left` and `right` change only in transactions, so a reader that reads `left`
    first never finds an older `right`. Neither becomes older. `single` is replaced
    and restored.
    """
    changes = 10_000 if rt.backend == "host" else 4_000
    left, right, single = (
        rt.define(name, "o = x + 0") for name in ("left", "right", "single")
    )
    rt.replace(single, source=WHOLE, inputs=1)
    zero = rt.zeros(64)
    numbers = itertools.count(1)  # next() of it is one step of the interpreter
    in_order = threading.Lock()  # so that numbers of the pair rise
    published = {-1.0, 0.0}
    wrong = []
    sizes = []

    def change(draw):
        chosen = draw.random()
        if chosen < 0.4:
            with in_order, rt.transaction() as both:
                number = next(numbers)
                both.replace(left, f"o = x + {number}")
                both.replace(right, f"o = x + {number}")
        elif chosen < 0.7:
            number = next(numbers)
            published.add(float(number))
            rt.replace(single, f"o = x + {number}")
        else:
            next(numbers)
            # Other threads may have rolled back to the first one meanwhile.
            kept = [v.number for v in single.versions]
            try:
                rt.rollback(single, to=draw.choice(kept))
            except gpuos.InvalidArgument as error:
                if "still loaded" not in str(error):
                    raise

    def work(seed):
        draw = random.Random(seed)
        out, last = outs[seed], 0.0
        while True:
            change(draw)
            for op, row in zip((left, right, single), range(3), strict=True):
                rt.submit(op, zero, out=out[row])
                totals[seed] += 1
            rows = out.numpy().tolist()
            if [len(set(row)) for row in rows] != [1, 1, 1]:
                wrong.append(("torn", rows))
            if rows[0][0] > rows[1][0]:
                wrong.append(("a part of a transaction", rows))
            if rows[0][0] < last:
                wrong.append(("older than before", rows))
            last = rows[1][0]
            if rows[2][0] not in published:
                wrong.append(("never published", rows))
            done = next(numbers)
            if done % 100 < 2:
                sizes.append(resident_mib())
            if done > 2 * changes or wrong:
                return

    totals = [0] * THREADS
    outs = [rt.zeros((3, 64)) for _ in range(THREADS)]
    before = rt.stats()["tasks_submitted"]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert wrong == []
    assert rt.stats()["tasks_submitted"] - before == sum(totals)
    assert {len(op.versions) for op in (left, right, single)} == {8}
    # Memory that grows with each change would be many times this.
    half = len(sizes) // 2
    assert max(sizes[half:]) - max(sizes[:half]) < 8
